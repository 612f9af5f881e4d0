package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/codecell/codecell/schemas"
)

// stored gives a configuration whose bus keeps things in a folder.
func stored(t *testing.T) (path string) {
	t.Helper()
	return write(t, "codecell.json5", fmt.Sprintf(`{bus: {storeDir: %q}}`, filepath.Join(t.TempDir(), "store")))
}

// entriesOf gives what session show prints as JSON.
func entriesOf(t *testing.T, r result) []schemas.SessionEntry {
	t.Helper()
	var shown struct{ Entries []schemas.SessionEntry }
	if err := json.Unmarshal([]byte(r.want(t, exitCompleted).out), &shown); err != nil {
		t.Fatal(err)
	}
	return shown.Entries
}

func kinds(entries []schemas.SessionEntry) string {
	var out []string
	for i := range entries {
		out = append(out, string(entries[i].Kind))
	}
	return strings.Join(out, " ")
}

func TestSpec_V2_T3_Session(t *testing.T) {
	config := stored(t)
	at := func(args ...string) result { return cli{}.do(t, append(args, "--config", config)...) }
	at("session", "ls").want(t, exitCompleted, "no sessions")
	at("exec", "--title", "Remember", program(t, `await store("n", 41)`)).want(t, exitCompleted)
	at("exec", "--title", "Unbound", "--no-session", program(t, `await store("n", 0)`)).want(t, exitFailed, "session")
	at("exec", "--title", "Count", program(t, `const n = await load("n") + 1; await store("n", n); return n`)).want(t, exitCompleted, "42")
	at("session", "ls").want(t, exitCompleted, "cli  ")
	if got := at("session", "ls", "--json").object(t)["sessions"].([]any); len(got) != 1 || got[0].(map[string]any)["key"] != "cli" {
		t.Errorf("sessions: %v", got)
	}
	at("session", "show", "cli").want(t, exitCompleted, `"Remember" cli-`, "store   n", "completed")
	shown := at("session", "show", "cli", "--json")
	if got := shown.object(t)["values"].(map[string]any)["n"]; got != 42.0 {
		t.Errorf("the stored value is %v", got)
	}
	entries := entriesOf(t, shown)
	if kinds(entries) != "exec store result exec store result" {
		t.Errorf("entries: %s", kinds(entries))
	}
	export := at("session", "export", "cli").want(t, exitCompleted)
	if n := strings.Count(export.out, "\n"); n != len(entries) || !json.Valid([]byte(strings.Split(export.out, "\n")[0])) {
		t.Errorf("the export has %d lines:\n%s", n, export.out)
	}
	at("session", "fork", "cli", entries[2].ID, "before").want(t, exitCompleted, "session before begins with session cli up to "+entries[2].ID)
	at("exec", "--session", "before", program(t, `return await load("n")`)).want(t, exitCompleted, "41")
	at("session", "compact", "cli", "--summary", "They counted.", "--keep", entries[3].ID).want(t, exitCompleted, "compacted session cli")
	if got := kinds(entriesOf(t, at("session", "show", "cli", "--json"))); got != "compact exec store result" {
		t.Errorf("compacted: %s", got)
	}
	if got := kinds(entriesOf(t, at("session", "show", "cli", "--json", "--all"))); got != "exec store result exec store result compact" {
		t.Errorf("all of it: %s", got)
	}
	if got := kinds(entriesOf(t, at("session", "show", "cli", "--json", "--entry", entries[2].ID))); got != "exec store result" {
		t.Errorf("up to an entry: %s", got)
	}
	at("exec", program(t, `return await load("n")`)).want(t, exitCompleted, "42")
	at("session", "recover", "cli").want(t, exitCompleted, "no program was interrupted")
	for _, refused := range []struct {
		args []string
		text string
	}{
		{[]string{"show", "nobody"}, `there is no session "nobody"`},
		{[]string{"show", "cli", "--entry", "nothing"}, `no entry "nothing"`},
		{[]string{"fork", "cli", "nothing", "new"}, `no entry "nothing"`},
		{[]string{"fork", "cli", entries[0].ID, "before"}, `there is a session "before" already`},
		{[]string{"compact", "cli"}, "summary is empty"},
		{[]string{"compact", "cli", "--summary", "x", "--keep", "nothing"}, `doesn't show an entry "nothing"`},
		{[]string{"export", "nobody"}, `there is no session "nobody"`},
		{[]string{"recover", "nobody"}, `there is no session "nobody"`},
	} {
		at(append([]string{"session"}, refused.args...)...).want(t, exitFailed, refused.text)
	}
	if got := at("session", "show", "nobody", "--json").object(t)["error"].(map[string]any)["field"]; got != "key" {
		t.Errorf("the refusal names %v", got)
	}
}

func TestSpec_V2_SessionUsage(t *testing.T) {
	cli{}.do(t, "session", "ls").want(t, exitUsage, "--bus", "--store-dir")
	cli{}.do(t, "session", "recover", "x").want(t, exitUsage, "--bus", "--store-dir")
	cli{}.do(t, "session", "show").want(t, exitUsage, "KEY")
	cli{}.do(t, "session", "fork", "a", "b").want(t, exitUsage, "NEWKEY")
	cli{}.do(t, "mcp", "--http", "127.0.0.1:0", "--session", "x").want(t, exitUsage, "over HTTP")
	dir := filepath.Join(t.TempDir(), "store")
	_, url := up(t, "--store-dir", dir)
	cli{}.do(t, "session", "ls", "--store-dir", dir).want(t, exitUsage, "another process uses bus.storeDir", "--bus")
	cli{}.do(t, "session", "ls", "--bus", url).want(t, exitCompleted, "no sessions")
}

func TestSpec_T1_MCPSessionsWithANameStayTogether(t *testing.T) {
	config := stored(t)
	for n, want := range []string{"undefined", "1"} {
		client, server := stdio(t, "--config", config, "--session", "desk")
		if got := string(client.exec(fmt.Sprintf(`const n = await load("n"); await store("n", %d); return String(n)`, n+1)).Value); got != `"`+want+`"` {
			t.Errorf("the stored value is %s, want %s", got, want)
		}
		client.vanish()
		if code := server.wait(); code != exitCompleted {
			t.Fatalf("mcp ended with %d", code)
		}
	}
	cli{}.do(t, "session", "ls", "--config", config).want(t, exitCompleted, "desk  ")
}

func TestPrint_HostileTranscript(t *testing.T) {
	for _, e := range []schemas.SessionEntry{
		{Kind: schemas.EntryMessage, Message: &schemas.MessageEntry{Role: "user", Content: schemas.JSON(`"\u001b[2J\nnext line"`)}},
		{Kind: schemas.EntryExec, Exec: &schemas.ExecEntry{CallID: "\x1b[2J", Input: schemas.JSON(`{"title":"\u001b]0;x\u0007"}`)}},
		{Kind: schemas.EntryCall, Call: &schemas.CallEntry{Tool: "a\r\nb\u202e"}},
		{Kind: schemas.EntryCompact, Compact: &schemas.CompactEntry{Summary: strings.Repeat("é", 1000)}},
		{Kind: "unknown"},
	} {
		if got := entryText(&e); strings.ContainsAny(got, "\x1b\r\n\u202e") || len([]rune(got)) > shownRunes {
			t.Errorf("shown as %q", got)
		}
	}
}
