package host

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/codecell/codecell/actors/cell"
	"github.com/codecell/codecell/actors/run"
	"github.com/codecell/codecell/actors/slot"
	"github.com/codecell/codecell/bus"
	"github.com/codecell/codecell/schemas"
)

type (
	openRequest     = bus.Request[schemas.Open, schemas.Opened]
	execRequest     = bus.Request[schemas.Exec, schemas.Result]
	directRequest   = bus.Request[schemas.Direct, schemas.Directed]
	waitRequest     = bus.Request[schemas.Wait, schemas.Result]
	cancelRequest   = bus.Request[schemas.Cancel, schemas.Ack]
	holdRequest     = bus.Request[schemas.Hold, schemas.Ack]
	closeRequest    = bus.Request[schemas.Close, schemas.Ack]
	describeRequest = bus.Request[schemas.Describe, schemas.Described]
	searchRequest   = bus.Request[schemas.Search, schemas.Found]
	statusRequest   = bus.Request[schemas.StatusAsk, schemas.HostStatus]
)

// serve subscribes to the host's subjects, one row each. Handlers run on the subscription's
// goroutine: they route, or start a goroutine for what takes time.
func (h *Host) serve() error {
	for _, row := range []func() (*bus.Subscription, error){
		func() (*bus.Subscription, error) {
			return bus.Serve(h.conn, bus.OpenSubject(), bus.HostQueue, h.onOpen)
		},
		func() (*bus.Subscription, error) { return bus.Serve(h.conn, h.on(bus.ExecSubject), "", h.onExec) },
		func() (*bus.Subscription, error) { return bus.Serve(h.conn, h.on(bus.DirectSubject), "", h.onDirect) },
		func() (*bus.Subscription, error) { return bus.Serve(h.conn, h.on(bus.WaitSubject), "", h.onWait) },
		func() (*bus.Subscription, error) { return bus.Serve(h.conn, h.on(bus.CancelSubject), "", h.onCancel) },
		func() (*bus.Subscription, error) { return bus.Serve(h.conn, h.on(bus.HoldSubject), "", h.onHold) },
		func() (*bus.Subscription, error) { return bus.Serve(h.conn, h.on(bus.CloseSubject), "", h.onClose) },
		func() (*bus.Subscription, error) { return bus.Serve(h.conn, h.on(bus.BringSubject), "", h.onBring) },
		func() (*bus.Subscription, error) {
			return bus.Serve(h.conn, h.on(bus.DescribeSubject), "", h.onDescribe)
		},
		func() (*bus.Subscription, error) { return bus.Serve(h.conn, h.on(bus.SearchSubject), "", h.onSearch) },
		func() (*bus.Subscription, error) { return bus.Serve(h.conn, bus.HostsSubject(), "", h.onStatus) },
		func() (*bus.Subscription, error) { return bus.Serve(h.conn, bus.StatusSubject(h.id), "", h.onStatus) },
		func() (*bus.Subscription, error) { return bus.Replies(h.conn, h.id, h.onReply) },
	} {
		sub, err := row()
		if err != nil {
			return err
		}
		h.subs = append(h.subs, sub)
	}
	return nil
}

// on is the pattern of this host's subjects of one verb.
func (h *Host) on(build func(host, id string) string) string { return bus.OnHost(build, h.id) }

// address is the last token of a request's subject: the run or the cell that it is for.
func address(subject string) string {
	p, err := bus.Parse(subject)
	if err != nil {
		return ""
	}
	return p.Address(1)
}

const drainingMessage = "this host is shutting down: open a new run on another host, or try again when it is back"

const noRunMessage = "there is no such run on this host: it was closed, or was never opened; open a new one"

func (h *Host) onOpen(r *openRequest) {
	go func() { h.answer(r.Respond(h.openRun(&r.Body))) }()
}

