package run

import (
	"fmt"
	"strconv"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/codecell/codecell/actors/catalog"
	"github.com/codecell/codecell/actors/cell"
	"github.com/codecell/codecell/schemas"
)

// MaxDirects is how many direct calls of one run wait for their answers at once; further ones are refused.
const MaxDirects = 256

// DirectTool is a direct-only tool under the name that the model sees.
type DirectTool struct {
	Name string
	Tool schemas.Tool
}

// Direct calls a tool that the surface shows as direct. It goes the way of a nested call, but no cell waits for it.
type Direct struct {
	Msg   *schemas.Direct
	Reply func(*schemas.Directed)
}

// directs are a run's direct calls that haven't been answered.
type directs struct {
	last uint64
	open map[string]*directCall
	// looking are those whose tool is looked up; true: nobody waits for it any more.
	looking map[*Direct]bool
}

// directCall is one of them whose tool is known.
type directCall struct {
	id      string // of the call, unique in the run
	address schemas.Address
	tool    *schemas.Tool
	// chosen is what tool_call has chosen; nil of other calls.
	chosen *catalog.Entry
	sent   time.Time
	// gated: it goes through the run's gate. kept is the call while it waits there.
	gated bool
	kept  *schemas.Call
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
	// name is what the tool is called in messages, args are its arguments.
	name string
	args schemas.JSON
	// chosen is what tool_call has chosen, searched what the other tools of Tool Search have come to.
	chosen   *catalog.Entry
	searched *searched
	session  Session
	err      *schemas.Error
}

// directTurn says that a call may pass the gate.
type directTurn struct{ id string }

func (r *run) direct(ctx actor.Context, m *Direct) {
	if r.closing != nil {
		m.Reply(&schemas.Directed{Err: &schemas.Error{Code: schemas.Aborted, Message: "the run is closed (" + r.closing.Reason + "): open a new one"}})
		return
	}
	if len(r.directs.looking)+len(r.directs.open) >= MaxDirects {
		m.Reply(&schemas.Directed{Call: &schemas.CallError{
			Code: schemas.CallInvalidInput, Location: "policy", Effect: schemas.NotStarted, Message: fmt.Sprintf(
				"%d calls of this run wait for their answers already, and this one was not made: wait for some of them, or cancel some", MaxDirects),
		}})
		return
	}
	r.touch(ctx)
	r.renew(ctx)
	r.used = true
	r.directs.looking[m] = false
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
	if control, ok := searchControl(admission, m.Msg.Name); ok {
		if a.search(control); a.chosen != nil {
			a.session, _ = openSession(spec)
		}
		return a
	}
	for i := range admission.Direct {
		if d := &admission.Direct[i]; d.Name == m.Msg.Name {
			a.tool, a.name, a.args = &d.Tool, d.Name, m.Msg.Args
			a.session, _ = openSession(spec) // a call that can't be recorded is made all the same
			return a
		}
	}
	a.err = noDirectTool(admission)
	return a
}

func (r *run) dispatchDirect(ctx actor.Context, a *admitted) {
	unwanted := r.directs.looking[a.ask]
	delete(r.directs.looking, a.ask)
	r.adopt(a.admission)
	switch {
	case a.err != nil:
	case r.closing != nil:
		a.err = &schemas.Error{Code: schemas.Aborted, Message: "the run was closed before the tool was called"}
	case unwanted:
		a.err = &schemas.Error{Code: schemas.Aborted, Message: "the call was cancelled before the tool was called"}
	}
	switch {
	case a.err != nil:
		a.ask.Reply(&schemas.Directed{Err: a.err})
		r.settle(ctx)
	case a.searched != nil:
		a.ask.Reply(r.found(a.searched))
		r.settle(ctx)
	default:
		r.callDirect(ctx, a)
	}
}

