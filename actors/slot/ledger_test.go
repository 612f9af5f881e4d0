package slot

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newSystem() *actor.ActorSystem {
	// A dead letter keeps a goroutine for the length of the interval.
	return actor.NewActorSystem(actor.WithDeadLetterThrottleInterval(time.Millisecond), actor.WithLoggerFactory(func(*actor.ActorSystem) *slog.Logger {
		return slog.New(slog.DiscardHandler)
	}))
}

// bench is a ledger and some holders that only write down what they are told.
type bench struct {
	t      *testing.T
	sys    *actor.ActorSystem
	ledger *actor.PID
}

type client struct {
	*bench
	pid *actor.PID
	got []any // read when the bubble is quiet
}

func newBench(t *testing.T, o Options) *bench {
	t.Helper()
	sys := newSystem()
	b := &bench{t: t, sys: sys, ledger: sys.Root.Spawn(New(o))}
	t.Cleanup(func() {
		_ = sys.Root.PoisonFuture(b.ledger).Wait()
		time.Sleep(time.Second) // virtual: lets the ticker end that a dead letter starts
	})
	return b
}

func (b *bench) holder() *client {
	c := &client{bench: b}
	c.pid = b.sys.Root.Spawn(actor.PropsFromFunc(func(ctx actor.Context) {
		switch m := ctx.Message().(type) {
		case *Granted, *Refused, *Wanted:
			c.got = append(c.got, m)
		}
	}))
	b.t.Cleanup(func() { b.sys.Root.Stop(c.pid) })
	return c
}

func (c *client) ask(k Kind, ticket uint64) {
	c.sys.Root.Send(c.ledger, &Ask{Holder: c.pid, Kind: k, Ticket: ticket, Name: c.pid.Id})
	synctest.Wait()
}

func (c *client) free(k Kind) { c.tell(&Free{Holder: c.pid, Kind: k}) }

func (c *client) tell(m any) {
	c.sys.Root.Send(c.ledger, m)
	synctest.Wait()
}

func (c *client) expect(want ...any) {
	c.t.Helper()
	if g, w := describe(c.got), describe(want); g != w {
		c.t.Fatalf("got %s, want %s", g, w)
	}
	c.got = nil
}

func describe(list []any) string {
	s := ""
	for _, m := range list {
		s += fmt.Sprintf("%T%+v ", m, m)
	}
	return s
}

func (b *bench) counts() Counts {
	b.t.Helper()
	r, err := b.sys.Root.RequestFuture(b.ledger, &Count{}, time.Second).Result()
	if err != nil {
		b.t.Fatal(err)
	}
	return *r.(*Counts)
}

func TestSpec_S1_S2_SlotsAreRefusedWhenAllAreHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var changes []Change
		b := newBench(t, Options{Slots: 2, Workers: 1, OnChange: func(c Change) { changes = append(changes, c) }})
		x, y, z := b.holder(), b.holder(), b.holder()
		x.ask(Slot, 1)
		y.ask(Slot, 7)
		z.ask(Slot, 3)
		x.expect(&Granted{Slot, 1})
		y.expect(&Granted{Slot, 7})
		z.expect(&Refused{Slot, 3})
		x.free(Slot)
		x.free(Slot) // twice is harmless
		z.ask(Slot, 4)
		z.expect(&Granted{Slot, 4})
		if got := b.counts(); got.Slots != (Level{2, 2}) || got.Workers != (Level{0, 1}) {
			t.Errorf("counts %+v", got)
		}
		want := []Change{{x.pid.Id, true, 1}, {y.pid.Id, true, 2}, {x.pid.Id, false, 1}, {z.pid.Id, true, 2}}
		if fmt.Sprint(changes) != fmt.Sprint(want) {
			t.Errorf("changes %v, want %v", changes, want)
		}
	})
}

func TestSpec_S1_DefaultsAre64Slots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, Options{})
		if got := b.counts(); got.Slots.Limit != 64 || got.Workers.Limit != DefaultWorkers() || DefaultWorkers() < 4 {
			t.Errorf("counts %+v", got)
		}
	})
}

