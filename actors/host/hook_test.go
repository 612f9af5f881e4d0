package host_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/codecell/codecell/actors/tool"
	"github.com/codecell/codecell/bus"
	"github.com/codecell/codecell/schemas"
)

// TestSpec_X8_P1_Case70_HooksCanTellProgramsFromTools: a program, the calls in it, and a shell tool that has the name of
// the program's tool.
func TestSpec_X8_P1_Case70_HooksCanTellProgramsFromTools(t *testing.T) {
	var before, after spy
	shell := tool.New("exec", "Runs a command.", func(_ context.Context, in struct {
		Command string `json:"command"`
	}) (string, error) {
		return "ran " + in.Command, nil
	})
	n := hookedNode(t, config(t, `{hooks: [{name: "audit", phase: "after_tool_call", tools: ["exec"]}]}`),
		[]tool.Hook{before.hook("guard", schemas.BeforeToolCall, "exec", "echo")}, shell)
	if _, err := bus.ServeHook(n.Conn(), schemas.AfterToolCall, "audit", after.ask); err != nil {
		t.Fatal(err)
	}
	id := someone("x8")
	id.Sender, id.Channel = "ada", "cli"
	run, err := n.Client().Open(t.Context(), schemas.Open{Identity: id})
	if err != nil {
		t.Fatal(err)
	}
	const trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	result, err := run.Exec(t.Context(), schemas.Exec{CallID: "toolu_7", TraceParent: trace,
		Input: schemas.JSON(`{"title":"t","command":"return [(await exec({command: 'ls'})), (await echo({n: 1})).n]"}`)})
	if err != nil || string(result.Value) != `["ran ls",1]` {
		t.Fatalf("%+v %v", result, err)
	}
	asked := before.seen(schemas.BeforeToolCall)
	if len(asked) != 3 {
		t.Fatalf("asked about %+v", asked)
	}
	outer, command, echo := asked[0], asked[1], asked[2]
	if outer.Tool != "exec" || outer.ToolKind != "code_mode_exec" || outer.ToolInputKind != "javascript" || outer.Call != "toolu_7" || outer.ParentID != "" ||
		outer.Identity != id || outer.TraceParent != trace || outer.Address.Host != run.Host || outer.Address.Run != run.ID || outer.Source != "" {
		t.Errorf("the program: %+v", outer)
	}
	var input map[string]string
	if err := json.Unmarshal(outer.Input, &input); err != nil || input["code"] == "" || input["code"] != input["command"] || input["title"] != "t" {
		t.Errorf("the program's input: %s %v", outer.Input, err)
	}
	for _, e := range []schemas.HookEvent{command, echo} {
		if e.ToolKind != "" || e.ToolInputKind != "" || e.ParentID != "toolu_7" || e.Identity != id || e.Address.Cell == "" || e.Owner != "lab" {
			t.Errorf("a call: %+v", e)
		}
	}
	if command.Tool != "exec" || string(command.Input) != `{"command":"ls"}` || echo.Tool != "echo" {
		t.Errorf("calls: %+v %+v", command, echo)
	}
	told := after.seen(schemas.AfterToolCall)
	if len(told) != 2 || told[0].ToolKind != "" || string(told[0].Value) != `"ran ls"` || told[1].ToolKind != "code_mode_exec" {
		t.Fatalf("told: %+v", told)
	}
	var answer schemas.Result
	if err := json.Unmarshal(told[1].Value, &answer); err != nil || string(answer.Value) != string(result.Value) || string(told[1].Input) != string(outer.Input) ||
		told[1].Address.Cell != command.Address.Cell || told[1].DurationUs <= 0 {
		t.Errorf("the program's answer: %+v %v", told[1], err)
	}
}

