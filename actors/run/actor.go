package run

import (
	"crypto/rand"
	"encoding/hex"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/codecell/codecell/actors/cell"
	"github.com/codecell/codecell/schemas"
)

// run is the actor. Only its own goroutine touches it; what cells share is in counters.
type run struct {
	spec     Spec
	counters *counters
	// session is the last one known of a run that is bound; refused are the waits for nothing that it has.
	session Session
	refused refusedWaits
	// admission is the last one known.
	admission *Admission
	gate      *gate
	dry       *understudies // nil unless the run is a dry one
	results   results
	cells     map[string]*live
	ended     *finished
	// preparing is the programs that are being read and have no cell yet.
	preparing map[*Exec]preparation
	// reviews is the answers that hooks are asked about; nil until there is one.
	reviews reviews
	directs directs
	// used is false until the first exec: an ephemeral run doesn't end before it began.
	used    bool
	closing *Close
	// over: the run has ended and only answers what was on its way to it.
	over      bool
	waiters   []func(*schemas.RunTotals, *schemas.Error)
	idleTimer *time.Timer
	lease     lease
}

// live is a cell that hasn't ended.
type live struct {
	pid    *actor.PID
	callID string
	calls  *callLog
	record *record
}

// New makes the properties of a run actor.
func New(spec Spec) *actor.Props {
	return actor.PropsFromProducer(func() actor.Actor {
		r := &run{
			spec:      spec,
			counters:  newCounters(),
			admission: spec.Admission,
			gate:      newGate(),
			cells:     make(map[string]*live),
			ended:     newFinished(endedKept),
			lease:     leaseOf(spec.LeaseMs),
			preparing: make(map[*Exec]preparation),
			directs:   directs{open: make(map[string]*directCall), looking: make(map[*Direct]bool)},
		}
		if spec.DryRun {
			r.dry = newUnderstudies()
		}
		return r
	}, actor.WithSupervisor(stopFailed{}))
}

// Receive routes.
func (r *run) Receive(ctx actor.Context) {
	switch m := ctx.Message().(type) {
	case *actor.Started:
		r.opened(ctx)
	case *Exec:
		r.exec(ctx, m)
	case *prepared:
		r.spawn(ctx, m)
	case *Wait:
		r.wait(ctx, m)
	case *Cancel:
		r.cancel(ctx, m)
	case *reviewed:
		r.answerGiven(ctx, m)
	case *cell.Ended:
		r.cellEnded(ctx, m)
	case *actor.Terminated:
		r.cellStopped(ctx, m)
	case *Direct:
		r.direct(ctx, m)
	case *admitted:
		r.dispatchDirect(ctx, m)
	case *directTurn:
		r.passDirect(ctx, m)
	case *cell.Answered:
		r.answered(ctx, m)
	case *Abort:
		r.abort(ctx, m)
	case *Attach:
		r.attach(ctx, m)
	case *Hold:
		r.hold(ctx, m)
	case *lapsed:
		r.leaseLapsed(ctx)
	case *idled:
		r.idle(ctx)
	case *Close:
		r.close(ctx, m)
	case *actor.Stopping:
		r.stopIdle()
		r.stopLease()
	}
}

func (r *run) opened(ctx actor.Context) {
	r.spec.Env.Fact(&schemas.RunOpened{
		At: time.Now().UnixNano(), Host: r.spec.Host, Run: r.spec.Token, Identity: r.spec.Identity,
	})
	r.touch(ctx)
	r.renew(ctx)
}

// exec reads the program elsewhere: parsing and admission take their time.
func (r *run) exec(ctx actor.Context, m *Exec) {
	if r.closing != nil {
		m.Reply(r.failure(schemas.Aborted, "the run is closed ("+r.closing.Reason+"): open a new one"))
		return
	}
	r.used = true
	asking := r.prepare(m)
	r.touch(ctx)
	r.renew(ctx)
	self, system := ctx.Self(), ctx.ActorSystem()
	go func() { system.Root.Send(self, prepare(asking, &r.spec, m)) }()
}

func (r *run) spawn(ctx actor.Context, m *prepared) {
	before := r.preparing[m.exec]
	delete(r.preparing, m.exec)
	before.cancel()
	r.adopt(m.admission)
	r.remember(m)
	m.exec.Reply = m.record.answers(m.exec.Reply)
	switch {
	case before.unwanted:
		m.exec.Reply(r.failure(schemas.Aborted, "the call was cancelled before the program began"))
	case r.closing != nil:
		m.exec.Reply(r.failure(schemas.Aborted, "the run was closed before the program began"))
	case m.err != nil:
		m.exec.Reply(r.failure(m.err.Code, m.err.Message))
	default:
		r.begin(ctx, m)
		return
	}
	r.settle(ctx)
}

