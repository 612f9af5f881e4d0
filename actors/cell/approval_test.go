package cell

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/codecell/codecell/actors/slot"
	"github.com/codecell/codecell/schemas"
)

// S6: a person's time isn't the program's. Each call has a budget of a second; what is left of it when a person is asked
// is left when all have decided.
func TestSpec_S6_Case67_APersonDecides(t *testing.T) {
	for _, c := range []struct {
		name, code string
		value      string        // of a completed cell; empty for one that waits
		after      time.Duration // since the exec
	}{
		{"longer than the budget", `return await asks({ms:1500,value:7})`, `7`, 1500 * time.Millisecond},
		{"over lunch", `return await asks({ms:3600000,value:7})`, `7`, time.Hour},
		{"and then the tool takes its time", `return await asks({ms:1500,runs:900,value:7})`, `7`, 2400 * time.Millisecond},
		{"what is left is what was unused", `await after({ms:300}); await asks({ms:1500}); await after({ms:5000})`, "", 2500 * time.Millisecond},
		{"the tool is on the budget", `await after({ms:300}); await asks({ms:1500,runs:5000})`, "", 2500 * time.Millisecond},
		{"two at once: when both are decided", `await Promise.all([asks({ms:1500}),asks({ms:2500})]); await after({ms:5000})`, "", 3500 * time.Millisecond},
		{"two that overlap", `const a = asks({ms:1500}); await after({ms:500}); await Promise.all([a, asks({ms:3000})]); await after({ms:5000})`,
			"", 4500 * time.Millisecond},
		{"one after the other", `await asks({ms:1500}); await after({ms:400}); await asks({ms:1500}); await after({ms:5000})`, "", 4000 * time.Millisecond},
		{"while a sibling works", `const [a, b] = await Promise.all([asks({ms:2000,value:1}), after({ms:1500,value:2})]); return a + b`, `3`, 2 * time.Second},
		{"the sibling goes on after", `await Promise.all([asks({ms:2000,value:1}), after({ms:2500})]); await after({ms:5000})`, "", 3 * time.Second},
		{"nobody awaits it", `void asks({ms:2000}).then(() => text("late")); return 4`, `4`, 2 * time.Second},
		{"beside a timer", `setTimeout(() => text("tick"), 1200); return await asks({ms:1500,value:5})`, `5`, 1500 * time.Millisecond},
	} {
		t.Run(c.name, func(t *testing.T) {
			virtual(t, slot.Options{}, func(b *bed) {
				begin := time.Now()
				p := b.exec(c.code)
				r := <-p.reply
				if d := time.Since(begin); d != c.after {
					b.t.Errorf("answered after %v, want %v", d, c.after)
				}
				if c.value != "" {
					completed(b.t, r, c.value)
				} else if r.Status != schemas.StatusWaiting {
					b.t.Errorf("got %s, want waiting", show(r))
				}
			})
		})
	}
}

// S6: the same in a wait, whose budget is its own: parked time and earlier pauses add nothing to it.
func TestSpec_S6_Case67_InAWait(t *testing.T) {
	virtual(t, slot.Options{}, func(b *bed) {
		p := b.exec(`await asks({ms:3000}); await yield_control(); await asks({ms:1500}); await after({ms:300}); await asks({ms:700}); await after({ms:5000}); return 1`)
		<-p.reply
		time.Sleep(time.Minute) // virtual: parked time
		begin := time.Now()
		waiting(b.t, <-p.wait("w1"), schemas.ReasonPendingTools, "after sent")
		if d := time.Since(begin); d != 3200*time.Millisecond {
			b.t.Errorf("answered after %v, want the budget of 1s and two pauses of 2.2s", d)
		}
		time.Sleep(5 * time.Second) // virtual: the call answers
		completed(b.t, <-p.wait("w2"), `1`)
		if got := b.counts(); got.Slots.Held != 0 {
			b.t.Errorf("left: %+v", got)
		}
	})
}