func (h *Host) openRun(ask *schemas.Open) *schemas.Opened {
	if h.draining.Load() {
		return &schemas.Opened{Err: &schemas.Error{Code: schemas.RuntimeUnavailable, Message: drainingMessage}}
	}
	if err := checkOpen(ask); err != nil {
		return &schemas.Opened{Err: err}
	}
	o := newOpening(h.options.Config, ask)
	admission, err := h.directory.admit(o)
	if err != nil {
		return &schemas.Opened{Err: &schemas.Error{Code: schemas.RuntimeUnavailable, Message: err.Error()}}
	}
	o.fix(admission)
	out := make(chan *schemas.Opened, 1)
	h.system.Root.Send(h.root, &openRun{ask: ask, opening: o, admission: admission, reply: func(token string, err *schemas.Error) {
		out <- &schemas.Opened{Host: h.id, Run: token, Surface: admission.Surface, Err: err}
	}})
	opened := <-out
	if own, err := h.admissionOf(opened.Run); opened.Err == nil && err == nil {
		opened.Surface = own.Surface // with what was brought for a run that was open already
	}
	return opened
}

func (h *Host) onExec(r *execRequest) {
	start := time.Now()
	reply := func(result *schemas.Result) { h.answer(r.Respond(result)) }
	pid, ok := h.runs.get(address(r.Subject))
	switch {
	case h.draining.Load():
		reply(failed(schemas.RuntimeUnavailable, drainingMessage))
	case !ok:
		reply(failed(schemas.InvalidInput, noRunMessage))
	default:
		h.system.Root.Send(pid, &run.Exec{Msg: &r.Body, Start: start, Reply: reply})
	}
}

func (h *Host) onDirect(r *directRequest) {
	reply := func(d *schemas.Directed) { h.answer(r.Respond(d)) }
	pid, ok := h.runs.get(address(r.Subject))
	switch {
	case h.draining.Load():
		reply(&schemas.Directed{Err: &schemas.Error{Code: schemas.RuntimeUnavailable, Message: drainingMessage}})
	case !ok:
		reply(&schemas.Directed{Err: schemas.Refuse("", noRunMessage)})
	default:
		h.system.Root.Send(pid, &run.Direct{Msg: &r.Body, Reply: reply})
	}
}

func (h *Host) onWait(r *waitRequest) {
	start := time.Now()
	reply := func(result *schemas.Result) { h.answer(r.Respond(result)) }
	cellID := address(r.Subject)
	if cellID != r.Body.RunID {
		reply(failed(schemas.InvalidInput, "runId and the subject name different cells"))
		return
	}
	pid, ok := h.runOf(cellID, r.Body.Identity)
	if !ok {
		reply(failed(schemas.InvalidInput, run.Unavailable))
		return
	}
	h.system.Root.Send(pid, &run.Wait{Msg: &r.Body, Start: start, Reply: reply})
}

// runOf finds the run that a wait is for: the cell's own, or, once the cell has ended, the run of
// whoever asks, which may remember the answer.
func (h *Host) runOf(cellID string, id schemas.Identity) (*actor.PID, bool) {
	if route, ok := h.cells.get(cellID); ok {
		return route.run, true
	}
	if token, ok := h.identities.get(id); ok {
		return h.runs.get(token)
	}
	return nil, false
}

func (h *Host) onCancel(r *cancelRequest) {
	cellID := address(r.Subject)
	reply := func(err *schemas.Error) { h.answer(r.Respond(&schemas.Ack{Err: err})) }
	route, ok := h.cells.get(cellID)
	if !ok {
		reply(schemas.Refuse("runId", run.Unavailable))
		return
	}
	h.system.Root.Send(route.run, &run.Cancel{Cell: cellID, Msg: &r.Body, Reply: reply})
}

func (h *Host) onHold(r *holdRequest) {
	reply := func(err *schemas.Error) { h.answer(r.Respond(&schemas.Ack{Err: err})) }
	pid, ok := h.runs.get(address(r.Subject))
	if !ok {
		reply(schemas.Refuse("", noRunMessage))
		return
	}
	h.system.Root.Send(pid, &run.Hold{Identity: r.Body.Identity, Reply: reply})
}

