package host_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/codecell/codecell/actors/tool"
	"github.com/codecell/codecell/bus"
	"github.com/codecell/codecell/schemas"
)

// Case 12: answers settle in the order in which they come, and detached calls end before the cell does.
func TestSpec_X11_Case12_RacesAndDetachedCalls(t *testing.T) {
	l := newLab()
	heard := make(chan struct{})
	late := tool.Raw(schemas.Tool{Name: "late"}, func(ctx context.Context, in schemas.JSON) (schemas.JSON, error) {
		select {
		case <-heard:
			l.end("late")
			return in, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	})
	n := node(t, nil, append(l.tools(), late)...)
	run := open(t, n, "a")
	ends, err := n.Client().Watch(t.Context(), bus.Facts("call", "ended"))
	if err != nil {
		t.Fatal(err)
	}
	go func() { // late answers when its cell has the answer of the other of two calls
		other := true
		for range ends {
			if other {
				select {
				case heard <- struct{}{}:
				case <-t.Context().Done():
					return
				}
			}
			other = !other
		}
	}()
	for code, want := range map[string]string{
		`return (await Promise.race([late({w: "slow"}), fast({w: "fast"})])).w`:                `"fast"`,
		`return (await Promise.any([late({w: "slow"}), fast({w: "fast"})])).w`:                 `"fast"`,
		`return (await Promise.race([Promise.all([late({w: "slow"})]), fast({w: "fast"})])).w`: `"fast"`,
		`try { await Promise.all([fails({}), late({})]) } catch (e) { return e.message }`:      `"it broke"`,
		`return (await Promise.allSettled([fails({}), late({})])).map(r => r.status)`:          `["rejected","fulfilled"]`,
	} {
		before := l.ended("late")
		mustComplete(t, exec(t, run, code), want)
		if l.ended("late") != before+1 {
			t.Errorf("%s: late was left or cut", code)
		}
	}
	for i, code := range []string{
		`void audit({}); return await fast({n: 1})`,
		`void Promise.race([audit({}), fast({n: 2})]); return await fast({n: 1})`,
		`void (async () => { await fast({}); void audit({}) })(); return await fast({n: 1})`,
	} {
		mustComplete(t, exec(t, run, code), `{"n":1}`)
		if l.ended("audit") != i+1 {
			t.Errorf("%s: audit ended %d times, want %d", code, l.ended("audit"), i+1)
		}
	}
	if slots, cells := held(t, n); slots != 0 || cells != 0 {
		t.Errorf("%d slots and %d cells are left", slots, cells)
	}
}

// Case 13: a call that failed and that nobody awaited fails the cell; one handled later, even after a park, doesn't.
func TestSpec_E3_Case13_UnhandledRejections(t *testing.T) {
	_, n, run := labNode(t, nil)
	for _, code := range []string{
		`fails({}); return "ok"`,
		`void (async () => { await fast({}); fails({}) })(); return "ok"`,
		`setTimeout(async () => { await fails({}) }, 1); return "ok"`,
		`setTimeout(() => { throw new Error("it broke") }, 1); return "ok"`,
		`Promise.reject(new Error("it broke")); return "ok"`,
		`const p = fails({}); p.then(() => 1); return "ok"`,
	} {
		mustFail(t, exec(t, run, code), schemas.InternalError, "it broke")
	}
	first := exec(t, run, `const p = fails({}); await yield_control(); try { await p } catch (e) { return e.message + " " + e.code }`)
	mustWait(t, first, first.Reason) // the call may still be under way
	mustComplete(t, wait(t, n, "a", "w1", first.RunID), `"it broke tool_error"`)
	second := exec(t, run, `const p = fails({}); await yield_control(); return "ok"`)
	mustWait(t, second, second.Reason)
	mustFail(t, wait(t, n, "a", "w2", second.RunID), schemas.InternalError, "it broke")
}

// Case 15: cleared timers hold nothing, whoever clears them and how often.
func TestSpec_G4_Case15_ClearedTimers(t *testing.T) {
	_, n, run := labNode(t, nil)
	for _, code := range []string{
		`const t = setTimeout(() => text("x"), 50000); await new Promise(r => setTimeout(r, 2)); clearTimeout(t); await new Promise(r => setTimeout(r, 2)); return 4`,
		`const t = setTimeout(() => text("x"), 50000); setTimeout(() => clearTimeout(t), 2); return 4`,
		`const t = setTimeout(() => text("x"), 50000); clearTimeout(t); clearTimeout(t); clearTimeout(99); clearTimeout(undefined); clearTimeout("a"); clearTimeout({}); return 4`,
	} {
		begun := time.Now()
		result := exec(t, run, code)
		mustComplete(t, result, `4`)
		if texts(result) != "" || time.Since(begun) > prompt {
			t.Errorf("%s: output %q after %v", code, texts(result), time.Since(begun))
		}
	}
	first := exec(t, run, `const t = setTimeout(() => text("x"), 50000); await yield_control(); clearTimeout(t); return 4`)
	mustWait(t, first, schemas.ReasonPendingTools)
	mustComplete(t, wait(t, n, "a", "w", first.RunID), `4`)
}

// Case 15: a timer that outlives the budget parks the cell.
func TestSpec_G4_Case15_ALongTimerParks(t *testing.T) {
	_, n, run := labNode(t, config(t, short))
	first := exec(t, run, `await new Promise(r => setTimeout(r, 2500)); return "rang"`)
	mustWait(t, first, schemas.ReasonPendingTools)
	if len(first.Pending) != 1 || first.Pending[0].Kind != "timer" {
		t.Errorf("pending %+v", first.Pending)
	}
	for i := 0; ; i++ {
		if result := wait(t, n, "a", fmt.Sprint("w", i), first.RunID); result.Status != schemas.StatusWaiting || i == 20 {
			mustComplete(t, result, `"rang"`)
			return
		}
	}
}

// Case 16: a promise that nobody can settle is a failure that says so, and holds no slot.
func TestSpec_X12_Case16_NothingCanSettleIt(t *testing.T) {
	l, n, run := labNode(t, nil)
	for _, code := range []string{
		`await new Promise(() => {}); return 1`,
		`await fast({}); await new Promise(() => {}); return 1`,
		`const t = setTimeout(() => {}, 60000); setTimeout(() => clearTimeout(t), 1); await new Promise(() => {})`,
	} {
		mustFail(t, exec(t, run, code), schemas.InternalError, "pending without host work")
	}
	if slots, cells := held(t, n); slots != 0 || cells != 0 || l.ended("fast") != 1 {
		t.Errorf("%d slots and %d cells are left", slots, cells)
	}
}

// Case 18: awaits within the budget cost no turns, and the cap is for each frontier, not for a run.
func TestSpec_X10_S7_Case18_OneTurn(t *testing.T) {
	for code, want := range map[string]string{
		`let n = 0; for (let i = 0; i < 5; i++) n += (await fast({i})).i; return n`:                                                                         `10`,
		`const all = await Promise.all(Array.from({length: 16}, async (_, i) => (await fast({i: (await fast({i})).i})).i)); return all.length`:              `16`,
		`let n = 0; for (let g = 0; g < 9; g++) n += (await Promise.all(Array.from({length: Math.min(16, 129 - g * 16)}, () => rec({})))).length; return n`: `129`,
		`return (await Promise.all(Array.from({length: 144}, () => rec({})))).length`:                                                                       `144`,
	} {
		l, _, run := labNode(t, nil)
		result := exec(t, run, code)
		mustComplete(t, result, want)
		if calls := l.calls("fast") + l.calls("rec"); result.Telemetry.CallCount != calls {
			t.Errorf("%s: %d calls counted, %d made", code, result.Telemetry.CallCount, calls)
		}
	}
	l, _, run := labNode(t, config(t, `{tools: {codeMode: {enabled: true, maxPendingToolCalls: 2}}}`))
	mustComplete(t, exec(t, run, `let n = 0; for (let i = 0; i < 5; i++) n += (await fast({i})).i; return n`), `10`)
	// One more than fits: none of that frontier is sent, caught or not.
	for _, code := range []string{
		`await Promise.all(Array.from({length: 131}, () => rec({}))); return 1`,
		`try { await Promise.all(Array.from({length: 131}, () => rec({}))) } catch { } return 1`,
	} {
		mustFail(t, exec(t, run, code), schemas.InvalidInput, "None of this step's requests was sent")
	}
	if l.calls("rec") != 0 {
		t.Errorf("%d calls of a frontier that is too large were made", l.calls("rec"))
	}
}

// Case 19: awaiting the same tool again and again is nothing special, and a tool that never answers harms nobody else.
func TestSpec_X12_Case19_NeverAnswers(t *testing.T) {
	l, n, run := labNode(t, config(t, short))
	for range 50 {
		mustComplete(t, exec(t, run, `await rec({}); await rec({}); return 1`), `1`)
	}
	stuck := make(chan *schemas.Result, 1)
	go func() {
		result, err := run.Exec(t.Context(), schemas.Exec{CallID: "stuck", Input: schemas.JSON(`{"title":"t","code":"await held({}); return 1"}`)})
		if err != nil {
			result = &schemas.Result{Error: err.Error()}
		}
		stuck <- result
	}()
	for range 20 {
		mustComplete(t, exec(t, run, `return (await fast({n: 1})).n`), `1`)
	}
	first := <-stuck
	mustWait(t, first, schemas.ReasonPendingTools)
	close(l.gate)
	mustComplete(t, wait(t, n, "a", "w", first.RunID), `1`)
}
