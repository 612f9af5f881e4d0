package run

import (
	"fmt"

	"github.com/codecell/codecell/schemas"
)

// refuseExec refuses a program in a run whose surface has no tool for programs, and says what it has instead.
func refuseExec(a *Admission) *schemas.Error {
	if a.runsPrograms() {
		return nil
	}
	return schemas.Refuse("", fmt.Sprintf("this run is in mode %s, in which there are no programs: %s", modeName(a), instead(a)))
}

// noDirectTool refuses a direct call of what the surface doesn't show.
func noDirectTool(a *Admission) *schemas.Error {
	return schemas.Refuse("name", fmt.Sprintf("there is no such tool to call directly in a run in mode %s: %s", modeName(a), instead(a)))
}

// runsPrograms tells whether the run's model can write programs, be they of Code Mode or of Tool Search.
func (a *Admission) runsPrograms() bool {
	return a.Surface.Mode == schemas.ModeCode || a.Surface.Mode == schemas.ModeSearch && a.Surface.Search == schemas.ToolSearchCode
}

// modeName is the run's mode in words.
func modeName(a *Admission) string {
	if a.Surface.Search != "" {
		return fmt.Sprintf("%q (%s)", a.Surface.Mode, a.Surface.Search)
	}
	return fmt.Sprintf("%q", a.Surface.Mode)
}

// instead says how tools are called.
func instead(a *Admission) string {
	switch {
	case a.Surface.Mode == schemas.ModeCode:
		return "other tools are called by a program: use exec"
	case a.Surface.Search == schemas.ToolSearchCode:
		return "other tools are called by a program: use tool_search_code"
	case a.Surface.Mode == schemas.ModeSearch:
		return "find tools with tool_search and call them with tool_call"
	case len(a.Direct) == 0:
		return "this run has no tools"
	}
	return "call the tools that the model is shown by their names"
}