// S6: a program that yields while a call waits for a person is parked for all to see, and says so. The next wait pauses
// at once; a decision that came meanwhile is found by it.
func TestSpec_S6_Case36b_YieldsBesideAnApproval(t *testing.T) {
	virtual(t, slot.Options{}, func(b *bed) {
		const code = `const a = asks({ms:5000,value:1}); await echo({}); await yield_control("x"); const v = await a; await after({ms:5000}); return v`
		p := b.exec(code)
		waiting(b.t, <-p.reply, schemas.ReasonPendingTools, "asks awaiting_approval", "yield sent")
		time.Sleep(2 * time.Second) // virtual: parked
		waiting(b.t, <-p.wait("w1"), schemas.ReasonPendingTools, "after sent")
		completed(b.t, func() *schemas.Result {
			time.Sleep(5 * time.Second) // virtual: the call answers
			return <-p.wait("w2")
		}(), `1`)

		begin := time.Now()
		p = b.exec(code)
		<-p.reply
		time.Sleep(4500 * time.Millisecond) // virtual: parked
		<-p.wait("w1")
		if d := time.Since(begin); d != 6*time.Second {
			b.t.Errorf("the wait was answered after %v, want 500 ms for the decision and the budget of 1s", d)
		}

		p = b.exec(`const a = asks({ms:5000,value:1}); await yield_control(); return await a`)
		<-p.reply
		time.Sleep(6 * time.Second) // virtual: it's decided while nobody waits
		completed(b.t, <-p.wait("w1"), `1`)
	})
}

// Case 68: a denial, or that nobody decided, is an error of that call, which the program may catch; and it goes on.
func TestSpec_S6_P3_Case68_Denied(t *testing.T) {
	virtual(t, slot.Options{}, func(b *bed) {
		begin := time.Now()
		p := b.exec(`let why; try { await asks({ms:300000,deny:"asks: nobody decided within 300s; it was not run"}) } catch (e) { why = e }
			return [why.message.slice(0,20), why.location, why.effectStatus, (await echo({n:1})).n]`, func(s *Spec) { s.Record = true })
		time.Sleep(time.Minute) // virtual: it waits for a person
		if st := p.status(); st.State != "running" || st.Pending != 1 {
			b.t.Errorf("status %+v", st)
		}
		completed(b.t, <-p.reply, `["asks: nobody decided","approval","not_started",1]`)
		if d := time.Since(begin); d != 5*time.Minute {
			b.t.Errorf("answered after %v", d)
		}
		if p.settled[0].Outcome != schemas.NotStarted {
			b.t.Errorf("settled %+v", p.settled[0])
		}
		r := <-b.exec(`await asks({ms:1500,deny:"denied"})`).reply
		failed(b.t, r, schemas.InternalError, "denied")
		if r.Telemetry.Calls[0].Outcome != schemas.NotStarted {
			b.t.Errorf("E5: %+v", r.Telemetry.Calls)
		}
	})
}

// B2: whoever computes while a person decides pays for it.
func TestSpec_S6_B2_ComputingWhileAPersonDecides(t *testing.T) {
	for _, code := range []string{
		`text("before"); void asks({ms:60000}); await echo({}); for(;;);`,
		`text("before"); void asks({ms:60000}); for(;;) await refused().catch(()=>{})`,
		`text("before"); void asks({ms:60000}); for(;;) await catalog.search("x")`,
	} {
		for _, change := range []func(*Spec){func(*Spec) {}, required} {
			t.Run(code, func(t *testing.T) {
				b := newBed(t, slot.Options{})
				p := b.exec(code, change, func(s *Spec) { s.Limits.Timeout = time.Second })
				r := <-p.reply
				failed(t, r, schemas.Timeout, "timeout")
				if output(r) != "before" || len(p.cancelled) != 1 {
					t.Errorf("output %q, cancelled %v", output(r), p.cancelled)
				}
				b.close()
			})
		}
	}
	// Light calls take their share of the budget as well.
	b := newBed(t, slot.Options{})
	p := b.exec(`void asks({ms:60000}); for(;;) await echo({})`, func(s *Spec) { s.Limits.Timeout = 300 * time.Millisecond })
	if r := <-p.reply; r.Status != schemas.StatusWaiting || r.Pending[0].State != "awaiting_approval" {
		t.Errorf("got %s", show(r))
	}
	b.close()
}

