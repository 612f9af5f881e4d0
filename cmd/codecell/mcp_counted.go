package main

import (
	"context"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// counted is a transport whose tool calls the service counts, from their arrival until their answers are out. Other
// requests are answered at once, or, as subscriptions, when the client leaves.
type counted struct {
	mcp.Transport
	service *mcpService
}

// Connect connects.
func (t counted) Connect(ctx context.Context) (mcp.Connection, error) {
	conn, err := t.Transport.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &countedConn{Connection: conn, service: t.service, open: map[jsonrpc.ID]bool{}}, nil
}

type countedConn struct {
	mcp.Connection
	service *mcpService

	mu   sync.Mutex
	open map[jsonrpc.ID]bool
}

// Read gives the next message.
func (c *countedConn) Read(ctx context.Context) (jsonrpc.Message, error) {
	message, err := c.Connection.Read(ctx)
	if call, ok := message.(*jsonrpc.Request); ok && err == nil && call.IsCall() && call.Method == methodCall {
		c.mu.Lock()
		defer c.mu.Unlock()
		if !c.open[call.ID] {
			c.open[call.ID] = true
			c.service.begin()
		}
	}
	return message, err
}

// Write sends a message.
func (c *countedConn) Write(ctx context.Context, message jsonrpc.Message) error {
	err := c.Connection.Write(ctx, message)
	if answer, ok := message.(*jsonrpc.Response); ok {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.open[answer.ID] {
			delete(c.open, answer.ID)
			c.service.end()
		}
	}
	return err
}
