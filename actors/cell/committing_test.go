package cell

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/codecell/codecell/actors/slot"
	"github.com/codecell/codecell/schemas"
)

// stores is a port with something to commit: done is called when the test says so.
type stores struct {
	tainted bool
	done    chan func(warning string)
}

// storing makes a cell one that has stored something, before it begins.
func storing(c *stores) func(*Spec) {
	return func(s *Spec) {
		s.Port.(*probe).commit = func(tainted bool, done func(string)) {
			c.tainted = tainted
			c.done <- done
		}
	}
}

// T2: a cell that has stored something is completed when that is kept. Until then it holds its slot and no guest, and
// stays what it is whatever comes.
func TestSpec_T2_CompletedMeansKept(t *testing.T) {
	virtual(t, slot.Options{Slots: 1, Workers: 1}, func(b *bed) {
		c := &stores{done: make(chan func(string), 1)}
		p := b.exec(`text("a"); await web({}); return 7`, storing(c))
		done := <-c.done
		time.Sleep(time.Hour) // virtual: beyond its budget and its time to live
		if !c.tainted {
			b.t.Error("O5: the commit isn't tainted")
		}
		if got := b.counts(); got.Slots.Held != 1 || got.Workers.Held != 0 {
			b.t.Errorf("while it commits: %+v", got)
		}
		if st := p.status(); st.State != "ending" || st.Pending != 0 {
			b.t.Errorf("status %+v", st)
		}
		completed(b.t, <-b.exec(`return 2`).reply, `2`) // the only worker
		failed(b.t, <-p.wait("w"), schemas.InvalidInput, "already being resumed")
		first, second := p.cancel("enough"), p.cancel("twice")
		synctest.Wait()
		for _, ended := range []chan struct{}{first, second} {
			select {
			case <-ended:
				b.t.Fatal("S8: a cancel was answered while the cell commits")
			default:
			}
		}
		if len(p.reply) > 0 {
			b.t.Fatalf("answered: %s", show(<-p.reply))
		}
		done("")
		done("told twice")
		<-first
		<-second
		r := <-p.reply
		completed(b.t, r, `7`)
		if len(r.Warnings) != 0 || output(r) != "a" {
			b.t.Errorf("warnings %q, output %q", r.Warnings, output(r))
		}
		if e := <-p.ended; e.Result != r {
			b.t.Errorf("ended with %s", show(e.Result))
		}
	})
}

// T2: what can't be kept is a warning of a completed cell.
func TestSpec_T2_NotKept(t *testing.T) {
	virtual(t, slot.Options{}, func(b *bed) {
		c := &stores{done: make(chan func(string), 1)}
		p := b.exec(`await yield_control(); return 1`, storing(c))
		waiting(b.t, <-p.reply, schemas.ReasonYield, "yield sent")
		one, two := p.wait("w"), p.wait("w")
		done := <-c.done
		three := p.wait("w") // W5: the same wait, while it commits
		synctest.Wait()
		done("completed, but nothing was kept")
		for _, answer := range []chan *schemas.Result{one, two, three} {
			r := <-answer
			completed(b.t, r, `1`)
			if len(r.Warnings) != 1 || r.Warnings[0] != "completed, but nothing was kept" {
				b.t.Errorf("warnings %q", r.Warnings)
			}
		}
	})
}

// T2: cells that fail, expire, are aborted or run out of time discard what they stored.
func TestSpec_T2_NotCommitted(t *testing.T) {
	for _, c := range []struct {
		name, code string
		end        func(p *probe)
	}{
		{"throws", `await echo({}); throw new Error("x")`, func(*probe) {}},
		{"nothing settles it", `await new Promise(()=>{})`, func(*probe) {}},
		{"expires", `await yield_control()`, func(p *probe) { <-p.reply }},
		{"is aborted", `await never()`, func(p *probe) { <-p.cancel("enough") }},
		{"is stopped", `await never()`, func(p *probe) { p.sys.Root.Stop(p.pid) }},
		{"has no time left", `return 1`, func(*probe) {}},
	} {
		t.Run(c.name, func(t *testing.T) {
			virtual(t, slot.Options{}, func(b *bed) {
				s := &stores{done: make(chan func(string), 1)}
				p := b.exec(c.code, storing(s), func(s *Spec) {
					if c.name == "has no time left" {
						s.Start = time.Now().Add(-time.Hour)
					}
				})
				time.Sleep(10 * time.Millisecond) // virtual: it gets where the case wants it
				c.end(p)
				<-p.gone
				if len(s.done) > 0 {
					b.t.Error("committed")
				}
			})
		})
	}
}

// A cell that is stopped while it commits answers with its last words, and what comes of the commit goes nowhere.
func TestSpec_E1_T2_StoppedWhileItCommits(t *testing.T) {
	virtual(t, slot.Options{}, func(b *bed) {
		c := &stores{done: make(chan func(string), 1)}
		p := b.exec(`return 1`, storing(c))
		done := <-c.done
		p.sys.Root.Stop(p.pid)
		failed(b.t, <-p.reply, schemas.InternalError, "stopped")
		<-p.gone
		done("")
	})
}