// S3: a guest that waits for a person gives its worker up when it is wanted, and its memory after a moment.
func TestSpec_S3_S6_GuestsDontWaitForPeople(t *testing.T) {
	for _, change := range []func(*Spec){func(*Spec) {}, parksLive, required} {
		virtual(t, slot.Options{Workers: 1}, func(b *bed) {
			begin := time.Now()
			p := b.exec(`let s = "kept"; await asks({ms:60000}); return s`, change)
			synctest.Wait()
			completed(b.t, <-b.exec(`return 2`).reply, `2`) // the only worker
			if d := time.Since(begin); d > grace {
				b.t.Errorf("it got the worker after %v", d)
			}
			q := b.exec(`let s = "kept"; await asks({ms:60000}); return s`, change)
			time.Sleep(patience) // virtual: it idles with its guest so long
			synctest.Wait()
			if c := b.counts(); c.Workers.Held != 0 || c.Slots.Held != 2 {
				b.t.Errorf("while people decide: %+v", c)
			}
			for _, p := range []*probe{p, q} {
				completed(b.t, <-p.reply, `"kept"`)
				<-p.gone
				if got := p.kinds(); got != "CellStarted CallEnded CellEnded" {
					b.t.Errorf("seen: %s", got)
				}
			}
		})
	}
}

// S3: many programs that wait for people share one worker, and all come back to what they were.
func TestSpec_S3_S6_ManyPeople(t *testing.T) {
	virtual(t, slot.Options{Workers: 1}, func(b *bed) {
		var cells []*probe
		for i := range 12 {
			cells = append(cells, b.exec(fmt.Sprintf(`let s=%d; for (let k=0;k<3;k++) s+=await asks({ms:%d,value:1}); return s`, i, 900+100*i),
				func(s *Spec) { s.Live, s.Required = i%3 == 0, i%2 == 0 }))
		}
		for i, p := range cells {
			completed(b.t, <-p.reply, fmt.Sprint(i+3))
		}
	})
}

// A person who decides within a moment costs no park; a guest too large to be parked stays.
func TestSpec_S6_ParkedOnlyAfterAMoment(t *testing.T) {
	m, now := afterFirstLeg(t, MachineSpec{}, Request{ID: "1", Kind: CallRequest})
	m.Step(Answer{At: now, ID: "1", State: schemas.AnswerAwaiting})
	first := m.grace
	if first == (Timer{}) {
		t.Fatal("nothing parks it")
	}
	m.Step(Answer{At: now, ID: "1", State: schemas.AnswerAccepted})
	if effects := m.Step(TimerFired{At: now, Timer: first}); len(effects) != 0 {
		t.Errorf("effects of a late grace: %+v", effects)
	}
	m.Step(Answer{At: now, ID: "1", State: schemas.AnswerAwaiting}) // another hook asks again
	if effects := m.Step(TimerFired{At: now, Timer: m.grace}); !has[Park](effects) {
		t.Errorf("effects of the grace: %+v", effects)
	}
	m.Step(ParkFailed{At: now, Failure: Failure{Code: schemas.SnapshotLimitExceeded}})
	m.Step(Answer{At: now, ID: "1", State: schemas.AnswerAccepted})
	m.Step(Answer{At: now, ID: "1", State: schemas.AnswerAwaiting})
	if m.grace != (Timer{}) || !m.clock.standing {
		t.Errorf("a guest that can't be parked: grace %v, the clock stands %v", m.grace, m.clock.standing)
	}
	effects := m.Step(Answer{At: now.Add(time.Hour), ID: "1", State: schemas.AnswerDone})
	if left := legOf(t, effects).Deadline.Sub(now.Add(time.Hour)); left != time.Second {
		t.Errorf("%v are left, want the whole second", left)
	}
}

