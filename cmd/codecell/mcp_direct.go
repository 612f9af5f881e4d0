package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codecell/codecell/schemas"
)

// direct calls a tool that the client sees as itself, be it one of Tool Search.
func (s *mcpSession) direct(ctx context.Context, req *mcp.CallToolRequest, t *schemas.SurfaceTool) (*mcp.CallToolResult, error) {
	return s.call(ctx, req, func(input schemas.JSON) (*mcp.CallToolResult, error) {
		if t.Control { // it's there before the tools that it finds and calls
			s.service.awaitTools(ctx, execPatience)
		}
		run, err := s.opened(ctx)
		if err != nil {
			return directFailure(err), ctx.Err()
		}
		callID := newCallID("mcp")
		answer, err := run.Direct(ctx, schemas.Direct{CallID: callID, Name: t.Name, Args: input})
		switch {
		case ctx.Err() != nil:
			s.abort(ctx, func(late context.Context) error { return run.Abort(late, callID, cancelReason) })
			return nil, ctx.Err()
		case err != nil:
			return directFailure(err), nil
		case answer.Call != nil:
			failed := &mcp.CallToolResult{IsError: true, Content: textOf("text", message(answer.Call), answer.Untrusted)}
			return failed, nil //nolint:nilerr // the model reads it as the result
		case answer.Source == schemas.SourceMCP:
			return nativeResult(answer.Value), nil
		case t.Control && t.Name == schemas.ToolCallTool:
			return calledResult(answer), nil
		default:
			return valueResult(answer, len(t.OutputSchema) > 0), nil
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

// valueResult is the value of a tool of another kind, or of Tool Search. It is structured as well only where the tool has
// declared that: clients that prefer what is structured would pass on untrusted data without its wrapper (O5).
func valueResult(answer *schemas.Directed, declared bool) *mcp.CallToolResult {
	value := answer.Value
	if len(value) == 0 {
		value = schemas.JSON("null")
	}
	result := &mcp.CallToolResult{Content: textOf("JSON", string(value), answer.Untrusted)}
	if declared && bytes.HasPrefix(value, []byte("{")) {
		result.StructuredContent = json.RawMessage(value)
	}
	return result
}

// calledResult is what tool_call gives: its text, and the images and sounds of an MCP tool's result as blocks of their own.
func calledResult(answer *schemas.Directed) *mcp.CallToolResult {
	var media []mcp.Content
	lifted := *answer
	var failed bool
	lifted.Value, failed = schemas.LiftMedia(answer.Value, func(kind, mime, data string) string {
		about := fmt.Sprintf("%s, %.100s, %d bytes in base64", kind, mime, len(data))
		plain, err := base64.StdEncoding.DecodeString(data)
		if err != nil {
			return "[" + about + ": it is damaged]"
		}
		if kind == "image" {
			media = append(media, &mcp.ImageContent{MIMEType: mime, Data: plain})
		} else {
			media = append(media, &mcp.AudioContent{MIMEType: mime, Data: plain})
		}
		return "[" + about + ": it follows]"
	})
	result := valueResult(&lifted, false)
	result.IsError = failed
	result.Content = append(result.Content, media...)
	return result
}

func directFailure(err error) *mcp.CallToolResult {
	return &mcp.CallToolResult{IsError: true, Content: textOf("text", message(err), false)}
}

// textOf is a text that the model reads.
func textOf(what, text string, untrusted bool) []mcp.Content {
	if untrusted {
		text = schemas.Untrusted(what, text, rand.Text())
	}
	return []mcp.Content{&mcp.TextContent{Text: text}}
}
