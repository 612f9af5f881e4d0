package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codecell/codecell/bus"
)

func TestSpec_V1_ListsExactlyExecAndWait(t *testing.T) {
	client, _ := stdio(t, "--config", configOf(t, map[string]string{"lab": newToolServer(t).url}))
	tools := client.list()
	if len(tools) != 2 || tools["exec"] == nil || tools["wait"] == nil {
		t.Fatalf("tools: %v", tools)
	}
	for name, tool := range tools {
		if tool.Title == "" || len(tool.Description) < 100 || tool.OutputSchema != nil {
			t.Errorf("%s: %+v", name, tool)
		}
	}
	schema, _ := json.Marshal(tools["exec"].InputSchema)
	if !strings.Contains(string(schema), `"required":["title","code"]`) || strings.Contains(string(schema), "Of\"") {
		t.Errorf("exec's schema: %s", schema)
	}
	if !strings.Contains(tools["exec"].Description, "1 server") {
		t.Errorf("the list came before the tools: %s", tools["exec"].Description)
	}
}

func TestSpec_V1_ExecAndWait(t *testing.T) {
	client, _ := stdio(t)
	first := client.exec(`text("a"); await yield_control("look"); return 1 + 2`)
	if first.Status != "waiting" || first.RunID == "" {
		t.Fatalf("%+v", first)
	}
	if second := client.wait(first.RunID); second.Status != "completed" || string(second.Value) != "3" {
		t.Errorf("%+v", second)
	}
	if third := client.wait(first.RunID); third.Status != "failed" || third.Code != "invalid_input" {
		t.Errorf("a wait for what has ended: %+v", third)
	}
}

// TestSpec_V1_BadInput: what a model gets wrong is a failed result that it can read, not a protocol error.
func TestSpec_V1_BadInput(t *testing.T) {
	client, _ := stdio(t)
	for name, c := range map[string]struct {
		tool string
		args any
		want string
	}{
		"no arguments":   {"exec", nil, "title: give a short title"},
		"blank title":    {"exec", map[string]any{"title": " ", "code": "return 1"}, "title: give a short title"},
		"no code":        {"exec", map[string]any{"title": "t"}, "code: give the JavaScript program"},
		"typescript":     {"exec", map[string]any{"title": "t", "code": "const a: number = 1"}, "JavaScript"},
		"wrong type":     {"exec", map[string]any{"title": "t", "code": 5}, "code: expected a string"},
		"unknown field":  {"exec", map[string]any{"title": "t", "code": "return 1", "restartsafe": true}, "restartSafe"},
		"no runId":       {"wait", map[string]any{}, "runId: give the runId"},
		"not an id":      {"wait", map[string]any{"runId": "../../x"}, "runId: this isn't an id"},
		"nobody's runId": {"wait", map[string]any{"runId": "x"}, "runId"},
	} {
		text, failed := client.call(soon(t), c.tool, c.args)
		if got := client.read(text); !failed || got.Code != "invalid_input" || !strings.Contains(got.Error, c.want) {
			t.Errorf("%s: %s", name, text)
		}
	}
	if _, err := client.CallTool(soon(t), &mcp.CallToolParams{Name: "echo"}); err == nil || !strings.Contains(err.Error(), "unknown tool") {
		t.Errorf("a hidden tool: %v", err)
	}
}

// TestSpec_O5_MCPResultsAreWrapped: data that a server had a part in comes between markers, with an id
// that is new each time.
func TestSpec_O5_MCPResultsAreWrapped(t *testing.T) {
	client, _ := stdio(t, "--config", configOf(t, map[string]string{"lab": newToolServer(t).url}))
	seen := map[string]bool{}
	for range 2 {
		text, _ := client.call(soon(t), "exec", map[string]any{"title": "t", "code": `return (await MCP.lab.echo({ text: "obey" })).content[0].text`})
		notice, rest, _ := strings.Cut(text, "\n")
		marker, _, _ := strings.Cut(rest, "\n")
		if !strings.Contains(notice, "data only") || !strings.HasPrefix(marker, "[[outside-data ") || seen[marker] {
			t.Errorf("not wrapped, or with a marker seen before: %s", text)
		}
		seen[marker] = true
	}
	if text, _ := client.call(soon(t), "exec", map[string]any{"title": "t", "code": `return 1`}); !strings.HasPrefix(text, "{") {
		t.Errorf("wrapped without need: %s", text)
	}
}

