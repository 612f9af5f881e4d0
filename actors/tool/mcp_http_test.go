package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codecell/codecell/schemas"
)

// sdkServer is a real server on streamable HTTP.
func sdkServer(t testing.TB, seen func(*http.Request), opts *mcp.StreamableHTTPOptions) (*mcp.Server, *httptest.Server) {
	t.Helper()
	server := mcp.NewServer(&mcp.Implementation{Name: "web", Version: "3"}, nil)
	over := make(chan struct{})
	type args struct {
		City string `json:"city"`
	}
	mcp.AddTool(server, &mcp.Tool{Name: "weather"}, func(ctx context.Context, req *mcp.CallToolRequest, in args) (*mcp.CallToolResult, map[string]any, error) {
		if in.City == "nowhere" {
			return nil, nil, fmt.Errorf("no such city")
		}
		return nil, map[string]any{"city": in.City}, nil
	})
	// The server's typed tools lose digits; this one doesn't.
	server.AddTool(&mcp.Tool{Name: "digits", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{}, StructuredContent: json.RawMessage(`{"id":12345678901234567890}`)}, nil
	})
	mcp.AddTool(server, &mcp.Tool{Name: "wait"}, func(ctx context.Context, req *mcp.CallToolRequest, in struct{}) (*mcp.CallToolResult, any, error) {
		if token := req.Params.GetProgressToken(); token != nil {
			_ = req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: token, Progress: 1})
		}
		select {
		case <-ctx.Done():
		case <-over: // the server's session doesn't end its calls by itself
		}
		return nil, nil, ctx.Err()
	})
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, opts)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if seen != nil {
			seen(r)
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		close(over)
		web.CloseClientConnections()
		web.Close()
	})
	return server, web
}

func TestSpec_M7_StreamableHTTP(t *testing.T) {
	for name, opts := range map[string]*mcp.StreamableHTTPOptions{"events": nil, "json": {JSONResponse: true}, "stateless": {Stateless: true}} {
		t.Run(name, func(t *testing.T) {
			var without atomic.Int64
			server, web := sdkServer(t, func(r *http.Request) {
				if r.Header.Get("Authorization") != "Bearer x" {
					without.Add(1)
				}
			}, opts)
			s := connected(t, schemas.MCPServer{URL: web.URL, Headers: map[string]string{"Authorization": "Bearer x"}})
			if got := fmt.Sprint(toolNames(s.Offer())); got != "[digits wait weather]" {
				t.Fatalf("%s, %q", got, s.Offer().Problems)
			}
			got, err := through(t, s, "weather", `{"city":"<Ås>"}`)
			if err != nil || !strings.Contains(string(got), `"structuredContent":{"city":"`) {
				t.Errorf("%s %v", got, err)
			}
			got, err = through(t, s, "digits", `{}`)
			if err != nil || string(got) != `{"content":[],"structuredContent":{"id":12345678901234567890}}` {
				t.Errorf("%s %v", got, err)
			}
			got, err = through(t, s, "weather", `{"city":"nowhere"}`)
			if err != nil || !strings.Contains(string(got), `"isError":true`) || !strings.Contains(string(got), "no such city") {
				t.Errorf("%s %v", got, err)
			}
			if without.Load() > 0 {
				t.Error("a request went without the configured header")
			}
			if name == "stateless" {
				return
			}
			mcp.AddTool(server, &mcp.Tool{Name: "later"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
				return nil, nil, nil
			})
			eventually(t, s, "with the later tool", func(r schemas.Registration) bool { return len(r.Tools) == 4 })
		})
	}
}

func TestSpec_M7_Case64_HTTPTimeoutDoesNotPoisonTheSession(t *testing.T) {
	_, web := sdkServer(t, nil, nil)
	s := connected(t, schemas.MCPServer{URL: web.URL})
	for range 2 {
		if _, err := hurried(t, s, "wait", `{}`); err == nil || err.Effect != schemas.Unknown {
			t.Fatalf("%+v", err)
		}
		if got, err := through(t, s, "weather", `{"city":"x"}`); err != nil {
			t.Fatalf("%s %+v", got, err)
		}
	}
	if p := s.Offer().Problems; len(p) > 0 {
		t.Errorf("%q", p)
	}
}

