package bus

import (
	"context"
	"sync"
)

// Crew runs the functions that answer the questions of a subscription, in goroutines, at most so many at once.
type Crew struct {
	places chan struct{}
	ctx    context.Context
	cancel context.CancelFunc

	mu      sync.Mutex // none is added to running once closing is set
	closing bool
	running sync.WaitGroup
}

// NewCrew makes a crew that runs up to places functions at once. It must be closed.
func NewCrew(places int) *Crew {
	c := &Crew{places: make(chan struct{}, places)}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	return c
}

// Context is that of all functions: it ends with the crew, or with [Crew.Cancel].
func (c *Crew) Context() context.Context { return c.ctx }

// Cancel ends the context of all functions. No further one is run.
func (c *Crew) Cancel() { c.cancel() }

// Do has f run when there is a place for it. Waiting for one is how a subscription that has no other work queues. It
// tells whether f is run: it isn't if the crew ends first.
func (c *Crew) Do(f func(context.Context)) bool {
	select {
	case c.places <- struct{}{}:
	case <-c.ctx.Done():
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closing || c.ctx.Err() != nil {
		<-c.places
		return false
	}
	c.running.Go(func() {
		defer func() { <-c.places }()
		f(c.ctx)
	})
	return true
}

// Close waits until the functions that run have ended, and runs no further ones. When ctx ends first it ends their
// context and returns ctx's error; functions that don't heed it are left behind.
func (c *Crew) Close(ctx context.Context) error {
	defer c.cancel()
	c.mu.Lock()
	c.closing = true
	c.mu.Unlock()
	ended := make(chan struct{})
	go func() { c.running.Wait(); close(ended) }()
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
