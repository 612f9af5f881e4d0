package run

import (
	"fmt"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/codecell/codecell/schemas"
)

// Bounds of a lease.
const (
	minLease = time.Second
	maxLease = 24 * time.Hour
)

// Hold tells a run that its caller is still there.
type Hold struct {
	Identity schemas.Identity
	Reply    func(*schemas.Error)
}

// lease ends a run whose caller is gone without a word. The zero lease never does.
type lease struct {
	time  time.Duration
	until time.Time
	timer *time.Timer
}

// lapsed says that the lease may be over.
type lapsed struct{}

// leaseOf is the lease of a run that was opened with so many milliseconds.
func leaseOf(ms int64) lease {
	if ms <= 0 {
		return lease{}
	}
	return lease{time: max(minLease, time.Duration(min(ms, maxLease.Milliseconds()))*time.Millisecond)}
}

// renew begins the lease anew: the caller was heard of.
func (r *run) renew(ctx actor.Context) {
	if r.lease.time == 0 || r.over {
		return
	}
	r.lease.until = time.Now().Add(r.lease.time)
	if r.lease.timer == nil {
		r.watchLease(ctx, r.lease.time)
	}
}

func (r *run) watchLease(ctx actor.Context, rest time.Duration) {
	self, system := ctx.Self(), ctx.ActorSystem()
	r.lease.timer = time.AfterFunc(rest, func() { system.Root.Send(self, &lapsed{}) })
}

// leaseLapsed closes the run and its cells, unless the caller was heard of meanwhile.
func (r *run) leaseLapsed(ctx actor.Context) {
	switch rest := time.Until(r.lease.until); {
	case r.over || r.closing != nil:
	case rest > 0:
		r.watchLease(ctx, rest)
	default:
		r.close(ctx, &Close{Reason: fmt.Sprintf("its caller is gone: nothing was heard of it for %v", r.lease.time)})
	}
}

func (r *run) hold(ctx actor.Context, m *Hold) {
	if err := r.owns(m.Identity); err != nil {
		m.Reply(schemas.Refuse("identity", "only the run's own caller can hold it"))
		return
	}
	if r.closing != nil {
		m.Reply(&schemas.Error{Code: schemas.Aborted, Message: "the run is closed (" + r.closing.Reason + "): open a new one"})
		return
	}
	r.renew(ctx)
	m.Reply(nil)
}

func (r *run) stopLease() {
	if r.lease.timer != nil {
		r.lease.timer.Stop()
	}
}
