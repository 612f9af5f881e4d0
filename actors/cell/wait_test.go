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

// kinds names the facts that a cell told, in order.
func (p *probe) kinds() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var names []string
	for _, f := range p.facts {
		names = append(names, strings.TrimPrefix(fmt.Sprintf("%T", f), "*schemas."))
	}
	return strings.Join(names, " ")
}

func TestSpec_X12_W4_YieldParks(t *testing.T) {
	virtual(t, slot.Options{}, func(b *bed) {
		p := b.exec(`text("a"); const x = await yield_control("why"); text("b"); await yield_control(); text("c"); return x`)
		r := <-p.reply
		waiting(b.t, r, schemas.ReasonYield, "yield sent")
		if r.RunID != "cell1" || output(r) != "a" {
			b.t.Errorf("got %s", show(r))
		}
		synctest.Wait()
		if c := b.counts(); c.Slots.Held != 1 || c.Workers.Held != 0 {
			b.t.Errorf("a parked cell holds %+v", c)
		}
		if st := p.status(); st.State != "parked" || !st.Slot || st.Pending != 1 {
			b.t.Errorf("status %+v", st)
		}
		r = <-p.wait("w1")
		waiting(b.t, r, schemas.ReasonYield, "yield sent")
		if output(r) != "b" {
			b.t.Errorf("W4: output %q, want only what is new", output(r))
		}
		r = <-p.wait("w2")
		completed(b.t, r, `{"status":"yielded","reason":"why"}`)
		if output(r) != "c" {
			b.t.Errorf("W4: output %q, want only what is new", output(r))
		}
		<-p.gone
		if got := p.kinds(); got != "CellStarted CellParked CellResumed CellParked CellResumed CellEnded" {
			b.t.Errorf("facts: %s", got)
		}
	})
}

// A yield parks the cell whether it is awaited or not; other requests of its leg are sent; one wait
// answers all yields.
func TestSpec_X12_YieldWithCompany(t *testing.T) {
	for _, c := range []struct{ name, code, reason, value string }{
		{"not awaited", `yield_control(); return 1`, schemas.ReasonYield, `1`},
		{"two at once", `return (await Promise.all([yield_control("a"),yield_control("b")])).map(x=>x.reason)`, schemas.ReasonYield, `["a","b"]`},
		{"with a call", `const e=after({ms:50,value:9}); await yield_control(); return await e`, schemas.ReasonPendingTools, `9`},
		{"with a timer", `let n=0; setTimeout(()=>{n=5},50); await yield_control(); await after({ms:100}); return n`, schemas.ReasonPendingTools, `5`},
	} {
		t.Run(c.name, func(t *testing.T) {
			virtual(t, slot.Options{}, func(b *bed) {
				p := b.exec(c.code)
				r := <-p.reply
				if r.Status != schemas.StatusWaiting || r.Reason != c.reason {
					b.t.Fatalf("got %s, want waiting %s", show(r), c.reason)
				}
				completed(b.t, <-p.wait("w"), c.value)
			})
		})
	}
}

// At the deadline a cell with pending calls parks; the wait has a budget of its own, and goes on with
// what arrived meanwhile, in order of arrival (S5, W1, W6).
func TestSpec_S5_W6_PendingAtTheDeadline(t *testing.T) {
	virtual(t, slot.Options{}, func(b *bed) {
		begin := time.Now()
		p := b.exec(`const got=[]; await Promise.all([after({ms:1500,value:"b"}),after({ms:1400,value:"a"}),after({ms:4500,value:"c"})].map(p=>p.then(v=>got.push(v)))); return got`)
		waiting(b.t, <-p.reply, schemas.ReasonPendingTools, "after sent", "after sent", "after sent")
		if d := time.Since(begin); d != time.Second {
			b.t.Errorf("parked after %v, want the budget of 1s", d)
		}
		time.Sleep(time.Second) // virtual: two answers arrive
		waiting(b.t, <-p.wait("w1"), schemas.ReasonPendingTools, "after sent")
		begin = time.Now()
		waiting(b.t, <-p.wait("w2"), schemas.ReasonPendingTools, "after sent")
		if d := time.Since(begin); d != time.Second {
			b.t.Errorf("W6: an idle wait took %v, want the budget of 1s", d)
		}
		completed(b.t, <-p.wait("w3"), `["a","b","c"]`)
	})
}

