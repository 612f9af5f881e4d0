package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codecell/codecell/actors/tool"
	"github.com/codecell/codecell/schemas"
)

// answers counts what is called, by the data set's ids.
type answers struct {
	mu     sync.Mutex
	called []string
}

// answer notes a call, and gives what every tool answers: a list of some hundred bytes, as APIs do.
func (a *answers) answer(id string) map[string]any {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.called = append(a.called, id)
	rows := make([]map[string]any, 10)
	for i := range rows {
		rows[i] = map[string]any{"id": i, "name": "item " + strconv.Itoa(i), "score": 100 - i, "state": "open"}
	}
	return map[string]any{"tool": id, "count": len(rows), "items": rows}
}

// take gives what was called since it was last asked.
func (a *answers) take() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	called := a.called
	a.called = nil
	return called
}

// plugins gives the tools as those of plugins, one for each server.
func (a *answers) plugins(c *collection) ([]tool.Provider, error) {
	funcs := map[string][]tool.Func{}
	for _, e := range c.entries {
		funcs[e.Server] = append(funcs[e.Server], tool.Raw(schemas.Tool{
			Name: e.Name, Description: e.Description, Parameters: schemas.JSON(e.Parameters),
		}, func(context.Context, schemas.JSON) (schemas.JSON, error) {
			return json.Marshal(a.answer(e.ID))
		}))
	}
	var all []tool.Provider
	for owner, tools := range funcs {
		provider, err := tool.Funcs(owner, tools...)
		if err != nil {
			return nil, err
		}
		all = append(all, provider)
	}
	return all, nil
}

// servers serves the tools as those of MCP servers over HTTP, and gives their entries of a configuration.
func (a *answers) servers(ctx context.Context, c *collection) (map[string]schemas.MCPServer, func(), error) {
	var all []string // servers by number, which is their path
	made := map[string]*mcp.Server{}
	for _, e := range c.entries {
		if made[e.Server] == nil {
			all = append(all, e.Server)
			made[e.Server] = mcp.NewServer(&mcp.Implementation{Name: e.Server, Version: "1"}, nil)
		}
		made[e.Server].AddTool(&mcp.Tool{Name: e.Name, Description: e.Description, InputSchema: orObject(e.Parameters)},
			func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				text, err := json.Marshal(a.answer(e.ID))
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: string(text)}}}, err
			})
	}
	handler := mcp.NewStreamableHTTPHandler(func(r *http.Request) *mcp.Server {
		n, err := strconv.Atoi(strings.TrimPrefix(r.URL.Path, "/"))
		if err != nil || n < 0 || n >= len(all) {
			return nil
		}
		return made[all[n]]
	}, nil)
	var listen net.ListenConfig
	listener, err := listen.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, nil, err
	}
	web := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	var serving sync.WaitGroup
	serving.Go(func() { _ = web.Serve(listener) }) // it ends by Close
	entries := make(map[string]schemas.MCPServer, len(all))
	for n, name := range all {
		entries[name] = schemas.MCPServer{URL: fmt.Sprintf("http://%s/%d", listener.Addr(), n)}
	}
	return entries, func() { _ = web.Close(); serving.Wait() }, nil
}

func orObject(parameters json.RawMessage) json.RawMessage {
	if len(parameters) == 0 || string(parameters) == "null" {
		return json.RawMessage(`{"type":"object"}`)
	}
	return parameters
}
