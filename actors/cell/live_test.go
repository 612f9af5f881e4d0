package cell

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/codecell/codecell/actors/slot"
	"github.com/codecell/codecell/schemas"
)

func parksLive(s *Spec) { s.Live = true }

// S10: a cell that parks live has no snapshot limit, holds a slot and no worker, and its memory is
// counted.
func TestSpec_S10_ParksWithItsGuest(t *testing.T) {
	virtual(t, slot.Options{Workers: 1}, func(b *bed) {
		p := b.exec(`let s=""; for (let i=0;i<30000;i++) s+=Math.random(); text("a"); const x = await yield_control("why"); text("b");
			return [x.reason, s.length > 400000]`, parksLive, func(s *Spec) { s.Limits.SnapshotBytes = 1 << 10 })
		r := <-p.reply
		waiting(b.t, r, schemas.ReasonYield, "yield sent")
		synctest.Wait()
		if c := b.counts(); c.Slots.Held != 1 || c.Workers.Held != 0 {
			b.t.Errorf("a parked cell holds %+v", c)
		}
		if st := p.status(); st.State != "parked" || st.MemoryBytes < 400000 {
			b.t.Errorf("status %+v", st)
		}
		if got := output(r); got != "a" {
			b.t.Errorf("output %q", got)
		}
		completed(b.t, <-b.exec(`return 2`).reply, `2`) // the only worker
		r = <-p.wait("w")
		completed(b.t, r, `["why",true]`)
		if output(r) != "b" {
			b.t.Errorf("output %q", output(r))
		}
		<-p.gone
		if got := p.kinds(); got != "CellStarted CellParked CellResumed CellEnded" {
			b.t.Errorf("facts: %s", got)
		}
		if f := p.facts[1].(*schemas.CellParked); f.GuestBytes < 400000 || f.SnapshotBytes != 0 {
			b.t.Errorf("fact %+v", f)
		}
	})
}

// S10: the wait contract, slots and TTL are those of any parked cell.
func TestSpec_S10_SameContract(t *testing.T) {
	virtual(t, slot.Options{Slots: 2}, func(b *bed) {
		p := b.exec(`return await Promise.race([after({ms:1900,value:"slow"}),after({ms:1100,value:"fast"})])`, parksLive)
		waiting(b.t, <-p.reply, schemas.ReasonPendingTools, "after sent", "after sent")
		q := b.exec(`await yield_control(); await never()`, parksLive, func(s *Spec) { s.Limits.SnapshotTTL = 10 * time.Second })
		<-q.reply
		failed(b.t, <-b.exec(`await yield_control()`, parksLive).reply, schemas.InvalidInput, "too many suspended code mode runs")
		waiting(b.t, <-q.wait("w"), schemas.ReasonPendingTools, "never sent")
		if again := <-q.wait("w"); again.Reason != schemas.ReasonPendingTools {
			b.t.Errorf("W5: %s", show(again))
		}
		time.Sleep(2 * time.Second) // virtual: both answers arrive
		completed(b.t, <-p.wait("w"), `"fast"`)
		failed(b.t, (<-q.ended).Result, schemas.Aborted, "expired")
		if c := b.counts(); c.Slots.Held != 0 {
			b.t.Errorf("S1: an expired cell holds a slot")
		}
	})
}

// S3, S10, Q1: cells that idle live take turns on few workers, also those whose call stays open.
func TestSpec_S3_S10_Q1_TurnsWithoutSnapshots(t *testing.T) {
	virtual(t, slot.Options{Workers: 2}, func(b *bed) {
		var cells []*probe
		for i := range 12 {
			cells = append(cells, b.exec(fmt.Sprintf(`let s=%d; for (let k=0;k<5;k++) s+=await after({ms:100,value:1}); return s`, i), parksLive,
				func(s *Spec) { s.Required, s.Limits.SnapshotBytes = i%2 == 0, 1 }))
		}
		for i, p := range cells {
			completed(b.t, <-p.reply, fmt.Sprint(i+5))
		}
		p := b.exec(`return await after({ms:60000,value:1})`, parksLive, required)
		time.Sleep(30 * time.Second) // virtual: half its call
		if c := b.counts(); c.Workers.Held != 0 || c.Slots.Held != 1 {
			b.t.Errorf("a required cell that rests holds %+v", c)
		}
		completed(b.t, <-p.reply, `1`)
	})
}

// S8, S10: a live-parked guest ends with its cell, whoever ends it and wherever it is.
func TestSpec_S8_S10_EndsWithItsCell(t *testing.T) {
	virtual(t, slot.Options{Workers: 1}, func(b *bed) {
		p := b.exec(`await yield_control(); return 1`, parksLive)
		<-p.reply
		<-p.cancel("enough")
		failed(b.t, (<-p.ended).Result, schemas.Aborted, "enough")
		p = b.exec(`await yield_control(); return 1`, parksLive)
		<-p.reply
		b.sys.Root.Stop(p.pid)
		<-p.gone
		// Queued for a worker.
		p = b.exec(`await yield_control(); return 1`, parksLive)
		<-p.reply
		holder := b.sys.Root.Spawn(hog(b))
		synctest.Wait()
		c := p.wait("w")
		synctest.Wait()
		<-p.cancel("enough")
		failed(b.t, <-c, schemas.Aborted, "enough")
		_ = b.sys.Root.StopFuture(holder).Wait()
	})
}