func TestSpec_S3_WorkersQueueFirstComeFirstServed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, Options{Workers: 1})
		x, y, z := b.holder(), b.holder(), b.holder()
		for i, c := range []*client{x, y, z} {
			c.ask(Worker, uint64(i))
		}
		x.expect(&Granted{Worker, 0})
		y.expect()
		z.expect()
		if got := b.counts().Waiting; got != 2 {
			t.Errorf("%d wait, want 2", got)
		}
		x.free(Worker)
		y.expect(&Granted{Worker, 1})
		z.expect()
		y.free(Worker)
		z.expect(&Granted{Worker, 2})
	})
}

func TestSpec_S3_WithdrawnAsksAreSkipped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, Options{Workers: 1})
		x, y, z := b.holder(), b.holder(), b.holder()
		x.ask(Worker, 1)
		y.ask(Worker, 1)
		z.ask(Worker, 1)
		y.free(Worker)
		x.free(Worker)
		x.expect(&Granted{Worker, 1})
		y.expect()
		z.expect(&Granted{Worker, 1})
	})
}

// The longest idle holder is asked, one for each that waits; one that is busy again declines, and the
// next one is asked.
func TestSpec_S3_LongestIdleGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, Options{Workers: 3})
		x, y, z, w := b.holder(), b.holder(), b.holder(), b.holder()
		for _, c := range []*client{x, y, z} {
			c.ask(Worker, 1)
			c.expect(&Granted{Worker, 1})
		}
		y.tell(&Idle{y.pid})
		x.tell(&Idle{x.pid})
		y.tell(&Idle{y.pid}) // ran in between: now x is the longest idle
		w.ask(Worker, 1)
		x.expect(&Wanted{})
		y.expect()
		x.tell(&Busy{x.pid})
		x.expect()
		y.expect(&Wanted{})
		y.free(Worker)
		w.expect(&Granted{Worker, 1})
		x.tell(&Idle{x.pid})
		x.expect()
	})
}

// A holder that becomes idle while others wait is asked at once.
func TestSpec_S3_IdleUnderPressure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, Options{Workers: 1})
		x, y := b.holder(), b.holder()
		x.ask(Worker, 1)
		y.ask(Worker, 1)
		x.expect(&Granted{Worker, 1})
		x.tell(&Idle{x.pid})
		x.expect(&Wanted{})
		x.tell(&Idle{x.pid}) // it ran and is idle again before it saw the first: not asked twice
		x.expect()
	})
}

func TestSpec_S1_StoppedHoldersAreFreed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, Options{Slots: 1, Workers: 1})
		x, y, z := b.holder(), b.holder(), b.holder()
		x.ask(Slot, 1)
		x.ask(Worker, 2)
		y.ask(Worker, 1)
		z.ask(Worker, 1)
		b.sys.Root.Stop(y.pid) // while it is queued
		b.sys.Root.Stop(x.pid)
		synctest.Wait()
		z.expect(&Granted{Worker, 1})
		if got := b.counts(); got.Slots.Held != 0 || got.Workers.Held != 1 || got.Waiting != 0 {
			t.Errorf("counts %+v", got)
		}
	})
}

// Messages that no honest holder sends change nothing.
func TestSpec_S1_NonsenseIsHarmless(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, Options{Slots: 1, Workers: 1})
		x, y := b.holder(), b.holder()
		for _, m := range []any{&Free{x.pid, Slot}, &Idle{x.pid}, &Busy{x.pid}} {
			x.tell(m)
		}
		x.ask(Slot, 1)
		x.ask(Slot, 2)
		x.expect(&Granted{Slot, 1}, &Granted{Slot, 2})
		x.free(Slot)
		y.ask(Slot, 1)
		y.expect(&Granted{Slot, 1})
		if got := b.counts(); got.Slots.Held != 1 {
			t.Errorf("counts %+v", got)
		}
	})
}

// gauge counts who believes to hold something.
type gauge struct {
	now, most atomic.Int64
}