// adopt notes what the run may use from now on.
func (r *run) adopt(a *Admission) {
	if a != nil && a != r.admission {
		r.admission = a
		r.counters.tools.renew()
	}
}

func (r *run) begin(ctx actor.Context, m *prepared) {
	id := r.spec.Env.NewCellID()
	address := schemas.Address{Host: r.spec.Host, Run: r.spec.Token, Cell: id}
	port := &port{
		env: r.spec.Env, identity: r.spec.Identity, address: address, admission: m.admission,
		parent: m.exec.Msg.CallID, trace: m.exec.Msg.TraceParent, restartSafe: m.input.RestartSafe, counters: r.counters,
		record: m.record, decide: r.spec.Decide, older: r.spec.Contract == schemas.Contract202607,
	}
	if port.searching = m.admission.toolSearchPrograms(); !port.searching {
		r.keep(port, m)
	}
	self, root := actor.NewPID(ctx.Self().Address, ctx.Self().Id+"/"+id), ctx.ActorSystem().Root
	r.equip(port, func(a *schemas.Answer) { root.Send(self, &cell.Answered{Answer: a}) })
	reply := r.reviewExec(ctx, m, port)
	m.record.begin(id)
	// The route is there before the cell is: its first call may be out before Spawn returns.
	r.spec.Env.CellSpawned(id, ctx.Self(), self)
	pid, err := ctx.SpawnNamed(cell.New(r.spec.Cells, cell.Spec{
		Address: address, Title: m.input.Title, CallID: m.exec.Msg.CallID, Source: m.source,
		Programs: programsAre(m.admission.Languages),
		Image:    m.admission.Image, Limits: m.admission.Limits, Start: m.exec.Start,
		RestartSafe: m.input.RestartSafe, Required: m.input.AwaitResults, Strict: port.searching, Live: m.admission.Live,
		Record: r.spec.Bind || port.gate != nil || port.calls != nil, Port: port, Reply: explainSyntax(m.input, m.admission.Languages, reply),
	}), id)
	if err != nil {
		r.spec.Env.CellGone(id)
		reply(r.failure(schemas.InternalError, "the cell could not be started: "+err.Error()))
		r.settle(ctx)
		return
	}
	ctx.Watch(pid)
	r.cells[id] = &live{pid: pid, callID: m.exec.Msg.CallID, calls: port.calls, record: m.record}
}

func (r *run) wait(ctx actor.Context, m *Wait) {
	r.touch(ctx)
	if err := r.owns(m.Msg.Identity); err != nil {
		m.Reply(r.stranger(err))
		return
	}
	r.renew(ctx)
	if c := r.cells[m.Msg.RunID]; c != nil {
		reply := r.review(ctx, waitEvent(&r.spec, m.Msg, c.callID), m.Start, c.calls, c.record.wait(m.Msg.CallID, m.Reply))
		ctx.Send(c.pid, &cell.Wait{CallID: m.Msg.CallID, Start: m.Start, Reply: reply})
		return
	}
	if result := r.ended.waited(m.Msg.RunID, m.Msg.CallID); result != nil {
		r.review(ctx, waitEvent(&r.spec, m.Msg, ""), m.Start, nil, m.Reply)(result)
		return
	}
	result := r.failure(schemas.InvalidInput, r.unavailable())
	r.refused.note(r.session, m.Msg, result)
	m.Reply(result)
}

// owns checks who asks: only the run that a cell came from may touch it (W2), and a run is all of its identity: another
// sender's is another run (A6). A missing field is a different one.
func (r *run) owns(id schemas.Identity) *schemas.Error {
	own := r.spec.Identity
	switch {
	case id.SessionID != own.SessionID || id.SessionKey != own.SessionKey:
		return schemas.Refuse("runId", "runId belongs to a different session; only the session that started the cell can wait for it")
	case id != own:
		return schemas.Refuse("runId", "runId belongs to a different agent run; only the run that started the cell can wait for it")
	}
	return nil
}