func (h *Host) onClose(r *closeRequest) {
	pid, ok := h.runs.get(address(r.Subject))
	if !ok {
		h.answer(r.Respond(&schemas.Ack{})) // closed is closed
		return
	}
	reply := func(totals *schemas.RunTotals, err *schemas.Error) {
		h.answer(r.Respond(&schemas.Ack{Err: err, Totals: totals}))
	}
	if r.Body.CallID != "" {
		h.system.Root.Send(pid, &run.Abort{
			Identity: r.Body.Identity, CallID: r.Body.CallID, Reason: r.Body.Reason, Reply: func(err *schemas.Error) { reply(nil, err) },
		})
		return
	}
	h.system.Root.Send(pid, &run.Close{Identity: &r.Body.Identity, Reason: r.Body.Reason, Reply: reply})
}

// onDescribe and onSearch answer from the admission that a new cell would get.
func (h *Host) onDescribe(r *describeRequest) {
	go func() {
		h.answer(r.Respond(h.describe(address(r.Subject), r.Body.Known)))
	}()
}

func (h *Host) onSearch(r *searchRequest) {
	go func() {
		admission, err := h.admissionOf(address(r.Subject))
		if err != nil {
			h.answer(r.Respond(&schemas.Found{Err: err}))
			return
		}
		refs, fault := admission.Catalog.Search(r.Body.Query, r.Body.Limit)
		if fault != nil {
			err := schemas.Refuse("limit", fault.Error())
			errors.As(fault, &err)
			h.answer(r.Respond(&schemas.Found{Err: err}))
			return
		}
		found := &schemas.Found{Hits: make([]schemas.CatalogEntry, 0, len(refs))}
		for _, ref := range refs {
			if entry, ok := admission.Catalog.Tool(ref); ok {
				found.Hits = append(found.Hits, entry.Public())
			}
		}
		h.answer(r.Respond(found))
	}()
}

func (h *Host) admissionOf(token string) (*run.Admission, *schemas.Error) {
	o, ok := h.openings.get(token)
	if !ok {
		return nil, schemas.Refuse("", noRunMessage)
	}
	admission, err := h.admit(token, o)
	if err != nil {
		return nil, &schemas.Error{Code: schemas.RuntimeUnavailable, Message: err.Error()}
	}
	return admission, nil
}

// onReply hands news of a call to its cell. News of calls that nobody waits for any more is late,
// and goes nowhere.
func (h *Host) onReply(r *bus.Reply) {
	key := flightKey{cell: r.Cell, call: r.Call}
	switch {
	case r.NoResponders && h.flights.wasResent(key):
		h.lose(key, "the executor that held the call is gone, and no other is there")
	case r.NoResponders:
		h.settle(key, &schemas.Answer{
			ID: r.Call, State: schemas.AnswerFailed,
			Err: &schemas.CallError{
				Code: schemas.CallToolError, Location: "transport", Effect: schemas.NotStarted,
				Message: "no executor offers this tool now; the call was not started. Search the catalog again, or try later",
			},
		})
	case r.Err != nil:
		h.lose(key, "the tool's answer can't be read ("+r.Err.Error()+")")
	case r.Answer.ID != r.Call:
		// Somebody answers for a call that isn't theirs.
		h.log.Debug("an answer names another call than its subject; it is ignored", "executor", r.Answer.Executor)
	case r.Answer.State == schemas.AnswerAccepted, r.Answer.State == schemas.AnswerAwaiting:
		if pid, ok := h.flights.accepted(key, r.Answer.Executor); ok {
			h.system.Root.Send(pid, &cell.Answered{Answer: &r.Answer})
		}
	case r.Answer.State == schemas.AnswerDone, r.Answer.State == schemas.AnswerFailed && r.Answer.Err != nil:
		h.settle(key, &r.Answer)
	default:
		h.lose(key, "the tool's answer makes no sense")
	}
}

func (h *Host) onStatus(r *statusRequest) {
	go func() { h.answer(r.Respond(h.Status())) }()
}

