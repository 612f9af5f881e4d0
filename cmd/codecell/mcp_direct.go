package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codecell/codecell/schemas"
)

// isDirect tells whether the client sees this tool beside exec and wait, because programs can't use
// what it returns (A2).
func (s *mcpSession) isDirect(ctx context.Context, name string) bool {
	if name == toolExec || name == toolWait {
		return false
	}
	run, err := s.opened(ctx)
	if err != nil {
		return false
	}
	s.mu.Lock()
	surface := s.surface
	s.mu.Unlock()
	if showsDirect(surface, name) {
		return true
	}
	// Clients that know their tools call before they list: the server may still be starting, and the
	// watch may lag behind it.
	s.service.awaitTools(ctx, execPatience)
	described, err := run.Describe(ctx)
	return err == nil && showsDirect(described.Surface, name)
}

func showsDirect(surface schemas.Surface, name string) bool {
	return slices.ContainsFunc(surface.Tools, func(t schemas.SurfaceTool) bool { return t.Direct && t.Name == name })
}

// direct calls such a tool. The SDK's server doesn't know of them: adding and removing them would tell
// the client each time that the list has changed.
func (s *mcpSession) direct(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	return s.call(ctx, req, func(input schemas.JSON) (*mcp.CallToolResult, error) {
		run, err := s.opened(ctx)
		if err != nil {
			return directFailure(err), ctx.Err()
		}
		callID := newCallID("mcp")
		answer, err := run.Direct(ctx, schemas.Direct{CallID: callID, Name: req.Params.Name, Args: input})
		switch {
		case ctx.Err() != nil:
			s.abort(ctx, func(late context.Context) error { return run.Abort(late, callID, cancelReason) })
			return nil, ctx.Err()
		case err != nil:
			return directFailure(err), nil
		case answer.Call != nil:
			return directFailure(answer.Call), nil //nolint:nilerr // the model reads it as the result
		case answer.Source == schemas.SourceMCP:
			return nativeResult(answer.Value), nil
		default:
			return valueResult(answer.Value), nil
		}
	})
}

// nativeResult is an MCP tool's own result. Its texts are wrapped; what is structured stays as it is, to
// the digit (O5).
func nativeResult(value schemas.JSON) *mcp.CallToolResult {
	var result mcp.CallToolResult
	var exact struct {
		StructuredContent json.RawMessage `json:"structuredContent"`
	}
	if err := json.Unmarshal(value, &result); err != nil {
		return directFailure(err)
	}
	if json.Unmarshal(value, &exact) == nil && len(exact.StructuredContent) > 0 {
		result.StructuredContent = exact.StructuredContent
	}
	for _, block := range result.Content {
		if text, ok := block.(*mcp.TextContent); ok {
			text.Text = schemas.Untrusted("text", text.Text, rand.Text())
		}
	}
	return &result
}

// valueResult is the value of a tool of another kind.
func valueResult(value schemas.JSON) *mcp.CallToolResult {
	if len(value) == 0 {
		value = schemas.JSON("null")
	}
	result := &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: string(value)}}}
	if bytes.HasPrefix(value, []byte("{")) {
		result.StructuredContent = json.RawMessage(value)
	}
	return result
}

func directFailure(err error) *mcp.CallToolResult {
	return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: message(err)}}}
}
