package cell

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/codecell/codecell/actors/slot"
	"github.com/codecell/codecell/schemas"
)

func required(s *Spec) { s.Required = true }

// Q1: the call stays open over many budgets, the worker is free meanwhile, nobody sees a park, and the
// program goes on exactly where it was.
func TestSpec_Q1_TheCallStaysOpen(t *testing.T) {
	virtual(t, slot.Options{Workers: 1}, func(b *bed) {
		begin := time.Now()
		p := b.exec(`text("a"); let n = 0; setTimeout(() => { n = 5 }, 1000);
			const r = await after({ms: 30000, value: 7}); text("b"); return r + n + (await echo({v: 1})).v`, required)
		time.Sleep(20 * time.Second) // virtual: most of its call
		if c := b.counts(); c.Slots.Held != 1 || c.Workers.Held != 0 {
			b.t.Errorf("S3: while it waits for its tools it holds %+v", c)
		}
		if st := p.status(); st.State != "running" || !st.Slot || st.Pending != 1 {
			b.t.Errorf("status %+v", st)
		}
		completed(b.t, <-b.exec(`return 2`).reply, `2`) // the only worker
		r := <-p.reply
		completed(b.t, r, `13`)
		if d := time.Since(begin); d != 30*time.Second {
			b.t.Errorf("answered after %v, want as soon as the tool", d)
		}
		if output(r) != "a|b" || strings.Join(p.sentTools(), " ") != "after echo" {
			b.t.Errorf("replayed? output %q, calls %v", output(r), p.sentTools())
		}
		<-p.gone
		if got := p.kinds(); got != "CellStarted CallEnded CallEnded CellEnded" {
			b.t.Errorf("facts: %s", got)
		}
	})
}

// Q1: settlements while it's parked, one by one or at one time, reach the program in order of arrival.
func TestSpec_Q1_SettlementsInOrder(t *testing.T) {
	for code, want := range map[string]string{
		`const got = []; await Promise.all([after({ms:3000,value:"b"}), after({ms:2000,value:"a"}), after({ms:9000,value:"c"})].map(p => p.then(v => got.push(v)))); return got`: `["a","b","c"]`,
		`return await Promise.race([after({ms:9000,value:"slow"}), after({ms:2000,value:"fast"})])`:                                                                              `"fast"`,
		`let s = 0; for (let i = 0; i < 100; i++) s += await after({ms:2000,value:1}); return s`:                                                                                 `100`,
		`try { await after({ms:2000,fail:"no"}) } catch (e) { await after({ms:2000}); return e.message }`:                                                                        `"no"`,
		`void after({ms:4000}).then(() => text("drained")); return 1`:                                                                                                            `1`,
		`return (await Promise.all(Array.from({length:40}, (_, i) => after({ms:2000,value:i})))).length`:                                                                         `40`,
	} {
		virtual(t, slot.Options{}, func(b *bed) { completed(b.t, <-b.exec(code, required).reply, want) })
	}
}

// Tools that answer within the grace cost no park: the worker is never given up.
func TestSpec_Q2_QuickToolsCostNoPark(t *testing.T) {
	m, now := afterFirstLeg(t, MachineSpec{Required: true}, Request{ID: "1", Kind: CallRequest})
	grace := m.grace
	effects := m.Step(Answer{At: now.Add(time.Millisecond), ID: "1", State: schemas.AnswerDone})
	if !has[RunLeg](effects) || has[Park](effects) {
		t.Errorf("effects of an answer: %+v", effects)
	}
	if effects := m.Step(TimerFired{At: now, Timer: grace}); len(effects) != 0 {
		t.Errorf("effects of a late grace: %+v", effects)
	}
}

