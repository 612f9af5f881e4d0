package session

import (
	"fmt"
	"strings"
	"testing"

	"github.com/codecell/codecell/schemas"
)

func TestSpec_R2_Case41_OnlyWhatChangedNothingIsRecovered(t *testing.T) {
	n := 0
	id := func() string { n++; return fmt.Sprint(n) }
	exec := func(callID string, more ...func(*schemas.ExecEntry)) schemas.SessionEntry {
		e := &schemas.ExecEntry{CallID: callID, Cell: "cell-" + callID, RestartSafe: true, Input: schemas.JSON(`{}`)}
		for _, f := range more {
			f(e)
		}
		return schemas.SessionEntry{ID: id(), Kind: schemas.EntryExec, Exec: e}
	}
	call := func(callID, tool string, safe bool) schemas.SessionEntry {
		return schemas.SessionEntry{ID: id(), Kind: schemas.EntryCall, Call: &schemas.CallEntry{
			ParentID: callID, Cell: "cell-" + callID, Call: "1", Owner: "core", Tool: tool, ReplaySafe: safe,
		}}
	}
	result := func(by, callID string, status schemas.Status, code schemas.Code) schemas.SessionEntry {
		return schemas.SessionEntry{ID: id(), Kind: schemas.EntryResult, Result: &schemas.ResultEntry{
			CallID: by, ParentID: callID, Cell: "cell-" + callID, Status: status, Code: code, Result: schemas.JSON(`{}`),
		}}
	}
	outcome := func(callID string, effect schemas.Outcome) schemas.SessionEntry {
		return schemas.SessionEntry{ID: id(), Kind: schemas.EntryOutcome, Outcome: &schemas.OutcomeEntry{
			ParentID: callID, Cell: "cell-" + callID, Call: "1", Outcome: effect,
		}}
	}
	original := NewTree("original")
	add(t, original, exec("another session's"))
	tree := NewTree("s")
	add(t, tree,
		schemas.SessionEntry{ID: id(), Kind: schemas.EntryFork, Fork: &schemas.ForkEntry{Session: "original", Entry: original.Head()}},
		exec("completed"), call("completed", "read", true), result("completed", "completed", schemas.StatusCompleted, ""),
		exec("failed later"), result("failed later", "failed later", schemas.StatusWaiting, ""), result("wait", "failed later", schemas.StatusFailed, schemas.Timeout),
		exec("parked"), call("parked", "read", true), result("parked", "parked", schemas.StatusWaiting, ""),
		result("wait", "parked", schemas.StatusFailed, schemas.InvalidInput), // of the wait, not of the cell
		exec("running"),
		exec("wrote"), call("wrote", "write", false),
		exec("was refused"), call("was refused", "write", false), outcome("was refused", schemas.NotStarted),
		exec("wrote and failed"), call("wrote and failed", "write", false), outcome("wrote and failed", schemas.Unknown),
		exec("not safe", func(e *schemas.ExecEntry) { e.RestartSafe = false }),
		exec("masked", func(e *schemas.ExecEntry) { e.Redacted = true }),
		exec("long", func(e *schemas.ExecEntry) { e.Truncated = true }),
		exec("rehearsed", func(e *schemas.ExecEntry) { e.DryRun = true }),
		exec("again"), exec("second try", func(e *schemas.ExecEntry) { e.Recovers = "again" }),
	)
	// A model may use a call id twice: the first one's result isn't the second one's.
	reused := exec("completed", func(e *schemas.ExecEntry) { e.Cell = "another cell" })
	add(t, tree, reused)
	b, err := resolve(t.Context(), forest(original, tree), "s", "")
	if err != nil {
		t.Fatal(err)
	}
	want := []struct{ callID, why string }{
		{"parked", ""}, {"running", ""}, {"wrote", "core.write"},
		{"was refused", ""}, {"wrote and failed", "core.write"}, {"not safe", "restartSafe"}, {"masked", "credentials"}, {"long", "too large"},
		{"rehearsed", "dry run"}, {"second try", ""}, {"completed", ""},
	}
	got := Interrupted(b)
	if len(got) != len(want) {
		t.Fatalf("%d are interrupted, want %d: %+v", len(got), len(want), got)
	}
	for i, w := range want {
		if got[i].Exec.CallID != w.callID || (w.why == "") != (got[i].Why == "") || !strings.Contains(got[i].Why, w.why) {
			t.Errorf("%s: %q, want %s: %q", got[i].Exec.CallID, got[i].Why, w.callID, w.why)
		}
	}
}
