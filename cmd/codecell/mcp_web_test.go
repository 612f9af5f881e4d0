package main

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// web starts `codecell mcp --http` and gives its URL.
func web(t *testing.T, c cli, args ...string) (server *running, url string) {
	t.Helper()
	server = c.start(t, append([]string{"mcp", "--http", "127.0.0.1:0", "--json"}, args...)...)
	var ready struct{ URL string }
	if err := json.Unmarshal([]byte(server.line("ready")), &ready); err != nil || ready.URL == "" {
		t.Fatalf("no URL in the readiness line: %v", err)
	}
	return server, ready.URL
}

// over is the way to a URL. retries is how often a broken stream is taken up again.
func over(url string, client *http.Client) *mcp.StreamableClientTransport {
	return &mcp.StreamableClientTransport{Endpoint: url, HTTPClient: client}
}

func TestSpec_V1_HTTP(t *testing.T) {
	_, url := web(t, cli{})
	one, other := connect(t, over(url, nil)), connect(t, over(url, nil))
	parked := one.exec(`await yield_control(); return 1 + 2`)
	if got := other.wait(parked.RunID); got.Code != "invalid_input" {
		t.Errorf("another session: %+v", got)
	}
	if got := one.wait(parked.RunID); string(got.Value) != "3" {
		t.Errorf("%+v", got)
	}
	if tools := one.list(); len(tools) != 2 {
		t.Errorf("tools: %v", tools)
	}
}

// TestMCP_HTTPGuard: web pages and strangers stay out, by whatever name they call this machine.
func TestMCP_HTTPGuard(t *testing.T) {
	const post, get = http.MethodPost, http.MethodGet
	for _, c := range []struct {
		name                  string
		local                 bool
		token                 string
		method, host, path    string
		origin, authorization string
		want                  int
	}{
		{"a program on this machine", true, "", post, "127.0.0.1:8811", "/mcp", "", "", 200},
		{"by name", true, "", post, "localhost:8811", "/mcp", "", "", 200},
		{"by name without a port", true, "", post, "LOCALHOST", "/mcp", "", "", 200},
		{"over IPv6", true, "", post, "[::1]:8811", "/mcp", "", "", 200},
		{"a name that was bound to this machine", true, "", post, "evil.example:8811", "/mcp", "", "", 403},
		{"a name that only begins like this machine", true, "", post, "localhost.evil.example", "/mcp", "", "", 403},
		{"an address that isn't this machine's", true, "", post, "10.0.0.1:8811", "/mcp", "", "", 403},
		{"no host", true, "", post, "", "/mcp", "", "", 403},
		{"a page from elsewhere", true, "", post, "127.0.0.1:8811", "/mcp", "https://evil.example", "", 403},
		{"a page from elsewhere, reading", true, "", get, "127.0.0.1:8811", "/mcp", "https://evil.example", "", 403},
		{"a page without an origin of its own", true, "", post, "127.0.0.1:8811", "/mcp", "null", "", 403},
		{"an origin that is no URL", true, "", post, "127.0.0.1:8811", "/mcp", "::", "", 403},
		{"a page of this machine", true, "", post, "127.0.0.1:8811", "/mcp", "http://localhost:6274", "", 200},
		{"elsewhere in the server", true, "", get, "127.0.0.1:8811", "/", "", "", 404},
		{"open to others, with the token", false, "secret", post, "codecell.example", "/mcp", "", "Bearer secret", 200},
		{"the scheme in small letters", false, "secret", post, "codecell.example", "/mcp", "", "bearer secret", 200},
		{"open to others, without", false, "secret", post, "codecell.example", "/mcp", "", "", 401},
		{"another token", false, "secret", post, "codecell.example", "/mcp", "", "Bearer secre", 401},
		{"another scheme", false, "secret", post, "codecell.example", "/mcp", "", "Basic secret", 401},
		{"a page of the server", false, "secret", post, "codecell.example", "/mcp", "https://codecell.example", "Bearer secret", 200},
		{"a page of a machine's own, open to others", false, "secret", post, "codecell.example", "/mcp", "http://localhost", "Bearer secret", 403},
		{"local with a token, without it", true, "secret", post, "127.0.0.1", "/mcp", "", "", 401},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := &mcpWeb{url: "http://127.0.0.1:8811/mcp", local: c.local, token: c.token}
			r := httptest.NewRequestWithContext(t.Context(), c.method, c.path, nil)
			r.Host = c.host
			for name, value := range map[string]string{"Origin": c.origin, "Authorization": c.authorization} {
				if value != "" {
					r.Header.Set(name, value)
				}
			}
			got := httptest.NewRecorder()
			w.guard(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})).ServeHTTP(got, r)
			if got.Code != c.want {
				t.Errorf("%d, want %d: %s", got.Code, c.want, got.Body)
			}
			if got.Code != http.StatusOK && got.Body.Len() < 10 {
				t.Errorf("doesn't say why: %q", got.Body)
			}
		})
	}
}

func TestMCP_HTTPAddress(t *testing.T) {
	taken, _ := web(t, cli{})
	_ = taken
	for address, want := range map[string]string{
		"nonsense":       "expected host:port",
		"127.0.0.1:x":    "can't listen there",
		"192.0.2.1:8811": "can't listen there", // an address of no machine
		"0.0.0.0:0":      tokenVariable,
		":0":             tokenVariable,
	} {
		cli{}.do(t, "mcp", "--http", address).want(t, exitUsage, want)
	}
	cli{}.do(t, "mcp", "--max-sessions", "0").want(t, exitUsage, "--max-sessions")
}

