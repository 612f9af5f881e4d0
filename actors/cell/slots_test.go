package cell

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/codecell/codecell/actors/slot"
	"github.com/codecell/codecell/schemas"
)

// S1: with all 64 slots taken a resume keeps its own, also when it parks again, and nobody else gets one.
func TestSpec_S1_S2_AllSlotsFull(t *testing.T) {
	virtual(t, slot.Options{Workers: 4}, func(b *bed) {
		var cells []*probe
		for i := range slot.DefaultSlots {
			cells = append(cells, b.exec(`await yield_control(); await after({ms:100}); await yield_control(); return await asks({ms:2000,value:1})`,
				func(s *Spec) { s.Live = i%8 == 0 }))
		}
		for _, p := range cells {
			waiting(b.t, <-p.reply, schemas.ReasonYield, "yield sent")
		}
		full := func() {
			b.t.Helper()
			synctest.Wait()
			if c := b.counts(); c.Slots.Held != slot.DefaultSlots || c.Workers.Held != 0 {
				b.t.Errorf("held %+v", c)
			}
			p := b.exec(`await echo({})`)
			failed(b.t, <-p.reply, schemas.InvalidInput, "too many suspended code mode runs")
			if len(p.sentTools()) != 0 {
				b.t.Errorf("sent %v", p.sentTools())
			}
			completed(b.t, <-b.exec(`return 1`).reply, `1`)
		}
		full()
		for i, p := range cells {
			waiting(b.t, <-p.wait(fmt.Sprint("w", i)), schemas.ReasonYield, "yield sent")
		}
		full()
		var last []chan *schemas.Result
		for i, p := range cells {
			last = append(last, p.wait(fmt.Sprint("v", i)))
		}
		time.Sleep(time.Second) // virtual: all of them wait for people
		full()
		for _, r := range last {
			completed(b.t, <-r, `1`)
		}
		completed(b.t, <-b.exec(`return await echo({a:1})`).reply, `{"a":1}`)
	})
}

// S1, S8: aborted cells leave nothing: after 64 of them, in every state that holds a slot, there's room for all again.
func TestSpec_S1_S8_AbortsFreeTheirSlots(t *testing.T) {
	virtual(t, slot.Options{Workers: 4}, func(b *bed) {
		programs := []string{
			`await yield_control()`, `await never()`, `await asks({ms:-1})`, `setTimeout(()=>{}, 1e6)`, `void asks({ms:-1}); await yield_control()`,
		}
		for range 2 {
			var cells []*probe
			for i := range slot.DefaultSlots {
				cells = append(cells, b.exec(programs[i%len(programs)], func(s *Spec) { s.Live, s.Required = i%7 == 0, i%3 == 0 && i%5 != 0 }))
			}
			time.Sleep(2 * time.Second) // virtual: they are parked, seen or unseen
			if c := b.counts(); c.Slots.Held < slot.DefaultSlots-slot.DefaultSlots/5 {
				b.t.Errorf("held %+v", c)
			}
			for _, p := range cells {
				<-p.cancel("enough")
			}
			if c := b.counts(); c.Slots.Held != 0 || c.Workers.Held != 0 {
				b.t.Errorf("S1: after the aborts %+v", c)
			}
		}
		completed(b.t, <-b.exec(`await yield_control; return await echo({a:1})`).reply, `{"a":1}`)
	})
}

// S3: more live cells than workers are parked within their calls, unseen, while tools, timers and people are waited for.
func TestSpec_S3_FewerWorkersThanLiveCells(t *testing.T) {
	virtual(t, slot.Options{Workers: 2}, func(b *bed) {
		var cells []*probe
		for i := range 20 {
			cells = append(cells, b.exec(fmt.Sprintf(`const kept = new Map([["i", %d]]); let n = 0;
				for (let k = 0; k < 3; k++) {
					const [a, b] = await Promise.all([after({ms:%d,value:1}), asks({ms:%d,value:1}), new Promise(r => setTimeout(r, 50))]);
					n += a + b;
				}
				return kept.get("i") + n`, i, 20+i, 30+2*i), func(s *Spec) { s.Live, s.Required = i%4 == 0, i%2 == 0 }))
		}
		for i, p := range cells {
			completed(b.t, <-p.reply, fmt.Sprint(i+6))
			<-p.gone
			for _, f := range p.facts {
				if _, seen := f.(*schemas.CellParked); seen {
					b.t.Errorf("cell %d was seen parked", i)
				}
			}
		}
	})
}
