package agent

import (
	"context"
	"sync"
	"time"
)

const (
	// leaseFor is how long the run of a turn outlives a process that was killed: its cells, its calls and the agents that it
	// has started end then.
	leaseFor = time.Minute
	// holdEvery is how often the run is told that the turn goes on.
	holdEvery = 15 * time.Second
)

// hold holds the turn's run until stop is called. A run that can't be held ends, as the next call finds out.
func (r *running) hold() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var holding sync.WaitGroup
	holding.Go(func() {
		ticker := time.NewTicker(holdEvery)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
			timed, done := context.WithTimeout(ctx, holdEvery)
			if err := r.run.Hold(timed); err != nil && ctx.Err() == nil {
				r.log.Debug("the run of a turn could not be held", "run", r.run.ID, "error", err)
			}
			done()
		}
	})
	return func() {
		cancel()
		holding.Wait()
	}
}