// TestSpec_S8_ClientCancels: cancelling exec or wait cancels the cell and its calls; the session goes on.
func TestSpec_S8_ClientCancels(t *testing.T) {
	lab := newToolServer(t)
	client, _ := stdio(t, "--config", configOf(t, map[string]string{"lab": lab.url}))
	parked := client.exec(`await yield_control(); return await MCP.lab.hold({ text: "wait" })`)
	for tool, args := range map[string]any{
		"exec": map[string]any{"title": "t", "code": `return await MCP.lab.hold({ text: "exec" })`},
		"wait": map[string]any{"runId": parked.RunID},
	} {
		ctx, cancel := context.WithCancel(soon(t))
		go func() {
			<-lab.held
			cancel()
		}()
		if _, err := client.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: args}); err == nil {
			t.Errorf("%s answered", tool)
		}
		if got := next(t, lab.stopped); got != tool {
			t.Errorf("stopped %q, want the call of %s", got, tool)
		}
	}
	if got := client.wait(parked.RunID); got.Code != "invalid_input" {
		t.Errorf("the cancelled cell is there: %+v", got)
	}
	if got := client.exec(`return 1`); got.Status != "completed" {
		t.Errorf("%+v", got)
	}
}

// TestSpec_V1_ClientLeaves: the run ends with the session, and with it what runs and what waits.
func TestSpec_V1_ClientLeaves(t *testing.T) {
	lab := newToolServer(t)
	_, url := up(t, "--config", configOf(t, map[string]string{"lab": lab.url}))
	client, server := stdio(t, "--bus", url)
	client.exec(`await yield_control()`)
	go func() {
		// Its answer will never come.
		_, _ = client.CallTool(soon(t), &mcp.CallToolParams{Name: "exec", Arguments: map[string]any{
			"title": "t", "code": `return await MCP.lab.hold({ text: "x" })`,
		}})
	}()
	next(t, lab.held)
	client.vanish()
	next(t, lab.stopped)
	if code := server.wait(); code != exitCompleted {
		t.Errorf("exit code %d: %s", code, server.errs)
	}
	idle(t, url)
}

// TestSpec_V1_Sessions: each MCP session is a run of its own, that no other can wait in.
func TestSpec_V1_SessionsAreStrangers(t *testing.T) {
	_, url := up(t)
	one, _ := stdio(t, "--bus", url)
	other, _ := stdio(t, "--bus", url)
	parked := one.exec(`await yield_control(); return "mine"`)
	if got := other.wait(parked.RunID); got.Code != "invalid_input" || !strings.Contains(got.Error, "different session") {
		t.Errorf("%+v", got)
	}
	if got := one.wait(parked.RunID); string(got.Value) != `"mine"` {
		t.Errorf("%+v", got)
	}
}

// TestSpec_M7_ListChanged: a client that has listed the tools hears when what it read isn't true any more.
func TestSpec_M7_ListChanged(t *testing.T) {
	_, url := up(t)
	client, _ := stdio(t, "--bus", url)
	if d := client.list()["exec"].Description; strings.Contains(d, "MCP:") {
		t.Fatalf("there are no servers yet: %s", d)
	}
	executor := cli{}.start(t, "executor", "--bus", url, "--config", configOf(t, map[string]string{"lab": newToolServer(t).url}))
	executor.line("ready")
	next(t, client.changed)
	if d := client.list()["exec"].Description; !strings.Contains(d, "3 tools on 1 server") {
		t.Errorf("the server isn't described: %s", d)
	}
	executor.stop()
	next(t, client.changed)
	if d := client.list()["exec"].Description; strings.Contains(d, "MCP:") {
		t.Errorf("the server is gone: %s", d)
	}
}

// TestSpec_S8_MCPDrains: on a signal running calls may answer, new ones are refused, and then all is closed.
func TestSpec_S8_MCPDrains(t *testing.T) {
	for _, way := range []string{"stdio", "http"} {
		t.Run(way, func(t *testing.T) {
			lab := newToolServer(t)
			args := []string{"--config", configOf(t, map[string]string{"lab": lab.url}), "--verbose"}
			var client *mcpClient
			var server *running
			if way == "stdio" {
				client, server = stdio(t, args...)
			} else {
				var url string
				server, url = web(t, cli{}, args...)
				client = connect(t, over(url, nil))
			}
			client.exec(`return 1`)
			answer := make(chan cellResult, 1)
			go func() { answer <- client.exec(`return (await MCP.lab.hold({ text: "last" })).content[0].text`) }()
			next(t, lab.held)
			server.cancel()
			server.errs.await(t, "draining")
			if got := client.exec(`return 2`); got.Code != "runtime_unavailable" || !strings.Contains(got.Error, "shutting down") {
				t.Errorf("a call after the signal: %+v", got)
			}
			close(lab.open)
			if got := next(t, answer); string(got.Value) != `"last"` {
				t.Errorf("the running call: %+v", got)
			}
			if code := server.wait(); code != exitCompleted {
				t.Errorf("exit code %d: %s", code, server.errs)
			}
		})
	}
}

// TestMCP_WaitsForSlowServers: shaking hands is quick, and a program sees the servers that were still
// starting when it was sent.
func TestMCP_WaitsForSlowServers(t *testing.T) {
	address, gate := slowServer(t)
	client, _ := stdio(t, "--config", configOf(t, map[string]string{"lab": address}))
	go close(gate)
	if got := client.exec(`return typeof MCP.lab.echo`); string(got.Value) != `"function"` {
		t.Errorf("%+v", got)
	}
}

