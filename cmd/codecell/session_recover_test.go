package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/codecell/codecell/bus"
	"github.com/codecell/codecell/schemas"
)

// A program that only a hook has made restart-safe is run again as one, whether the hook is asked or not; and what can't
// be read is left alone, and in nobody's way (R1, R2, B4). So it is where the host was started again with a configuration
// that shows programs to no model any more (case 41).
func TestSpec_R2_Case41_RecoveredProgramsAreRestartSafe(t *testing.T) {
	for name, more := range map[string]string{"as before": "", "code mode is off by now": "tools: { codeMode: false }"} {
		t.Run(name, func(t *testing.T) { recoverForged(t, more) })
	}
}

func recoverForged(t *testing.T, more string) {
	t.Helper()
	lab := newToolServer(t)
	_, url := up(t, "--config", write(t, "config.json5", `{ mcpServers: { lab: { url: "`+lab.url+`" } }, `+more+` }`))
	conn, err := bus.Dial(t.Context(), bus.Options{URLs: []string{url}})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	sessions, err := bus.OpenSessions(t.Context(), conn)
	if err != nil {
		t.Fatal(err)
	}
	batch := schemas.SessionBatch{Key: "desk"}
	for id, input := range map[string]string{
		"a": `"title and code"`,
		"b": `{"title":"By a hook","code":"return await MCP.lab.hold({text: \"again\"})"}`,
		"c": `{"title":"Twice","code":"return 1","restartSafe":true,"restartSafe":false}`,
	} {
		text, err := json.Marshal(schemas.SessionEntry{ID: id, Kind: schemas.EntryExec, Exec: &schemas.ExecEntry{
			CallID: "toolu_" + id, Cell: "gone-" + id, RestartSafe: true, Input: schemas.JSON(input),
			Identity: schemas.Identity{Agent: "default", SessionID: "s", SessionKey: "desk", Run: "r"},
		}})
		if err != nil {
			t.Fatal(err)
		}
		batch.Entries = append(batch.Entries, text)
	}
	if _, err := sessions.Append(t.Context(), &batch, 0); err != nil {
		t.Fatal(err)
	}
	got := cli{}.do(t, "session", "recover", "desk", "--json", "--bus", url).want(t, exitFailed)
	var out struct {
		Recovered []struct {
			Title  string
			Result struct {
				Status, Error string
				ReplaySafe    bool
			}
		}
		Left []struct{ CallID, Why string }
	}
	if err := json.Unmarshal([]byte(got.out), &out); err != nil {
		t.Fatal(err)
	}
	if len(out.Left) != 1 || out.Left[0].CallID != "toolu_a" || !strings.Contains(out.Left[0].Why, "can't be read") {
		t.Errorf("%+v", out.Left)
	}
	for _, r := range out.Recovered {
		switch r.Title {
		case "By a hook":
			if r.Result.Status != "failed" || !strings.Contains(r.Result.Error, "is not marked replay-safe") {
				t.Errorf("%+v", r)
			}
		case "Twice":
			if r.Result.Status != "completed" || !r.Result.ReplaySafe {
				t.Errorf("%+v", r)
			}
		}
	}
	if len(out.Recovered) != 2 || len(lab.held) != 0 {
		t.Errorf("%d were run again, %d calls were made", len(out.Recovered), len(lab.held))
	}
}
