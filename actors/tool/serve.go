package tool

import (
	"context"
	"errors"
	"time"

	"github.com/codecell/codecell/bus"
	"github.com/codecell/codecell/schemas"
)

// acceptedAfter is how long a call may take before its caller is told who holds it.
const acceptedAfter = 50 * time.Millisecond

type (
	callRequest = bus.Request[schemas.Call, schemas.Answer]
	pingRequest = bus.Request[schemas.Ping, schemas.Pong]
)

// take is the handler of the tool subjects. It only decides; tools run elsewhere.
func (w *owner) take(req *callRequest) {
	e, call := w.e, &req.Body
	h := &held{key: call.Address.Cell + "." + call.ID, call: call, reply: req.Reply, owner: w}
	if req.Reply == "" {
		e.log.Debug("a call without a reply subject is ignored", "tool", call.Tool)
		return
	}
	h.target = (*w.current.Load())[call.Tool]
	if h.target == nil || call.Owner != w.name || call.Source != w.source {
		e.answer(h, nil, refused(schemas.CallInvalidInput, atTool, "%s is no longer offered", clip(call.Tool, maxNameBytes)))
		return
	}
	h.ctx, h.cancel = context.WithCancel(context.Background())
	verdict, before := e.desk.take(h)
	if verdict == taken { // and may have ended by now, after which the acknowledgement does nothing
		h.ack.after(acceptedAfter, func() {
			_ = e.conn.Publish(h.reply, "", &schemas.Answer{ID: call.ID, Executor: e.id, State: schemas.AnswerAccepted})
		})
		return
	}
	h.cancel()
	switch verdict {
	case taken, unwanted: // nobody waits for an answer of this delivery
	case again:
		e.repeat(h, before)
	case full:
		e.answer(h, nil, refused(schemas.CallToolError, atTransport,
			"%s was not started: the executor has too many calls waiting; try again later", call.Tool))
	case shut:
		e.answer(h, nil, refused(schemas.CallToolError, atTransport, "%s was not started: the executor is shutting down", call.Tool))
	}
}

// repeat answers the second delivery of a call. One that is still held is answered by the first.
func (e *Executor) repeat(h *held, before *entryOf) {
	switch {
	case before == nil:
	case before.answer != nil:
		_ = e.conn.Publish(h.reply, "", before.answer)
	default:
		e.answer(h, nil, &schemas.CallError{
			Code: schemas.CallToolError, Location: atTransport, Effect: schemas.Done,
			Message: h.call.Tool + " has already run for this call, and its result is not kept",
		})
	}
}

// run takes a call through the pipeline and answers it. It is the desk's start.
func (e *Executor) run(h *held) {
	if len(e.pipeline.Before) > 0 { // which may take seconds
		e.desk.leave(h)
	}
	value, fail := e.pipeline.run(h.ctx, h.call, h.target, func(ctx context.Context, call *schemas.Call) (schemas.JSON, error) {
		defer h.progress.end()
		if by := holderOf(h.owner.provider); by != nil {
			return by.callHeld(ctx, call, e.reporter(h), h)
		}
		if err := h.awaitTurn(); err != nil {
			return nil, err
		}
		h.passTurn()
		return h.owner.provider.Call(ctx, call, e.reporter(h))
	}, func(string) func() { return e.awaiting(h) }, e.log)
	h.cancel()
	h.ack.cancel()
	var answer *schemas.Answer
	if e.desk.wanted(h) {
		answer = e.answer(h, value, fail)
	}
	e.desk.done(h, answer)
}

// awaiting tells that a call waits for a person (S6), and lets others have its place. What it gives is called when that
// person has approved: it returns when the call has a place again, or has ended.
func (e *Executor) awaiting(h *held) (approved func()) {
	h.ack.cancel() // after awaiting, accepted means that the call was approved
	e.desk.pause(h)
	e.hold(h, schemas.AnswerAwaiting)
	return func() {
		e.hold(h, schemas.AnswerAccepted)
		e.desk.resume(h)
	}
}

// hold says that the executor has a call, and in which state, unless nobody wants to know.
func (e *Executor) hold(h *held, state schemas.AnswerState) {
	if h.ctx.Err() == nil {
		_ = e.conn.Publish(h.reply, "", &schemas.Answer{ID: h.call.ID, Executor: e.id, State: state})
	}
}

// answer publishes the end of a call.
func (e *Executor) answer(h *held, value schemas.JSON, fail *schemas.CallError) *schemas.Answer {
	a := &schemas.Answer{
		ID: h.call.ID, Executor: e.id, State: schemas.AnswerDone, Value: value, Err: fail,
		Untrusted: h.owner.source != schemas.SourceNative || h.tainted,
	}
	if fail != nil {
		a.State = schemas.AnswerFailed
	}
	err := e.conn.Publish(h.reply, "", a)
	if err == nil || fail != nil {
		return a
	}
	why := "the way back to its caller is broken"
	if errors.Is(err, bus.ErrTooLarge) || errors.Is(err, bus.ErrBusy) {
		why = bus.Reason(err) + ". Return less"
	}
	return e.answer(h, nil, &schemas.CallError{
		Code: schemas.CallToolError, Location: atTransport, Effect: schemas.Done,
		Message: h.call.Tool + " ran, and its result could not be sent: " + why,
	})
}

// stopped is the handler of the stop subjects.
func (e *Executor) stopped(subject string, _ *schemas.Stop) {
	if _, _, cell, call, err := bus.ParseStop(subject); err == nil {
		e.desk.stop(cell + "." + call)
	}
}

// ping tells which of the named calls are not held here.
func (e *Executor) ping(req *pingRequest) {
	_ = req.Respond(&schemas.Pong{Executor: e.id, Gone: e.desk.missing(req.Body.Calls)})
}

// dispatching tells the feed that a call reaches its tool.
func (e *Executor) dispatching(also func(*schemas.Call)) func(*schemas.Call) {
	return func(call *schemas.Call) {
		e.tell(&schemas.CallStarted{At: now(), Address: call.Address, Call: call.ID, Executor: e.id})
		if also != nil {
			also(call)
		}
	}
}

// describe gives the executor as a NATS micro service.
func (e *Executor) describe() bus.Service {
	s := bus.Service{Name: "codecell-executor", ID: e.id, Version: "1.0.0", Description: "codecell tools"}
	for _, w := range e.owners {
		for _, t := range w.offered().Tools {
			s.Endpoints = append(s.Endpoints, bus.Endpoint{
				Name:    bus.Token(t.Name),
				Subject: bus.ToolSubject(w.source, w.name, t.Name),
				Queue:   w.queue,
				Metadata: map[string]string{
					"codecell.source": string(w.source), "codecell.owner": w.name, "codecell.tool": t.Name,
					"description": t.Description, "inputSchema": string(t.Parameters), "outputSchema": string(t.Output),
				},
			})
		}
	}
	return s
}

// Serve offers Go functions as the native tools of one owner until the returned executor is
// closed (V3).
func Serve(ctx context.Context, conn *bus.Conn, owner string, tools ...Func) (*Executor, error) {
	funcs, err := Funcs(owner, tools...)
	if err != nil {
		return nil, err
	}
	return Start(ctx, conn, Options{Providers: []Provider{funcs}})
}
