package cell

import (
	"context"
	"testing"
	"time"

	"github.com/codecell/codecell/actors/slot"
	"github.com/codecell/codecell/schemas"
	"github.com/codecell/codecell/wasm"
)

// BenchmarkGuest is the guest's share of BenchmarkExec: what is left is the cell's.
func BenchmarkGuest(b *testing.B) {
	for _, c := range []struct{ name, code string }{{"empty", `return 1+2`}} {
		b.Run(c.name, func(b *testing.B) {
			ctx := context.Background()
			for b.Loop() {
				g, err := testEngine.Acquire(ctx, testImage, wasm.Limits{MemoryBytes: 64 << 20, OutputBytes: 64 << 10, Requests: 144}, wasm.Env{})
				if err != nil {
					b.Fatal(err)
				}
				if _, err := g.Start(ctx, c.code); err != nil {
					b.Fatal(err)
				}
				if err := g.Close(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkGuestCall is the guest's share of one sequential call.
func BenchmarkGuestCall(b *testing.B) {
	ctx := context.Background()
	g, err := testEngine.Acquire(ctx, testImage, wasm.Limits{MemoryBytes: 64 << 20, OutputBytes: 64 << 10, Requests: 144}, wasm.Env{})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = g.Close() }()
	leg, err := g.Start(ctx, `for(;;) await echo({a:1})`)
	for b.Loop() {
		if err != nil || len(leg.Requests) != 1 {
			b.Fatalf("%+v %v", leg, err)
		}
		leg, err = g.Resume(ctx, []wasm.Answer{{ID: leg.Requests[0].ID, OK: true, Body: []byte(`{"a":1}`)}})
	}
}

func benchExec(b *testing.B, code string, want schemas.Status) {
	bed := newBed(b, slot.Options{})
	for b.Loop() {
		p := bed.exec(code, func(s *Spec) { s.Limits.Timeout = time.Minute })
		if r := <-p.reply; r.Status != want {
			b.Fatal(show(r))
		}
		<-p.gone
		delete(bed.cells, p.pid.Id)
	}
	b.StopTimer()
	bed.close()
}

func BenchmarkExec(b *testing.B) { benchExec(b, `return 1+2`, schemas.StatusCompleted) }

// BenchmarkCalls50 is a cell with 50 sequential calls to a tool that answers at once.
func BenchmarkCalls50(b *testing.B) {
	benchExec(b, `for (let i=0;i<50;i++) await echo({a:1})`, schemas.StatusCompleted)
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/50, "ns/call")
}

// BenchmarkParallel16 is a cell with 16 calls at once.
func BenchmarkParallel16(b *testing.B) {
	benchExec(b, `await Promise.all(Array.from({length:16},()=>echo({a:1})))`, schemas.StatusCompleted)
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/16, "ns/call")
}

// BenchmarkYieldWait is a cell that parks once and is waited for; BenchmarkYieldWaitLive keeps its guest
// meanwhile (S10).
func BenchmarkYieldWait(b *testing.B)     { benchYieldWait(b, false) }
func BenchmarkYieldWaitLive(b *testing.B) { benchYieldWait(b, true) }

func benchYieldWait(b *testing.B, live bool) {
	bed := newBed(b, slot.Options{})
	for b.Loop() {
		p := bed.exec(`await yield_control(); return 1`, func(s *Spec) { s.Limits.Timeout, s.Live = time.Minute, live })
		<-p.reply
		if r := <-p.wait("w"); r.Status != schemas.StatusCompleted {
			b.Fatal(show(r))
		}
		<-p.gone
		delete(bed.cells, p.pid.Id)
	}
	b.StopTimer()
	bed.close()
}