// Q2: everything but the rest is paid from the one budget of a second: preparation, legs, grace,
// checkpoint, and the way back.
func TestSpec_Q2_OneAllowance(t *testing.T) {
	m, now := afterFirstLeg(t, MachineSpec{Required: true, Start: time.Unix(1000, 0).Add(-300 * time.Millisecond)},
		Request{ID: "1", Kind: CallRequest}, Request{ID: "2", Kind: CallRequest})
	pass := func(ms int) time.Time { now = now.Add(time.Duration(ms) * time.Millisecond); return now }
	deadline := func(effects []Effect) time.Duration {
		t.Helper()
		for _, e := range effects {
			if s, ok := e.(SetTimer); ok && s.Timer.Kind == DeadlineTimer {
				return s.At.Sub(now)
			}
		}
		t.Fatalf("no deadline in %+v", effects)
		return 0
	}
	m.Step(TimerFired{At: pass(100), Timer: m.grace}) // 300 of preparation, 100 idle
	m.Step(Parked{At: pass(50)})
	for i, left := range []int{550, 290} {
		effects := m.Step(Answer{At: pass(1_000_000), ID: fmt.Sprint(i + 1), State: schemas.AnswerDone})
		if got := deadline(effects); got != time.Duration(left)*time.Millisecond {
			t.Fatalf("after rest %d %v are left, want %d ms", i, got, left)
		}
		m.Step(WorkerGranted{At: pass(60), Ticket: m.ticket})
		m.Step(LegDone{At: pass(120), Requests: []Request{{ID: fmt.Sprint(i + 3), Kind: CallRequest}}})
		m.Step(WorkerWanted{At: now}) // the ledger may take the worker before the grace is over
		m.Step(Parked{At: pass(80)})
	}
	m.Step(Answer{At: pass(1_000_000), ID: "3", State: schemas.AnswerDone})
	m.Step(WorkerGranted{At: pass(10), Ticket: m.ticket})
	m.Step(TimerFired{At: pass(20), Timer: m.life})
	m.Step(LegDone{At: pass(1)}) // a leg that was over when the deadline came; "4" is pending
	if !m.Ended() || m.result.Code != schemas.Timeout {
		t.Errorf("used up: %+v", m.result)
	}
}

// Q2: a program that comes back finds what it had left. With all workers taken that's all the time it
// has to get one, and a settlement grants nothing.
func TestSpec_Q2_SettlementGrantsNothing(t *testing.T) {
	virtual(t, slot.Options{Workers: 1}, func(b *bed) {
		begin := time.Now()
		p := b.exec(`await after({ms:5000}); await after({ms:5000}); return 1`, required)
		time.Sleep(4 * time.Second) // virtual: it rests in its first call
		holder := b.sys.Root.Spawn(hog(b))
		time.Sleep(1600 * time.Millisecond) // virtual: for 600 ms it waits for a worker
		_ = b.sys.Root.StopFuture(holder).Wait()
		time.Sleep(4 * time.Second) // virtual: it has called again, and is parked
		holder = b.sys.Root.Spawn(hog(b))
		r := <-p.reply
		failed(b.t, r, schemas.Timeout, "used up its budget of 1s")
		if d, want := time.Since(begin), 10*time.Second+time.Second-2*grace; d != want {
			b.t.Errorf("failed after %v, want %v", d, want)
		}
		if len(r.Telemetry.Calls) != 2 || r.Telemetry.Calls[1].Outcome != schemas.Done {
			b.t.Errorf("E5: calls %+v", r.Telemetry.Calls)
		}
		_ = b.sys.Root.StopFuture(holder).Wait()
	})
}

// Q2, S5: computing is paid from the budget, before and after a rest.
func TestSpec_Q2_Q3_EndlessPrograms(t *testing.T) {
	for _, code := range []string{
		`text("before"); await after({ms:1200}); for(;;);`,
		`text("before"); void never(); for(;;) await after({ms:1})`,
		`text("before"); for(;;) await yield_control()`,
	} {
		t.Run(code, func(t *testing.T) {
			b := newBed(t, slot.Options{})
			p := b.exec(code, required, func(s *Spec) { s.Limits.Timeout = time.Second })
			r := <-p.reply
			failed(t, r, schemas.Timeout, "timeout")
			if output(r) != "before" {
				t.Errorf("output %q", output(r))
			}
			b.close()
		})
	}
}

