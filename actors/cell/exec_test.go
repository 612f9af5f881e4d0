package cell

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/codecell/codecell/actors/slot"
	"github.com/codecell/codecell/schemas"
)

// TestSpec_X10_X11_X12_OneExec runs programs that one exec settles.
func TestSpec_X10_X11_X12_OneExec(t *testing.T) {
	for _, c := range []struct{ name, code, value, output string }{
		{"nothing to ask", `return 1+2`, `3`, ""},
		{"a call", `return await echo({a:1})`, `{"a":1}`, ""},
		{"X10 many awaits in one turn", `let s=0; for (let i=0;i<50;i++) s+=(await echo({n:i})).n; return s`, `1225`, ""},
		{"X10 groups beyond the queue", `let n=0; for (let g=0;g<3;g++) n+=(await Promise.all(Array.from({length:144},(_,i)=>echo({i})))).length; return n`, `432`, ""},
		{"A1 race by arrival", `return await Promise.race([after({ms:25,value:"slow"}),after({ms:1,value:"fast"})])`, `"fast"`, ""},
		{"A1 nested race", `return await Promise.race([Promise.all([after({ms:25,value:"slow"})]),after({ms:1,value:"fast"})])`, `"fast"`, ""},
		{"X11 the loser is waited for", `Promise.race([after({ms:25}).then(()=>text("late")),after({ms:1})]); return 7`, `7`, "late"},
		{"X11 un-awaited calls are drained", `void after({ms:25}).then(()=>text("audited")); return await after({ms:1,value:1})`, `1`, "audited"},
		{"A1 caught while a sibling works", `try { await Promise.all([boom(),after({ms:25})]) } catch (e) { return e.message }`, `"boom"`, ""},
		{"G4 a cleared timer holds nothing", `const t=setTimeout(()=>text("x"),50000); await new Promise(r=>setTimeout(r,2)); clearTimeout(t); await new Promise(r=>setTimeout(r,2)); return 4`, `4`, ""},
		{"G4 cleared at once, twice and unknown", `const t=setTimeout(()=>text("x"),5); clearTimeout(t); clearTimeout(t); clearTimeout(99); return 5`, `5`, ""},
		{"G4 timers of one delay in order", `let o=[]; for (let i=0;i<16;i++) setTimeout(()=>o.push(i),5); await new Promise(r=>setTimeout(r,9)); return o.join()`,
			`"0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15"`, ""},
		{"G4 cleared by one of the same moment", `let t; setTimeout(()=>clearTimeout(t),1); t=setTimeout(()=>text("x"),1); return 6`, `6`, ""},
		{"G4 timers in order", `setTimeout(()=>text("b"),20); setTimeout(()=>text("a"),10); return 1`, `1`, "a|b"},
		{"search without a round trip", `return (await catalog.search("echo"))[0].callableName`, `"echo"`, ""},
		{"search and call in one frontier", `const [h,e]=await Promise.all([catalog.search("echo"),echo({a:2})]); return [h.length,(await h[0]({b:3})).b,e.a]`, `[1,3,2]`, ""},
		{"E3 nested failure is plain data", `try { await boom() } catch (e) { return [e instanceof Error,e.message,e.code,e.location,e.effectStatus] }`, `[true,"boom","tool_error","tool","unknown"]`, ""},
		{"E3 refused before it started", `try { await refused() } catch (e) { return [e.message,e.code,e.location,e.effectStatus] }`, `["refused","invalid_input","policy","not_started"]`, ""},
		{"E3 handled later", `const p=boom(); await after({ms:5}); try { await p } catch (e) { return e.message }`, `"boom"`, ""},
		{"E3 a failure without a reason", `try { await broken() } catch (e) { return e.code }`, `"tool_error"`, ""},
		{"O1 order", `text("a"); console.log("b"); json({c:1}); return null`, `null`, `a|b|{"c":1}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			virtual(t, slot.Options{}, func(b *bed) {
				r := <-b.exec(c.code).reply
				completed(b.t, r, c.value)
				if got := output(r); got != c.output {
					b.t.Errorf("output %q, want %q", got, c.output)
				}
			})
		})
	}
}

// TestSpec_E1_E3_X12_Failures: the code says where the failure arose, whatever its text.
func TestSpec_E1_E3_X12_Failures(t *testing.T) {
	for _, c := range []struct {
		name, code string
		want       schemas.Code
		text       string
		output     string
	}{
		{"X12 nobody can settle it", `text("a"); await new Promise(()=>{}); return 1`, schemas.InternalError, "pending without host work", "a"},
		{"X12 also after work", `await echo({}); await new Promise(()=>{})`, schemas.InternalError, "pending without host work", ""},
		{"E1 a throw is no timeout", `throw new Error("interrupted")`, schemas.InternalError, "Error: interrupted", ""},
		{"E1 a code of the program's own", `throw Object.assign(new Error("x"),{code:"timeout"})`, schemas.InternalError, "Error: x", ""},
		{"E1 a syntax error imitated", `throw Object.assign(new SyntaxError("x"),{code:"invalid_input"})`, schemas.InternalError, "SyntaxError: x", ""},
		{"X5 syntax", "\nlet q = ;", schemas.InvalidInput, "codecell:user.js:2:", ""},
		{"E2 location", `nope()`, schemas.InternalError, "ReferenceError: ", ""},
		{"E3 unawaited call fails", `boom(); return "ok"`, schemas.InternalError, "boom", ""},
		{"E3 later unawaited call fails", `void (async()=>{ await after({ms:1}); boom() })(); return "ok"`, schemas.InternalError, "boom", ""},
		{"E3 a timer callback throws", `setTimeout(()=>{ throw new Error("tick") },5); return "ok"`, schemas.InternalError, "tick", ""},
		{"E3 rather than a stuck promise", `boom(); await new Promise(()=>{})`, schemas.InternalError, "boom", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			virtual(t, slot.Options{}, func(b *bed) {
				r := <-b.exec(c.code).reply
				failed(b.t, r, c.want, c.text)
				if got := output(r); got != c.output {
					b.t.Errorf("output %q, want %q", got, c.output)
				}
				if got := b.counts(); got.Slots.Held != 0 {
					b.t.Errorf("a failed cell holds a slot: %+v", got)
				}
			})
		})
	}
}

// A failed cell names the outcome of each call (E5), and carries the run's telemetry (E4).
func TestSpec_E4_E5_TelemetryOfAFailure(t *testing.T) {
	virtual(t, slot.Options{}, func(b *bed) {
		p := b.exec(`await echo({}); await boom().catch(()=>{}); await refused().catch(()=>{}); never(); await after({ms:1});
			const p = echo({}); throw new Error("stop")`)
		r := <-p.reply
		failed(b.t, r, schemas.InternalError, "stop")
		var got []string
		for _, c := range r.Telemetry.Calls {
			got = append(got, c.Tool+" "+string(c.Outcome))
		}
		want := "echo done, boom unknown, refused not_started, never started, after done, echo not_started"
		if strings.Join(got, ", ") != want {
			b.t.Errorf("calls %v, want %s", got, want)
		}
		if r.Telemetry.CatalogSize != len(testTools) || r.Telemetry.CounterScope != "scope" {
			b.t.Errorf("telemetry %+v", r.Telemetry)
		}
		if got := p.sentTools(); len(got) != 5 {
			b.t.Errorf("dispatched %v: the last frontier must not start", got)
		}
		if len(p.cancelled) != 1 {
			b.t.Errorf("cancelled %v, want the one that never answers", p.cancelled)
		}
	})
}

// Case 80: the calls of a step that was stopped are among those that never ran.
func TestSpec_E5_Case80_CallsOfAStoppedStep(t *testing.T) {
	virtual(t, slot.Options{}, func(b *bed) {
		p := b.exec(`await echo({}); setTimeout(() => {}, 5); echo({}); echo({}); const all = []; for (;;) all.push([all])`,
			func(s *Spec) { s.Limits.MemoryBytes = 1 << 20 })
		r := <-p.reply
		failed(b.t, r, schemas.InternalError, "out of memory")
		var got []schemas.Outcome
		for _, c := range r.Telemetry.Calls {
			got = append(got, c.Outcome)
		}
		if want := []schemas.Outcome{schemas.Done, schemas.NotStarted, schemas.NotStarted}; !slices.Equal(got, want) {
			b.t.Errorf("calls %v, want %v", got, want)
		}
		if got := p.sentTools(); len(got) != 1 {
			b.t.Errorf("dispatched %v", got)
		}
	})
}

// S7: a frontier over the queue starts nothing, even if the program catches the error.
func TestSpec_S7_FrontierOverTheQueue(t *testing.T) {
	for _, code := range []string{
		`await Promise.all(Array.from({length:145},(_,i)=>echo({i})))`,
		`try { await Promise.all(Array.from({length:145},(_,i)=>echo({i}))) } catch (e) { return "caught" }`,
		`for (let i=0;i<1000;i++) setTimeout(()=>{},1)`,
		`for (let i=0;i<1000;i++) yield_control()`,
		`for (let i=0;i<1000;i++) catalog.search("x")`,
	} {
		virtual(t, slot.Options{}, func(b *bed) {
			p := b.exec(code)
			failed(b.t, <-p.reply, schemas.InvalidInput, "too many requests at once")
			if got := p.sentTools(); len(got) != 0 {
				b.t.Errorf("%s: %d calls were sent", code, len(got))
			}
		})
	}
}

// S7: places are refilled only after the continuation ran, and never exceeded.
func TestSpec_S7_ContinuationsRunBeforeRefill(t *testing.T) {
	virtual(t, slot.Options{}, func(b *bed) {
		p := b.exec(`const order=[]; await Promise.all([1,2,3,4].map(async n => { await after({ms:n}); order.push(n); await echo({n:-n}) })); return order`,
			func(s *Spec) { s.Limits.PendingCalls = 2 })
		completed(b.t, <-p.reply, `[1,2,3,4]`)
		p = b.exec(`return (await Promise.all(Array.from({length:32},(_,i)=>i).map(async i => (await echo({i})).i + (await echo({i})).i))).length`,
			func(s *Spec) { s.Limits.PendingCalls = 16 })
		completed(b.t, <-p.reply, `32`)
		if got := len(p.sentTools()); got != 64 {
			b.t.Errorf("%d calls, want 64", got)
		}
	})
}

// O4: a reply reaches the program whole, or its call rejects.
func TestSpec_O4_RepliesWholeOrRejected(t *testing.T) {
	virtual(t, slot.Options{}, func(b *bed) {
		small := func(s *Spec) { s.Limits.SnapshotBytes = 1 << 20 }
		r := <-b.exec(`const s=await big({n:1000000}); try { await big({n:1100000}); return "truncated" } catch (e) { return [s.length,e.code,e.effectStatus,e.message] }`, small).reply
		if r.Status != schemas.StatusCompleted || !strings.Contains(string(r.Value), `[1000000,"tool_error","done","the tool ran, but its reply of 1100002 bytes`) {
			b.t.Errorf("got %s", show(r))
		}
		// Several replies wait together while a leg runs or the cell is parked.
		p := b.exec(`const a=Promise.allSettled([1,2,3].map(()=>big({n:500000}))); await yield_control(); return (await a).map(x=>x.status)`, small)
		waiting(b.t, <-p.reply, schemas.ReasonYield, "yield sent")
		completed(b.t, <-p.wait("w"), `["fulfilled","fulfilled","rejected"]`)
	})
}