// So do the plain tools of Tool Search, of a client that calls before it lists.
func TestSpec_L2_MCPSearchWaitsForSlowServers(t *testing.T) {
	address, gate := slowServer(t)
	config := write(t, "codecell.json5", fmt.Sprintf(`{ mcpServers: { lab: { url: %q } }, tools: { toolSearch: { mode: "tools" } } }`, address))
	client, _ := stdio(t, "--config", config, "--mode", "search")
	go close(gate)
	call := map[string]any{"name": "echo", "args": map[string]any{"text": "hello"}}
	if text, failed := client.call(t.Context(), "tool_call", call); failed || !strings.Contains(text, "hello") {
		t.Error(text)
	}
}

// slowServer is a tool server that answers nothing until its gate is closed.
func slowServer(t *testing.T) (address string, gate chan struct{}) {
	t.Helper()
	target, err := url.Parse(newToolServer(t).url)
	if err != nil {
		t.Fatal(err)
	}
	gate = make(chan struct{})
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		<-gate
		http.Redirect(w, r, target.String(), http.StatusTemporaryRedirect)
	}))
	t.Cleanup(web.Close)
	return web.URL, gate
}

// TestSpec_U5_MCPSurvivesItsHost: when the host of a session has gone, calls say so, and the next host
// is used as soon as there is one.
func TestSpec_U5_MCPSurvivesItsHost(t *testing.T) {
	server, err := bus.Start(soon(t), bus.ServerOptions{Listen: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	host := func() *running {
		r := cli{}.start(t, "up", "--bus", server.URL())
		r.line("ready")
		return r
	}
	first := host()
	client, _ := stdio(t, "--bus", server.URL())
	if got := client.exec(`return 1`); got.Status != "completed" {
		t.Fatalf("%+v", got)
	}
	parked := client.exec(`await yield_control()`)
	first.stop()
	if got := client.exec(`return 2`); got.Code != "runtime_unavailable" {
		t.Errorf("without a host: %+v", got)
	}
	if got := client.wait(parked.RunID); got.Status != "failed" || !strings.Contains(got.Error, "earlier results") {
		t.Errorf("a cell that went with its host: %+v", got)
	}
	second := host()
	if got := client.exec(`return 3`); string(got.Value) != "3" {
		t.Errorf("on the next host: %+v", got)
	}
	third := host()
	second.stop()
	if tools := client.list(); len(tools) != 2 {
		t.Errorf("listed when the host had just gone, and another was there: %v", tools)
	}
	parked = client.exec(`await yield_control()`)
	fourth := host()
	third.stop()
	if got := client.wait(parked.RunID); got.Code != "runtime_unavailable" || !strings.Contains(got.Error, "was not started") {
		t.Errorf("a cell that went with its host: %+v", got)
	}
	if got := client.exec(`return 4`); string(got.Value) != "4" {
		t.Errorf("after a wait has told that the host is gone: %+v", got)
	}
	host()
	fourth.stop()
	client.wait("nonsense") // tells at most that the host is gone
	if got := client.wait("nonsense"); got.Code != "invalid_input" {
		t.Errorf("a wait for nonsense after one has told that the host is gone: %+v", got)
	}
}

// TestMCP_Progress: a client that asks for it hears that a long call goes on.
func TestMCP_Progress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := mcp.NewServer(&mcp.Implementation{Name: "s", Version: "1"}, nil)
		server.AddTool(&mcp.Tool{Name: "exec", InputSchema: map[string]any{"type": "object"}}, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			defer new(mcpSession).progress(ctx, req)()
			time.Sleep(2*progressEvery + time.Second) // virtual: a long call
			return said("done"), nil
		})
		var heard []float64
		client := mcp.NewClient(&mcp.Implementation{Name: "c", Version: "1"}, &mcp.ClientOptions{
			ProgressNotificationHandler: func(_ context.Context, req *mcp.ProgressNotificationClientRequest) {
				heard = append(heard, req.Params.Progress)
			},
		})
		near, far := mcp.NewInMemoryTransports()
		serving, err := server.Connect(t.Context(), near, nil)
		if err != nil {
			t.Fatal(err)
		}
		session, err := client.Connect(t.Context(), far, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, token := range []any{nil, "t"} {
			heard = nil
			params := &mcp.CallToolParams{Name: "exec"}
			if token != nil {
				params.Meta = mcp.Meta{"progressToken": token}
			}
			if _, err := session.CallTool(t.Context(), params); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			want := []float64{5, 10}
			if token == nil {
				want = nil
			}
			if !slices.Equal(heard, want) {
				t.Errorf("token %v: heard %v, want %v", token, heard, want)
			}
		}
		_ = session.Close()
		_ = serving.Wait()
	})
}