// S4: the time to live counts while nobody waits, also if a person is asked.
func TestSpec_S4_S6_ExpiresBesideAnApproval(t *testing.T) {
	virtual(t, slot.Options{}, func(b *bed) {
		p := b.exec(`void asks({ms:-1}); await yield_control()`, func(s *Spec) { s.Limits.SnapshotTTL = 10 * time.Second })
		<-p.reply
		time.Sleep(9 * time.Second) // virtual: almost its time to live
		c := p.wait("w1")
		time.Sleep(time.Hour) // virtual: an admitted wait lives under its own deadline, which stands
		select {
		case r := <-c:
			b.t.Fatalf("answered: %s", show(r))
		default:
		}
		if got := p.status(); got.State != "running" {
			b.t.Errorf("status %+v", got)
		}
		<-p.cancel("enough")
		failed(b.t, <-c, schemas.Aborted, "enough")

		p = b.exec(`void asks({ms:-1}); await yield_control()`, func(s *Spec) { s.Limits.SnapshotTTL = 10 * time.Second })
		<-p.reply
		begin := time.Now()
		failed(b.t, (<-p.ended).Result, schemas.Aborted, "nobody waited for it in time")
		if d := time.Since(begin); d != 10*time.Second || !slices.Equal(p.cancelled, []string{"1"}) {
			b.t.Errorf("expired after %v, cancelled %v", d, p.cancelled)
		}
	})
}

// Q1, S6: what bounds the rest of a required cell doesn't bound a person, and begins anew when all have decided.
func TestSpec_Q1_S6_RestsBesideAnApproval(t *testing.T) {
	for _, c := range []struct {
		code string
		text string // of the failure, if it fails
		at   time.Duration
	}{
		{`return await asks({ms:60000,value:1})`, "", time.Minute},
		{`return await asks({ms:60000,runs:9000,value:1})`, "", 69 * time.Second},
		{`return await asks({ms:60000,runs:11000,value:1})`, "none of its pending calls", 70 * time.Second},
		{`await Promise.all([asks({ms:60000}), never()])`, "none of its pending calls", 70 * time.Second},
		{`await asks({ms:-1})`, "no decision about its calls came", longestApproval},
	} {
		t.Run(c.code, func(t *testing.T) {
			virtual(t, slot.Options{}, func(b *bed) {
				begin := time.Now()
				p := b.exec(c.code, required, func(s *Spec) { s.Limits.SnapshotTTL = 10 * time.Second })
				r := <-p.reply
				if d := time.Since(begin) - c.at; d < 0 || d > 2*patience {
					b.t.Errorf("answered after %v, want %v", time.Since(begin), c.at)
				}
				if c.text == "" {
					completed(b.t, r, `1`)
				} else {
					failed(b.t, r, schemas.Aborted, c.text)
				}
				time.Sleep(5 * time.Second) // virtual: what tools answer late arrives
			})
		})
	}
}

// S8: cancelling a cell doesn't wait for a person.
func TestSpec_S6_S8_CancelledWhileAPersonDecides(t *testing.T) {
	virtual(t, slot.Options{}, func(b *bed) {
		p := b.exec(`await asks({ms:-1})`)
		time.Sleep(time.Minute) // virtual: it is parked
		<-p.cancel("enough")
		failed(b.t, <-p.reply, schemas.Aborted, "enough")
		if !slices.Equal(p.cancelled, []string{"1"}) || b.counts().Slots.Held != 0 {
			b.t.Errorf("cancelled %v, held %+v", p.cancelled, b.counts())
		}
	})
}
