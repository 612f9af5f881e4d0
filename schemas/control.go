package schemas

import "slices"

// Names of the control tools, by which a model drives a catalog.
const (
	// ExecTool runs a program and WaitTool continues one, in Code Mode (A2).
	ExecTool = "exec"
	WaitTool = "wait"
	// ToolSearchCodeTool runs a program of Tool Search, in its mode code (L1).
	ToolSearchCodeTool = "tool_search_code"
	// The others are those of Tool Search's modes tools and directory (L2).
	ToolSearchTool   = "tool_search"
	ToolDescribeTool = "tool_describe"
	ToolCallTool     = "tool_call"
	// DispatchAction is another name of [ToolCallTool], which is shown to nobody.
	DispatchAction = "dispatch_action"
)

// ToolSearchNames are the names that only Tool Search's control tools have before a model.
func ToolSearchNames() []string {
	return []string{ToolSearchTool, ToolDescribeTool, ToolCallTool, DispatchAction, ToolSearchCodeTool}
}

// IsControlName tells whether a native tool of this name drives a catalog, and so is in none (C1). The plain shell tool may
// be called exec (X9), so that name isn't one.
func IsControlName(name string) bool {
	return name == WaitTool || slices.Contains(ToolSearchNames(), name)
}
