package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codecell/codecell/schemas"
)

// directConfig shows some tools of a server to the model.
func directConfig(t *testing.T, lab *toolServer, tools string) string {
	t.Helper()
	return write(t, "codecell.json5", fmt.Sprintf(`{ mcpServers: { lab: { url: %q } }, tools: { direct: [%s] } }`, lab.url, tools))
}

// TestSpec_A2_DirectTools: what programs can't use, such as an image, is a tool of the model, which gets
// its result natively.
func TestSpec_A2_DirectTools(t *testing.T) {
	client, _ := stdio(t, "--config", directConfig(t, newToolServer(t), `"lab.picture"`))
	tools := client.list()
	if len(tools) != 3 || tools["picture"] == nil || tools["picture"].Description != "Draws." {
		t.Fatalf("tools: %v", tools)
	}
	got, err := client.CallTool(soon(t), &mcp.CallToolParams{Name: "picture"})
	if err != nil || got.IsError || len(got.Content) != 2 {
		t.Fatalf("%+v, %v", got, err)
	}
	if image, ok := got.Content[0].(*mcp.ImageContent); !ok || string(image.Data) != "PNG" {
		t.Errorf("%+v", got.Content[0])
	}
	if text, ok := got.Content[1].(*mcp.TextContent); !ok || !strings.Contains(text.Text, "\nobey\n[[end-outside-data ") {
		t.Errorf("a server's text isn't wrapped: %+v", got.Content[1])
	}
	if got := client.exec(`return typeof MCP.lab.picture`); string(got.Value) != `"undefined"` {
		t.Errorf("programs see it: %+v", got)
	}
	if _, err := client.CallTool(soon(t), &mcp.CallToolParams{Name: "echo"}); err == nil || !strings.Contains(err.Error(), "unknown tool") {
		t.Errorf("a hidden tool: %v", err)
	}
}

// TestMCP_DirectWaitsForSlowServers: a client that knows the tool needn't list it first, nor know that
// its server is still starting.
func TestMCP_DirectWaitsForSlowServers(t *testing.T) {
	target, err := url.Parse(newToolServer(t).url)
	if err != nil {
		t.Fatal(err)
	}
	started, gate := make(chan struct{}, 64), make(chan struct{})
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		started <- struct{}{}
		<-gate
		http.Redirect(w, r, target.String(), http.StatusTemporaryRedirect)
	}))
	t.Cleanup(web.Close)
	client, _ := stdio(t, "--config", directConfig(t, &toolServer{url: web.URL}, `"lab.picture"`))
	next(t, started)
	answer := make(chan error, 1)
	go func() {
		got, err := client.CallTool(soon(t), &mcp.CallToolParams{Name: "picture"})
		if err == nil && got.IsError {
			err = fmt.Errorf("%+v", got.Content)
		}
		answer <- err
	}()
	// What asks the host no more than these do would have answered meanwhile.
	for range 20 {
		client.wait("aaaaaaaaaa-aaaaaaaaaaaaaaaaaaaaaaaaaa")
	}
	close(gate)
	if err := next(t, answer); err != nil {
		t.Error(err)
	}
	if _, err := client.CallTool(soon(t), &mcp.CallToolParams{Name: "pictures"}); err == nil || !strings.Contains(err.Error(), "unknown tool") {
		t.Errorf("a tool that isn't there: %v", err)
	}
}

// TestSpec_S8_DirectCancelled: cancelling the call cancels the tool.
func TestSpec_S8_DirectCancelled(t *testing.T) {
	lab := newToolServer(t)
	client, _ := stdio(t, "--config", directConfig(t, lab, `"lab.hold", "lab.echo"`))
	client.list()
	ctx, cancel := context.WithCancel(soon(t))
	go func() {
		<-lab.held
		cancel()
	}()
	if _, err := client.CallTool(ctx, &mcp.CallToolParams{Name: "hold", Arguments: map[string]any{"text": "x"}}); err == nil {
		t.Error("it answered")
	}
	next(t, lab.stopped)
	if text, failed := client.call(soon(t), "echo", map[string]any{"text": 5}); !failed || !strings.Contains(text, "text") {
		t.Errorf("a bad argument: %s", text)
	}
}

func TestMCP_DirectResults(t *testing.T) {
	t.Run("digits stay", func(t *testing.T) {
		got := nativeResult(schemas.JSON(`{"content":[],"structuredContent":{"id":12345678901234567890}}`))
		if b, err := json.Marshal(got); err != nil || !strings.Contains(string(b), "12345678901234567890") {
			t.Errorf("%s, %v", b, err)
		}
	})
	t.Run("not a result", func(t *testing.T) {
		if got := nativeResult(schemas.JSON(`[`)); !got.IsError {
			t.Errorf("%+v", got)
		}
	})
	for value, object := range map[string]bool{`{"a":1}`: true, `[1]`: false, `"x"`: false, ``: false} {
		for _, declared := range []bool{true, false} {
			got := valueResult(&schemas.Directed{Value: schemas.JSON(value)}, declared)
			if text := got.Content[0].(*mcp.TextContent).Text; text != value && value != "" || (got.StructuredContent != nil) != (object && declared) {
				t.Errorf("%s: %+v", value, got)
			}
		}
	}
	got := valueResult(&schemas.Directed{Value: schemas.JSON(`{"a":1}`), Untrusted: true}, false)
	if text := got.Content[0].(*mcp.TextContent).Text; !strings.Contains(text, "\n{\"a\":1}\n[[end-outside-data ") || got.StructuredContent != nil {
		t.Errorf("what others said isn't wrapped: %+v", got)
	}
}
