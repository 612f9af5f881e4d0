package cell

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/codecell/codecell/actors/slot"
	"github.com/codecell/codecell/schemas"
)

// TestHammer_S1_S3_S8_Cells runs many cells on few workers and slots in real time, and cancels, stops
// and waits for them at random. Everyone is answered once, and everything comes back.
func TestHammer_S1_S3_S8_Cells(t *testing.T) {
	b := newBed(t, slot.Options{Slots: 6, Workers: 2})
	programs := []string{
		`return 1+2`,
		`return (await Promise.all(Array.from({length:20},(_,i)=>echo({i})))).length`,
		`let n=0; for (let i=0;i<5;i++) n+=await after({ms:1,value:1}); return n`,
		`await yield_control(); text("x"); await after({ms:2}); return 3`,
		`await Promise.race([never(), after({ms:3})]); throw new Error("x")`,
		`await never()`,
		`for(;;);`,
		`for(;;) await refused().catch(()=>{})`,
		`const a = asks({ms:20,value:1}); await after({ms:3}); return await a + await asks({ms:30,runs:2,value:1})`,
		`void asks({ms:40,deny:"no"}).catch(()=>{}); await yield_control(); for(;;) await echo({})`,
		`return await after({ms:60,value:1,awaitResults:true})`,
		`return await asks({ms:150,runs:1000})`,
	}
	var wg sync.WaitGroup
	for w := range 8 {
		rng := rand.New(rand.NewPCG(7, uint64(w)))
		wg.Go(func() {
			for i := range 12 {
				p := b.exec(programs[rng.IntN(len(programs))], func(s *Spec) {
					s.Limits.Timeout = 50 * time.Millisecond
					s.Limits.PendingCalls = 4
					s.Required, s.Live = i%3 == 0, i%2 == 0
					s.Limits.SnapshotTTL = 100 * time.Millisecond // of never()
					if s.Record = i%4 == 0; i%5 == 0 {
						s.Port.(*probe).commit = func(_ bool, done func(string)) { go done("not kept") }
					}
				})
				hammerOne(p, rng, fmt.Sprint(w, "-", i))
			}
		})
	}
	wg.Wait()
	b.close()
}

func hammerOne(p *probe, rng *rand.Rand, id string) {
	switch rng.IntN(6) {
	case 0:
		time.Sleep(time.Duration(rng.IntN(5)) * time.Millisecond) // real: any moment of its life
		<-p.cancel("hammer")
	case 1:
		time.Sleep(time.Duration(rng.IntN(5)) * time.Millisecond) // real: any moment of its life
		p.sys.Root.Stop(p.pid)
		<-p.gone
	}
	r := <-p.reply
	for i := 0; r.Status == schemas.StatusWaiting && i < 2; i++ {
		r = <-p.wait(fmt.Sprint(id, i))
	}
	<-p.cancel("done")
	<-p.gone
	if len(p.reply) > 0 {
		p.t.Errorf("%s: answered twice", id)
	}
}

// E1, S8: stopping the actor of a cell that computes stops the guest too.
func TestSpec_E1_LastWordsWhileComputing(t *testing.T) {
	b := newBed(t, slot.Options{Workers: 1})
	p := b.exec(`await echo({}); for(;;);`, func(s *Spec) { s.Limits.Timeout = time.Minute })
	for len(p.sentTools()) == 0 || p.status().Pending > 0 {
		time.Sleep(time.Millisecond) // real: until the guest is past its call
	}
	b.sys.Root.Stop(p.pid)
	failed(t, <-p.reply, schemas.InternalError, "stopped")
	<-p.gone
	completed(t, <-b.exec(`return 1`, func(s *Spec) { s.Limits.Timeout = time.Minute }).reply, `1`)
	b.close()
}

// A payload that the controller can't have made is refused, never taken apart wrongly.
func FuzzIntake(f *testing.F) {
	for _, s := range []string{`{"ref":0,"args":{}}`, `{"ref":-1,"args":{}}`, `{"ref":1,"args":{},"x":1}`, `{"ref":99999999999,"args":1}`,
		`{"delayMs":1e999}`, `{"delayMs":-5}`, `{"delayMs":2.5}`, `{"reason":"x"}`, `{}`, ``, `}`, `{"ref":1,"args":}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, payload []byte) {
		if q, ok := takeCall(payload); ok {
			if !json.Valid(payload) || !json.Valid(q.Args) || q.Ref < 0 {
				t.Errorf("%q was taken as ref %d with %q", payload, q.Ref, q.Args)
			}
		}
		if q, ok := takeTimer(payload); ok && (q.Delay < 0 || q.Delay > maxDelay) {
			t.Errorf("%q was taken as a delay of %v", payload, q.Delay)
		}
		if q, ok := takeYield(payload); ok && len(q.Reason) > 0 && !json.Valid(q.Reason) {
			t.Errorf("%q was taken as reason %q", payload, q.Reason)
		}
	})
}
