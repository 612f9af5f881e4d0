package host_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/codecell/codecell/actors/host"
	"github.com/codecell/codecell/actors/tool"
	"github.com/codecell/codecell/bus"
	"github.com/codecell/codecell/schemas"
)

// withholding blocks every answer that has the word in it.
func withholding(word string) bus.HookFunc {
	return func(_ context.Context, e *schemas.HookEvent) (*schemas.Verdict, error) {
		return &schemas.Verdict{Block: strings.Contains(string(e.Value), word), Reason: "it holds a key"}, nil
	}
}

func free(t *testing.T, n *host.Node) {
	t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for s := n.Host().Status(); s.Slots.Held > 0 || len(s.Cells) > 0; s = n.Host().Status() {
		if time.Now().After(deadline) {
			t.Fatalf("still held: %+v", s)
		}
		time.Sleep(5 * time.Millisecond) // real: an actor ends on its own
	}
}

// TestSpec_X8_P1_AnswersOfProgramsAreWithheld: whatever way an answer takes, hooks see it first.
func TestSpec_X8_P1_AnswersOfProgramsAreWithheld(t *testing.T) {
	dlp := spy{decide: withholding("KEY")}
	n := hookedNode(t, nil, []tool.Hook{dlp.hook("dlp", schemas.AfterToolCall, "exec")})
	run := open(t, n, "x8")
	for _, code := range []string{
		`await echo({n: 1}); return "KEY"`, `await echo({n: 1}); text("KEY"); return 1`, `await echo({n: 1}); throw new Error("KEY")`,
	} {
		r := exec(t, run, code)
		mustFail(t, r, schemas.Aborted, "the program's answer is withheld: hook dlp blocks it: it holds a key. It has run, and its calls may have taken effect")
		if all, err := r.JSON(); err != nil || strings.Contains(string(all), "KEY") {
			t.Errorf("%s: %s %v", code, all, err)
		}
		if outcomes(r) != "1 echo done" {
			t.Errorf("%s: calls %q", code, outcomes(r))
		}
	}
	// A program that waits can't go on if nobody has its runId.
	mustFail(t, exec(t, run, `text("KEY"); await yield_control(); return 1`), schemas.Aborted, "the program's answer is withheld, and it was ended: hook dlp")
	free(t, n)
	if r := exec(t, run, `return "fine"`); string(r.Value) != `"fine"` {
		t.Errorf("%+v", r)
	}
}

// TestSpec_X8_AnswersOfWaitsAreToldAsWaits and withheld like those of an exec: parking is no way around a hook, and neither
// is a repeated wait.
func TestSpec_X8_AnswersOfWaitsAreToldAsWaits(t *testing.T) {
	dlp := spy{decide: withholding("KEY")}
	n := hookedNode(t, nil, []tool.Hook{dlp.hook("dlp", schemas.AfterToolCall, "exec"), dlp.hook("guard", schemas.BeforeToolCall, "exec")})
	run := open(t, n, "a")
	first := exec(t, run, `await yield_control(); await yield_control(); return "KEY"`)
	if first.Status != schemas.StatusWaiting {
		t.Fatalf("%+v", first)
	}
	if r := wait(t, n, "a", "w1", first.RunID); r.Status != schemas.StatusWaiting {
		t.Fatalf("%+v", r)
	}
	for range 2 {
		r := wait(t, n, "a", "w2", first.RunID)
		mustFail(t, r, schemas.Aborted, "the program's answer is withheld: hook dlp blocks it")
	}
	told := dlp.seen(schemas.AfterToolCall)
	if len(told) != 4 || len(dlp.seen(schemas.BeforeToolCall)) != 1 {
		t.Fatalf("%+v", told)
	}
	e := told[1]
	var answer schemas.Result
	if e.Tool != "wait" || e.ToolKind != schemas.ToolKindExec || e.ToolInputKind != "" || e.Call != "w1" || e.ParentID != "call-1" ||
		e.Address.Cell != first.RunID || e.Identity != someone("a") || string(e.Input) != `{"runId":"`+first.RunID+`"}` {
		t.Errorf("%+v", e)
	}
	if err := json.Unmarshal(e.Value, &answer); err != nil || answer.Status != schemas.StatusWaiting {
		t.Errorf("%s %v", e.Value, err)
	}
	// A wait whose answer is withheld in the middle ends the cell, too.
	parked := exec(t, run, `await yield_control(); text("KEY"); await yield_control()`)
	mustFail(t, wait(t, n, "a", "w3", parked.RunID), schemas.Aborted, "withheld, and it was ended")
	free(t, n)
	mustFail(t, wait(t, n, "a", "w4", parked.RunID), schemas.InvalidInput, "unavailable or expired")
}

// TestSpec_P1_AfterHooksOfProgramsFailClosed: an auditor that is gone is no reason to let answers out.
func TestSpec_P1_AfterHooksOfProgramsFailClosed(t *testing.T) {
	n := hookedNode(t, config(t, `{hooks: [{name: "audit", phase: "after_tool_call", tools: ["exec"]}]}`), nil)
	mustFail(t, exec(t, open(t, n, "p1"), "return 1"), schemas.Aborted, "withheld: nobody answers for hook audit: start what serves it")
}