// O5: the untrusted mark follows data into the result.
func TestSpec_O5_UntrustedMark(t *testing.T) {
	for code, want := range map[string]bool{
		`return await echo({})`:                     false,
		`return await web({})`:                      true,
		`await web({}); return 1`:                   true,
		`await web({}); throw new Error("x")`:       true,
		`API.list(); return 1`:                      true,
		`return (await catalog.search("x")).length`: false,
	} {
		virtual(t, slot.Options{}, func(b *bed) {
			if r := <-b.exec(code).reply; r.Untrusted != want {
				b.t.Errorf("%s: untrusted %v, want %v: %s", code, r.Untrusted, want, show(r))
			}
		})
	}
}

// O2: the budget holds over all legs; what was said before a failure is kept (case 75).
func TestSpec_O2_CumulativeBudget(t *testing.T) {
	small := func(s *Spec) { s.Limits.OutputBytes = 1024 }
	virtual(t, slot.Options{}, func(b *bed) {
		r := <-b.exec(`return "x".repeat(3000)`, small).reply
		m, ok := isMarker(r.Value)
		if r.Status != schemas.StatusCompleted || !ok || m.OmittedBytes+len(m.Prefix) != 3002 {
			b.t.Errorf("value: %s", show(r))
		}
		p := b.exec(`text("a".repeat(400)); await yield_control(); text("b".repeat(900)); await yield_control(); throw new Error("c".repeat(5000))`, small)
		total := 0
		for i, r := range []*schemas.Result{<-p.reply, <-p.wait("1"), <-p.wait("2")} {
			total += len(naiveArray(b.t, r.Output)) + len(r.Error)
			switch {
			case i == 0 && output(r) != strings.Repeat("a", 400):
				b.t.Errorf("first: %s", show(r))
			case i == 2 && !strings.HasSuffix(r.Error, errorCut):
				b.t.Errorf("error: %s", show(r))
			}
		}
		if total > 1024 {
			b.t.Errorf("%d bytes in all", total)
		}
		// A flood of output that no buffer could hold is counted to the byte.
		r = <-b.exec(`for (let i=0;i<1000;i++) text("z".repeat(1000)); return 1`, small).reply
		m, ok = isMarker(r.Output[0].Value)
		if want := 1000*(len(opening("text"))+1002+1) + 1001; !ok || m.OmittedBytes+len(m.Prefix) != want {
			b.t.Errorf("%d bytes, want %d", m.OmittedBytes+len(m.Prefix), want)
		}
	})
}