// TestSpec_X1_Case70_ARewriteReachesTheProgramAndTheAfterHook: whichever name of the program is rewritten.
func TestSpec_X1_Case70_ARewriteReachesTheProgramAndTheAfterHook(t *testing.T) {
	for _, input := range []string{
		`{"title":"t","code":"return 1","command":"return 2"}`, `{"title":"t","code":"return 2","command":"return 1"}`, `{"title":"t","command":"return 2"}`,
	} {
		before, after := spy{decide: always(schemas.Verdict{Input: schemas.JSON(input)})}, spy{}
		n := hookedNode(t, nil, []tool.Hook{before.hook("guard", schemas.BeforeToolCall, "exec"), after.hook("audit", schemas.AfterToolCall, "exec")})
		if r := exec(t, open(t, n, "x1"), "return 1"); string(r.Value) != "2" {
			t.Errorf("%s: %+v", input, r)
		}
		const want = `{"title":"t","code":"return 2","command":"return 2"}`
		if told := after.seen(schemas.AfterToolCall); len(told) != 1 || string(told[0].Input) != want {
			t.Errorf("%s: the after-hook saw %+v", input, told)
		}
	}
}

// TestSpec_X8_X1_RefusedProgramsStartNothing: no guest, no cell, no call.
func TestSpec_X8_X1_RefusedProgramsStartNothing(t *testing.T) {
	var guard spy
	n := hookedNode(t, config(t, `{hooks: [{name: "missing", phase: "before_tool_call", tools: ["exec"]}]}`),
		[]tool.Hook{guard.hook("guard", schemas.BeforeToolCall, "exec")})
	run := open(t, n, "x8")
	facts, err := n.Client().Watch(t.Context(), bus.Facts("cell"), bus.Facts("call"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		verdict schemas.Verdict
		want    string
	}{
		{schemas.Verdict{Block: true, Reason: "no loops"}, "the program was not started: hook guard blocks it: no loops"},
		{schemas.Verdict{Ask: true}, "hook guard asks for an approval, which there is for calls of tools only"},
		{schemas.Verdict{Input: schemas.JSON(`{"title":"t","code":"","command":"return 1"}`)}, "hook guard made its input invalid: code: the program was blanked"},
		{schemas.Verdict{Err: &schemas.Error{Message: "no database"}}, "hook guard failed: no database"},
		{schemas.Verdict{}, "nobody answers for hook missing"},
	} {
		guard.decide = always(c.verdict)
		r := exec(t, run, "return echo({n: 1})")
		mustFail(t, r, schemas.InvalidInput, c.want)
		if r.Telemetry.CallCount != 0 || len(r.Telemetry.Calls) != 0 {
			t.Errorf("%s: %+v", c.want, r.Telemetry)
		}
	}
	// What a hook makes of a program is searched for modules as well, and what it needn't see it isn't shown.
	if _, err := bus.ServeHook(n.Conn(), schemas.BeforeToolCall, "missing", always(schemas.Verdict{})); err != nil {
		t.Fatal(err)
	}
	guard.decide = always(schemas.Verdict{Input: schemas.JSON(`{"title":"t","code":"await import('fs')"}`)})
	mustFail(t, exec(t, run, "return 1"), schemas.InvalidInput, "import")
	asked := len(guard.seen(schemas.BeforeToolCall))
	mustFail(t, exec(t, run, "require('fs')"), schemas.InvalidInput, "require")
	if len(guard.seen(schemas.BeforeToolCall)) != asked {
		t.Error("a hook was asked about a program that can't be run")
	}
	guard.decide = nil
	if r := exec(t, run, "return 5"); string(r.Value) != "5" {
		t.Fatalf("%+v", r)
	}
	// The first facts are those of the only program that was started.
	started := 0
	for e := range facts {
		if e.Err != nil {
			t.Fatal(e.Err)
		}
		if ended, ok := e.Fact.(*schemas.CellEnded); ok {
			if started != 1 || ended.Status != schemas.StatusCompleted || ended.Calls != 0 {
				t.Errorf("%d cells were started, and this one ended: %+v", started, ended)
			}
			break
		}
		started++
	}
}

// TestSpec_S5_HooksOfProgramsHaveTheirBudgetOnly: the budget ends before the hook's own time does.
func TestSpec_S5_HooksOfProgramsHaveTheirBudgetOnly(t *testing.T) {
	leave := make(chan struct{})
	defer close(leave)
	guard := spy{decide: func(context.Context, *schemas.HookEvent) (*schemas.Verdict, error) {
		<-leave
		return &schemas.Verdict{}, nil
	}}
	hook := guard.hook("guard", schemas.BeforeToolCall)
	hook.Timeout = time.Minute
	n := hookedNode(t, config(t, short), []tool.Hook{hook})
	start := time.Now()
	mustFail(t, exec(t, open(t, n, "s5"), "return 1"), schemas.Timeout, "hooks had not let the program begin when its budget of 1s was used up")
	if took := time.Since(start); took > 20*time.Second {
		t.Errorf("took %v", took)
	}
}

// TestSpec_S8_CancelledProgramsDontWaitForHooks, neither for those before nor for those after it.
func TestSpec_S8_CancelledProgramsDontWaitForHooks(t *testing.T) {
	for _, phase := range []string{schemas.BeforeToolCall, schemas.AfterToolCall} {
		for name, cancel := range map[string]func(context.Context, *bus.Run) error{
			"abort": func(ctx context.Context, run *bus.Run) error { return run.Abort(ctx, "c1", "not wanted") },
			"close": func(ctx context.Context, run *bus.Run) error { return run.Close(ctx, "over") },
		} {
			if phase == schemas.AfterToolCall && name == "close" {
				continue // closing a run waits for its answers
			}
			t.Run(phase+" "+name, func(t *testing.T) {
				entered, leave := make(chan struct{}), make(chan struct{})
				defer close(leave)
				guard := spy{decide: func(context.Context, *schemas.HookEvent) (*schemas.Verdict, error) {
					close(entered)
					<-leave
					return &schemas.Verdict{}, nil
				}}
				hook := guard.hook("guard", phase, "exec")
				hook.Timeout = time.Minute
				run := open(t, hookedNode(t, nil, []tool.Hook{hook}), "s8")
				answer := startExec(t, run, "c1", "text('secret'); return 1")
				within(t, entered)
				if err := cancel(t.Context(), run); err != nil {
					t.Error(err)
				}
				r := within(t, answer)
				if r.Code != schemas.Aborted || len(r.Output) > 0 || len(r.Value) > 0 {
					t.Errorf("%+v", r)
				}
			})
		}
	}
}

// TestSpec_E5_Case72_CallsThatHooksRefuseWereNotStarted: and so says the telemetry, beside those that were.
func TestSpec_E5_Case72_CallsThatHooksRefuseWereNotStarted(t *testing.T) {
	var ran atomic.Int64
	write := tool.New("write", "", func(_ context.Context, in echoIn) (echoOut, error) { ran.Add(1); return echoOut(in), nil })
	guard := spy{decide: func(_ context.Context, e *schemas.HookEvent) (*schemas.Verdict, error) {
		return &schemas.Verdict{Block: string(e.Input) == `{"n":13}`, Reason: "unlucky"}, nil
	}}
	n := hookedNode(t, nil, []tool.Hook{guard.hook("guard", schemas.BeforeToolCall, "write")}, write)
	run := open(t, n, "e5")
	for code, want := range map[string]string{
		`await write({})`:        "1 write not_started",
		`await write({n: 13})`:   "1 write not_started",
		`await write({n: "13"})`: "1 write not_started",
	} {
		ran.Store(0)
		r := exec(t, run, code)
		if r.Status != schemas.StatusFailed || outcomes(r) != want || ran.Load() != 0 {
			t.Errorf("%s: %+v, %s, ran %d times", code, r, outcomes(r), ran.Load())
		}
	}
	r := exec(t, run, `await write({n: 1}); try { await write({n: 13}) } catch (e) { text(e.message + " " + e.effectStatus) } await write({}); return 1`)
	if outcomes(r) != "1 write done, 2 write not_started, 3 write not_started" || ran.Load() != 1 ||
		len(r.Output) != 1 || r.Output[0].Text != "write was not called: hook guard blocks it: unlucky not_started" {
		t.Errorf("%+v, %s", r, outcomes(r))
	}
}

func outcomes(r *schemas.Result) string {
	var all []string
	for _, c := range r.Telemetry.Calls {
		all = append(all, c.ID+" "+c.Tool+" "+string(c.Outcome))
	}
	return strings.Join(all, ", ")
}
