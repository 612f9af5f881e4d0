package session

import (
	"encoding/json"
	"io"

	"github.com/codecell/codecell/schemas"
)

// exported is one line of an export: an entry, and for an exec the calls that its program made (P6).
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

// Export writes the branch as JSON lines, one entry a line, in order. Calls are inside the line of their exec, with
// their outcome.
func (b *Branch) Export(w io.Writer) error {
	lines := make([]exported, 0, len(b.Entries))
	execs := map[string]int{} // line by call id; the latest counts
	calls := map[callKey]*exportedCall{}
	for i := range b.Entries {
		e := &b.Entries[i]
		var key callKey
		switch e.Kind {
		case schemas.EntryExec:
			execs[e.Exec.CallID] = len(lines)
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
		if !ok { // its exec is on another branch
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
