package run

import (
	"github.com/codecell/codecell/actors/catalog"
	"github.com/codecell/codecell/schemas"
)

// Programs of Tool Search (L1) go the way of all programs: the same checks, hooks, calls and records. They differ in what
// they reach, in their limit, which is a hard one, and in that nothing of them outlives them.

// toolSearchPrograms tells whether the run's programs are those of Tool Search.
func (a *Admission) toolSearchPrograms() bool { return a.Surface.Search == schemas.ToolSearchCode }

// parser is how the input of such a run's programs is read.
func (a *Admission) parser(contract string) func(schemas.JSON) (schemas.ExecInput, *schemas.Error) {
	switch {
	case a.toolSearchPrograms():
		return schemas.ParseToolSearchCodeInput
	case contract == schemas.Contract202607:
		return func(input schemas.JSON) (schemas.ExecInput, *schemas.Error) {
			return schemas.ParseExecInput202607(input, a.Languages...)
		}
	}
	return schemas.ParseExecInput
}

// reach is how such a run's programs get at tools.
func (a *Admission) reach(contract string) reach {
	switch {
	case a.toolSearchPrograms():
		return reachSearch
	case contract == schemas.Contract202607:
		return reach202607
	}
	return reachCurrent
}

// shown are the tools that the model calls by their names, for what refusals say.
func (a *Admission) shown() []catalog.Shown {
	shown := make([]catalog.Shown, len(a.Direct))
	for i := range a.Direct {
		shown[i] = catalog.Shown{Name: a.Direct[i].Name, Tool: &a.Direct[i].Tool}
	}
	return shown
}

// toolSearchLocal are the local requests that such programs may make, whatever their guest asks for.
var toolSearchLocal = map[string]bool{"search": true, "describe": true}

const nothingKept = "programs of Tool Search leave nothing for later ones"