// statusTimeout bounds how long a status waits for one actor.
const statusTimeout = 2 * time.Second

// Status tells who holds what.
func (h *Host) Status() *schemas.HostStatus {
	s := &schemas.HostStatus{
		Host: h.id, Version: h.options.Version, Draining: h.draining.Load(), FactsDropped: h.feed.Dropped(),
		Cells: []schemas.CellStatus{}, Problems: h.problems(),
	}
	if counts, err := h.system.Root.RequestFuture(h.ledger, &slot.Count{}, statusTimeout).Result(); err == nil {
		if c, ok := counts.(*slot.Counts); ok {
			s.Slots = schemas.SlotCount{Held: c.Slots.Held, Limit: c.Slots.Limit}
			s.Workers = schemas.SlotCount{Held: c.Workers.Held, Limit: c.Workers.Limit}
		}
	}
	for _, route := range h.cells.all() {
		answer, err := h.system.Root.RequestFuture(route.cell, &cell.Ask{}, statusTimeout).Result()
		if err != nil {
			continue // it ended meanwhile
		}
		if c, ok := answer.(*schemas.CellStatus); ok {
			s.Cells = append(s.Cells, *c)
		}
	}
	return s
}

// problems says what is wrong with what the host keeps, and with what else its process is.
func (h *Host) problems() []string {
	found := h.sessions.problems()
	if h.options.Problems != nil {
		found = append(found, h.options.Problems()...)
	}
	return found
}

// idle waits until no call is being answered: parked cells may stay.
func (h *Host) idle(ctx context.Context) {
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for {
		busy := h.asking.Load() > 0
		for _, c := range h.Status().Cells {
			busy = busy || c.State != "parked"
		}
		if !busy {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// closeRuns ends every run and waits for it, at most until ctx ends.
func (h *Host) closeRuns(ctx context.Context) {
	var closing sync.WaitGroup
	for _, pid := range h.runs.all() {
		closing.Add(1)
		h.system.Root.Send(pid, &run.Close{Reason: "the host is shutting down", Reply: func(*schemas.RunTotals, *schemas.Error) { closing.Done() }})
	}
	done := make(chan struct{})
	go func() { closing.Wait(); close(done) }()
	select {
	case <-done:
	case <-ctx.Done():
	}
}

// answer notes an answer that couldn't be sent: the caller finds out by its own deadline.
func (h *Host) answer(err error) {
	if err != nil {
		h.log.Warn("an answer could not be sent", "error", err)
	}
}

func failed(code schemas.Code, message string) *schemas.Result {
	return &schemas.Result{Status: schemas.StatusFailed, Code: code, Error: message}
}

// maxIdentityBytes bounds one field of an identity; maxDepth is more than tools.swarm.maxDepth can be.
const (
	maxIdentityBytes = 256
	maxDepth         = 64
)

// checkIdentity refuses a run that nobody could be asked to prove they own.
func checkIdentity(id *schemas.Identity) *schemas.Error {
	for _, f := range []struct {
		name, value string
		required    bool
	}{
		{"identity.agent", id.Agent, true}, {"identity.sessionId", id.SessionID, true},
		{"identity.sessionKey", id.SessionKey, true}, {"identity.run", id.Run, true},
		{"identity.sender", id.Sender, false}, {"identity.channel", id.Channel, false}, {"identity.sandbox", id.Sandbox, false},
	} {
		if f.required && f.value == "" {
			return schemas.Refuse(f.name, f.name+" is empty: a run needs an agent, a session id, a session key and a run id")
		}
		if len(f.value) > maxIdentityBytes {
			return schemas.Refuse(f.name, f.name+" is too long: 256 bytes are allowed")
		}
	}
	if id.Depth < 0 || id.Depth > maxDepth { // below 0, those under it would be too many before they are too deep
		return schemas.Refuse("identity.depth", fmt.Sprintf("identity.depth must be from 0 to %d, not %d", maxDepth, id.Depth))
	}
	return nil
}