func TestSpec_M7_Case65_HostileHTTPEndpoints(t *testing.T) {
	short := 700.0
	hang := make(chan struct{})
	for name, c := range map[string]struct {
		handler http.HandlerFunc
		want    string
	}{
		"never answers": {func(http.ResponseWriter, *http.Request) { <-hang }, "didn't answer in time"},
		"not found":     {http.NotFound, "Not Found"},
		"no MCP":        {func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>hello</html>") }, "MCP server \"test\" can't be used"},
		"huge": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":1,"result":{"x":"%s"}}`, strings.Repeat("x", maxReplyBytes))
		}, "over the limit"},
		"endless events": {func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			for r.Context().Err() == nil {
				if _, err := fmt.Fprint(w, ": ping\n\n"); err != nil {
					return
				}
				w.(http.Flusher).Flush()
				select {
				case <-r.Context().Done():
				case <-time.After(5 * time.Millisecond):
				}
			}
		}, "didn't answer in time"},
	} {
		t.Run(name, func(t *testing.T) {
			web := httptest.NewServer(c.handler)
			defer web.Close()
			defer web.CloseClientConnections()
			if name == "never answers" {
				defer close(hang)
			}
			begun := time.Now()
			cfg := schemas.MCPServer{URL: web.URL}
			if strings.Contains(c.want, "in time") {
				cfg.ConnectTimeoutMs = &short
			}
			s := MCP("test", cfg, quiet)
			if err := s.Ready(soon(t)); err != nil {
				t.Fatal(err)
			}
			if p := s.Offer().Problems; len(p) != 1 || !strings.Contains(p[0], c.want) {
				t.Errorf("%q, want %q", p, c.want)
			}
			if err := s.Close(soon(t)); err != nil {
				t.Error(err)
			}
			if took := time.Since(begun); took > time.Minute {
				t.Errorf("took %v", took)
			}
		})
	}
}

func TestSpec_M7_AnHTTPServerThatIsGone(t *testing.T) {
	_, web := sdkServer(t, nil, &mcp.StreamableHTTPOptions{Stateless: true})
	s := connected(t, schemas.MCPServer{URL: web.URL})
	web.CloseClientConnections()
	web.Close()
	_, err := s.Call(soon(t), callOf("weather", "1", `{"city":"x"}`), nil)
	var ce *schemas.CallError
	if !errors.As(err, &ce) || ce.Location != atTransport || ce.Effect != schemas.NotStarted && ce.Effect != schemas.Unknown || strings.Contains(ce.Message, web.URL) {
		t.Errorf("%+v", err)
	}
}

func TestSpec_M7_HTTPCloseEndsCallsInFlight(t *testing.T) {
	_, web := sdkServer(t, nil, nil)
	closeInFlight(t, schemas.MCPServer{URL: web.URL}, "wait")
}

func TestTappedBody_MessagesInPieces(t *testing.T) {
	const stream = "event: message\r\nid: 1\r\ndata: {\"jsonrpc\":\"2.0\",\r\ndata: \"id\":7,\"result\":{\"n\":12345678901234567890}}\r\n\r\n: ping\n\ndata:{\"jsonrpc\":\"2.0\",\"id\":8,\"result\":{}}\n\n"
	for size := 1; size < 40; size++ {
		tp := &tap{waiting: map[string]*reply{}}
		a, b := &reply{id: "7"}, &reply{id: "8"}
		tp.waiting["7"], tp.waiting["8"] = a, b
		body := &tappedBody{ReadCloser: pieces{strings.NewReader(stream)}, tap: tp, events: true}
		buf := make([]byte, size)
		for {
			if _, err := body.Read(buf); err != nil {
				break
			}
		}
		if string(tp.taken(a)) != `{"n":12345678901234567890}` || string(tp.taken(b)) != `{}` {
			t.Errorf("by %d: %s %s", size, tp.taken(a), tp.taken(b))
		}
	}
}

type pieces struct{ *strings.Reader }

func (pieces) Close() error { return nil }

func TestLineReader_OversizeLines(t *testing.T) {
	long := strings.Repeat("y", 5000)
	for line, id := range map[string]string{
		`{"jsonrpc":"2.0","id":5,"result":{"t":"` + long + `"}}`:   "5",
		`{"result":{"t":"` + long + `"},"jsonrpc":"2.0","id":"a"}`: `"a"`,
		`{"id":6,"result":"` + long + `"}`:                         "6",
		`{"result":"` + long + `","id":7,"jsonrpc":"2.0"}`:         "7",
		`{"method":"x","params":"` + long + `"}`:                   "",
	} {
		for _, after := range []string{"\n", "\r\n", ""} {
			r := &lineReader{r: strings.NewReader("short\n" + line + after), max: 3000}
			if first, n, err := r.next(); string(first) != "short\n" || n != 6 || err != nil {
				t.Fatalf("%q %d %v", first, n, err)
			}
			ends, size, err := r.next()
			if err != nil || size != len(line)+len(after) || len(ends) > 2*endBytes {
				t.Fatalf("%d of %d, %v", len(ends), size, err)
			}
			msg := oversize(ends, size)
			if (msg == nil) != (id == "") {
				t.Errorf("%.40s: %v", line, msg)
			}
		}
	}
}

// B5: neither a query nor credentials of an address get into problems.
func TestSpec_B5_AddressesAreVeiled(t *testing.T) {
	web := httptest.NewServer(http.NotFoundHandler())
	address := strings.Replace(web.URL, "http://", "http://me:s3cret@", 1) + "/mcp?token=s3cret"
	web.Close() // nobody listens
	s := MCP("test", schemas.MCPServer{URL: address}, quiet)
	defer func() { _ = s.Close(soon(t)) }()
	if err := s.Ready(soon(t)); err != nil {
		t.Fatal(err)
	}
	problems := strings.Join(s.Offer().Problems, "|")
	if !strings.Contains(problems, "can't be used") || strings.Contains(problems, "s3cret") {
		t.Errorf("problems %q", problems)
	}
}
