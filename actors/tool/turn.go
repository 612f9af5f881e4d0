package tool

import (
	"context"

	"github.com/codecell/codecell/schemas"
)

// holder is a provider that wants to know how an executor holds a call. It awaits the call's turn itself.
type holder interface {
	callHeld(ctx context.Context, call *schemas.Call, progress Progress, h *held) (schemas.JSON, error)
}

// turn is a call's place in the order in which the calls of a run got to run: they reach their tools in it. Goroutines
// start in any order, and a program that starts two writes at once means the first one first. A call waits only until the
// one before it is at its tool, and never for what may take its time: hooks, people, and the tool itself.
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

// await returns when it is a call's turn, which it takes, or with the error of its context.
func (d *desk) await(h *held) error {
	if h.turn.after != nil {
		select {
		case <-h.turn.after:
		case <-h.ctx.Done():
			return h.ctx.Err()
		}
	}
	d.pass(h)
	return nil
}

// pass lets later calls of the run overtake this one, if it hasn't begun.
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

// awaitTurn returns when the call that a handler works for may go to its tool.
func awaitTurn(ctx context.Context) error {
	if r, ok := ctx.Value(callKey{}).(*running); ok && r.held != nil {
		return r.held.awaitTurn()
	}
	return nil
}