// A race that is decided while the cell is parked is won by the first answer to arrive.
func TestSpec_X12_RaceWhileParked(t *testing.T) {
	virtual(t, slot.Options{}, func(b *bed) {
		p := b.exec(`return await Promise.race([after({ms:1900,value:"slow"}),after({ms:1100,value:"fast"})])`)
		waiting(b.t, <-p.reply, schemas.ReasonPendingTools, "after sent", "after sent")
		time.Sleep(2 * time.Second) // virtual: both answers arrive
		completed(b.t, <-p.wait("w"), `"fast"`)
	})
}

func TestSpec_W2_SecondWaitIsRefusedAndTheFirstStaysValid(t *testing.T) {
	virtual(t, slot.Options{}, func(b *bed) {
		p := b.exec(`return await after({ms:1500,value:1})`)
		waiting(b.t, <-p.reply, schemas.ReasonPendingTools, "after sent")
		first := p.wait("w1")
		failed(b.t, <-p.wait("w2"), schemas.InvalidInput, "already being resumed")
		failed(b.t, <-p.wait(""), schemas.InvalidInput, "already being resumed")
		completed(b.t, <-first, `1`)
	})
}

func TestSpec_W5_RepeatedWaitHasOneAnswer(t *testing.T) {
	virtual(t, slot.Options{}, func(b *bed) {
		p := b.exec(`let n=0; for(;;) { await yield_control(); text("turn "+(++n)); if (n==2) await after({ms:2500}); if (n==3) return n }`)
		<-p.reply
		first := <-p.wait("w1")
		if again := <-p.wait("w1"); again != first || output(again) != "turn 1" {
			b.t.Errorf("after parking: %s, want %s", show(again), show(first))
		}
		// Delivered twice while it runs: both are answered, and the guest advances once.
		one, two := p.wait("w2"), p.wait("w2")
		a, z := <-one, <-two
		if a != z || output(a) != "turn 2" {
			b.t.Errorf("while running: %s and %s", show(a), show(z))
		}
		for i := 0; (<-p.wait(fmt.Sprint("more", i))).Status == schemas.StatusWaiting; i++ {
		}
		last := <-p.ended
		if w := last.Waits[len(last.Waits)-1]; w.Result != last.Result || string(w.Result.Value) != "3" || len(last.Waits) > keptWaits {
			b.t.Errorf("kept for repeated waits: %+v", last.Waits)
		}
	})
}

// What the parent sends before it has heard of the end is still answered (case 89).
func TestSpec_W5_WaitsThatCrossTheEnd(t *testing.T) {
	virtual(t, slot.Options{}, func(b *bed) {
		p := b.exec(`await yield_control(); return 1`)
		<-p.reply
		first := p.wait("w1")
		var late []chan *schemas.Result
		for i := range 20 {
			late = append(late, p.wait([]string{"w1", "other", ""}[i%3]))
		}
		completed(b.t, <-first, `1`)
		for i, c := range late {
			if r := <-c; i%3 == 0 {
				completed(b.t, r, `1`)
			} else if r.Status != schemas.StatusFailed || r.Code != schemas.InvalidInput {
				b.t.Errorf("a late wait got %s", show(r))
			}
		}
	})
}

