package host_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/codecell/codecell/schemas"
)

// Case 35: every result carries only what wasn't delivered before; the whole counts against one budget.
func TestSpec_W4_Case35_OnlyNewOutput(t *testing.T) {
	l, n, run := labNode(t, config(t, short))
	for end, check := range map[string]func(*schemas.Result){
		`return 1`:                   func(r *schemas.Result) { mustComplete(t, r, `1`) },
		`throw new Error("at last")`: func(r *schemas.Result) { mustFail(t, r, schemas.InternalError, "at last") },
	} {
		first := exec(t, run, `text("a"); await yield_control(); text("b"); await yield_control(); text("c"); `+end)
		mustWait(t, first, schemas.ReasonYield)
		second := wait(t, n, "a", "w1"+end, first.RunID)
		mustWait(t, second, schemas.ReasonYield)
		third := wait(t, n, "a", "w2"+end, first.RunID)
		check(third)
		if got := []string{texts(first), texts(second), texts(third)}; strings.Join(got, ",") != "a,b,c" {
			t.Errorf("%s: outputs %q", end, got)
		}
	}
	first := exec(t, run, `text("a"); await held({}); text("b"); return 1`)
	mustWait(t, first, schemas.ReasonPendingTools)
	second := wait(t, n, "a", "nothing", first.RunID)
	mustWait(t, second, schemas.ReasonPendingTools)
	close(l.gate)
	if third := wait(t, n, "a", "all", first.RunID); texts(first) != "a" || texts(second) != "" || texts(third) != "b" {
		t.Errorf("outputs %q, %q, %q", texts(first), texts(second), texts(third))
	}
}

// Case 36: the first of two waits stays valid, and what has settled isn't listed as pending.
func TestSpec_W2_W4_Case36_TwoWaits(t *testing.T) {
	l, n, run := labNode(t, config(t, `{tools: {codeMode: {enabled: true, timeoutMs: 20000}}}`))
	first := exec(t, run, `const h = held({}); const f = await fast({n: 7}); await yield_control(); await h; return f.n`)
	mustWait(t, first, schemas.ReasonPendingTools)
	answers := make(chan *schemas.Result, 2)
	var waits sync.WaitGroup
	for i := range 2 {
		waits.Go(func() { answers <- wait(t, n, "a", fmt.Sprint("w", i), first.RunID) })
	}
	refused := <-answers
	mustFail(t, refused, schemas.InvalidInput, "already being resumed")
	close(l.gate)
	waits.Wait()
	mustComplete(t, <-answers, `7`)

	l, n, run = labNode(t, config(t, short))
	parked := exec(t, run, `return (await Promise.all([fast({}), held({}), fast({})])).length`)
	mustWait(t, parked, schemas.ReasonPendingTools)
	if len(parked.Pending) != 1 || parked.Pending[0].Tool != "held" {
		t.Errorf("pending: %+v", parked.Pending)
	}
	close(l.gate)
	mustComplete(t, wait(t, n, "a", "w", parked.RunID), `3`)
}

// Case 37: whoever isn't the owner, or leaves out who it is, is refused, and the owner goes on; nested calls after a
// resume are the exec's.
func TestSpec_W1_W2_Case37_OnlyTheOwner(t *testing.T) {
	_, n, run := labNode(t, nil)
	first := exec(t, run, `await yield_control(); return (await rec({n: 1})).n`)
	mustWait(t, first, schemas.ReasonYield)
	owner := someone("a")
	for name, change := range map[string]func(*schemas.Identity){
		"session id":     func(id *schemas.Identity) { id.SessionID = "other" },
		"session key":    func(id *schemas.Identity) { id.SessionKey = "other" },
		"no session id":  func(id *schemas.Identity) { id.SessionID = "" },
		"no session key": func(id *schemas.Identity) { id.SessionKey = "" },
		"run":            func(id *schemas.Identity) { id.Run = "other" },
		"no run":         func(id *schemas.Identity) { id.Run = "" },
		"no agent":       func(id *schemas.Identity) { id.Agent = "" },
		"nobody":         func(id *schemas.Identity) { *id = schemas.Identity{} },
	} {
		id := owner
		change(&id)
		result, err := n.Client().Wait(t.Context(), schemas.Wait{CallID: "w " + name, Identity: id, RunID: first.RunID})
		if err != nil {
			t.Fatal(err)
		}
		if result.Status != schemas.StatusFailed || result.Code != schemas.InvalidInput || !strings.Contains(result.Error, "different") {
			t.Errorf("%s: %s", name, told(result))
		}
	}
	// The same tool-call id in a later turn is another cell.
	second := exec(t, run, `await yield_control(); return 2`)
	mustWait(t, second, schemas.ReasonYield)
	if second.RunID == first.RunID {
		t.Error("two cells have one id")
	}
	mustComplete(t, wait(t, n, "a", "w1", first.RunID), `1`)
	mustComplete(t, wait(t, n, "a", "w2", second.RunID), `2`)
}

