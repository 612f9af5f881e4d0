package wasm

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"time"
)

// Guests of many goroutines, stopped, closed, frozen and restored at random, must never see each other.
func TestSpec_L8_GuestsShareNothing(t *testing.T) {
	e := newEngine(t, Config{controller: testController, IdleMachines: 4})
	img := newImage(t, e)
	workers, rounds := 16, 40
	if testing.Short() {
		rounds = 10
	}
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			rnd := rand.New(rand.NewPCG(uint64(w), 7))
			for i := range rounds {
				if err := oneCell(e, img, rnd, fmt.Sprintf("%d/%d", w, i)); err != nil {
					t.Errorf("cell %d/%d: %v", w, i, err)
				}
			}
		})
	}
	wg.Wait()
	if n := len(e.guests); n != 0 {
		t.Errorf("%d guests are left", n)
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
}

// oneCell runs a program that marks everything it can reach, and checks that no mark of another was there.
func oneCell(e *Engine, img *Image, rnd *rand.Rand, mark string) error {
	ctx := context.Background()
	if rnd.IntN(3) == 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Duration(rnd.IntN(3000))*time.Microsecond)
		defer cancel()
	}
	g, err := e.Acquire(context.Background(), img, testLimits(), Env{})
	if err != nil {
		return err
	}
	defer func() { _ = g.Close() }()
	size := rnd.IntN(200_000)
	leg, err := g.Start(ctx, fmt.Sprintf(`
		if (globalThis.mark !== undefined || Array.prototype.mark !== undefined) return "saw " + (globalThis.mark ?? Array.prototype.mark);
		globalThis.mark = Array.prototype.mark = %q;
		const fill = new Uint8Array(%d).fill(1);
		const got = await call({mark});
		return [mark, got, fill.length]`, mark, size))
	if err != nil {
		return expectedStop(err)
	}
	if len(leg.Requests) != 1 || string(leg.Requests[0].Payload) != fmt.Sprintf(`{"mark":%q}`, mark) {
		return fmt.Errorf("first leg: %+v, value %s", leg, leg.Value)
	}
	if rnd.IntN(2) == 0 {
		b, err := g.Snapshot(64 << 20)
		if err != nil {
			return err
		}
		if rnd.IntN(2) == 0 {
			_ = g.Close()
		}
		frozen := g
		defer func() { _ = frozen.Close() }()
		if g, err = e.Restore(context.Background(), img, b, testLimits(), Env{}); err != nil {
			return err
		}
	}
	if rnd.IntN(8) == 0 {
		go g.Close() // at the same time as the next leg
	}
	leg, err = g.Resume(ctx, []Answer{{ID: leg.Requests[0].ID, OK: true, Body: []byte(`"answer"`)}})
	if err != nil {
		return expectedStop(err)
	}
	if want := fmt.Sprintf(`[%q,"answer",%d]`, mark, size); string(leg.Value) != want {
		return fmt.Errorf("value %s, error %w, want %s", leg.Value, leg.Err, want)
	}
	return nil
}

func expectedStop(err error) error {
	if errors.Is(err, ErrInterrupted) || errors.Is(err, ErrClosed) {
		return nil
	}
	return err
}

// Closing the engine while guests are made, run and restored must end all of them, and leave nothing behind.
func TestSpec_L8_CloseWhileInUse(t *testing.T) {
	before := runtime.NumGoroutine()
	for range 3 {
		e := newEngine(t, Config{controller: testController})
		img := newImage(t, e)
		started := make(chan struct{}, 8)
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				for first := true; ; first = false {
					g, err := e.Acquire(context.Background(), img, testLimits(), Env{})
					if err == nil {
						if first {
							started <- struct{}{}
						}
						_, err = g.Start(context.Background(), "for (let i=0;i<1000;i++); if (Math.random() < .2) for(;;);")
						_ = g.Close()
					}
					if errors.Is(err, ErrClosed) {
						return
					}
					if err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		for range 8 {
			<-started
		}
		if err := e.Close(); err != nil {
			t.Error(err)
		}
		wg.Wait()
	}
	// Those that have done their work may still be ending.
	n := runtime.NumGoroutine()
	for over := time.Now().Add(10 * time.Second); n > before && time.Now().Before(over); n = runtime.NumGoroutine() {
		time.Sleep(time.Millisecond) // real: goroutines that end
	}
	if n > before+2 {
		t.Errorf("%d goroutines before, %d after", before, n)
	}
}

// Thousands of short cells must not leave memory behind.
func TestSpec_L8_ShortCellsLeaveNothing(t *testing.T) {
	img := newImage(t, shared)
	cells := 3000
	if testing.Short() {
		cells = 500
	}
	run := func(n int) {
		for i := range n {
			g, err := shared.Acquire(t.Context(), img, testLimits(), Env{})
			if err != nil {
				t.Fatal(err)
			}
			source := "return 1"
			if i%10 == 0 {
				source = "return new Uint8Array(2e6).fill(1).length" // grows, and is discarded
			}
			start(t, g, source)
			_ = g.Close()
		}
	}
	run(100)
	var a, b runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&a)
	resident := residentBytes()
	run(cells)
	runtime.GC()
	runtime.ReadMemStats(&b)
	if grown := int64(b.HeapAlloc) - int64(a.HeapAlloc); grown > 4<<20 {
		t.Errorf("the heap grew by %d bytes", grown)
	}
	if grown := residentBytes() - resident; grown > 64<<20 {
		t.Errorf("the process grew by %d bytes", grown)
	}
}
