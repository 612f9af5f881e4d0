package main

import (
	"context"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codecell/codecell/schemas"
)

// callTool calls what the run's surface has under the name: a tool of the client's, or a program or a part of one. The
// SDK's server doesn't know the tools: adding and removing them would tell the client each time that the list has changed.
func (s *mcpSession) callTool(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	name := req.Params.Name
	t, err := s.tool(ctx, name)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil && (name == schemas.ExecTool || name == schemas.WaitTool):
		return modelResult(failure(err)), nil
	case err != nil:
		return directFailure(err), nil
	case t == nil: // a hidden tool is like one that isn't there
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: s.unknown(name)}
	case t.Direct:
		return s.direct(ctx, req, t)
	case name == schemas.WaitTool:
		return s.wait(ctx, req)
	default:
		return s.exec(ctx, req)
	}
}

// tool finds a tool of the surface; nil: there is none of this name.
func (s *mcpSession) tool(ctx context.Context, name string) (*schemas.SurfaceTool, error) {
	if t := s.shown(name); t != nil {
		return t, nil
	}
	if _, err := s.opened(ctx); err != nil {
		return nil, err
	}
	if t := s.shown(name); t != nil {
		return t, nil
	}
	// Clients that know their tools call before they list: the server may still be starting, and the
	// watch may lag behind it.
	s.service.awaitTools(ctx, execPatience)
	described, err := s.describe(ctx)
	if err != nil {
		return nil, err
	}
	t, _ := described.Surface.Tool(name)
	return t, nil
}

// unknown refuses a name that the surface doesn't have, in the same words whether there is such a tool or not (L4).
func (s *mcpSession) unknown(name string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	text := fmt.Sprintf("unknown tool %q", name)
	if use := useOf(&s.surface); use != "" {
		text += ". " + use
	}
	return text
}

// shown looks a tool up in the surface as far as it is known.
func (s *mcpSession) shown(name string) *schemas.SurfaceTool {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, _ := s.surface.Tool(name)
	return t
}

// list puts the run's surface into a list of tools.
func (s *mcpSession) list(ctx context.Context, list *mcp.ListToolsResult) (mcp.Result, error) {
	s.service.awaitTools(ctx, listPatience)
	described, err := s.describe(ctx)
	if err != nil && ctx.Err() == nil {
		described, err = s.describe(ctx) // on another host: most clients list once
	}
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.surface = described.Surface
	s.listed = s.surface.Version
	list.Tools = mcpTools(&s.surface)
	return list, nil
}

// mcpTools are the surface's tools as MCP clients list them.
func mcpTools(surface *schemas.Surface) []*mcp.Tool {
	tools := make([]*mcp.Tool, len(surface.Tools))
	for i := range surface.Tools {
		t := &surface.Tools[i]
		tools[i] = &mcp.Tool{Name: t.Name, Title: t.Title, Description: t.Description, InputSchema: t.InputSchema}
		if len(t.OutputSchema) > 0 {
			tools[i].OutputSchema = t.OutputSchema
		}
	}
	return tools
}

// instructions are what the client hears of the surface when it shakes hands, and never again. Only a directory of tools
// (L3) is worth waiting for them.
func (s *mcpSession) instructions(ctx context.Context) string {
	soon, cancel := context.WithTimeout(ctx, listPatience)
	defer cancel()
	run, err := s.opened(soon)
	if err != nil {
		s.service.log.Warn("a client is told nothing of how to use the tools", "error", err)
		return ""
	}
	surface := &run.Surface
	if surface.Search == schemas.ToolSearchDirectory {
		s.service.awaitTools(soon, listPatience)
		if described, err := s.describe(ctx); err == nil {
			surface = &described.Surface
		}
	}
	return instructionsFor(surface)
}

func instructionsFor(s *schemas.Surface) string {
	text := useOf(s)
	if s.Prompt != "" {
		text += "\n\n" + s.Prompt
	}
	return text
}

// useOf says how tools are called that the surface hides; nothing in direct mode.
func useOf(s *schemas.Surface) string {
	switch {
	case s.Mode == schemas.ModeCode:
		return "Use exec to run a JavaScript program that calls many tools in one go, and wait to continue a program that says it is waiting."
	case s.Search == schemas.ToolSearchCode:
		return "Use tool_search_code to run a JavaScript program that finds tools and calls many of them in one go."
	case s.Mode == schemas.ModeSearch:
		return "Find tools with tool_search, read what they take with tool_describe, and call them with tool_call."
	default:
		return ""
	}
}