// Case 38: a checkpoint that is exactly at the limit parks, one byte less doesn't, and says what to do.
func TestSpec_W2_Case38_SnapshotLimit(t *testing.T) {
	const keeps = `const kept = "k".repeat(20000); await yield_control(); return kept.length`
	_, n, run := labNode(t, nil)
	first := exec(t, run, keeps)
	mustWait(t, first, schemas.ReasonYield)
	size := n.Host().Status().Cells[0].MemoryBytes
	mustComplete(t, wait(t, n, "a", "w", first.RunID), `20000`)
	// The size of a snapshot varies a little between guests: what they compress depends on their random seeds.
	for _, c := range []struct {
		limit int
		parks bool
	}{{size + size/10, true}, {size / 2, false}} {
		_, n, run := labNode(t, config(t, fmt.Sprintf(`{tools: {codeMode: {enabled: true, maxSnapshotBytes: %d}}}`, c.limit)))
		result := exec(t, run, `text("before"); `+keeps)
		if texts(result) != "before" {
			t.Errorf("limit %d: accepted output is lost: %s", c.limit, told(result))
		}
		if c.parks {
			mustWait(t, result, schemas.ReasonYield)
			mustComplete(t, wait(t, n, "a", "w", result.RunID), `20000`)
			continue
		}
		mustFail(t, result, schemas.SnapshotLimitExceeded, "snapshot limit exceeded")
		if slots, cells := held(t, n); slots != 0 || cells != 0 {
			t.Errorf("%d slots and %d cells are left", slots, cells)
		}
	}
}

// Case 40: one wait delivered twice is one wait.
func TestSpec_W5_Case40_RepeatedDelivery(t *testing.T) {
	l, n, run := labNode(t, config(t, `{tools: {codeMode: {enabled: true, timeoutMs: 20000}}}`))
	first := exec(t, run, `await yield_control(); text("once"); await write({}); await held({}); await yield_control(); return 1`)
	mustWait(t, first, schemas.ReasonYield)
	// While it runs.
	answers := make(chan *schemas.Result, 2)
	var waits sync.WaitGroup
	for range 2 {
		waits.Go(func() { answers <- wait(t, n, "a", "w1", first.RunID) })
	}
	for l.calls("held") == 0 {
		time.Sleep(time.Millisecond) // real: the tools run in real time
	}
	close(l.gate)
	waits.Wait()
	one, two := <-answers, <-answers
	mustWait(t, one, schemas.ReasonYield)
	if told(one) != told(two) || texts(one) != "once" {
		t.Errorf("two deliveries got\n%s\n%s", told(one), told(two))
	}
	// After it was answered, and after the cell has ended.
	if again := wait(t, n, "a", "w1", first.RunID); told(again) != told(one) {
		t.Errorf("a third delivery got %s", told(again))
	}
	last := wait(t, n, "a", "w2", first.RunID)
	mustComplete(t, last, `1`)
	if again := wait(t, n, "a", "w2", first.RunID); told(again) != told(last) {
		t.Errorf("after the end: %s", told(again))
	}
	if l.calls("write") != 1 {
		t.Errorf("write ran %d times", l.calls("write"))
	}
	mustFail(t, wait(t, n, "a", "w3", first.RunID), schemas.InvalidInput, "unavailable or expired")
}

