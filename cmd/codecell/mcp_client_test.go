package main

import (
	"context"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// mcpClient is a client of `codecell mcp`.
type mcpClient struct {
	*mcp.ClientSession
	t       *testing.T
	changed chan struct{} // a changed list of tools was announced
	// vanish closes standard input and output without a word, as the death of the client does.
	vanish func()
}

// connect shakes hands over a transport.
func connect(t *testing.T, transport mcp.Transport) *mcpClient {
	t.Helper()
	c := &mcpClient{t: t, changed: make(chan struct{}, 16)}
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { c.changed <- struct{}{} },
	})
	var err error
	if c.ClientSession, err = client.Connect(soon(t), transport, nil); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// stdio starts `codecell mcp` and connects to its standard input and output.
func stdio(t *testing.T, args ...string) (*mcpClient, *running) {
	t.Helper()
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	ctx, cancel := context.WithCancel(context.Background())
	r := &running{t: t, errs: &lineLog{changed: make(chan struct{})}, cancel: cancel, ended: make(chan struct{})}
	a := &app{in: in, out: out, err: r.errs, env: func(string) string { return "" }}
	go func() {
		defer close(r.ended)
		r.code = a.run(ctx, append([]string{"mcp"}, args...))
		_ = out.Close()
		_ = in.Close()
	}()
	t.Cleanup(func() {
		if code := r.stop(); code != exitCompleted {
			t.Errorf("mcp ended with %d: %s", code, r.errs)
		}
	})
	client := connect(t, &mcp.IOTransport{Reader: fromServer, Writer: toServer})
	client.vanish = func() {
		_ = toServer.Close()
		_ = fromServer.Close()
	}
	return client, r
}

// list gives the tools by name.
func (c *mcpClient) list() map[string]*mcp.Tool {
	c.t.Helper()
	list, err := c.ListTools(soon(c.t), nil)
	if err != nil {
		c.t.Fatal(err)
	}
	tools := map[string]*mcp.Tool{}
	for _, tool := range list.Tools {
		tools[tool.Name] = tool
	}
	return tools
}

// call calls a tool and gives the text that a model would read.
func (c *mcpClient) call(ctx context.Context, tool string, args any) (text string, failed bool) {
	c.t.Helper()
	got, err := c.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		c.t.Fatal(err)
	}
	if len(got.Content) != 1 || got.StructuredContent != nil {
		c.t.Fatalf("want one block of text and nothing else, got %+v", got)
	}
	block, ok := got.Content[0].(*mcp.TextContent)
	if !ok {
		c.t.Fatalf("want text, got %T", got.Content[0])
	}
	return block.Text, got.IsError
}

// cellResult is a result as a model reads it.
type cellResult struct {
	Status, RunID, Error, Code string
	Value                      json.RawMessage
}

// exec runs a program and reads its result.
func (c *mcpClient) exec(source string) cellResult {
	c.t.Helper()
	text, _ := c.call(soon(c.t), "exec", map[string]any{"title": c.t.Name(), "code": source})
	return c.read(text)
}

func (c *mcpClient) wait(runID string) cellResult {
	c.t.Helper()
	text, _ := c.call(soon(c.t), "wait", map[string]any{"runId": runID})
	return c.read(text)
}

func (c *mcpClient) read(text string) (r cellResult) {
	c.t.Helper()
	from, to := strings.IndexByte(text, '{'), strings.LastIndexByte(text, '}')
	if from < 0 || json.Unmarshal([]byte(text[from:to+1]), &r) != nil {
		c.t.Fatalf("no result: %s", text)
	}
	return r
}
