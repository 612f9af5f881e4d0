package e2e

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// turnOf is the one turn in a session's log.
func turnOf(t *testing.T, host hostProcess, session string) turnCounts {
	t.Helper()
	var turns []turnCounts
	for _, e := range exportOf(t, host, session) {
		if e.Turn != nil {
			turns = append(turns, *e.Turn)
		}
	}
	if len(turns) != 1 {
		t.Fatalf("the log has %d turns", len(turns))
	}
	return turns[0]
}

// exported is an entry of an exported session, as far as it is looked at. Only the part of its kind is set.
type exported struct {
	ID, Parent, Kind string
	Message          *struct {
		Role    string
		Content json.RawMessage
	}
	Exec *struct{ CallID, Cell string }
	// Calls are those that the program of an exec made.
	Calls []struct {
		Call    *struct{ ParentID, Cell, Tool string }
		Outcome *struct{ ParentID, Cell, Outcome string }
	}
	Wait   *struct{ CallID, Cell string }
	Result *struct{ CallID, ParentID, Cell, Status, Code string }
	Turn   *turnCounts
}

// exportOf exports a session.
func exportOf(t *testing.T, host hostProcess, session string) (all []exported) {
	t.Helper()
	got := do(t, codecell(t, "session", "export", session, "--bus", host.url), "")
	if got.code != 0 {
		t.Fatalf("%d: %s%s", got.code, got.stdout, got.stderr)
	}
	for line := range strings.Lines(got.stdout) {
		all = append(all, decode[exported](t, line))
	}
	return slices.Clip(all)
}