// Case 42: parked cells outlive the turn, their sent calls run while nobody waits, and an abort ends a tight loop.
func TestSpec_S8_Case42_IdleCellsAndAborts(t *testing.T) {
	l, n, run := labNode(t, config(t, short))
	first := exec(t, run, `const all = [held({n: 1}), slow({n: 2})]; await yield_control(); return (await Promise.all(all)).map(r => r.n)`)
	mustWait(t, first, schemas.ReasonPendingTools)
	mustComplete(t, exec(t, run, `return "another turn"`), `"another turn"`)
	close(l.gate)
	for l.ended("held") == 0 || l.ended("slow") == 0 {
		time.Sleep(time.Millisecond) // real: the tools run in real time
	}
	mustComplete(t, wait(t, n, "a", "w", first.RunID), `[1,2]`)

	_, n, run = labNode(t, config(t, `{tools: {codeMode: {enabled: true, timeoutMs: 60000}}}`))
	answer := make(chan *schemas.Result, 1)
	go func() {
		result, err := run.Exec(t.Context(), schemas.Exec{CallID: "loop", Input: schemas.JSON(`{"title":"t","code":"for (;;);"}`)})
		if err != nil {
			result = &schemas.Result{Error: err.Error()}
		}
		answer <- result
	}()
	for len(n.Host().Status().Cells) == 0 {
		time.Sleep(time.Millisecond) // real: the cell starts in real time
	}
	begun := time.Now()
	if err := run.Abort(t.Context(), "loop", "enough"); err != nil {
		t.Fatal(err)
	}
	if s := n.Host().Status(); s.Workers.Held != 0 {
		t.Errorf("the abort was acknowledged while %d guests ran", s.Workers.Held)
	}
	if slots, cells := held(t, n); slots+cells != 0 {
		t.Errorf("%d slots and %d cells are left", slots, cells)
	}
	mustFail(t, <-answer, schemas.Aborted, "enough")
	if time.Since(begun) > 2*prompt {
		t.Errorf("the abort took %v", time.Since(begun))
	}
}

// Case 43: a continuation is whole after a park: bindings, closures, collections, generators, private fields, timers,
// calls, and nothing tells the difference (G9).
func TestSpec_W1_G9_Case43_EverythingSurvives(t *testing.T) {
	l, n, run := labNode(t, config(t, short))
	const code = `
		const x = (await fast({n: 2})).n; let n = 1;
		const map = new Map([["k", {deep: [1]}]]); const set = new Set([map]); const weak = new WeakMap([[map, "w"]]);
		function* counts() { let i = 0; for (;;) yield i++ } const g = counts(); g.next();
		class Box { #v = 5; get v() { return this.#v } bump() { this.#v++ } } const box = new Box(); box.bump();
		const add = (a) => n + a; const re = /a(b)/g; re.lastIndex = 1; const when = Date.now(); const seed = Math.random();
		const bytes = new Uint8Array([1, 2, 3]); const text8 = new TextEncoder().encode("é"); const sym = Symbol("s");
		const rings = new Promise((done) => setTimeout(done, 1, "rang"));
		const pending = held({n: 9});
		await yield_control();
		n += x;
		const after = await pending;
		return [x, n, map.get("k").deep[0], set.has(map), weak.get(map), g.next().value, box.v, add(1), re.lastIndex,
			Date.now() >= when, Math.random() !== seed, [...bytes].join(), text8.length, sym.description, after.n, await rings, (await fast({n: 3})).n, catalog.all().length > 3]`
	first := exec(t, run, code)
	mustWait(t, first, schemas.ReasonPendingTools)
	close(l.gate)
	mustComplete(t, wait(t, n, "a", "w", first.RunID), `[2,3,1,true,"w",1,6,4,1,true,true,"1,2,3",2,"s",9,"rang",3,true]`)
}
