package cell

import (
	"testing"
	"time"

	"github.com/codecell/codecell/actors/slot"
	"github.com/codecell/codecell/schemas"
)

func strict(s *Spec) { s.Strict = true }

// L1: the budget of a second is a hard one, whatever the program waits for. Its calls are cancelled, and nothing is left.
func TestSpec_L1_TheLimitIsHard(t *testing.T) {
	for _, c := range []struct {
		name, code string
		text       string
		cancelled  int
	}{
		{"a tool", `text("a"); await never()`, "1 of its calls were still pending", 1},
		{"two tools", `text("a"); await Promise.all([never(), never()])`, "2 of its calls were still pending", 2},
		{"after continuations", `text("a"); await after({ms:400}); await after({ms:400}); await after({ms:400})`, "1 of its calls", 1},
		{"without an end", `text("a"); for (;;) await after({ms:90})`, "1 of its calls", 1},
		{"a tool that nobody awaits", `text("a"); void never(); return 1`, "1 of its calls", 1},
		{"with a failure caught", `text("a"); for (;;) try { await after({ms:70,fail:"no"}) } catch {}`, "1 of its calls", 1},
		{"a timer", `text("a"); setTimeout(() => {}, 5000); return 1`, "1 of its calls", 0},
		{"a yield doesn't wait for the model", `text("a"); await yield_control("x"); await never()`, "1 of its calls", 1},
		{"calls that would make it a required one", `text("a"); await never({awaitResults:true})`, "1 of its calls", 1},
	} {
		for kind, change := range map[string]func(*Spec){
			"": strict, " parked live": func(s *Spec) { s.Strict, s.Live = true, true }, " that is to be required": func(s *Spec) { s.Strict, s.Required = true, true },
		} {
			t.Run(c.name+kind, func(t *testing.T) {
				virtual(t, slot.Options{}, func(b *bed) {
					begin := time.Now()
					p := b.exec(c.code, change)
					r := <-p.reply
					failed(b.t, r, schemas.Timeout, "used up its budget of 1s, and "+c.text)
					if d := time.Since(begin); d != time.Second || output(r) != "a" {
						b.t.Errorf("answered after %v, with output %q", d, output(r))
					}
					<-p.gone
					if got := b.counts(); got.Slots.Held != 0 || got.Workers.Held != 0 || len(p.cancelled) != c.cancelled {
						b.t.Errorf("left: %+v, cancelled %v", got, p.cancelled)
					}
				})
			})
		}
	}
}

// L1: within the limit it's a program like any other, and is answered once.
func TestSpec_L1_WithinTheLimit(t *testing.T) {
	for code, want := range map[string]string{
		`return 1`: `1`,
		`const [a, b] = await Promise.all([after({ms:900,value:1}), after({ms:300,value:2})]); return a + b`: `3`,
		`return (await yield_control("x")).reason`:                                                           `"x"`,
		`void after({ms:400}).then(() => text("drained")); return 1`:                                         `1`,
		`try { await boom({}) } catch (e) { return e.code }`:                                                 `"tool_error"`,
	} {
		virtual(t, slot.Options{}, func(b *bed) {
			p := b.exec(code, strict)
			completed(b.t, <-p.reply, want)
			<-p.gone
		})
	}
	virtual(t, slot.Options{}, func(b *bed) {
		begin := time.Now()
		failed(b.t, <-b.exec(`await new Promise(() => {})`, strict).reply, schemas.InternalError, "nothing can settle")
		failed(b.t, <-b.exec(`throw new Error("interrupted")`, strict).reply, schemas.InternalError, "interrupted")
		if d := time.Since(begin); d != 0 {
			b.t.Errorf("answered after %v", d)
		}
	})
}

// L1, S6: the time of a person isn't the program's, and what follows a decision has what was left.
func TestSpec_L1_S6_APersonDecides(t *testing.T) {
	virtual(t, slot.Options{}, func(b *bed) {
		begin := time.Now()
		completed(b.t, <-b.exec(`return await asks({ms:3600000,value:7})`, strict).reply, `7`)
		if d := time.Since(begin); d != time.Hour {
			b.t.Errorf("answered after %v", d)
		}
		begin = time.Now()
		failed(b.t, <-b.exec(`await after({ms:300}); await asks({ms:1500,runs:5000})`, strict).reply, schemas.Timeout, "1 of its calls")
		if d := time.Since(begin); d != 2500*time.Millisecond {
			b.t.Errorf("answered after %v", d)
		}
		p := b.exec(`await asks({ms:1e12})`, strict)
		failed(b.t, <-p.reply, schemas.Aborted, "no decision about its calls came within 25h")
		<-p.gone
	})
}

