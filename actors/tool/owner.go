package tool

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/codecell/codecell/bus"
	"github.com/codecell/codecell/schemas"
)

// owner is one provider on the bus: its registration, and a subscription a tool.
type owner struct {
	e            *Executor
	provider     Provider
	source       schemas.Source
	name         string
	token, queue string
	namespaces   []schemas.Namespace

	// current is what calls are looked up in.
	current atomic.Pointer[contracts]

	mu    sync.Mutex // one update at a time; guards what follows
	reg   schemas.Registration
	known contracts
	subs  map[string]*bus.Subscription
	gone  bool
}

// retryUpdate is how long an update that failed on the bus waits for the next attempt.
const retryUpdate = time.Second

// follow brings the bus up to date after each change of the provider, until ctx ends.
func (w *owner) follow(ctx context.Context) {
	var retry <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case <-w.provider.Changed():
		case <-retry:
		}
		retry = nil
		if err := w.update(ctx); err != nil && ctx.Err() == nil {
			w.e.log.Warn("tools could not be registered", "owner", w.name, "err", err)
			retry = time.After(retryUpdate)
		}
	}
}

// update compares the provider's offer with what is on the bus. New tools are subscribed
// before they are registered, and lost ones are withdrawn before their subscriptions end,
// so that nobody is told of a tool that isn't served.
func (w *owner) update(ctx context.Context) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.gone {
		return nil
	}
	offer := w.provider.Offer()
	offer.Executor, offer.Source, offer.Owner, offer.Namespaces = w.e.id, w.source, w.name, w.namespaces
	made, problems := compileOffer(offer, w.known)
	if by, ok := w.provider.(asker); ok {
		for name, c := range made {
			c.asks = by.Asks(name)
		}
	}
	offer.Problems = slices.Concat(offer.Problems, problems)
	w.current.Store(&made)
	for name := range made {
		if w.subs[name] != nil {
			continue
		}
		sub, err := bus.Serve(w.e.conn, bus.ToolSubject(w.source, w.name, name), w.queue, w.take)
		if err != nil {
			return err
		}
		w.subs[name] = sub
	}
	if err := w.e.registry.Put(ctx, offer); err != nil {
		return err
	}
	var left []*bus.Subscription
	for name, sub := range w.subs {
		if made[name] == nil {
			left = append(left, sub)
			delete(w.subs, name)
		}
	}
	for _, p := range offer.Problems {
		if !slices.Contains(w.reg.Problems, p) {
			w.e.tell(&schemas.ExecutorTrouble{At: now(), Executor: w.e.id, Owner: w.name, Problem: p})
		}
	}
	w.reg, w.known = offer, made
	return drainAll(ctx, left)
}

// offered gives the registration as it is on the bus.
func (w *owner) offered() schemas.Registration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.reg
}

// leave ends the subscriptions, after what has arrived was taken.
func (w *owner) leave(ctx context.Context) error {
	w.mu.Lock()
	w.gone = true
	subs := slices.Collect(maps.Values(w.subs))
	w.mu.Unlock()
	return drainAll(ctx, subs)
}

// drainAll drains subscriptions side by side.
func drainAll(ctx context.Context, subs []*bus.Subscription) error {
	errs := make([]error, len(subs))
	var wg sync.WaitGroup
	for i, s := range subs {
		wg.Go(func() { errs[i] = s.Drain(ctx) })
	}
	wg.Wait()
	return errors.Join(errs...)
}
