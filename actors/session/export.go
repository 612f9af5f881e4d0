package session

import (
	"encoding/json"
	"io"

	"github.com/codecell/codecell/schemas"
)

// exported is one line of an export: an entry, and the calls of which it is the parent (P6). Those of a program are in the
// line of its exec, and what a model called itself in that of its message.
type exported struct {
	*schemas.SessionEntry
	Calls []*exportedCall `json:"calls,omitempty"`
}

// exportedCall is a nested call with its end. One that has none never ended, or its end wasn't kept.
type exportedCall struct {
	ID      string                `json:"id"`
	At      int64                 `json:"at"`
	Call    *schemas.CallEntry    `json:"call,omitempty"`
	EndedAt int64                 `json:"endedAt,omitempty"`
	Outcome *schemas.OutcomeEntry `json:"outcome,omitempty"`
}

// callKey is what the entries of one call share.
type callKey struct{ parent, cell, call string }

// Export writes the branch as JSON lines, one entry a line, in order. Calls are inside the line of their exec, or of the
// message that asked for them, with their outcome.
func (b *Branch) Export(w io.Writer) error {
	lines := make([]exported, 0, len(b.Entries))
	execs, asked := map[string]int{}, map[string]int{} // line by call id; the latest counts
	calls := map[callKey]*exportedCall{}
	for i := range b.Entries {
		e := &b.Entries[i]
		var key callKey
		switch e.Kind {
		case schemas.EntryExec:
			execs[e.Exec.CallID] = len(lines)
			lines = append(lines, exported{SessionEntry: e})
			continue
		case schemas.EntryMessage:
			for _, c := range e.Message.Said().ToolCalls {
				asked[c.ID] = len(lines)
			}
			lines = append(lines, exported{SessionEntry: e})
			continue
		case schemas.EntryCall:
			key = callKey{e.Call.ParentID, e.Call.Cell, e.Call.Call}
		case schemas.EntryOutcome:
			key = callKey{e.Outcome.ParentID, e.Outcome.Cell, e.Outcome.Call}
		default:
			lines = append(lines, exported{SessionEntry: e})
			continue
		}
		line, ok := execs[key.parent]
		if at, said := asked[key.parent]; said && (!ok || at > line) { // models may use a call id again
			line, ok = at, true
		}
		if !ok { // its parent is on another branch, or somebody called a tool without a word
			lines = append(lines, exported{SessionEntry: e})
			continue
		}
		call := calls[key]
		if call == nil || e.Kind == schemas.EntryCall {
			call = &exportedCall{ID: e.ID, At: e.At}
			calls[key] = call
			lines[line].Calls = append(lines[line].Calls, call)
		}
		if e.Kind == schemas.EntryCall {
			call.Call = e.Call
		} else {
			call.Outcome, call.EndedAt = e.Outcome, e.At
		}
	}
	out := json.NewEncoder(w)
	out.SetEscapeHTML(false)
	for _, line := range lines {
		if err := out.Encode(line); err != nil {
			return err
		}
	}
	return nil
}