// callDirect calls the tool that was looked up.
func (r *run) callDirect(ctx actor.Context, a *admitted) {
	r.directs.last++
	d := &directCall{
		id: strconv.FormatUint(r.directs.last, 10), tool: a.tool, chosen: a.chosen, sent: time.Now(), ask: a.ask,
		// No cell has this id: it makes the address, and so the reply subject, the call's own.
		address: schemas.Address{Host: r.spec.Host, Run: r.spec.Token, Cell: r.spec.Env.NewCellID()},
	}
	args := a.args
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
		Identity: r.spec.Identity, ParentID: a.ask.Msg.CallID, TraceParent: a.ask.Msg.TraceParent, Bound: d.record != nil,
	}
	if err := blocked(r.spec.Decide, a.tool, a.name); err != nil {
		r.endDirect(ctx, d, &schemas.Directed{Call: err}, schemas.NotStarted)
		return
	}
	self, root := ctx.Self(), ctx.ActorSystem().Root
	if d.rehearsed {
		go func() { root.Send(self, &cell.Answered{Answer: r.dry.answer(a.tool, a.name, call)}) }()
		return
	}
	if d.gated = a.admission.Sequential; d.gated && !r.gate.enter(&gated{
		key: gateKey{d.address.Cell, d.id}, sequential: a.tool.Sequential,
		turn: func() { root.Send(self, &directTurn{d.id}) },
	}) {
		d.kept = call
		return
	}
	r.sendDirect(ctx, d, call)
}

// passDirect sends a call whose turn has come, if it is still wanted.
func (r *run) passDirect(ctx actor.Context, m *directTurn) {
	if d := r.directs.open[m.id]; d != nil && d.kept != nil {
		call := d.kept
		d.kept = nil
		r.sendDirect(ctx, d, call)
	}
}

func (r *run) sendDirect(ctx actor.Context, d *directCall, call *schemas.Call) {
	if err := r.spec.Env.Send(call, ctx.Self()); err != nil {
		r.endDirect(ctx, d, &schemas.Directed{Call: err}, schemas.NotStarted)
		return
	}
	r.spec.Env.Fact(&schemas.CallSent{
		At: time.Now().UnixNano(), Address: d.address, Call: d.id, Source: d.tool.Source, Owner: d.tool.Owner, Tool: d.tool.Name,
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
	r.endDirect(ctx, d, &schemas.Directed{
		Source: d.tool.Source, Value: m.Answer.Value, Call: m.Answer.Err, Untrusted: m.Answer.Untrusted || d.tool.Source != schemas.SourceNative,
	}, outcome)
}

func (r *run) endDirect(ctx actor.Context, d *directCall, reply *schemas.Directed, outcome schemas.Outcome) {
	delete(r.directs.open, d.id)
	if d.gated {
		r.gate.leave(gateKey{d.address.Cell, d.id})
	}
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
		ID: d.id, Outcome: outcome, Value: reply.Value, Err: reply.Call, Untrusted: reply.Untrusted, Duration: time.Since(d.sent),
	})
	if d.chosen != nil {
		r.envelop(reply, d.chosen)
	}
	d.ask.Reply(reply)
	r.settle(ctx)
}

// abortDirects ends the direct calls of one model call, or all of them.
func (r *run) abortDirects(ctx actor.Context, callID, reason string) {
	for ask := range r.directs.looking {
		if callID == "" || ask.Msg.CallID == callID {
			r.directs.looking[ask] = true
		}
	}
	for _, d := range r.directs.open {
		if callID != "" && d.ask.Msg.CallID != callID {
			continue
		}
		outcome, what := schemas.Unknown, "the tool may have acted"
		if d.kept != nil {
			outcome, what = schemas.NotStarted, "the tool was not called"
		} else {
			r.spec.Env.Withdraw(d.address, d.id)
		}
		r.endDirect(ctx, d, &schemas.Directed{Err: &schemas.Error{
			Code: schemas.Aborted, Message: "the call was cancelled (" + reason + "); " + what,
		}}, outcome)
	}
}
