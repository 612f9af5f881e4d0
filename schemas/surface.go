package schemas

import (
	"fmt"
	"slices"
)

// Surface is what a model is shown (A2).
type Surface struct {
	Tools []SurfaceTool `msgpack:"tools"`
	// Version changes when the surface changes: a caller compares it to know whether to
	// announce a changed tool list.
	Version string `msgpack:"version"`
	// Mode is how the model reaches its tools: never [ModeAuto].
	Mode Mode `msgpack:"mode,omitempty"`
	// Search is the mode of Tool Search that the run has, after any fall-back: [ToolSearchCode], [ToolSearchTools] or
	// [ToolSearchDirectory].
	Search string `msgpack:"search,omitempty"`
	// Prompt goes into the model's instructions: the directory of tools (L3), or nothing. Equal catalogs give equal bytes.
	Prompt string `msgpack:"prompt,omitempty"`
	// CatalogSize and Sources count what the surface hides; in direct mode, what it shows.
	CatalogSize int          `msgpack:"catalog_size,omitempty"`
	Sources     SourceCounts `msgpack:"sources,omitempty"`
}

// SurfaceTool is one tool as a model sees it. The schemas of control tools are flat (A7).
type SurfaceTool struct {
	// Direct: the tool is called by [Direct]. Otherwise it is exec or tool_search_code, called by [Exec], or wait.
	Direct bool `msgpack:"direct,omitempty" json:"-"`
	// Control: the model drives the catalog with it. A payload without it is no payload of this surface (A4).
	Control      bool   `msgpack:"control,omitempty" json:"-"`
	Name         string `msgpack:"name" json:"name"`
	Title        string `msgpack:"title,omitempty" json:"title,omitempty"`
	Description  string `msgpack:"description" json:"description"`
	InputSchema  JSON   `msgpack:"input_schema" json:"inputSchema"`
	OutputSchema JSON   `msgpack:"output_schema,omitempty" json:"outputSchema,omitempty"`
}

// Tool gives the tool of this name.
func (s *Surface) Tool(name string) (*SurfaceTool, bool) {
	i := slices.IndexFunc(s.Tools, func(t SurfaceTool) bool { return t.Name == name })
	if i < 0 {
		return nil, false
	}
	return &s.Tools[i], true
}

// Callable gives the tool that a model means by a name: [Surface.Tool], or that which has [DispatchAction] for another name.
func (s *Surface) Callable(name string) (*SurfaceTool, bool) {
	if t, ok := s.Tool(name); ok || name != DispatchAction {
		return t, ok
	}
	t, ok := s.Tool(ToolCallTool)
	if !ok || !t.Control {
		return nil, false
	}
	return t, true
}

// CheckPayload holds the names of the tools in a provider's final payload against the surface: each control tool
// exactly once, every other tool of the surface at most once, and nothing else. A payload that isn't so aborts the
// request, so that no hidden tool is shown by mistake (A4).
func (s *Surface) CheckPayload(payload []string) error {
	seen := make(map[string]bool, len(payload))
	for _, name := range payload {
		if _, ok := s.Tool(name); !ok {
			return s.payloadError(fmt.Sprintf("%q may not be in it", name))
		}
		if seen[name] {
			return s.payloadError(fmt.Sprintf("%q is in it twice", name))
		}
		seen[name] = true
	}
	for i := range s.Tools {
		if t := &s.Tools[i]; t.Control && !seen[t.Name] {
			return s.payloadError(fmt.Sprintf("%q is missing", t.Name))
		}
	}
	return nil
}

func (s *Surface) payloadError(what string) error {
	return &Error{
		Code:    RuntimeUnavailable,
		Message: fmt.Sprintf("the provider's payload isn't that of mode %s: %s; the request was stopped so that no tool is shown by mistake", s.Mode, what),
		Field:   "tools",
	}
}
