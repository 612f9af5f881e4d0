package bus_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/codecell/codecell/bus"
	"github.com/codecell/codecell/bus/bustest"
	"github.com/codecell/codecell/schemas"
)

// TestCase85_Flood: a handler that is too slow loses messages, which are counted; it is not
// cut off, and works again afterwards.
func TestCase85_Flood(t *testing.T) {
	const n = 100_000
	s := bustest.Server(t)
	slow, fast := bustest.Connect(t, s), bustest.Connect(t, s)
	hold, caughtUp, done := make(chan struct{}), make(chan struct{}), make(chan struct{})
	var got, expected atomic.Int64
	expected.Store(-1)
	sub, err := bus.Listen(slow, bus.StopsOf("core"), "", func(string, *schemas.Stop) {
		<-hold
		switch got.Add(1) {
		case expected.Load():
			close(caughtUp)
		case expected.Load() + 1:
			close(done)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	defer sub.Close()
	subject := bus.StopSubject("core", "h", "c", "1")
	for range n {
		if err := fast.Publish(subject, "", &schemas.Stop{}); err != nil {
			t.Fatal(err)
		}
	}
	patient, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for _, c := range []*bus.Conn{fast, slow} { // in this order: what fast published has reached slow
		if err := c.Flush(patient); err != nil {
			t.Fatal(err)
		}
	}
	dropped := slow.Stats().Dropped
	if dropped == 0 || dropped != sub.Dropped() || !slow.NATS().IsConnected() || slow.NATS().Reconnects != 0 {
		t.Errorf("%d dropped, %d of the subscription, connected %v", dropped, sub.Dropped(), slow.NATS().IsConnected())
	}
	expected.Store(int64(n - dropped))
	close(hold)
	<-caughtUp
	if err := fast.Publish(subject, "", &schemas.Stop{Reason: "last"}); err != nil {
		t.Fatal(err)
	}
	<-done
	if total := uint64(got.Load()) + dropped; total != n+1 {
		t.Errorf("%d handled and %d dropped, want %d together", got.Load(), dropped, n+1)
	}
}

func TestSpec_U4_FeedNeverBlocks(t *testing.T) {
	s := bustest.Start(t, bus.ServerOptions{})
	c := bustest.Connect(t, s)
	watcher := bustest.Connect(t, s)
	var seen atomic.Uint64
	sub, err := bus.Listen(watcher, bus.Facts(), "", func(string, *schemas.SlotTaken) { seen.Add(1) })
	if err != nil {
		t.Fatal(err)
	}
	const n = 50_000
	f := bus.NewFeed(c)
	for i := range n {
		f.Publish(&schemas.SlotTaken{Host: "h", Held: i})
	}
	f.Publish(&schemas.Exec{}) // not a fact
	patient, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := f.Close(patient); err != nil {
		t.Fatal(err)
	}
	f.Publish(&schemas.SlotTaken{Host: "h"}) // closed
	if err := watcher.Flush(patient); err != nil {
		t.Fatal(err)
	}
	if err := sub.Drain(t.Context()); err != nil {
		t.Fatal(err)
	}
	if seen.Load()+f.Dropped() != n+2 || f.Dropped() < 2 {
		t.Errorf("%d seen and %d dropped of %d", seen.Load(), f.Dropped(), n+2)
	}
}

// TestSpec_U4_AFeedEndsWithoutItsBus: nobody waits for facts that can't be told.
func TestSpec_U4_AFeedEndsWithoutItsBus(t *testing.T) {
	s := bustest.Start(t, bus.ServerOptions{})
	c := bustest.Connect(t, s)
	f := bus.NewFeed(c)
	s.Close()
	for c.NATS().IsConnected() {
		time.Sleep(time.Millisecond) // real: the connection notices in its own time
	}
	f.Publish(&schemas.SlotTaken{Host: "h"})
	if err := f.Close(t.Context()); !errors.Is(err, bus.ErrDisconnected) {
		t.Errorf("%v", err)
	}
}