// L1, S3: a cell whose worker another one wants is parked unseen, and its limit holds while it's parked or wants one back.
func TestSpec_L1_S3_TheLimitHoldsWithoutAWorker(t *testing.T) {
	virtual(t, slot.Options{Workers: 1}, func(b *bed) {
		begin := time.Now()
		p := b.exec(`const v = await after({ms:400,value:3}); text("on"); return v + (await never())`, strict)
		time.Sleep(100 * time.Millisecond)                                             // virtual: it waits
		completed(b.t, <-b.exec(`await after({ms:100}); return 2`, strict).reply, `2`) // the only worker
		time.Sleep(300 * time.Millisecond)                                             // virtual: it goes on, and waits again
		completed(b.t, <-b.exec(`return 3`).reply, `3`)
		r := <-p.reply
		failed(b.t, r, schemas.Timeout, "1 of its calls")
		if d := time.Since(begin); d != time.Second || output(r) != "on" {
			b.t.Errorf("after %v, output %q", d, output(r))
		}

		begin = time.Now()
		p = b.exec(`await after({ms:300}); return 1`, strict)
		time.Sleep(100 * time.Millisecond) // virtual: it waits
		holder := b.sys.Root.Spawn(hog(b))
		failed(b.t, <-p.reply, schemas.Timeout, "used up its budget of 1s")
		if d := time.Since(begin); d != time.Second {
			b.t.Errorf("without a worker: after %v", d)
		}
		_ = b.sys.Root.StopFuture(holder).Wait()
	})
}

// L1, B2: endless computation ends at the limit, at once or after asynchronous continuations.
func TestSpec_L1_EndlessPrograms(t *testing.T) {
	for _, code := range []string{
		`for (;;);`,
		`await after({ms:1}); for (;;);`,
		`void never(); await null; new Array(4294967295).reverse()`,
		`Promise.prototype.then = () => { throw 1 }; const go = async () => { for (;;) await null }; await go()`,
		`await after({ms:1}); /^(a+)+$/.test("a".repeat(40) + "!")`,
		`void never(); await new Promise(() => {})`,
	} {
		t.Run(code, func(t *testing.T) {
			b := newBed(t, slot.Options{})
			begin := time.Now()
			p := b.exec(code, strict, func(s *Spec) { s.Limits.Timeout = 500 * time.Millisecond })
			failed(t, <-p.reply, schemas.Timeout, "timeout")
			if d := time.Since(begin); d > 20*time.Second {
				t.Errorf("answered after %v", d)
			}
			<-p.gone
			b.close()
		})
	}
}

// L1: a guest that can't be parked when the limit comes is one that ran out of time.
func TestSpec_L1_LimitWhileParking(t *testing.T) {
	m, now := afterFirstLeg(t, MachineSpec{Strict: true}, Request{ID: "1", Kind: CallRequest})
	m.Step(WorkerWanted{At: now})
	m.Step(TimerFired{At: now.Add(time.Second), Timer: m.life})
	m.Step(ParkFailed{At: now.Add(time.Second), Failure: Failure{Code: schemas.SnapshotLimitExceeded}})
	if !m.Ended() || m.result.Code != schemas.Timeout {
		t.Errorf("ended %v: %+v", m.Ended(), m.result)
	}
	m, now = afterFirstLeg(t, MachineSpec{Strict: true}, Request{ID: "1", Kind: CallRequest})
	m.Step(WorkerWanted{At: now})
	m.Step(ParkFailed{At: now, Failure: Failure{Code: schemas.SnapshotLimitExceeded}})
	m.Step(TimerFired{At: now.Add(time.Second), Timer: m.life})
	if !m.Ended() || m.result.Code != schemas.Timeout {
		t.Errorf("too large for a snapshot: ended %v: %+v", m.Ended(), m.result)
	}
}

// W2: nobody can wait for it, though its id were known.
func TestSpec_L1_NoWaitTakesItOver(t *testing.T) {
	virtual(t, slot.Options{}, func(b *bed) {
		p := b.exec(`return await after({ms:500,value:1})`, strict)
		time.Sleep(100 * time.Millisecond) // virtual: it waits
		failed(b.t, <-p.wait("w"), schemas.InvalidInput, "already being resumed")
		completed(b.t, <-p.reply, `1`)
	})
}
