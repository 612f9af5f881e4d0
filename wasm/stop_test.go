package wasm

import (
	"context"
	"errors"
	"testing"
	"time"
)

func TestSpec_L1_InterruptionsAreToldApart(t *testing.T) {
	img := newImage(t, shared)
	var soon context.Context
	// The deadline passes when the output is there, however slow the machine is.
	g := acquire(t, img, testLimits(), Env{Sync: func(string, []byte) []byte { <-soon.Done(); return []byte("{}") }})
	soon, cancelSoon := context.WithTimeout(t.Context(), time.Second)
	defer cancelSoon()
	leg, err := g.Start(soon, "text('before'); lookUp('x', 0); while(true){}")
	if !errors.Is(err, ErrInterrupted) || !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		t.Errorf("deadline: %v", err)
	}
	if len(leg.Output) != 1 || string(leg.Output[0].Payload) != `"before"` {
		t.Errorf("output accepted before the stop: %+v", leg.Output)
	}

	cancelled, cancel := context.WithCancel(t.Context())
	world := Env{Sync: func(string, []byte) []byte { cancel(); return []byte("{}") }}
	g = acquire(t, img, testLimits(), world)
	if _, err = g.Start(cancelled, "lookUp('x', 0); while(true){}"); !errors.Is(err, ErrInterrupted) || !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	for name, use := range map[string]func() error{
		"Start":    func() error { _, err := g.Start(t.Context(), "return 1"); return err },
		"Resume":   func() error { _, err := g.Resume(t.Context(), nil); return err },
		"Check":    func() error { _, err := g.Check(t.Context(), "1"); return err },
		"Snapshot": func() error { _, err := g.Snapshot(1 << 30); return err },
	} {
		if err := use(); !errors.Is(err, ErrPoisoned) {
			t.Errorf("%s of a stopped guest: error %v, want ErrPoisoned", name, err)
		}
	}

	g = acquire(t, img, testLimits(), Env{})
	if _, err = g.Start(cancelled, "return 1"); !errors.Is(err, ErrInterrupted) || !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled before it began: %v", err)
	}
	if v := value(t, start(t, g, "return 1")); v != "1" {
		t.Error("a leg that never began harmed the guest")
	}
}

// The end of a leg's context, if it comes when the leg is over, must not stop the next one.
func TestEachLegHasItsOwnDeadline(t *testing.T) {
	g := newGuest(t)
	ctx, cancel := context.WithCancel(t.Context())
	leg, err := g.Start(ctx, "for (;;) await call({})")
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	for range 50 {
		ctx, cancel := context.WithCancel(t.Context())
		go cancel() // before, within or after the leg
		next, err := g.Resume(t.Context(), []Answer{{ID: leg.Requests[0].ID, OK: true}})
		if err != nil {
			t.Fatal(err)
		}
		leg = next
		if _, err := g.Resume(ctx, nil); err != nil {
			if !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
			if errors.Is(g.poisoned, ErrInterrupted) { // it was stopped within
				return
			}
		}
		<-ctx.Done()
	}
}

func TestClosingStopsTheLeg(t *testing.T) {
	img := newImage(t, shared)
	running := make(chan struct{})
	g := acquire(t, img, testLimits(), Env{Sync: func(string, []byte) []byte { close(running); return []byte("{}") }})
	ended := make(chan error, 1)
	go func() {
		_, err := g.Start(context.Background(), "lookUp('x', 0); while(true){}")
		ended <- err
	}()
	<-running
	if _, err := g.Resume(t.Context(), nil); !errors.Is(err, ErrBusy) {
		t.Errorf("a second leg at the same time: error %v, want ErrBusy", err)
	}
	if err := g.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; !errors.Is(err, ErrInterrupted) || !errors.Is(err, ErrClosed) {
		t.Errorf("error %v, want ErrInterrupted and ErrClosed", err)
	}
	if _, err := g.Resume(t.Context(), nil); !errors.Is(err, ErrClosed) {
		t.Errorf("error %v, want ErrClosed", err)
	}
}

func TestSpec_B3_MachinesAreReusedOnlyWhenClean(t *testing.T) {
	e := newEngine(t, Config{controller: testController, IdleMachines: 2})
	img := newImage(t, e)
	var stop func() // called within a leg: before it, there would be nothing to stop
	after := func(leg func(*Guest)) int {
		g := acquire(t, img, testLimits(), Env{Sync: func(string, []byte) []byte { stop(); return []byte("{}") }})
		leg(g)
		before := len(e.pool.idle)
		_ = g.Close()
		return len(e.pool.idle) - before
	}
	if n := after(func(g *Guest) { start(t, g, "globalThis.leak = 'secret'; return 1") }); n != 1 {
		t.Errorf("a clean machine: the pool grew by %d", n)
	}
	g := acquire(t, img, testLimits(), Env{})
	if v := value(t, start(t, g, "return typeof leak")); v != `"undefined"` {
		t.Errorf("a reused machine remembers: %s", v)
	}
	if n := after(func(g *Guest) { start(t, g, "return new Uint8Array(8e6).length") }); n != 0 {
		t.Errorf("a grown machine: the pool grew by %d", n)
	}
	if n := after(func(g *Guest) {
		ctx, cancel := context.WithCancel(t.Context())
		stop = cancel
		if _, err := g.Start(ctx, "lookUp('x', 0); for(;;);"); !errors.Is(err, ErrInterrupted) {
			t.Error(err)
		}
	}); n != 0 {
		t.Errorf("a stopped machine: the pool grew by %d", n)
	}
	var many []*Guest
	for range 5 {
		many = append(many, acquire(t, img, testLimits(), Env{}))
	}
	for _, g := range many {
		_ = g.Close()
	}
	if n := len(e.pool.idle); n != 2 {
		t.Errorf("%d idle machines, want 2", n)
	}
}