func (g *gauge) add(d int64) {
	n := g.now.Add(d)
	for {
		most := g.most.Load()
		if n <= most || g.most.CompareAndSwap(most, n) {
			return
		}
	}
}

// hammerer takes a worker and a slot again and again, in a random temper, and sometimes dies with them.
type hammerer struct {
	ledger  *actor.PID
	rounds  int
	gauges  *[kinds]gauge
	holds   [kinds]bool
	ticket  uint64
	rng     *rand.Rand
	suicide bool
}

func (h *hammerer) Receive(ctx actor.Context) {
	switch m := ctx.Message().(type) {
	case *actor.Started:
		h.ask(ctx, Worker)
	case *Granted:
		h.holds[m.Kind] = true
		h.gauges[m.Kind].add(1)
		if m.Kind == Worker {
			h.ask(ctx, Slot)
			return
		}
		h.next(ctx)
	case *Refused:
		h.next(ctx)
	case *Wanted:
		if h.rng.IntN(2) == 0 {
			ctx.Send(h.ledger, &Busy{ctx.Self()})
		}
	case *actor.Stopping:
		h.drop(Slot)
		h.drop(Worker)
	}
}

func (h *hammerer) ask(ctx actor.Context, k Kind) {
	h.ticket++
	ctx.Send(h.ledger, &Ask{Holder: ctx.Self(), Kind: k, Ticket: h.ticket})
}

func (h *hammerer) drop(k Kind) {
	if h.holds[k] {
		h.holds[k] = false
		h.gauges[k].add(-1)
	}
}

func (h *hammerer) next(ctx actor.Context) {
	ctx.Send(h.ledger, &Idle{ctx.Self()})
	if h.rounds--; h.rounds <= 0 || h.suicide && h.rng.IntN(20) == 0 {
		ctx.Stop(ctx.Self())
		return
	}
	for _, k := range [...]Kind{Slot, Worker} {
		h.drop(k)
		ctx.Send(h.ledger, &Free{ctx.Self(), k})
	}
	h.ask(ctx, Worker)
}

// TestHammer_S1_S3_Ledger: never more held than there are, nothing lost, everybody served.
func TestHammer_S1_S3_Ledger(t *testing.T) {
	sys := newSystem()
	const slots, workers, holders = 5, 3, 40
	ledger := sys.Root.Spawn(New(Options{Slots: slots, Workers: workers}))
	var gauges [kinds]gauge
	var wg sync.WaitGroup
	for i := range holders {
		wg.Add(1)
		h := &hammerer{ledger: ledger, rounds: 100, gauges: &gauges, rng: rand.New(rand.NewPCG(1, uint64(i))), suicide: i%2 == 0}
		pid := sys.Root.Spawn(actor.PropsFromProducer(func() actor.Actor { return h }))
		sys.Root.Spawn(actor.PropsFromFunc(func(ctx actor.Context) {
			switch ctx.Message().(type) {
			case *actor.Started:
				ctx.Watch(pid)
			case *actor.Terminated:
				ctx.Stop(ctx.Self())
				wg.Done()
			}
		}))
	}
	wg.Wait()
	if s, w := gauges[Slot].most.Load(), gauges[Worker].most.Load(); s > slots || w > workers || w == 0 || s == 0 {
		t.Errorf("at most %d slots and %d workers were held at a time; there are %d and %d", s, w, slots, workers)
	}
	// The ledger hears of the last stops in its own time; its count must come to nothing.
	deadline := time.Now().Add(20 * time.Second)
	for {
		r, err := sys.Root.RequestFuture(ledger, &Count{}, 20*time.Second).Result()
		if err != nil {
			t.Fatal(err)
		}
		c := r.(*Counts)
		if c.Slots.Held == 0 && c.Workers.Held == 0 && c.Waiting == 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("left over: %+v", c)
		}
	}
	if err := sys.Root.PoisonFuture(ledger).Wait(); err != nil {
		t.Fatal(err)
	}
}
