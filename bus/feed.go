package bus

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
)

// feedQueue is how many facts may wait to be published.
const feedQueue = 8192

// Feed publishes facts without ever blocking whom they are about (U4). Facts of one feed keep
// their order.
type Feed struct {
	c       *Conn
	facts   chan any
	dropped atomic.Uint64
	done    chan struct{}

	mu     sync.RWMutex
	closed bool
}

// NewFeed starts a feed. It must be closed.
func NewFeed(c *Conn) *Feed {
	f := &Feed{c: c, facts: make(chan any, feedQueue), done: make(chan struct{})}
	go f.run()
	return f
}

// Publish tells a fact, a pointer to one of the types of the feed rows, on the subject that
// [FactSubject] gives. The fact must not be changed afterwards. It never blocks: if the bus
// is slower than the facts, or the feed is closed, the fact is dropped and counted.
func (f *Feed) Publish(fact any) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	if f.closed {
		f.dropped.Add(1)
		return
	}
	select {
	case f.facts <- fact:
	default:
		f.dropped.Add(1)
	}
}

// Dropped counts the facts that weren't published.
func (f *Feed) Dropped() uint64 { return f.dropped.Load() }

// Close publishes what waits and returns when the server has it, or with ctx's error, or at once with [ErrDisconnected].
func (f *Feed) Close(ctx context.Context) error {
	f.mu.Lock()
	if !f.closed {
		f.closed = true
		close(f.facts)
	}
	f.mu.Unlock()
	select {
	case <-f.done:
		if !f.c.nats.IsConnected() { // what waits for the connection isn't waited for: facts may be lost
			return fmt.Errorf("close the feed: %w", ErrDisconnected)
		}
		return f.c.Flush(ctx)
	case <-ctx.Done():
		return fmt.Errorf("close the feed: %w", ctx.Err())
	}
}

func (f *Feed) run() {
	defer close(f.done)
	for fact := range f.facts {
		subject, err := FactSubject(fact)
		if err == nil {
			err = encode(fact, func(b []byte) error { return f.c.publishBytes(subject, "", b) })
		}
		if err != nil {
			f.dropped.Add(1)
		}
	}
}
