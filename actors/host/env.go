package host

import (
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/codecell/codecell/actors/cell"
	"github.com/codecell/codecell/actors/run"
	"github.com/codecell/codecell/bus"
	"github.com/codecell/codecell/schemas"
)

// env is what runs need of the host.
type env struct {
	h *Host
	// run is the token of the run that it is for, and opening what it was opened with.
	run     string
	opening *opening
}

var _ run.Env = (*env)(nil)

// Admit gives what a new cell of the run may see.
func (e *env) Admit(schemas.Identity) (*run.Admission, error) { return e.h.admit(e.run, e.opening) }

// NewCellID mints the public id of a cell.
func (e *env) NewCellID() string { return bus.NewRunID(e.h.id) }

// Send publishes a call. The answer comes to the cell, or to whom it is for, as an ordinary message.
func (e *env) Send(call *schemas.Call, to *actor.PID) *schemas.CallError {
	if to == nil {
		route, ok := e.h.cells.get(call.Address.Cell)
		if !ok {
			return &schemas.CallError{
				Code: schemas.CallToolError, Location: "transport", Effect: schemas.NotStarted,
				Message: "the cell is ending; the call was not sent",
			}
		}
		to = route.cell
	}
	key := flightKey{cell: call.Address.Cell, call: call.ID}
	fl := flight{key: key, cell: to, owner: bus.OwnerToken(call.Source, call.Owner), tool: call.Tool, sent: time.Now(),
		brought: call.Source == schemas.SourceClient, untrusted: call.Source != schemas.SourceNative}
	if call.IdempotencyKey != "" {
		fl.again = call
	}
	e.h.flights.add(fl)
	err := e.h.publish(call)
	if err == nil {
		return nil
	}
	e.h.flights.take(key)
	return &schemas.CallError{
		Code: schemas.CallToolError, Location: "transport", Effect: schemas.NotStarted,
		Message: "the call was not sent: " + bus.Reason(err),
	}
}

// publish hands a call to the executors of its tool.
func (h *Host) publish(call *schemas.Call) error {
	if call.Source == schemas.SourceClient {
		h.clients.Take(call)
		return nil
	}
	return h.conn.Publish(
		bus.ToolSubject(call.Source, call.Owner, call.Tool),
		bus.ReplySubject(call.Address.Host, call.Address.Cell, call.ID), call)
}

// Withdraw tells the executors of the tool's owner that nobody waits any more.
func (e *env) Withdraw(cell schemas.Address, call string) {
	fl, ok := e.h.flights.take(flightKey{cell: cell.Cell, call: call})
	if !ok {
		return
	}
	if fl.brought {
		e.h.clients.Stop(cell.Cell, call)
		return
	}
	err := e.h.conn.Publish(bus.StopSubject(fl.owner, cell.Host, cell.Cell, call), "", &schemas.Stop{Reason: "cancelled"})
	if err != nil {
		e.h.log.Warn("a stop could not be sent; the tool may run to its end", "tool", fl.tool, "error", err)
	}
}

// Session gives a session by its key.
func (e *env) Session(key string) (run.Session, error) { return e.h.sessions.get(key) }

// Fact publishes a fact.
func (e *env) Fact(fact any) { e.h.feed.Publish(fact) }

// CellSpawned and CellGone keep the routing table.
func (e *env) CellSpawned(id string, run, cell *actor.PID) { e.h.cells.set(id, cellRoute{run, cell}) }

// CellGone forgets a cell.
func (e *env) CellGone(id string) { e.h.cells.remove(id) }

// settle hands the answer of a call to its cell, once.
func (h *Host) settle(key flightKey, answer *schemas.Answer) {
	if fl, ok := h.flights.take(key); ok {
		answer.Untrusted = answer.Untrusted || fl.untrusted
		h.system.Root.Send(fl.cell, &cell.Answered{Answer: answer})
	}
}

// lose ends a call whose executor is gone. What it did, nobody knows (U2): only a tool that says it is
// idempotent gets the call once more, under the same idempotency key.
func (h *Host) lose(key flightKey, why string) {
	if call, ok := h.flights.resend(key, time.Now()); ok && h.publish(call) == nil {
		return
	}
	h.settle(key, &schemas.Answer{
		ID: key.call, State: schemas.AnswerFailed,
		Err: &schemas.CallError{
			Code: schemas.CallToolError, Location: "transport", Effect: schemas.Unknown,
			Message: why + "; the call may have run, and is not sent again. Check its effect before you repeat it",
		},
	})
}
