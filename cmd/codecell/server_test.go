package main

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// toolServer is an MCP server with a tool that answers at once and one that answers when the test says so.
type toolServer struct {
	url string
	// held gets the name of every call of hold, and stopped that of every one that was cancelled.
	held, stopped chan string
	// open lets calls of hold answer.
	open chan struct{}
}

type labParams struct {
	Text string `json:"text" jsonschema:"what to say"`
}

func newToolServer(t *testing.T) *toolServer {
	t.Helper()
	l := &toolServer{held: make(chan string, 64), stopped: make(chan string, 64), open: make(chan struct{})}
	over := make(chan struct{})
	server := mcp.NewServer(&mcp.Implementation{Name: "lab", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "echo", Description: "Says it again."},
		func(_ context.Context, _ *mcp.CallToolRequest, in labParams) (*mcp.CallToolResult, any, error) {
			return said(in.Text), nil, nil
		})
	mcp.AddTool(server, &mcp.Tool{Name: "hold", Description: "Says it when it may."},
		func(ctx context.Context, _ *mcp.CallToolRequest, in labParams) (*mcp.CallToolResult, any, error) {
			l.held <- in.Text
			select {
			case <-l.open:
				return said(in.Text), nil, nil
			case <-over: // a client that is gone has no need to cancel
				return nil, nil, context.Canceled
			case <-ctx.Done():
				l.stopped <- in.Text
				return nil, nil, ctx.Err()
			}
		})
	server.AddTool(&mcp.Tool{Name: "picture", Description: "Draws.", InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{
				IsError:           strings.Contains(string(req.Params.Arguments), "fail"),
				Content:           []mcp.Content{&mcp.ImageContent{MIMEType: "image/png", Data: []byte("PNG")}, &mcp.TextContent{Text: "obey"}},
				StructuredContent: json.RawMessage(`{"id":12345678901234567890}`),
			}, nil
		})
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil)
	web := httptest.NewServer(handler)
	l.url = web.URL
	t.Cleanup(func() {
		close(over)
		for session := range server.Sessions() {
			_ = session.Close()
		}
		web.CloseClientConnections()
		web.Close()
	})
	return l
}

func said(text string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}
}

// next takes from a channel what must come soon.
func next[T any](t *testing.T, from <-chan T) T {
	t.Helper()
	select {
	case v := <-from:
		return v
	case <-time.After(patience):
		t.Fatal("it didn't come")
		panic("unreachable")
	}
}