// TestSpec_P1_Case74_AHookThatAbortsTheRun while it's asked about the first of two calls: neither tool runs, the result is
// there at once, and what a tool returns that was under way and ignores its cancellation goes nowhere.
func TestSpec_P1_Case74_AHookThatAbortsTheRun(t *testing.T) {
	for name, stop := range map[string]func(context.Context, *bus.Run) error{
		"the call": func(ctx context.Context, run *bus.Run) error { return run.Abort(ctx, "c1", "a hook has seen enough") },
		"the run":  func(ctx context.Context, run *bus.Run) error { return run.Close(ctx, "a hook has seen enough") },
	} {
		t.Run(name, func(t *testing.T) {
			var ran atomic.Int64
			count := func(name string) tool.Func {
				return tool.New(name, "", func(_ context.Context, in echoIn) (echoOut, error) { ran.Add(1); return echoOut(in), nil })
			}
			started, leave, left := make(chan struct{}), make(chan struct{}), make(chan struct{})
			deaf := tool.New("deaf", "", func(context.Context, struct{}) (string, error) {
				close(started)
				<-leave
				defer close(left)
				return "late", nil
			})
			var run *bus.Run
			stopped := make(chan error, 1)
			guard := spy{decide: func(ctx context.Context, e *schemas.HookEvent) (*schemas.Verdict, error) {
				if e.Tool == "first" {
					<-started
					stopped <- stop(context.WithoutCancel(ctx), run)
				}
				<-ctx.Done() // the call is withdrawn
				return &schemas.Verdict{}, nil
			}}
			n := hookedNode(t, nil, []tool.Hook{guard.hook("guard", schemas.BeforeToolCall, "first", "second")}, count("first"), count("second"), deaf)
			run = open(t, n, "c74")
			facts, err := n.Client().Watch(t.Context(), bus.Facts("call"), bus.Facts("cell"))
			if err != nil {
				t.Fatal(err)
			}
			answer := startExec(t, run, "c1",
				`const r = await Promise.all([first({n: 1}), second({n: 2}), deaf({}).then(text)]); text("on"); return r`)
			r := within(t, answer)
			mustFail(t, r, schemas.Aborted, "a hook has seen enough")
			if err := within(t, stopped); err != nil {
				t.Error(err)
			}
			close(leave)
			within(t, left)
			if again := exec(t, open(t, n, "c74b"), `return (await echo({n: 3})).n`); string(again.Value) != "3" {
				t.Errorf("the next program: %+v", again)
			}
			if ran.Load() != 0 || len(r.Output) != 0 {
				t.Errorf("%d executions, output %+v", ran.Load(), r.Output)
			}
			free(t, n)
			ended := map[schemas.Outcome]int{}
			cells := 0
			for e := range facts {
				if e.Err != nil {
					t.Fatal(e.Err)
				}
				switch f := e.Fact.(type) {
				case *schemas.CallEnded:
					ended[f.Outcome]++
				case *schemas.CellEnded:
					cells++
				}
				if cells == 2 {
					break
				}
			}
			// Each call ended once: three whose end nobody waits for, and the echo of the next program.
			if ended[schemas.Done] != 1 || ended[schemas.Done]+ended[schemas.Unknown]+ended[schemas.NotStarted] != 4 {
				t.Errorf("calls ended as %v", ended)
			}
		})
	}
}

// TestSpec_P1_ADrainingNodeLetsHooksAnswer: what a program has answered isn't lost because a hook is asked about it.
func TestSpec_P1_ADrainingNodeLetsHooksAnswer(t *testing.T) {
	entered, leave := make(chan struct{}), make(chan struct{})
	audit := spy{decide: func(context.Context, *schemas.HookEvent) (*schemas.Verdict, error) {
		close(entered)
		<-leave
		return &schemas.Verdict{}, nil
	}}
	n := hookedNode(t, nil, []tool.Hook{audit.hook("audit", schemas.AfterToolCall, "exec")})
	answer := startExec(t, open(t, n, "p1"), "c1", "return 7")
	within(t, entered)
	closed := make(chan error, 1)
	go func() { closed <- n.Close(context.WithoutCancel(t.Context())) }()
	time.AfterFunc(100*time.Millisecond, func() { close(leave) })
	if r := within(t, answer); string(r.Value) != "7" {
		t.Errorf("%+v", r)
	}
	if err := within(t, closed); err != nil {
		t.Error(err)
	}
}

// TestSpec_P1_P3_AHookAsksAPerson, who sees the arguments as the hook has left them.
func TestSpec_P1_P3_AHookAsksAPerson(t *testing.T) {
	guard := spy{decide: always(schemas.Verdict{Ask: true, Reason: "it costs", Input: schemas.JSON(`{"n":5}`)})}
	n := hookedNode(t, nil, []tool.Hook{guard.hook("guard", schemas.BeforeToolCall, "echo")})
	facts, err := n.Client().Watch(t.Context(), bus.Facts("approval", "opened"))
	if err != nil {
		t.Fatal(err)
	}
	answer := startExec(t, open(t, n, "p3"), "c1", `return (await echo({n: 4})).n`)
	var opened *schemas.ApprovalOpened
	for e := range facts {
		if e.Err != nil {
			t.Fatal(e.Err)
		}
		opened = e.Fact.(*schemas.ApprovalOpened) // the only kind that is watched
		break
	}
	a, err := n.Client().Approval(t.Context(), opened.Approval)
	if err != nil || a.Reason != "hook guard asks for an approval: it costs" || string(a.Input) != `{"n":5}` {
		t.Errorf("%+v %v", a, err)
	}
	if err := n.Client().Decide(t.Context(), schemas.Decision{Approval: opened.Approval, Approve: true, By: "ada"}); err != nil {
		t.Fatal(err)
	}
	if r := within(t, answer); string(r.Value) != "5" {
		t.Errorf("%+v", r)
	}
}