func TestSpec_S5_BudgetOfTheCall(t *testing.T) {
	virtual(t, slot.Options{}, func(b *bed) {
		// The budget counts from the call's arrival, not from the first instruction.
		p := b.exec(`await after({ms:800}); return 1`, func(s *Spec) { s.Start = time.Now().Add(-500 * time.Millisecond) })
		begin := time.Now()
		waiting(b.t, <-p.reply, schemas.ReasonPendingTools, "after sent")
		if d := time.Since(begin); d != 500*time.Millisecond {
			b.t.Errorf("answered after %v, want 500ms", d)
		}
		completed(b.t, <-p.wait("w"), `1`)
		// One that is used up already never starts.
		p = b.exec(`return 1`, func(s *Spec) { s.Start = time.Now().Add(-time.Hour) })
		failed(b.t, <-p.reply, schemas.Timeout, "")
	})
}

// S5, B2: computation that never ends is stopped in real time, with the output kept; so is a flood of
// refused calls, each of which ends at once (S9).
func TestSpec_S5_S9_EndlessPrograms(t *testing.T) {
	const budget = time.Second // enough to begin in, on a busy machine
	for _, code := range []string{
		`text("before"); for(;;);`,
		`text("before"); (function f(){ Promise.resolve().then(f) })(); await new Promise(()=>{})`,
		`text("before"); new Array(4294967295).reverse()`,
		`text("before"); for(;;) await catalog.search("x")`,
		`text("before"); for(;;) await refused().catch(()=>{})`,
		`text("before"); await echo({}); for(;;);`,
	} {
		t.Run(code, func(t *testing.T) {
			b := newBed(t, slot.Options{})
			begin := time.Now()
			r := <-b.exec(code, func(s *Spec) { s.Limits.Timeout = budget }).reply
			failed(t, r, schemas.Timeout, "timeout")
			if output(r) != "before" {
				t.Errorf("output %q", output(r))
			}
			if d := time.Since(begin); d < budget || d > 30*time.Second {
				t.Errorf("took %v", d)
			}
			b.close()
		})
	}
}

