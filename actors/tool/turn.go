package tool

import (
	"context"
	"time"

	"github.com/codecell/codecell/schemas"
)

// holder is a provider that wants to know how an executor holds a call. It awaits the call's turn itself.
type holder interface {
	callHeld(ctx context.Context, call *schemas.Call, progress Progress, h *held) (schemas.JSON, error)
}

// turn is a call's place in the order in which the calls of a run got to run: they reach their tools in it. Goroutines
// start in any order, and a program that starts two writes at once means the first one first. A call waits only until the
// one before it is at its tool, and never for what may take its time: hooks, people, and the tool itself. What else may
// hold one up, such as a server that is started again, holds up the others for turnPatience at most.
//
// But for after, its fields are guarded by the desk.
type turn struct {
	after  <-chan struct{} // closed when the call before has begun; nil if it had
	begun  bool
	passed chan struct{} // made if another call waits for this one
}

// watch gives a channel that is closed when the call begins, or nil if it has.
func (t *turn) watch() <-chan struct{} {
	if t.begun {
		return nil
	}
	if t.passed == nil {
		t.passed = make(chan struct{})
	}
	return t.passed
}

// begin lets the next call go on.
func (t *turn) begin() {
	if t.begun {
		return
	}
	t.begun = true
	if t.passed != nil {
		close(t.passed)
	}
}

// turnPatience is how long a call waits for the ones before it.
const turnPatience = 100 * time.Millisecond

// await returns when it is a call's turn, or with the error of its context. The call has the turn until it passes it on,
// which it does by ending if by nothing else.
func (d *desk) await(h *held) error {
	if h.turn.after == nil {
		return nil
	}
	select {
	case <-h.turn.after: // as nearly always
		return nil
	default:
	}
	patience := time.NewTimer(turnPatience)
	defer patience.Stop()
	select {
	case <-h.turn.after:
	case <-patience.C:
	case <-h.ctx.Done():
		return h.ctx.Err()
	}
	return nil
}

// pass lets later calls of the run go on.
func (d *desk) pass(h *held) {
	d.mu.Lock()
	defer d.mu.Unlock()
	h.turn.begin()
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
