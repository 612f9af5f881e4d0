package session

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/codecell/codecell/bus/bustest"
	"github.com/codecell/codecell/schemas"
)

// The log of a session answers how many schemas the model saw first, how many searches and describes there were, which
// tools ran in the end, and from which source.
func TestSpec_L5_TurnsAreOnRecord(t *testing.T) {
	store, _ := openStore(t, bustest.Server(t))
	ctx := t.Context()
	entry := schemas.TurnEntry{
		Run: "r", Host: "h", Token: "t", Model: "openai/gpt-5", Mode: schemas.ModeSearch, Search: schemas.ToolSearchTools,
		Tools: 3, ToolBytes: 1200, PromptBytes: 9, CatalogSize: 500, Requests: 4, RequestBytes: 9000, Retries: 1,
		Totals: schemas.RunTotals{Searches: 2, Describes: 1, Calls: 1, Called: []schemas.CalledTool{{ID: "mcp:lab:echo", Source: "mcp", Count: 1}}},
		Usage:  schemas.Usage{InputTokens: 100, CachedTokens: 50, OutputTokens: 10}, CostUSD: 0.25, Stop: schemas.StopAnswered, DurationMs: 1234,
	}
	if err := store.Turn(ctx, "s", entry); err != nil {
		t.Fatal(err)
	}
	b := branchOf(t, store, "s", "")
	if e := b.Entries[0]; e.Kind != schemas.EntryTurn || !reflect.DeepEqual(*e.Turn, entry) {
		t.Errorf("on record is %+v", e.Turn)
	}
	var out bytes.Buffer
	if err := store.Export(ctx, "s", &out); err != nil || !strings.Contains(out.String(), `"toolBytes":1200`) {
		t.Errorf("the export is %s, %v", out.String(), err)
	}
	huge := entry
	huge.Error, huge.Model = strings.Repeat("é", 10<<10), strings.Repeat("m", 10<<10)
	huge.Totals.Called = make([]schemas.CalledTool, schemas.MaxCalled+5)
	for i := range huge.Totals.Called {
		huge.Totals.Called[i].ID = strings.Repeat("i", 10<<10)
	}
	if err := store.Turn(ctx, "s", huge); err != nil {
		t.Fatal(err)
	}
	got := branchOf(t, store, "s", "").Entries[1].Turn
	if text, _ := json.Marshal(got); len(text) > calledRoom*schemas.MaxCalled || len(got.Error) > maxTurnError || got.Totals.Dropped != 5 || got.Stop != schemas.StopAnswered {
		t.Errorf("%d bytes are kept, %d dropped", len(text), got.Totals.Dropped)
	}
	if len(huge.Totals.Called) != schemas.MaxCalled+5 || len(huge.Totals.Called[0].ID) != 10<<10 {
		t.Error("the caller's entry was changed")
	}
	refuses(t, store.Turn(ctx, "", entry), "key")
	entry.Stop = "bored"
	refuses(t, store.Turn(ctx, "s", entry), "stop")
	entry.Stop, entry.Run = schemas.StopFailed, ""
	refuses(t, store.Turn(ctx, "s", entry), "run")
	tree := NewTree("s")
	tree.Add(&schemas.SessionBatch{Entries: []schemas.JSON{schemas.JSON(`{"id":"x","kind":"turn"}`)}})
	if tree.Bad() != 1 || tree.Len() != 0 {
		t.Error("a turn without its part was taken")
	}
}

// An export has messages and turns as lines of their own, in order, and calls in the line of their exec (P6). What was
// interrupted is found among them, whether the model's call has its answer or not (R2).
func TestSpec_P6_R2_ExportAndRecoveryOfTurns(t *testing.T) {
	store, _ := openStore(t, bustest.Server(t))
	ctx := t.Context()
	s := bind(t, store, "s")
	say := func(role string, m schemas.Said) {
		t.Helper()
		if _, err := store.Say(ctx, "s", "", schemas.NewMessage(role, m)); err != nil {
			t.Fatal(err)
		}
	}
	exec := func(callID string) schemas.SessionEntry {
		return schemas.SessionEntry{Kind: schemas.EntryExec, Exec: &schemas.ExecEntry{
			CallID: callID, Cell: "cell-" + callID, RestartSafe: true, Input: schemas.JSON(`{"title":"Read","code":"1"}`),
		}}
	}
	call := func(callID string) schemas.SessionEntry {
		return schemas.SessionEntry{Kind: schemas.EntryCall, Call: &schemas.CallEntry{
			ParentID: callID, Cell: "cell-" + callID, Call: "1", Owner: "core", Tool: "read", ReplaySafe: true, Args: schemas.JSON(`{}`),
		}}
	}
	say(schemas.RoleUser, schemas.Said{Text: "read both"})
	say(schemas.RoleAssistant, schemas.Said{ToolCalls: []schemas.SaidCall{{ID: "a", Name: "exec"}, {ID: "b", Name: "exec"}, {ID: "c", Name: "exec"}, {ID: "d", Name: "read"}}})
	s.Append(exec("a"), exec("b"), exec("c"), call("a"), call("b"), call("d"),
		schemas.SessionEntry{Kind: schemas.EntryResult, Result: &schemas.ResultEntry{
			CallID: "a", ParentID: "a", Cell: "cell-a", Status: schemas.StatusCompleted, Result: schemas.JSON(`{}`),
		}})
	flushed(t, s)
	say(schemas.RoleTool, schemas.Said{ToolCallID: "a", Name: "exec", Text: "1"})
	say(schemas.RoleTool, schemas.Said{ToolCallID: "b", Name: "exec", Text: "the result was lost"})
	if err := store.Turn(ctx, "s", schemas.TurnEntry{Run: "r", Stop: schemas.StopFailed}); err != nil {
		t.Fatal(err)
	}
	found := Interrupted(branchOf(t, store, "s", ""))
	if len(found) != 2 || found[0].Exec.CallID != "b" || found[1].Exec.CallID != "c" || found[0].Why != "" || found[1].Why != "" {
		t.Errorf("interrupted: %+v", found)
	}
	var out bytes.Buffer
	if err := store.Export(ctx, "s", &out); err != nil {
		t.Fatal(err)
	}
	var lines []string
	for line := range strings.Lines(out.String()) {
		var e struct {
			Kind  string
			Calls []struct{ Call struct{ Tool string } }
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		for _, c := range e.Calls {
			e.Kind += "+" + c.Call.Tool
		}
		lines = append(lines, e.Kind)
	}
	if got := strings.Join(lines, " "); got != "message message+read exec+read exec+read exec result store message message turn" {
		t.Errorf("the export has %s", got)
	}
}
