package catalog

import (
	"fmt"

	"github.com/codecell/codecell/schemas"
)

// anyObject is the input schema of a tool that declares none.
const anyObject = `{"type":"object"}`

// nativeDescription is describe() of a native or client tool (C8).
type nativeDescription struct {
	CallableName string         `json:"callableName"`
	Name         string         `json:"name"`
	Label        string         `json:"label,omitempty"`
	Description  string         `json:"description"`
	Source       schemas.Source `json:"source"`
	Input        string         `json:"input,omitempty"`
	Output       string         `json:"output,omitempty"`
	Parameters   schemas.JSON   `json:"parameters"`
	OutputSchema schemas.JSON   `json:"outputSchema,omitempty"`
}

// mcpDescription is describe() of an MCP tool, and $api() of a server or tool (C8, M3).
type mcpDescription struct {
	Kind    string       `json:"kind"`
	Scope   string       `json:"scope"`
	Server  mcpServer    `json:"server"`
	Header  string       `json:"header"`
	Tools   []mcpTool    `json:"tools"`
	Schemas []mcpSchemas `json:"schemas,omitempty"`
	Note    string       `json:"note"`
}

type mcpServer struct {
	Identifier string `json:"identifier"`
	ServerName string `json:"serverName"`
}

type mcpTool struct {
	CallableName string `json:"callableName"`
	Identifier   string `json:"identifier"`
	ToolName     string `json:"toolName"`
	Label        string `json:"label,omitempty"`
	Description  string `json:"description"`
}

type mcpSchemas struct {
	Identifier   string       `json:"identifier"`
	Parameters   schemas.JSON `json:"parameters"`
	OutputSchema schemas.JSON `json:"outputSchema,omitempty"`
}

// Describe gives the whole of what a guest may know of one tool (C8). A ref that isn't in the
// catalog is refused.
func (c *Catalog) Describe(ref int) (schemas.JSON, error) {
	e, ok := c.Tool(ref)
	if !ok {
		return nil, schemas.Refuse("ref", fmt.Sprintf("there is no tool number %d in this run; take a handle from catalog.search or catalog.all", ref))
	}
	switch {
	case c.older():
		return encode(e.olderDescription()), nil
	case c.searching():
		d, _ := c.ToolDescribe([]*Entry{e}, false)
		return d, nil
	case e.Source == schemas.SourceMCP:
		return encode(describeMCP(e.server, []*Entry{e}, "tool", true)), nil
	}
	return encode(nativeDescription{
		CallableName: e.CallableName,
		Name:         e.Name,
		Label:        e.label(),
		Description:  e.description(),
		Source:       e.Source,
		Input:        e.InputHint,
		Output:       e.OutputHint,
		Parameters:   e.parameters(),
		OutputSchema: e.Output,
	}), nil
}

func (e *Entry) parameters() schemas.JSON {
	if len(e.Parameters) == 0 {
		return schemas.JSON(anyObject)
	}
	return e.Parameters
}

func describeMCP(s *server, tools []*Entry, scope string, withSchemas bool) mcpDescription {
	d := mcpDescription{
		Kind:   "mcp_api",
		Scope:  scope,
		Server: mcpServer{Identifier: s.identifier, ServerName: s.name},
		Tools:  make([]mcpTool, len(tools)),
		Note: "Call MCP." + s.identifier + ".<tool>(input) with one object. It resolves to {content, structuredContent?, isError?}. " +
			s.operationsNote() + untrustedNote,
	}
	for i, e := range tools {
		d.Tools[i] = mcpTool{
			CallableName: e.CallableName,
			Identifier:   e.identifier,
			ToolName:     e.Name,
			Label:        e.label(),
			Description:  e.description(),
		}
		if withSchemas {
			d.Schemas = append(d.Schemas, mcpSchemas{Identifier: e.identifier, Parameters: e.parameters(), OutputSchema: e.Output})
		}
	}
	if scope == "server" {
		d.Header = declareServer(s)
	} else {
		d.Header = newDeclarer().member(tools[0])
	}
	return d
}
