package host_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/codecell/codecell/actors/host"
	"github.com/codecell/codecell/actors/session"
	"github.com/codecell/codecell/actors/tool"
	"github.com/codecell/codecell/bus"
	"github.com/codecell/codecell/schemas"
)

// execAs runs an exec input under a call id of its own.
func execAs(t *testing.T, run *bus.Run, callID string, input map[string]any) *schemas.Result {
	t.Helper()
	if input["title"] == nil {
		input["title"] = "transcript"
	}
	text, err := json.Marshal(input)
	if err != nil {
		t.Fatal(err)
	}
	r, err := run.Exec(t.Context(), schemas.Exec{CallID: callID, Input: text})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// transcript reads the session of a name once its last line is this one, and shows it in short. Entries are kept a
// moment after what they tell.
func transcript(t *testing.T, n *host.Node, name, last string) (entries []schemas.SessionEntry, lines []string) {
	t.Helper()
	store, err := session.Open(t.Context(), n.Conn(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = store.Close(context.Background()) }()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); { // real: only a failing test waits so long
		branch, err := store.Branch(t.Context(), someone(name).SessionKey, "")
		if err == nil {
			lines = lines[:0]
			for _, e := range branch.Entries {
				lines = append(lines, line(&e))
			}
			if len(lines) > 0 && lines[len(lines)-1] == last {
				return branch.Entries, lines
			}
		}
		time.Sleep(10 * time.Millisecond) // real: appending isn't acknowledged
	}
	t.Fatalf("transcript:\n%s\nwhich doesn't end with %s", strings.Join(lines, "\n"), last)
	return nil, nil
}

func line(e *schemas.SessionEntry) string {
	switch e.Kind {
	case schemas.EntryExec:
		return "exec " + e.Exec.CallID
	case schemas.EntryWait:
		return "wait " + e.Wait.CallID
	case schemas.EntryResult:
		return strings.TrimSpace(fmt.Sprintf("%s of %s in %s %s", e.Result.Status, e.Result.CallID, e.Result.ParentID, e.Result.Code))
	case schemas.EntryCall:
		return fmt.Sprintf("call %s %s in %s", e.Call.Call, e.Call.Tool, e.Call.ParentID)
	case schemas.EntryOutcome:
		return fmt.Sprintf("%s %s in %s", e.Outcome.Outcome, e.Outcome.Call, e.Outcome.ParentID)
	default:
		return string(e.Kind)
	}
}

func mustRead(t *testing.T, lines []string, want ...string) {
	t.Helper()
	if got := strings.Join(lines, "\n"); got != strings.Join(want, "\n") {
		t.Errorf("transcript:\n%s\nwant:\n%s", got, strings.Join(want, "\n"))
	}
}

// P6, W1, W5: each nested call is there once, in its exec, with its end; a wait changes neither identity nor parents,
// and one that is delivered twice is there once.
func TestSpec_P6_W1_W5_TranscriptOfARun(t *testing.T) {
	n := node(t, config(t, short))
	run := bound(t, n, "a")
	first := execAs(t, run, "e1", map[string]any{"code": `
		const one = await echo({n: 1});
		try { await boom({}) } catch {}
		await catalog.search("echo");
		await yield_control();
		return one.n + (await echo({n: 2})).n`})
	mustWait(t, first, schemas.ReasonYield)
	for range 3 {
		mustComplete(t, wait(t, n, "a", "w1", first.RunID), "3")
	}
	mustFail(t, wait(t, n, "a", "w2", first.RunID), schemas.InvalidInput, "unavailable or expired")
	entries, lines := transcript(t, n, "a", "failed of w2 in  invalid_input")
	mustRead(t, lines, "exec e1", "call 1 echo in e1", "done 1 in e1", "call 2 boom in e1", "failed 2 in e1", "waiting of e1 in e1",
		"wait w1", "call 5 echo in e1", "done 5 in e1", "completed of w1 in e1", "wait w2", "failed of w2 in  invalid_input")
	e := entries[0].Exec
	if e.Identity != someone("a") || e.Cell != first.RunID || e.Host != n.Host().ID() || !strings.Contains(string(e.Input), "await echo({n: 1});") {
		t.Errorf("exec = %+v, input %s", e, e.Input)
	}
	for i, e := range entries {
		if i > 0 && e.Parent != entries[i-1].ID || e.At == 0 {
			t.Errorf("entry %d of %q at %d: %+v", i, e.Parent, e.At, e)
		}
		if e.Call != nil && e.Call.Cell != first.RunID || e.Outcome != nil && e.Outcome.Cell != first.RunID || e.Result != nil && e.Result.Cell != first.RunID {
			t.Errorf("another cell: %s", line(&e))
		}
	}
	if c, o := entries[1].Call, entries[2].Outcome; string(c.Args) != `{"n":1}` || c.Owner != "lab" || c.Source != schemas.SourceNative || string(o.Value) != `{"n":1}` {
		t.Errorf("call = %+v, outcome = %+v", c, o)
	}
	if o := entries[4].Outcome; o.Err == nil || o.Err.Message != "it broke" {
		t.Errorf("outcome = %+v", o)
	}
	var export strings.Builder
	store, err := session.Open(t.Context(), n.Conn(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = store.Close(context.Background()) }()
	if err := store.Export(t.Context(), someone("a").SessionKey, &export); err != nil {
		t.Fatal(err)
	}
	exported := strings.Split(strings.TrimSpace(export.String()), "\n")
	if inside := strings.Count(exported[0], `"outcome":{`); len(exported) != 6 || inside != 3 || strings.Contains(strings.Join(exported[1:], ""), `"call":{`) {
		t.Errorf("%d lines, %d calls in the first: %s", len(exported), inside, export.String())
	}
}

// P6: the transcript tells how every exec ended, also one that was refused, and one that nobody waited for.
func TestSpec_P6_S8_EveryEndIsInTheTranscript(t *testing.T) {
	l := newLab()
	n := node(t, config(t, `{tools: {codeMode: {enabled: true, timeoutMs: 1000, snapshotTtlSeconds: 2}}}`), l.tools()...)
	run := bound(t, n, "a")
	execAs(t, run, "e1", map[string]any{"code": `import "fs"`})
	execAs(t, run, "e2", map[string]any{"code": `const = 1`})
	execAs(t, run, "e3", map[string]any{"cude": 1})
	mustWait(t, execAs(t, run, "e4", map[string]any{"code": `await held({})`}), schemas.ReasonPendingTools)
	if err := run.Abort(t.Context(), "e4", "not wanted"); err != nil {
		t.Fatal(err)
	}
	mustWait(t, execAs(t, run, "e5", map[string]any{"code": `await yield_control()`}), schemas.ReasonYield)
	_, lines := transcript(t, n, "a", "failed of e5 in e5 aborted") // it expires
	mustRead(t, lines, "exec e1", "failed of e1 in e1 invalid_input", "exec e2", "failed of e2 in e2 invalid_input",
		"exec e3", "failed of e3 in e3 invalid_input",
		"exec e4", "call 1 held in e4", "waiting of e4 in e4", "unknown 1 in e4", "failed of e4 in e4 aborted",
		"exec e5", "waiting of e5 in e5", "failed of e5 in e5 aborted")
}

// Case 80: the transcript has each call once, with its end.
func TestSpec_P6_Case80_CallsOfFailedCells(t *testing.T) {
	l := newLab()
	n := node(t, config(t, short), l.tools()...)
	for name, c := range map[string]struct {
		code string
		want []string
	}{
		"before any dispatch": {`write({n: 1}); throw new Error("first")`, nil},
		"after three of five": {`for (let n = 1; n <= 5; n++) { if (n == 4) throw new Error("stop"); await write({n}) }`,
			[]string{"call 1 write in e1", "done 1 in e1", "call 2 write in e1", "done 2 in e1", "call 3 write in e1", "done 3 in e1"}},
	} {
		run := bound(t, n, name)
		execAs(t, run, "e1", map[string]any{"code": c.code})
		_, lines := transcript(t, n, name, "failed of e1 in e1 internal_error")
		mustRead(t, lines, append(append([]string{"exec e1"}, c.want...), "failed of e1 in e1 internal_error")...)
	}
	// A call that is live at the program's end keeps it waiting.
	run := bound(t, n, "live")
	mustWait(t, execAs(t, run, "e1", map[string]any{"code": `held({n: 1}); return 1`}), schemas.ReasonPendingTools)
	if err := run.Close(t.Context(), "over"); err != nil {
		t.Fatal(err)
	}
	_, lines := transcript(t, n, "live", "failed of e1 in e1 aborted")
	mustRead(t, lines, "exec e1", "call 1 held in e1", "waiting of e1 in e1", "unknown 1 in e1", "failed of e1 in e1 aborted")
}

// P6: a tool that the model calls itself is a call without an exec.
func TestSpec_P6_DirectCallsAreInTheTranscript(t *testing.T) {
	n := node(t, config(t, `{tools: {direct: ["echo", "boom"]}}`))
	run := bound(t, n, "a")
	if _, err := run.Direct(t.Context(), schemas.Direct{CallID: "d1", Name: "echo", Args: schemas.JSON(`{"n":7}`)}); err != nil {
		t.Fatal(err)
	}
	if _, err := run.Direct(t.Context(), schemas.Direct{CallID: "d2", Name: "boom", Args: schemas.JSON(`{}`)}); err != nil {
		t.Fatal(err)
	}
	entries, lines := transcript(t, n, "a", "failed 2 in d2")
	mustRead(t, lines, "call 1 echo in d1", "done 1 in d1", "call 2 boom in d2", "failed 2 in d2")
	if string(entries[1].Outcome.Value) != `{"n":7}` {
		t.Errorf("outcome = %+v", entries[1].Outcome)
	}
}

// P8: the program that is kept is masked, the one that runs isn't.
func TestSpec_P8_TheProgramRunsAsItWas(t *testing.T) {
	n := node(t, config(t, `{history: {redact: "credentials", secrets: ["plain-secret"]}}`))
	run := bound(t, n, "a")
	mustComplete(t, execAs(t, run, "e1", map[string]any{
		"title": "use plain-secret", "code": "const token = 'hunter2';\nreturn [token, 'plain-secret']",
	}), `["hunter2","plain-secret"]`)
	entries, _ := transcript(t, n, "a", "completed of e1 in e1")
	e := entries[0].Exec
	var in struct{ Title, Code string }
	if err := json.Unmarshal(e.Input, &in); err != nil {
		t.Fatal(err)
	}
	if in.Title != "use [redacted]" || in.Code != "const token = '[redacted]';\nreturn [token, '[redacted]']" || !e.Redacted {
		t.Errorf("exec = %+v, input %s", e, e.Input)
	}
}

// P7: what is kept is as it was, and says what recovery must know.
func TestSpec_P7_R2_ExecsAreKeptRaw(t *testing.T) {
	n := node(t, nil, tool.New("look", "Only looks.", func(_ context.Context, in echoIn) (echoOut, error) { return echoOut(in), nil }, tool.ReplaySafe()))
	run := bound(t, n, "a")
	input := schemas.JSON(`{ "title":"raw", "code":"const token = 'hunter2'; return (await look({n: 1})).n", "restartSafe":true }`)
	if _, err := run.Exec(t.Context(), schemas.Exec{CallID: "e1", Input: input, Recovers: "e0"}); err != nil {
		t.Fatal(err)
	}
	entries, _ := transcript(t, n, "a", "completed of e1 in e1")
	e := entries[0].Exec
	if !e.RestartSafe || e.DryRun || e.Redacted || e.Truncated || e.Recovers != "e0" || !strings.Contains(string(e.Input), "hunter2") {
		t.Errorf("exec = %+v, input %s", e, e.Input)
	}
	if !entries[1].Call.ReplaySafe || entries[1].Call.Placeholder {
		t.Errorf("call = %+v", entries[1].Call)
	}
	// A dry run says so, and which calls weren't made.
	id := someone("a")
	id.Run = "dry"
	dry, err := n.Client().Open(t.Context(), schemas.Open{Identity: id, Bind: true, DryRun: true})
	if err != nil {
		t.Fatal(err)
	}
	execAs(t, dry, "e2", map[string]any{"code": `await look({n: 1}); await echo({n: 2})`})
	entries, lines := transcript(t, n, "a", "completed of e2 in e2")
	mustRead(t, lines[4:], "exec e2", "call 1 look in e2", "done 1 in e2", "call 2 echo in e2", "done 2 in e2", "completed of e2 in e2")
	if !entries[4].Exec.DryRun || entries[5].Call.Placeholder || !entries[7].Call.Placeholder {
		t.Errorf("exec = %+v, calls %+v, %+v", entries[4].Exec, entries[5].Call, entries[7].Call)
	}
}

// R2: a restart-safe program that went on after one of its calls was refused has changed nothing, and can be run again.
func TestSpec_R2_Case41_ARefusedCallDoesntPreventRecovery(t *testing.T) {
	g := make(gate)
	n := node(t, config(t, short), tool.New("look", "Looks when it may.", func(ctx context.Context, in echoIn) (echoOut, error) {
		select {
		case <-g:
		case <-ctx.Done():
		}
		return echoOut(in), nil
	}, tool.ReplaySafe()))
	run := bound(t, n, "a")
	r := execAs(t, run, "e1", map[string]any{"restartSafe": true, "code": `
		const refused = await echo({n: 1}).catch(e => e.message)
		return [refused, await look({n: 2})]`})
	if r.Status != schemas.StatusWaiting {
		t.Fatalf("%+v", r)
	}
	entries, lines := transcript(t, n, "a", "waiting of e1 in e1")
	mustRead(t, lines, "exec e1", "call 1 echo in e1", "not_started 1 in e1", "call 2 look in e1", "waiting of e1 in e1")
	found := session.Interrupted(&session.Branch{Entries: entries})
	if len(found) != 1 || found[0].Why != "" {
		t.Errorf("%+v", found)
	}
}