func (r *run) cancel(ctx actor.Context, m *Cancel) {
	if !m.Msg.Operator {
		if err := r.owns(m.Msg.Identity); err != nil {
			m.Reply(err)
			return
		}
	}
	c := r.cells[m.Cell]
	if c == nil {
		m.Reply(schemas.Refuse("runId", Unavailable))
		return
	}
	ctx.Send(c.pid, &cell.Cancel{Reason: m.Msg.Reason, Done: func() { m.Reply(nil) }})
}

// abort ends what an exec has come to: a program that is being read, a cell, or nothing any more.
func (r *run) abort(ctx actor.Context, m *Abort) {
	if err := r.owns(m.Identity); err != nil {
		m.Reply(schemas.Refuse("identity", "only the run's own caller can abort its calls"))
		return
	}
	if r.unwant(m.CallID) {
		m.Reply(nil)
		return
	}
	for _, c := range r.cells {
		if c.callID == m.CallID {
			ctx.Send(c.pid, &cell.Cancel{Reason: m.Reason, Done: func() { m.Reply(nil) }})
			return
		}
	}
	r.abortDirects(ctx, m.CallID, m.Reason)
	m.Reply(nil) // ended is ended
}

func (r *run) cellEnded(ctx actor.Context, m *cell.Ended) {
	if r.cells[m.ID] == nil {
		return
	}
	r.cells[m.ID].record.ended(m.Result)
	r.ended.keep(m.ID, m.Waits)
	r.forget(ctx, m.ID)
	ctx.Poison(m.Cell)
}

// cellStopped hears of cells that stopped without a word: their last words were said already.
func (r *run) cellStopped(ctx actor.Context, m *actor.Terminated) {
	for id, c := range r.cells {
		if c.pid.Id == m.Who.Id {
			c.record.ended(r.failure(schemas.InternalError, "the cell stopped without a result"))
			r.forget(ctx, id)
			return
		}
	}
}

func (r *run) forget(ctx actor.Context, id string) {
	delete(r.cells, id)
	r.gate.leaveAll(id)
	r.spec.Env.CellGone(id)
	r.settle(ctx)
}

func (r *run) close(ctx actor.Context, m *Close) {
	if m.Identity != nil {
		if err := r.owns(*m.Identity); err != nil {
			m.Reply(nil, schemas.Refuse("identity", "only the run's own caller can close it"))
			return
		}
	}
	if m.Reply != nil {
		r.waiters = append(r.waiters, m.Reply)
	}
	if r.closing == nil {
		r.closing = m
		for _, c := range r.cells {
			ctx.Send(c.pid, &cell.Cancel{Reason: "run closed: " + m.Reason})
		}
		for _, p := range r.preparing {
			p.cancel()
		}
		r.abortDirects(ctx, "", "run closed: "+m.Reason)
	}
	r.settle(ctx)
}

// settle ends the run once nothing is left to do: it was closed, or was there for its cells only.
func (r *run) settle(ctx actor.Context) {
	if r.busy() {
		r.touch(ctx)
		return
	}
	if r.closing == nil && r.spec.Ephemeral && r.used {
		r.closing = &Close{Reason: "last cell ended"}
	}
	if r.closing == nil {
		r.touch(ctx)
		return
	}
	r.end(ctx)
	for _, done := range r.waiters {
		done(r.counters.totals(), nil)
	}
	r.waiters = nil
}

// busy tells whether something is under way.
func (r *run) busy() bool {
	return len(r.cells) > 0 || len(r.preparing) > 0 || len(r.reviews) > 0 || len(r.directs.looking) > 0 || len(r.directs.open) > 0
}

// end tells the parent, once. The run goes on to answer what is on its way until the parent stops it.
func (r *run) end(ctx actor.Context) {
	if r.over {
		return
	}
	r.over = true
	r.stopIdle()
	r.stopLease()
	r.spec.Env.Fact(&schemas.RunClosed{
		At: time.Now().UnixNano(), Host: r.spec.Host, Run: r.spec.Token, Reason: r.closing.Reason,
	})
	ctx.Send(ctx.Parent(), &Closed{Token: r.spec.Token, Reason: r.closing.Reason})
}

// stopFailed supervises cells: a cell that fails stops and is never restarted, since its calls
// had effects.
type stopFailed struct{}

// HandleFailure stops the child.
func (stopFailed) HandleFailure(_ *actor.ActorSystem, s actor.Supervisor, child *actor.PID, _ *actor.RestartStatistics, _ any, _ any) {
	s.StopChildren(child)
}

// newScope mints the id under which a run's counters can be summed.
func newScope() string {
	var b [12]byte
	rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}