// Q2: the other limits are as they were.
func TestSpec_Q2_OtherLimits(t *testing.T) {
	virtual(t, slot.Options{Slots: 1, Workers: 1}, func(b *bed) {
		small := func(s *Spec) { s.Limits.SnapshotBytes = 64 << 10 }
		const large = `text("a"); let s=""; for (let i=0;i<30000;i++) s+=Math.random();`
		// Too large for a snapshot: it goes on with the live guest, whose time is paid.
		completed(b.t, <-b.exec(large+`await after({ms:900}); return s.length > 1000`, required, small).reply, `true`)
		begin := time.Now()
		p := b.exec(large+`await after({ms:5000}); return 1`, required, small)
		r := <-p.reply
		failed(b.t, r, schemas.SnapshotLimitExceeded, "snapshot limit")
		if d := time.Since(begin); d != time.Second || output(r) != "a" {
			b.t.Errorf("after %v, with output %q", d, output(r))
		}
		failed(b.t, <-b.exec(`await Promise.all(Array.from({length:145},(_,i)=>echo({i})))`, required).reply, schemas.InvalidInput, "too many requests at once")
		r = <-b.exec(`text("a".repeat(900)); await after({ms:5000}); return "b".repeat(5000)`, required, func(s *Spec) { s.Limits.OutputBytes = 1024 }).reply
		if m, ok := isMarker(r.Value); r.Status != schemas.StatusCompleted || !ok || len(m.Prefix) > 124 {
			b.t.Errorf("O2: %s", show(r))
		}
		holder := b.exec(`await yield_control()`)
		<-holder.reply
		p = b.exec(`await after({ms:5000})`, required)
		failed(b.t, <-p.reply, schemas.InvalidInput, "too many suspended code mode runs")
		if len(p.sentTools()) != 0 {
			b.t.Errorf("S2: sent %v", p.sentTools())
		}
		completed(b.t, <-b.exec(`return (await yield_control("no slot needed")).reason`, required).reply, `"no slot needed"`)
	})
}

// Q3: a yield is answered at once, and what is pending is still waited for.
func TestSpec_Q3_YieldsDontEndTheCall(t *testing.T) {
	virtual(t, slot.Options{}, func(b *bed) {
		p := b.exec(`void yield_control(); const e = after({ms:5000,value:9}); const [a, c] = await Promise.all([yield_control("x"), yield_control()]);
			text("on"); void yield_control("y"); return [a, c, await e]`, required)
		synctest.Wait()
		if len(p.reply) != 0 {
			b.t.Fatalf("answered early: %s", show(<-p.reply))
		}
		r := <-p.reply
		completed(b.t, r, `[{"status":"yielded","reason":"x"},{"status":"yielded"},9]`)
		if output(r) != "on" {
			b.t.Errorf("output %q", output(r))
		}
	})
}

