package session

import (
	"bytes"
	"encoding/json"
	"maps"
	"strings"
	"testing"

	"github.com/codecell/codecell/bus/bustest"
	"github.com/codecell/codecell/schemas"
)

func TestSpec_T3_ForksSeeTheirOwnPath(t *testing.T) {
	store, _ := openStore(t, bustest.Server(t))
	ctx := t.Context()
	s := bind(t, store, "main")
	if err := commitNow(s, write("k", "1")); err != nil {
		t.Fatal(err)
	}
	here := branchOf(t, store, "main", "").Head
	if err := commitNow(s, write("k", "2")); err != nil {
		t.Fatal(err)
	}
	if err := store.Fork(ctx, "main", here, "fork"); err != nil {
		t.Fatal(err)
	}
	f := bind(t, store, "fork")
	if got := plain(f.Values()); !maps.Equal(got, map[string]string{"k": "1"}) {
		t.Errorf("the fork has %v", got)
	}
	if err := commitNow(f, write("only", "true")); err != nil {
		t.Fatal(err)
	}
	if got := plain(s.Values()); !maps.Equal(got, map[string]string{"k": "2"}) {
		t.Errorf("the original has %v", got)
	}
	if err := store.Fork(ctx, "fork", here, "again"); err != nil { // at an entry that the fork has inherited
		t.Fatal(err)
	}
	if got := plain(bind(t, store, "again").Values()); !maps.Equal(got, map[string]string{"k": "1"}) {
		t.Errorf("the fork of the fork has %v", got)
	}
	refuses(t, store.Fork(ctx, "main", "nothing", "new"), "entry")
	refuses(t, store.Fork(ctx, "nobody", "", "new"), "key")
	refuses(t, store.Fork(ctx, "main", "", "fork"), "newKey")
	refuses(t, store.Fork(ctx, "main", "", ""), "newKey")
	refuses(t, store.Fork(ctx, "main", "", strings.Repeat("x", 257)), "newKey")
	if _, err := store.Branch(ctx, "new", ""); err == nil {
		t.Error("a refused fork has begun a session")
	}
}

func TestSpec_T3_RewindGoesOnAtAnotherEntry(t *testing.T) {
	store, _ := openStore(t, bustest.Server(t))
	ctx := t.Context()
	s := bind(t, store, "s")
	first, err := store.Say(ctx, "s", "", schemas.MessageEntry{Role: "user", Content: schemas.JSON(`"one"`)})
	if err != nil {
		t.Fatal(err)
	}
	if err := commitNow(s, write("k", "1")); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Say(ctx, "s", first, schemas.MessageEntry{Role: "user", Content: schemas.JSON(`"two"`)}); err != nil {
		t.Fatal(err)
	}
	if got := s.Values(); len(got) != 0 {
		t.Errorf("after the rewind there is %v", plain(got))
	}
	// A run may rewind too, and what waits behind it goes on from there.
	s.Append(message("", first, "three"), say("four"))
	if err := commitNow(s, write("other", "1")); err != nil {
		t.Fatal(err)
	}
	if got := said(branchOf(t, store, "s", "")); got != "one three four" {
		t.Errorf("the branch says %q", got)
	}
	if got := plain(s.Values()); !maps.Equal(got, map[string]string{"other": "1"}) {
		t.Errorf("the values are %v", got)
	}
	_, err = store.Say(ctx, "s", "nothing", schemas.MessageEntry{Role: "user", Content: schemas.JSON(`""`)})
	refuses(t, err, "parent")
	_, err = store.Say(ctx, "s", "", schemas.MessageEntry{Role: "pope", Content: schemas.JSON(`""`)})
	refuses(t, err, "role")
	_, err = store.Say(ctx, "s", "", schemas.MessageEntry{Role: "user", Content: schemas.JSON(`"`)})
	refuses(t, err, "content")
}