// TestMCP_HTTPToken: with a token the server may be open to others, and lets in who shows it.
func TestMCP_HTTPToken(t *testing.T) {
	server := cli{env: map[string]string{tokenVariable: "secret"}}.start(t, "mcp", "--http", "0.0.0.0:0", "--json")
	var ready struct{ URL string }
	if err := json.Unmarshal([]byte(server.line("ready")), &ready); err != nil {
		t.Fatal(err)
	}
	url := strings.NewReplacer("[::]", "127.0.0.1", "0.0.0.0", "127.0.0.1").Replace(ready.URL)
	client := connect(t, over(url, &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		r.Header.Set("Authorization", "Bearer secret")
		return http.DefaultTransport.RoundTrip(r)
	})}))
	if got := client.exec(`return 1`); got.Status != "completed" {
		t.Errorf("%+v", got)
	}
	_, err := mcp.NewClient(&mcp.Implementation{Name: "c", Version: "1"}, nil).Connect(soon(t), over(url, nil), nil)
	if err == nil || !strings.Contains(err.Error(), "Unauthorized") {
		t.Errorf("without the token: %v", err)
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestMCP_HTTPSessionsAreBounded: no more sessions than allowed, and requests that become no session
// take no place.
func TestMCP_HTTPSessionsAreBounded(t *testing.T) {
	_, url := web(t, cli{}, "--max-sessions", "1")
	for _, body := range []string{"", "{", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, `{"jsonrpc":"2.0","id":1,"method":"no/such"}`} {
		post(t, url, body)
	}
	first := connect(t, over(url, nil))
	_, err := mcp.NewClient(&mcp.Implementation{Name: "c", Version: "1"}, nil).Connect(soon(t), over(url, nil), nil)
	if err == nil || !strings.Contains(err.Error(), "no more than 1 sessions") {
		t.Errorf("a second session: %v", err)
	}
	if got := first.exec(`return 1`); got.Status != "completed" {
		t.Errorf("%+v", got)
	}
	_ = first.Close()
	if got := connect(t, over(url, nil)).exec(`return 1`); got.Status != "completed" {
		t.Errorf("%+v", got)
	}
}

// post sends what may be no message at all.
func post(t *testing.T, url, body string) {
	t.Helper()
	r, err := http.NewRequestWithContext(soon(t), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	got, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, got.Body)
	_ = got.Body.Close()
}

// TestMCP_HTTPSessionEnds: a client that takes leave ends its run at once, calls and all; one that falls
// silent does in time.
func TestMCP_HTTPSessionEnds(t *testing.T) {
	lab := newToolServer(t)
	_, bus := up(t, "--config", configOf(t, map[string]string{"lab": lab.url}))
	tail := cli{}.start(t, "tail", "--bus", bus, "--json", "run.closed")
	tail.errs.await(t, "listening")

	t.Run("delete", func(t *testing.T) {
		_, url := web(t, cli{}, "--bus", bus)
		client := connect(t, over(url, nil))
		go func() {
			_, _ = client.CallTool(soon(t), &mcp.CallToolParams{Name: "exec", Arguments: map[string]any{
				"title": "t", "code": `return await MCP.lab.hold({ text: "x" })`, "awaitResults": true,
			}})
		}()
		next(t, lab.held)
		r, err := http.NewRequestWithContext(soon(t), http.MethodDelete, url, nil) // the SDK's client would wait for its call
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set(sessionHeader, client.ID())
		got, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		got.Body.Close()
		if got.StatusCode != http.StatusNoContent {
			t.Errorf("%v", got)
		}
		next(t, lab.stopped)
		tail.line("the client left")
	})
	t.Run("silence", func(t *testing.T) {
		_, url := web(t, cli{}, "--bus", bus, "--idle-timeout", "3s") // longer than the client needs between two requests, on any machine
		connect(t, over(url, nil)).exec(`await yield_control()`)
		tail.line("the client left")
	})
}

// TestMCP_HTTPBrokenStream: an answer that a broken connection would have lost is fetched again, and the
// program ran once.
func TestMCP_HTTPBrokenStream(t *testing.T) {
	lab := newToolServer(t)
	_, url := web(t, cli{}, "--config", configOf(t, map[string]string{"lab": lab.url}))
	wire := &breakable{}
	client := connect(t, over(url, &http.Client{Transport: wire}))
	go func() {
		<-lab.held
		wire.cut()
		close(lab.open)
	}()
	if got := client.exec(`return (await MCP.lab.hold({ text: "once" })).content[0].text`); string(got.Value) != `"once"` {
		t.Errorf("%+v", got)
	}
	if len(lab.held) != 0 {
		t.Error("the program ran again")
	}
}

// breakable is a network whose connections can be cut.
type breakable struct {
	mu   sync.Mutex
	cuts []context.CancelFunc
}

func (b *breakable) RoundTrip(r *http.Request) (*http.Response, error) {
	got, err := http.DefaultTransport.RoundTrip(r)
	if err != nil || r.Method != http.MethodPost {
		return got, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	reader, writer := io.Pipe()
	body := got.Body
	context.AfterFunc(ctx, func() {
		_ = writer.CloseWithError(io.ErrUnexpectedEOF)
		_ = body.Close()
	})
	go func() {
		_, err := io.Copy(writer, body)
		_ = writer.CloseWithError(err)
		_ = body.Close()
	}()
	got.Body = reader
	b.mu.Lock()
	defer b.mu.Unlock()
	b.cuts = append(b.cuts, cancel)
	return got, nil
}

// cut breaks all answers that are under way.
func (b *breakable) cut() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, cut := range b.cuts {
		cut()
	}
}