// Q3: failure, cancel, a stop from outside and a tool that never answers still end it, while it's
// parked; and no wait can take it over.
func TestSpec_Q3_WhatEndsIt(t *testing.T) {
	for _, c := range []struct {
		name, code string
		end        func(p *probe)
		want       schemas.Code
		text       string
		after      time.Duration
		cancelled  int
	}{
		{"a failure", `text("a"); never(); await after({ms:3000,fail:"broke"})`, func(*probe) {}, schemas.InternalError, "broke", 3 * time.Second, 1},
		{"cancel", `text("a"); setTimeout(()=>{},1e6); await never()`, func(p *probe) { <-p.cancel("enough") }, schemas.Aborted, "enough", 2 * time.Second, 1},
		{"a stop", `text("a"); await never()`, func(p *probe) { p.sys.Root.Stop(p.pid) }, schemas.InternalError, "stopped", 2 * time.Second, 1},
		{"the time to live", `text("a"); await never()`, func(*probe) {}, schemas.Aborted, "expired: none of its pending calls", 10*time.Second + grace, 1},
		{"a wait doesn't", `text("a"); return await after({ms:3000,fail:"broke"})`, func(p *probe) {
			failed(p.t, <-p.wait("w"), schemas.InvalidInput, "already being resumed")
		}, schemas.InternalError, "broke", 3 * time.Second, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			virtual(t, slot.Options{}, func(b *bed) {
				begin := time.Now()
				p := b.exec(c.code, required, func(s *Spec) { s.Limits.SnapshotTTL = 10 * time.Second })
				time.Sleep(2 * time.Second) // virtual: it rests
				c.end(p)
				r := <-p.reply
				failed(b.t, r, c.want, c.text)
				if d := time.Since(begin); d != c.after {
					b.t.Errorf("ended after %v, want %v", d, c.after)
				}
				<-p.gone
				if got := b.counts(); got.Slots.Held != 0 || len(p.cancelled) != c.cancelled {
					b.t.Errorf("left: %+v, cancelled %v", got, p.cancelled)
				}
			})
		})
	}
}

// The time to live bounds one rest, not the cell: each settlement begins another.
func TestSpec_Q1_S4_EachRestHasItsTTL(t *testing.T) {
	virtual(t, slot.Options{}, func(b *bed) {
		p := b.exec(`let s = 0; for (let i = 0; i < 20; i++) s += await after({ms:9000,value:1}); return s`, required,
			func(s *Spec) { s.Limits.SnapshotTTL = 10 * time.Second })
		completed(b.t, <-p.reply, `20`)
	})
}

// Q2: a budget that ends in the grace or during the checkpoint ends the cell right there.
func TestSpec_Q2_BudgetEndsOnTheWayToARest(t *testing.T) {
	ended := func(name string, m *Machine, last Event) {
		t.Helper()
		effects := m.Step(last)
		if has[Park](effects) || !has[CancelCall](effects) || !m.Ended() || m.result.Code != schemas.Timeout {
			t.Errorf("%s: effects %+v, result %+v", name, effects, m.result)
		}
	}
	begin := func() (*Machine, time.Time) {
		return afterFirstLeg(t, MachineSpec{Required: true}, Request{ID: "1", Kind: CallRequest})
	}
	m, now := begin()
	ended("in the grace", m, TimerFired{At: now.Add(time.Second), Timer: m.life})
	m, now = begin()
	m.Step(TimerFired{At: now, Timer: m.grace})
	m.Step(TimerFired{At: now.Add(time.Second), Timer: m.life})
	ended("in the checkpoint", m, Parked{At: now.Add(time.Second)})
	m, now = begin()
	m.Step(TimerFired{At: now, Timer: m.grace})
	ended("its timer is late", m, Parked{At: now.Add(time.Second)})
}

// A slot that is granted when the budget is used up sends nothing.
func TestSpec_Q2_S1_SlotAfterTheDeadline(t *testing.T) {
	m, now := firstLeg(t, MachineSpec{Required: true}, Request{ID: "1", Kind: CallRequest})
	m.Step(TimerFired{At: now, Timer: m.life})
	effects := m.Step(SlotGranted{At: now})
	if has[Dispatch](effects) || !m.Ended() || m.result.Code != schemas.Timeout {
		t.Errorf("effects %+v, result %+v", effects, m.result)
	}
}

// running counts the timers of some kinds.
func (w *world) running(kinds ...TimerKind) (n int) {
	for t := range w.timers {
		if slices.Contains(kinds, t.Kind) {
			n++
		}
	}
	return n
}

func has[E Effect](effects []Effect) bool {
	for _, e := range effects {
		if _, ok := e.(E); ok {
			return true
		}
	}
	return false
}