// S5, X12: a program that polls a tool which answers at once has not computed: whatever it's at when its budget ends, it
// waits, and a wait goes on with it.
func TestSpec_S5_X12_LightPolling(t *testing.T) {
	b := newBed(t, slot.Options{Workers: 8})
	var cells []*probe
	for range 8 { // more than the machine has processors
		cells = append(cells, b.exec(`for (let n = 0;; n++) { if ((await echo({n})).n === -1) break }`,
			func(s *Spec) { s.Limits.Timeout = time.Second }))
	}
	for _, p := range cells {
		if r := <-p.reply; r.Status != schemas.StatusWaiting {
			t.Errorf("got %s", show(r))
		}
	}
	for _, p := range cells {
		if r := <-p.wait("w"); r.Status != schemas.StatusWaiting {
			t.Errorf("its wait got %s", show(r))
		}
	}
	b.close()
}

// A run that panics in the cell's face ends that cell, with an answer (B2).
func TestSpec_E1_PanicOfTheRun(t *testing.T) {
	virtual(t, slot.Options{}, func(b *bed) {
		p := b.exec(`await after({ms:5}); await panics()`)
		failed(b.t, <-p.reply, schemas.InternalError, "internal error")
		if e := <-p.ended; e.Result.Code != schemas.InternalError {
			b.t.Errorf("ended with %s", show(e.Result))
		}
		<-p.gone
	})
}