func TestSpec_S4_TTLCountsIdleParkedTime(t *testing.T) {
	virtual(t, slot.Options{}, func(b *bed) {
		short := func(s *Spec) { s.Limits.SnapshotTTL = 10 * time.Second }
		p := b.exec(`await never()`, short)
		<-p.reply
		for i := range 5 { // each wait lives under its own deadline, and restarts the time to live
			time.Sleep(9 * time.Second) // virtual: almost its time to live
			waiting(b.t, <-p.wait(fmt.Sprint(i)), schemas.ReasonPendingTools, "never sent")
		}
		time.Sleep(11 * time.Second) // virtual: past its time to live
		e := <-p.ended
		failed(b.t, e.Result, schemas.Aborted, "expired")
		if c := b.counts(); c.Slots.Held != 0 {
			b.t.Errorf("S1: an expired cell holds a slot")
		}
		if !slices.Equal(p.cancelled, []string{"1"}) {
			b.t.Errorf("cancelled %v", p.cancelled)
		}
		// Limits beyond all bounds don't overflow into the past.
		p = b.exec(`await never()`, func(s *Spec) { s.Limits.SnapshotTTL = 1<<63 - 1 })
		<-p.reply
		time.Sleep(24 * time.Hour) // virtual: as good as forever
		waiting(b.t, <-p.wait("w"), schemas.ReasonPendingTools, "never sent")
	})
}

func TestSpec_S1_S2_SlotsAreForHostWork(t *testing.T) {
	virtual(t, slot.Options{Slots: 2}, func(b *bed) {
		parked := []*probe{b.exec(`await yield_control(); return 1`), b.exec(`return await after({ms:5000,value:2})`)}
		for _, p := range parked {
			<-p.reply
		}
		for _, code := range []string{`await echo({})`, `await yield_control()`, `setTimeout(()=>{},1)`, `try { await echo({}) } catch { return 1 }`} {
			p := b.exec(code)
			failed(b.t, <-p.reply, schemas.InvalidInput, "too many suspended code mode runs")
			if got := p.sentTools(); len(got) != 0 {
				b.t.Errorf("%s sent %v", code, got)
			}
		}
		completed(b.t, <-b.exec(`return (await catalog.search("x")).length`).reply, `1`) // no host work, no slot
		completed(b.t, <-parked[0].wait("w"), `1`)
		completed(b.t, <-b.exec(`return await echo({a:1})`).reply, `{"a":1}`) // the slot is free at once
	})
}

func TestSpec_S8_Cancel(t *testing.T) {
	for _, c := range []struct {
		name, code string
		sleep      time.Duration
		cancelled  int
	}{
		{"while its calls are pending", `text("a"); setTimeout(()=>{},500); never(); await never()`, 10 * time.Millisecond, 2},
		{"while it is parked", `text("a"); await never()`, 2 * time.Second, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			virtual(t, slot.Options{}, func(b *bed) {
				p := b.exec(c.code)
				time.Sleep(c.sleep)                                    // virtual: it gets where the case wants it
				first, second := p.cancel("enough"), p.cancel("twice") // the second finds it ended
				<-first
				<-second
				e := <-p.ended
				failed(b.t, e.Result, schemas.Aborted, "enough")
				if c.sleep < time.Second {
					if r := <-p.reply; r != e.Result || output(r) != "a" {
						b.t.Errorf("the exec was answered %s", show(r))
					}
				}
				<-p.gone
				if len(p.cancelled) != c.cancelled {
					b.t.Errorf("cancelled %v, want %d calls", p.cancelled, c.cancelled)
				}
			})
		})
	}
}

// S8: cancelling a guest that computes stops it long before its budget ends, and the answer to the
// cancel comes after it has stopped.
func TestSpec_S8_CancelWhileComputing(t *testing.T) {
	b := newBed(t, slot.Options{})
	p := b.exec(`text("a"); await echo({}); for(;;);`, func(s *Spec) { s.Limits.Timeout = time.Minute })
	for len(p.sentTools()) == 0 || p.status().Pending > 0 {
		time.Sleep(time.Millisecond) // real: until the guest is past its call
	}
	begin := time.Now()
	<-p.cancel("enough")
	if d := time.Since(begin); d > 10*time.Second {
		t.Errorf("stopping took %v", d)
	}
	r := <-p.reply
	failed(t, r, schemas.Aborted, "enough")
	if output(r) != "a" {
		t.Errorf("output %q", output(r))
	}
	b.close()
}

