package run

import (
	"fmt"
	"time"

	"github.com/asynkron/protoactor-go/actor"
)

// idled says that the idle time may be over.
type idled struct{}

// touch starts the idle time anew.
func (r *run) touch(ctx actor.Context) {
	if r.spec.IdleTTL <= 0 || r.over {
		return
	}
	r.stopIdle()
	self, system := ctx.Self(), ctx.ActorSystem()
	r.idleTimer = time.AfterFunc(r.spec.IdleTTL, func() { system.Root.Send(self, &idled{}) })
}

func (r *run) stopIdle() {
	if r.idleTimer != nil {
		r.idleTimer.Stop()
		r.idleTimer = nil
	}
}

func (r *run) idle(ctx actor.Context) {
	if r.busy() || r.over {
		r.touch(ctx)
		return
	}
	r.close(ctx, &Close{Reason: fmt.Sprintf("idle for %v", r.spec.IdleTTL)})
}
