package tool

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codecell/codecell/schemas"
)

// forgetful is an HTTP server that forgets its sessions when it is told to, and says so with a body, in which $ID is the id of
// the request. It counts what was called.
type forgetful struct {
	body string

	mu    sync.Mutex
	known map[string]bool
	never string // it knows no session for this method
	calls int
}

func (f *forgetful) forget() {
	f.mu.Lock()
	defer f.mu.Unlock()
	clear(f.known)
}

func (f *forgetful) count(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls++
	return &mcp.CallToolResult{Content: []mcp.Content{}, StructuredContent: map[string]int{"n": f.calls}}, nil
}

var idOf = regexp.MustCompile(`"id":(\d+)`)

func (f *forgetful) serve(t *testing.T) *Server {
	t.Helper()
	server := mcp.NewServer(&mcp.Implementation{Name: "web", Version: "1"}, nil)
	server.AddTool(&mcp.Tool{Name: "count", InputSchema: json.RawMessage(`{"type":"object"}`)}, f.count)
	inner := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{JSONResponse: true})
	f.known = map[string]bool{}
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sent, _ := io.ReadAll(r.Body)
		session := r.Header.Get(sessionHeader)
		f.mu.Lock()
		lost := session != "" && (!f.known[session] || f.never != "" && strings.Contains(string(sent), f.never))
		f.mu.Unlock()
		if lost {
			id := "0"
			if m := idOf.FindSubmatch(sent); m != nil {
				id = string(m[1])
			}
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprint(w, strings.ReplaceAll(f.body, "$ID", id))
			return
		}
		r.Body = io.NopCloser(strings.NewReader(string(sent)))
		inner.ServeHTTP(w, r)
		if made := w.Header().Get(sessionHeader); made != "" {
			f.mu.Lock()
			f.known[made] = true
			f.mu.Unlock()
		}
	}))
	t.Cleanup(func() {
		for session := range server.Sessions() { // the handler knows them still
			_ = session.Close()
		}
		web.CloseClientConnections()
		web.Close()
	})
	return connected(t, schemas.MCPServer{URL: web.URL})
}

// A server that was started anew answers what belongs to an older session with 404, and says what it likes: the call that
// meets it goes to a new session, once, and the next ones too.
func TestSpec_M7_Case65_ForgottenSessions(t *testing.T) {
	for name, body := range map[string]string{
		"for the request":  `{"jsonrpc":"2.0","id":$ID,"error":{"code":-32001,"message":"Session not found"}}`,
		"for no request":   `{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"Session not found"}}`,
		"for some request": `{"jsonrpc":"2.0","id":"server-error","error":{"code":-32600,"message":"Session not found"}}`,
		"no message":       `session not found`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := &forgetful{body: body}
			s := f.serve(t)
			for i := range 3 {
				if i == 1 {
					f.forget()
				}
				if got, err := through(t, s, "count", `{}`); err != nil || string(got) != fmt.Sprintf(`{"content":[],"structuredContent":{"n":%d}}`, i+1) {
					t.Fatalf("call %d: %s %v", i, got, err)
				}
			}
		})
	}
}

// A call for which no session lasts comes to an end, and hasn't started.
func TestSpec_M7_Case65_SessionsThatNeverLast(t *testing.T) {
	t.Parallel()
	f := &forgetful{body: `{"jsonrpc":"2.0","id":$ID,"error":{"code":-32001,"message":"Session not found"}}`, never: "tools/call"}
	_, err := through(t, f.serve(t), "count", `{}`)
	if err == nil || err.Effect != schemas.NotStarted || err.Location != atTransport || f.calls != 0 {
		t.Errorf("%+v, %d calls", err, f.calls)
	}
}

// A server that forgets the session before it has listed its tools is said to have.
func TestSpec_M7_Case65_SessionsForgottenBeforeTheList(t *testing.T) {
	t.Parallel()
	f := &forgetful{body: `session not found`, never: "tools/list"}
	if got := f.serve(t).Offer().Problems; len(got) != 1 || !strings.HasSuffix(got[0], "can't list its tools: it has forgotten the session") {
		t.Errorf("problems: %q", got)
	}
}

// What resumes the stream of a call has the context of that call. Where the session is forgotten, the call was taken all the
// same, and must not count as one that nobody got.
func TestSpec_U2_Case65_StreamsOfForgottenSessions(t *testing.T) {
	t.Parallel()
	web := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(web.Close)
	const call = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}}`
	msg, err := jsonrpc.DecodeMessage([]byte(call))
	if err != nil {
		t.Fatal(err)
	}
	for method, sent := range map[string]bool{http.MethodPost: false, http.MethodGet: true} {
		var r reply
		way := &tappedHTTP{next: web.Client().Transport, tap: &tap{}}
		ctx := way.tap.expect(t.Context(), &r)
		way.tap.outgoing(ctx, msg)
		req, err := http.NewRequestWithContext(ctx, method, web.URL, strings.NewReader(call))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set(sessionHeader, "gone")
		resp, err := way.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if got := way.tap.sent(&r); got != sent {
			t.Errorf("%s: sent %v, want %v", method, got, sent)
		}
	}
}
