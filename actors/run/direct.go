package run

import (
	"strconv"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/codecell/codecell/actors/cell"
	"github.com/codecell/codecell/schemas"
)

// DirectTool is a direct-only tool under the name that the model sees.
type DirectTool struct {
	Name string
	Tool schemas.Tool
}

// Direct calls a direct-only tool. It goes the way of a nested call, but no cell waits for it.
type Direct struct {
	Msg   *schemas.Direct
	Reply func(*schemas.Directed)
}

// directs are a run's direct calls that haven't been answered.
type directs struct {
	last uint64
	open map[string]*directCall
}

// directCall is one of them.
type directCall struct {
	id      string // of the call, unique in the run
	address schemas.Address
	source  schemas.Source
	sent    time.Time
	// rehearsed: a placeholder answers it, in a dry run.
	rehearsed bool
	ask       *Direct
	record    *record // nil unless the run is bound
}

// admitted is a direct call whose tool was looked up, off the actor.
type admitted struct {
	ask       *Direct
	admission *Admission // nil if there is none
	tool      *schemas.Tool
	session   Session
	err       *schemas.Error
}

func (r *run) direct(ctx actor.Context, m *Direct) {
	if r.closing != nil {
		m.Reply(&schemas.Directed{Err: &schemas.Error{Code: schemas.Aborted, Message: "the run is closed (" + r.closing.Reason + "): open a new one"}})
		return
	}
	r.touch(ctx)
	r.used = true
	r.looking++
	self, system := ctx.Self(), ctx.ActorSystem()
	go func() { system.Root.Send(self, lookUp(&r.spec, m)) }()
}

// lookUp finds the tool in what the run may use now.
func lookUp(spec *Spec, m *Direct) *admitted {
	a := &admitted{ask: m}
	admission, err := spec.Env.Admit(spec.Identity)
	if err != nil {
		a.err = &schemas.Error{Code: schemas.RuntimeUnavailable, Message: err.Error()}
		return a
	}
	a.admission = admission
	for i := range admission.Direct {
		if d := &admission.Direct[i]; d.Name == m.Msg.Name {
			a.tool = &d.Tool
			a.session, _ = openSession(spec) // a call that can't be recorded is made all the same
			return a
		}
	}
	a.err = noDirectTool(admission)
	return a
}

func (r *run) dispatchDirect(ctx actor.Context, a *admitted) {
	r.looking--
	r.adopt(a.admission)
	switch {
	case a.err == nil && r.closing != nil:
		a.err = &schemas.Error{Code: schemas.Aborted, Message: "the run was closed before the tool was called"}
		fallthrough
	case a.err != nil:
		a.ask.Reply(&schemas.Directed{Err: a.err})
		r.settle(ctx)
		return
	}
	r.directs.last++
	d := &directCall{
		id: strconv.FormatUint(r.directs.last, 10), source: a.tool.Source, sent: time.Now(), ask: a.ask,
		// No cell has this id: it makes the address, and so the reply subject, the call's own.
		address: schemas.Address{Host: r.spec.Host, Run: r.spec.Token, Cell: r.spec.Env.NewCellID()},
	}
	args := a.ask.Msg.Args
	if len(args) == 0 {
		args = schemas.JSON("{}")
	}
	r.directs.open[d.id] = d
	r.counters.calledTool(a.tool)
	d.record = directRecord(a.session, a.ask.Msg.CallID, d.address.Cell)
	d.rehearsed = r.dry != nil && !replaySafe(a.tool)
	d.record.call(cell.Call{ID: d.id, Args: args}, a.tool, d.rehearsed)
	call := &schemas.Call{
		ID: d.id, Address: d.address, Source: a.tool.Source, Owner: a.tool.Owner, Tool: a.tool.Name, Args: args,
		Identity: r.spec.Identity, ParentID: a.ask.Msg.CallID, TraceParent: a.ask.Msg.TraceParent,
	}
	if err := blocked(r.spec.Decide, a.tool, a.ask.Msg.Name); err != nil {
		r.endDirect(ctx, d, &schemas.Directed{Call: err}, schemas.NotStarted)
		return
	}
	if d.rehearsed {
		self, root := ctx.Self(), ctx.ActorSystem().Root
		go func() { root.Send(self, &cell.Answered{Answer: r.dry.answer(a.tool, a.ask.Msg.Name, call)}) }()
		return
	}
	if err := r.spec.Env.Send(call, ctx.Self()); err != nil {
		r.endDirect(ctx, d, &schemas.Directed{Call: err}, schemas.NotStarted)
		return
	}
	r.spec.Env.Fact(&schemas.CallSent{
		At: d.sent.UnixNano(), Address: d.address, Call: d.id, Source: a.tool.Source, Owner: a.tool.Owner, Tool: a.tool.Name,
	})
}

// answered settles a direct call.
func (r *run) answered(ctx actor.Context, m *cell.Answered) {
	d := r.directs.open[m.Answer.ID]
	if d == nil || m.Answer.State == schemas.AnswerAccepted || m.Answer.State == schemas.AnswerAwaiting {
		return
	}
	outcome := schemas.Done
	if m.Answer.Err != nil {
		if outcome = m.Answer.Err.Effect; outcome == "" {
			outcome = schemas.Failed
		}
	}
	r.endDirect(ctx, d, &schemas.Directed{Source: d.source, Value: m.Answer.Value, Call: m.Answer.Err}, outcome)
}

func (r *run) endDirect(ctx actor.Context, d *directCall, reply *schemas.Directed, outcome schemas.Outcome) {
	delete(r.directs.open, d.id)
	fact := &schemas.CallEnded{
		At: time.Now().UnixNano(), Address: d.address, Call: d.id, Outcome: outcome,
		DurationUs: time.Since(d.sent).Microseconds(),
	}
	if reply.Call != nil {
		fact.Code = reply.Call.Code
	}
	if !d.rehearsed {
		r.spec.Env.Fact(fact)
	}
	d.record.settled(&cell.Settled{
		ID: d.id, Outcome: outcome, Value: reply.Value, Err: reply.Call, Untrusted: d.source != schemas.SourceNative, Duration: time.Since(d.sent),
	})
	d.ask.Reply(reply)
	r.settle(ctx)
}

// abortDirects ends the direct calls of one model call, or all of them.
func (r *run) abortDirects(ctx actor.Context, callID, reason string) {
	for _, d := range r.directs.open {
		if callID == "" || d.ask.Msg.CallID == callID {
			r.spec.Env.Withdraw(d.address, d.id)
			r.endDirect(ctx, d, &schemas.Directed{Err: &schemas.Error{
				Code: schemas.Aborted, Message: "the call was cancelled (" + reason + "); the tool may have acted",
			}}, schemas.Unknown)
		}
	}
}