func TestSpec_T3_CompactIsWhatReadersSee(t *testing.T) {
	store, _ := openStore(t, bustest.Server(t))
	ctx := t.Context()
	s := bind(t, store, "s")
	s.Append(message("a", "", "old"), message("b", "", "new"))
	if err := commitNow(s, write("k", "1")); err != nil {
		t.Fatal(err)
	}
	id, err := store.Compact(ctx, "s", "they said something old", "b")
	if err != nil {
		t.Fatal(err)
	}
	b := branchOf(t, store, "s", "")
	view := b.View()
	if len(view) != 3 || view[0].ID != id || view[1].ID != "b" || plain(s.Values())["k"] != "1" || plain(b.Values)["k"] != "1" {
		t.Errorf("the view is %s, the values %v", entryIDs(view), plain(s.Values()))
	}
	_, err = store.Compact(ctx, "s", "again", "a") // hidden by now
	refuses(t, err, "keep")
	_, err = store.Compact(ctx, "s", "", "")
	refuses(t, err, "summary")
	_, err = store.Compact(ctx, "nobody", "x", "")
	refuses(t, err, "key")
}

func TestSpec_P6_ExportHasCallsInTheirExec(t *testing.T) {
	store, _ := openStore(t, bustest.Server(t))
	s := bind(t, store, "s")
	call := func(id, tool string) schemas.SessionEntry {
		return schemas.SessionEntry{Kind: schemas.EntryCall, Call: &schemas.CallEntry{ParentID: "toolu_1", Cell: "c", Call: id, Tool: tool, Args: schemas.JSON(`{"n":1.50}`)}}
	}
	s.Append(
		say("go"),
		schemas.SessionEntry{Kind: schemas.EntryExec, Exec: &schemas.ExecEntry{CallID: "toolu_1", Cell: "c", Input: schemas.JSON(`{"code":"1 < 2"}`)}},
		call("1", "read"), call("2", "write"),
		schemas.SessionEntry{Kind: schemas.EntryOutcome, Outcome: &schemas.OutcomeEntry{ParentID: "toolu_1", Cell: "c", Call: "1", Outcome: schemas.Done, Value: schemas.JSON(`7`)}},
		schemas.SessionEntry{Kind: schemas.EntryResult, Result: &schemas.ResultEntry{CallID: "toolu_1", ParentID: "toolu_1", Cell: "c", Status: schemas.StatusWaiting, Result: schemas.JSON(`{}`)}},
		schemas.SessionEntry{Kind: schemas.EntryOutcome, Outcome: &schemas.OutcomeEntry{ParentID: "toolu_0", Cell: "x", Call: "1", Outcome: schemas.Done}},
	)
	flushed(t, s)
	var out bytes.Buffer
	if err := store.Export(t.Context(), "s", &out); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 5 { // the store entry of flushed too
		t.Fatalf("%d lines:\n%s", len(lines), out.String())
	}
	var exec struct {
		Kind  string
		Calls []struct {
			Call    struct{ Tool string }
			Outcome *struct {
				Outcome string
				Value   json.RawMessage
			}
		}
	}
	if err := json.Unmarshal([]byte(lines[1]), &exec); err != nil {
		t.Fatal(err)
	}
	if exec.Kind != "exec" || len(exec.Calls) != 2 || exec.Calls[0].Call.Tool != "read" || exec.Calls[0].Outcome.Outcome != "done" ||
		exec.Calls[1].Call.Tool != "write" || exec.Calls[1].Outcome != nil {
		t.Errorf("the exec's line is %s", lines[1])
	}
	if !strings.Contains(lines[1], `{"n":1.50}`) || !strings.Contains(lines[1], `1 < 2`) || !strings.Contains(lines[2], `"parentId":"toolu_1"`) || !strings.Contains(lines[3], `"toolu_0"`) {
		t.Errorf("the export is\n%s", out.String())
	}
	refuses(t, store.Export(t.Context(), "nobody", &out), "key")
}