// S3: more cells than workers take turns: the longest idle is parked within its call, and nobody sees
// it.
func TestSpec_S3_ParkedWithinTheCall(t *testing.T) {
	virtual(t, slot.Options{Workers: 2}, func(b *bed) {
		var cells []*probe
		for i := range 12 {
			cells = append(cells, b.exec(fmt.Sprintf(`let s=%d; for (let k=0;k<5;k++) s+=await after({ms:100,value:1}); return s`, i)))
		}
		for i, p := range cells {
			completed(b.t, <-p.reply, fmt.Sprint(i+5))
			if got := p.kinds(); strings.Contains(got, "Parked") {
				b.t.Errorf("seen: %s", got)
			}
		}
	})
}

// S3, S5: with all workers computing, a cell waits for one no longer than its budget.
func TestSpec_S5_NoWorkerWithinTheBudget(t *testing.T) {
	virtual(t, slot.Options{Workers: 1}, func(b *bed) {
		holder := b.sys.Root.Spawn(hog(b))
		synctest.Wait()
		failed(b.t, <-b.exec(`return 1`).reply, schemas.Timeout, "not started")
		_ = b.sys.Root.StopFuture(holder).Wait()
		completed(b.t, <-b.exec(`return 1`).reply, `1`)
		// The same for a parked one loses nothing: it can be waited for again.
		p := b.exec(`await yield_control(); return 2`)
		<-p.reply
		holder = b.sys.Root.Spawn(hog(b))
		synctest.Wait()
		if r := <-p.wait("w1"); r.Status != schemas.StatusWaiting {
			b.t.Errorf("got %s", show(r))
		}
		_ = b.sys.Root.StopFuture(holder).Wait()
		completed(b.t, <-p.wait("w2"), `2`)
	})
}

// W2: state over the snapshot limit fails the cell when it must park, with its output, but not when
// only the ledger wanted its worker.
func TestSpec_W2_SnapshotLimit(t *testing.T) {
	virtual(t, slot.Options{Workers: 1}, func(b *bed) {
		small := func(s *Spec) { s.Limits.SnapshotBytes = 64 << 10 }
		const large = `text("a"); let s=""; for (let i=0;i<30000;i++) s+=Math.random();`
		p := b.exec(large+`await yield_control(); return 1`, small)
		r := <-p.reply
		failed(b.t, r, schemas.SnapshotLimitExceeded, "snapshot limit")
		if output(r) != "a" {
			b.t.Errorf("output %q", output(r))
		}
		p = b.exec(large+`await after({ms:500}); return s.length > 1000`, small)
		time.Sleep(100 * time.Millisecond) // virtual: p waits for its call
		q := b.exec(`return 2`)            // wants the only worker
		completed(b.t, <-p.reply, `true`)
		completed(b.t, <-q.reply, `2`)
	})
}

// A cell that is stopped from outside answers everyone who waits, with its last words; a supervisor
// that restarts it doesn't run the program again.
func TestSpec_E1_LastWords(t *testing.T) {
	for _, stop := range []func(b *bed, p *probe){
		func(b *bed, p *probe) { b.sys.Root.Stop(p.pid) },
		func(b *bed, p *probe) { b.sys.Root.Poison(p.pid) },
	} {
		virtual(t, slot.Options{}, func(b *bed) {
			p := b.exec(`await never()`)
			time.Sleep(10 * time.Millisecond) // virtual: its call is pending
			stop(b, p)
			failed(b.t, <-p.reply, schemas.InternalError, "stopped")
			<-p.gone
			if len(p.cancelled) != 1 {
				b.t.Errorf("cancelled %v", p.cancelled)
			}
			p = b.exec(`await yield_control(); await never()`)
			<-p.reply
			c := p.wait("w")
			time.Sleep(10 * time.Millisecond) // virtual: its call is pending
			stop(b, p)
			failed(b.t, <-c, schemas.InternalError, "stopped")
			<-p.gone
		})
	}
}
