package tool

import (
	"context"
	"runtime"
	"time"

	"github.com/codecell/codecell/schemas"
)

// holder is a provider that wants to know how an executor holds a call. It awaits the call's turn itself.
type holder interface {
	callHeld(ctx context.Context, call *schemas.Call, progress Progress, h *held) (schemas.JSON, error)
}

// holderOf gives a provider as a holder, or nil. That it has the method isn't enough: who embeds one of ours has it too, and
// a Call of its own that mustn't be passed by.
func holderOf(p Provider) holder {
	switch p.(type) {
	case *FuncSet, *core, *agents, *Server, *Services:
		return p.(holder)
	}
	return nil
}

// turn is a call's place in the order in which the calls of a run got to run: they reach their tools in it. Goroutines
// start in any order, and a program that starts two writes at once means the first one first. A call waits only until the
// one before it is at its tool, and never for what may take its time: hooks, people, and the tool itself. What else may
// hold one up, such as a server that is started again, holds up the others for turnPatience at most.
//
// Its fields are guarded by the desk; before is also read by calls that have seen passed closed, and doesn't change then.
type turn struct {
	// before is the call to wait for, nil if there is none. A call that has left keeps its own for those that wait for it.
	before *turn
	over   bool          // the call has begun, or left the order before it could
	passed chan struct{} // closed when it is over; made if another call waits for it
}

// pending gives the turn that a call after t has to wait for: t, or the one before it if t has left, or nil.
func (t *turn) pending() *turn {
	for t != nil && t.over {
		t = t.before
	}
	if t != nil && t.passed == nil {
		t.passed = make(chan struct{})
	}
	return t
}

// begin lets the next call go on.
func (t *turn) begin() {
	if !t.over {
		t.before = nil
		t.end()
	}
}

// leave takes a call that hasn't begun out of the order: who waits for it waits for the one before it.
func (t *turn) leave() {
	if !t.over {
		t.before = t.before.pending()
		t.end()
	}
}

func (t *turn) end() {
	t.over = true
	if t.passed != nil {
		close(t.passed)
	}
}

// soon tells whether a turn is over, or is so after a moment: nearly always the call before has only to be let run, which
// costs less than to be woken by it.
func (t *turn) soon() bool {
	for range turnYields {
		select {
		case <-t.passed:
			return true
		default:
			runtime.Gosched()
		}
	}
	return false
}

// turnYields is how often a call lets others run before it sleeps until its turn.
const turnYields = 16

// turnPatience is how long a call waits for the ones before it.
const turnPatience = 100 * time.Millisecond

// await returns when it is a call's turn, or with the error of its context. The call has the turn until it passes it on,
// which it does by ending if by nothing else.
func (d *desk) await(h *held) error {
	var patience *time.Timer
	for t := h.turn.before; t != nil; t = t.before {
		if t.soon() {
			continue
		}
		if patience == nil {
			patience = time.NewTimer(turnPatience)
			defer patience.Stop()
		}
		select {
		case <-t.passed:
		case <-patience.C:
			return nil
		case <-h.ctx.Done():
			return h.ctx.Err()
		}
	}
	return nil
}

// pass lets later calls of the run go on.
func (d *desk) pass(h *held) {
	d.mu.Lock()
	defer d.mu.Unlock()
	h.turn.begin()
}

// leave lets later calls of the run overtake h, and not those before it.
func (d *desk) leave(h *held) {
	d.mu.Lock()
	defer d.mu.Unlock()
	h.turn.leave()
}

// awaitTurn returns when a call may go to its tool.
func (h *held) awaitTurn() error {
	if h.owner.e.desk.await(h) != nil {
		return refused(schemas.CallToolError, atTool, "%s was cancelled before it started", h.call.Tool)
	}
	return nil
}

// passTurn says that a call is at its tool.
func (h *held) passTurn() { h.owner.e.desk.pass(h) }

// takeTurn is for the handler of a call whose function comes right after it.
func takeTurn(ctx context.Context) error {
	r, ok := ctx.Value(callKey{}).(*running)
	if !ok || r.held == nil {
		return nil
	}
	if err := r.held.awaitTurn(); err != nil {
		return err
	}
	r.held.passTurn()
	return nil
}

// turnKey is the context key of the call, as it is held, that a request to a server is made for.
type turnKey struct{}

// callHeld is Call for an executor. The turn passes on when the request is on its way, which its transport says.
func (s *Server) callHeld(ctx context.Context, call *schemas.Call, progress Progress, h *held) (schemas.JSON, error) {
	if err := h.awaitTurn(); err != nil {
		return nil, err
	}
	return s.Call(context.WithValue(ctx, turnKey{}, h), call, progress)
}

// passTurn is told of each request to a server.
func passTurn(ctx context.Context) {
	if h, ok := ctx.Value(turnKey{}).(*held); ok {
		h.passTurn()
	}
}
