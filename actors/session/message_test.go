package session

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/codecell/codecell/bus/bustest"
	"github.com/codecell/codecell/schemas"
)

// speech is messages at a glance.
func speech(messages []schemas.MessageEntry) string {
	var out []string
	for i := range messages {
		s := messages[i].Said()
		out = append(out, messages[i].Role+":"+s.Text+s.ToolCallID)
	}
	return strings.Join(out, " ")
}

// What was said comes back as it was said, across forks, and a compaction's summary stands for its beginning.
func TestSpec_V4_T3_HistoryIsTheBranchAsReadersSeeIt(t *testing.T) {
	store, _ := openStore(t, bustest.Server(t))
	ctx := t.Context()
	if got, err := store.History(ctx, "s"); err != nil || got != nil {
		t.Errorf("a session that isn't there has said %v, %v", got, err)
	}
	_, err := store.History(ctx, "")
	refuses(t, err, "key")
	say := func(key, role string, s schemas.Said) (id string) {
		t.Helper()
		id, err := store.Say(ctx, key, "", schemas.NewMessage(role, s))
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	say("s", schemas.RoleUser, schemas.Said{Text: "add"})
	call := schemas.SaidCall{ID: "c1", Name: "exec", Arguments: `{"title": "Sum", "code": "return 1.50 < 2"}`}
	say("s", schemas.RoleAssistant, schemas.Said{Text: "I shall.", ToolCalls: []schemas.SaidCall{call}})
	bind(t, store, "s").Append(schemas.SessionEntry{Kind: schemas.EntryExec, Exec: &schemas.ExecEntry{CallID: "c1", Input: schemas.JSON(`{}`)}})
	flushed(t, bind(t, store, "s"))
	tool := say("s", schemas.RoleTool, schemas.Said{ToolCallID: "c1", Name: "exec", Text: "true "})
	last := say("s", schemas.RoleAssistant, schemas.Said{Text: "Yes."})
	want := "user:add assistant:I shall. tool:true c1 assistant:Yes."
	got, err := store.History(ctx, "s")
	if err != nil || speech(got) != want {
		t.Errorf("said %q, %v", speech(got), err)
	}
	if c := got[1].Said().ToolCalls; len(c) != 1 || c[0] != call {
		t.Errorf("the call is %+v", c)
	}
	if err := store.Fork(ctx, "s", tool, "fork"); err != nil {
		t.Fatal(err)
	}
	say("fork", schemas.RoleUser, schemas.Said{Text: "else"})
	if got, err := store.History(ctx, "fork"); err != nil || speech(got) != "user:add assistant:I shall. tool:true c1 user:else" {
		t.Errorf("the fork said %q, %v", speech(got), err)
	}
	if _, err := store.Compact(ctx, "s", "they added", last); err != nil {
		t.Fatal(err)
	}
	say("s", schemas.RoleUser, schemas.Said{Text: "more"})
	if got, err := store.History(ctx, "s"); err != nil || speech(got) != "system:they added assistant:Yes. user:more" {
		t.Errorf("after the compaction it is %q, %v", speech(got), err)
	}
}

// Of what is too long the beginning is kept, and marked; what a person says is refused.
func TestSpec_V4_LongMessagesAreCut(t *testing.T) {
	store, _ := openStore(t, bustest.Server(t))
	ctx := t.Context()
	long := strings.Repeat("\"é\x01<", 300<<10)
	many := make([]schemas.SaidCall, 64)
	for i := range many {
		many[i] = schemas.SaidCall{ID: fmt.Sprint(i), Name: "exec", Arguments: long[:50<<10]}
	}
	for name, m := range map[string]schemas.MessageEntry{
		"a tool's answer":  schemas.NewMessage(schemas.RoleTool, schemas.Said{ToolCallID: "c1", Name: "read", Text: long}),
		"a model's answer": schemas.NewMessage(schemas.RoleAssistant, schemas.Said{Text: long}),
		"a model's calls":  schemas.NewMessage(schemas.RoleAssistant, schemas.Said{Text: "begin" + long, ToolCalls: many}),
	} {
		id, err := store.Say(ctx, name, "", m)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		was := m.Said()
		entry := branchOf(t, store, name, id).Entries[0]
		kept := entry.Message.Said()
		if !kept.Truncated || len(kept.Text) < 16<<10 || !strings.HasPrefix(was.Text, kept.Text) || kept.ToolCallID != was.ToolCallID ||
			len(kept.ToolCalls) != len(was.ToolCalls) || len(entry.Message.Content) > maxMessage {
			t.Errorf("%s: kept %d bytes of text, %d calls, in %d bytes", name, len(kept.Text), len(kept.ToolCalls), len(entry.Message.Content))
		}
		for _, c := range kept.ToolCalls {
			var args struct{ Truncated string }
			if err := json.Unmarshal([]byte(c.Arguments), &args); err != nil || !strings.HasPrefix(long, args.Truncated) || args.Truncated == "" {
				t.Fatalf("%s: arguments are %.100q, %v", name, c.Arguments, err)
			}
		}
	}
	short := schemas.NewMessage(schemas.RoleTool, schemas.Said{ToolCallID: "c", Text: "short"})
	if got := kept(short); !bytes.Equal(got.Content, short.Content) {
		t.Errorf("a short answer is kept as %s", got.Content)
	}
	_, err := store.Say(ctx, "s", "", schemas.NewMessage(schemas.RoleUser, schemas.Said{Text: long}))
	refuses(t, err, "content")
	for i := range many {
		many[i].Name = long[:50<<10]
	}
	_, err = store.Say(ctx, "s", "", schemas.NewMessage(schemas.RoleAssistant, schemas.Said{ToolCalls: many}))
	refuses(t, err, "content")
}
