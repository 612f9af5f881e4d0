package host_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/codecell/codecell/actors/tool"
	"github.com/codecell/codecell/schemas"
)

// shellConfig has the shell tools on, in an empty folder.
func shellConfig(t *testing.T, timeoutMs int, more string) *schemas.Config {
	t.Helper()
	c := config(t, `{tools: {codeMode: {enabled: true}`+more+`}, workspace: {tools: {exec: true, write: true}}}`)
	limit := float64(timeoutMs)
	c.Tools.CodeMode.TimeoutMs = &limit
	c.Workspace.Root = t.TempDir()
	return c
}

// value reads what a completed program returned.
func value[T any](t *testing.T, r *schemas.Result) T {
	t.Helper()
	var v T
	if r.Status != schemas.StatusCompleted {
		t.Fatalf("result = %s %s: %s", r.Status, r.Code, r.Error)
	}
	if err := json.Unmarshal(r.Value, &v); err != nil {
		t.Fatalf("%v: %s", err, r.Value)
	}
	return v
}

func TestSpec_X9_Case54_TheShellToolIsCallableAndTheControlsAreNot(t *testing.T) {
	n := node(t, shellConfig(t, 10_000, ""))
	run := open(t, n, "a")
	got := value[map[string]any](t, exec(t, run, `
		const ran = await exec({command: "echo hi"});
		let refused; try { await exec({code: "return 1", title: "t"}) } catch (e) { refused = e.code }
		const handle = await catalog.all().find(t => t.toolName === "exec")({command: "echo by handle"});
		await write({path: "made", content: "by write"});
		return {output: ran.output, exitCode: ran.exitCode, refused, wait: typeof wait, handle: handle.output,
			waits: catalog.all().filter(t => t.toolName === "wait").length,
			seen: (await exec({command: "cat made"})).output}`))
	for key, want := range map[string]any{
		"output": "hi\n", "exitCode": 0.0, "refused": "input_contract", "wait": "undefined", "handle": "by handle\n", "waits": 0.0, "seen": "by write",
	} {
		if got[key] != want {
			t.Errorf("%s = %v, want %v", key, got[key], want)
		}
	}
	opened, err := n.Client().Open(t.Context(), schemas.Open{Identity: someone("b")})
	if err != nil {
		t.Fatal(err)
	}
	execs := 0
	for _, seen := range opened.Surface.Tools {
		if seen.Name == "exec" {
			execs++
			if !strings.Contains(string(seen.InputSchema), `"code"`) {
				t.Errorf("the model sees the shell tool: %s", seen.InputSchema)
			}
		}
	}
	if execs != 1 || len(opened.Surface.Tools) != 2 {
		t.Errorf("the model sees %d exec of %d tools", execs, len(opened.Surface.Tools))
	}
}

func TestSpec_X9_NoControlWithoutTheShellTool(t *testing.T) {
	run := open(t, node(t, nil), "a")
	if got := value[[]string](t, exec(t, run, `return [typeof exec, typeof wait, typeof process, typeof write]`)); strings.Join(got, " ") != "undefined undefined undefined undefined" {
		t.Errorf("%v", got)
	}
}

// Q5: the handle of a command that takes longer than the budget comes back in the same turn, and the session's next
// program finds the command.
func TestSpec_Q5_TheHandleComesBackInTheSameTurn(t *testing.T) {
	run := open(t, node(t, shellConfig(t, 3000, "")), "a")
	first := value[map[string]any](t, exec(t, run, `
		const r = await exec({command: "echo begun; sleep 4; echo ended"});
		return {status: r.status, id: r.sessionId, output: r.output, code: typeof r.exitCode}`))
	if first["status"] != "running" || first["output"] != "begun\n" || first["code"] != "undefined" {
		t.Fatalf("%v", first)
	}
	id, err := json.Marshal(first["id"])
	if err != nil {
		t.Fatal(err)
	}
	for text := ""; ; {
		got := value[map[string]any](t, exec(t, run, `return await process({action: "poll", sessionId: `+string(id)+`, waitMs: 1000})`))
		if text += got["output"].(string); got["status"] == "completed" {
			if text != "ended\n" || got["exitCode"] != 0.0 {
				t.Errorf("%q %v", text, got)
			}
			return
		}
	}
}

// Q4: a command that is awaited keeps its cell open beyond the budget; a background handle isn't a result, and doesn't.
func TestSpec_Q4_AnAwaitedCommandMakesItsCellRequired(t *testing.T) {
	run := open(t, node(t, shellConfig(t, 2500, "")), "a")
	begun := time.Now()
	got := value[[]any](t, exec(t, run, `
		const quick = await exec({command: "echo quick"});
		const r = await exec({command: "echo begun; sleep 4; echo ended", awaitResults: true});
		return [quick.output, r.status, r.output]`))
	if got[0] != "quick\n" || got[1] != "completed" || got[2] != "begun\nended\n" || time.Since(begun) < 4*time.Second {
		t.Errorf("%v after %v", got, time.Since(begun))
	}
	begun = time.Now()
	got = value[[]any](t, exec(t, run, `
		const r = await exec({command: "sleep 1000", awaitResults: true, background: true});
		const all = (await process({action: "list"})).sessions;
		const end = await process({action: "kill", sessionId: r.sessionId});
		return [r.status, all.length, end.failureKind]`))
	if got[0] != "running" || got[1] != 1.0 || got[2] != "killed" {
		t.Errorf("%v after %v", got, time.Since(begun))
	}
}

// Case 36c: the message of a wait for nothing names the process tool to those who can call it.
func TestSpec_W3_Case36_AWaitForNothingSaysWhoCanTell(t *testing.T) {
	lookalike := tool.Raw(schemas.Tool{
		Name: "process", Parameters: schemas.JSON(`{"type":"object","properties":{"action":{"enum":["list","wait"]}}}`),
	}, func(context.Context, schemas.JSON) (schemas.JSON, error) { return nil, nil })
	for name, c := range map[string]struct {
		config *schemas.Config
		tools  []tool.Func
		polls  bool
	}{
		"with":      {config: shellConfig(t, 5000, ""), polls: true},
		"without":   {},
		"denied":    {config: shellConfig(t, 5000, `, deny: ["process"]`)},
		"lookalike": {tools: []tool.Func{lookalike}},
	} {
		t.Run(name, func(t *testing.T) {
			n := node(t, c.config, c.tools...)
			parked := exec(t, open(t, n, "a"), `await yield_control(); return 1`)
			if last := wait(t, n, "a", "call-2", parked.RunID); last.Status != schemas.StatusCompleted {
				t.Fatalf("result = %+v", last)
			}
			got := wait(t, n, "a", "call-3", parked.RunID)
			mustFail(t, got, schemas.InvalidInput, "unavailable or expired")
			mustFail(t, got, schemas.InvalidInput, "look at the earlier results")
			if names := strings.Contains(got.Error, `process({action: "poll"`); names != c.polls {
				t.Errorf("names the process tool: %v: %s", names, got.Error)
			}
		})
	}
}
