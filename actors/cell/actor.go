package cell

import (
	"cmp"
	"log/slog"
	"runtime/debug"
	"slices"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/codecell/codecell/actors/slot"
	"github.com/codecell/codecell/schemas"
)

// New makes the properties of one cell actor; spawn it once. A second incarnation, as a supervisor
// that restarts would make, refuses to run the program again and stops.
func New(deps Deps, spec Spec) *actor.Props {
	var made atomic.Bool
	return actor.PropsFromProducer(func() actor.Actor {
		if made.Swap(true) {
			return actor.ReceiveFunc(refuseRestart)
		}
		return newShell(deps, spec)
	}, actor.WithDispatcher(inline))
}

// inline processes a cell's messages on the goroutine of whoever sends the first of them. No step of a cell blocks or
// takes longer than handing it to another goroutine would; a call would pass through four of those.
var inline = actor.NewSynchronizedDispatcher(throughput)

// throughput is the number of messages after which a busy cell lets other goroutines run.
const throughput = 100

func refuseRestart(ctx actor.Context) {
	if _, ok := ctx.Message().(*actor.Started); ok {
		ctx.Stop(ctx.Self())
	}
}

// shell is the actor: it turns messages into events and does the machine's effects.
type shell struct {
	deps    Deps
	spec    Spec
	log     func() *slog.Logger
	machine *Machine
	guest   *guest
	timers  timers
	alarms  int // timers set so far
	begun   time.Time

	// Set when the actor starts.
	root         *actor.RootContext
	self, parent *actor.PID

	observers []*Observer // everyone who may still want an answer, whatever becomes of the machine
	queue     []Event     // the event being fed, and those that its effects gave rise to
	dead      bool        // the last words are said; the machine isn't asked any more
}

// Messages of the shell to itself.
type (
	legDone  struct{ LegDone }
	parkDone struct{ Event }
	fired    struct{ Timer }
	// committed says how the commit of what the program stored ended.
	committed struct{ warning string }
)

func newShell(deps Deps, spec Spec) *shell {
	// With may mask what it is given, and hardly any cell ever logs.
	log := func() *slog.Logger { return cmp.Or(deps.Logger, slog.Default()).With("cell", spec.Address.Cell) }
	return &shell{
		deps: deps, spec: spec, log: log, guest: newGuest(deps, spec, log), timers: make(timers),
		machine: NewMachine(MachineSpec{
			Address: spec.Address, Title: spec.Title, Limits: spec.Limits, Start: spec.Start,
			RestartSafe: spec.RestartSafe, Required: spec.Required, Strict: spec.Strict, Live: spec.Live, Record: spec.Record,
			Tool: spec.Port.Tool, Telemetry: spec.Port.Telemetry, Awaits: spec.Port.Awaits, Keep: spec.Port.Keep,
			Unsaved: spec.Port.Unsaved, DryRun: spec.Port.DryRun,
		}),
	}
}

// Receive routes.
func (s *shell) Receive(ctx actor.Context) {
	switch m := ctx.Message().(type) {
	case *actor.Started:
		s.start(ctx)
	case *legDone:
		s.feed(m.LegDone)
	case *Answered:
		s.answered(m.Answer)
	case *fired:
		s.timerFired(m.Timer)
	case *slot.Granted:
		s.granted(m)
	case *slot.Refused:
		s.feed(SlotRefused{At: time.Now(), Ticket: m.Ticket})
	case *slot.Wanted:
		s.feed(WorkerWanted{At: time.Now()})
	case *parkDone:
		s.feed(m.Event)
	case *committed:
		s.feed(Committed{At: time.Now(), Warning: m.warning})
	case *Wait:
		s.feed(Observed{At: time.Now(), Start: m.Start, Observer: s.observe(m.CallID, m.Reply)})
	case *Cancel:
		s.cancel(m)
	case *Ask:
		ctx.Respond(s.status())
	case *actor.Stopping:
		s.lastWords("the cell was stopped")
	}
}

func (s *shell) start(ctx actor.Context) {
	s.root, s.self, s.parent = ctx.ActorSystem().Root, ctx.Self(), ctx.Parent()
	s.begun = time.Now()
	s.feed(Begin{At: s.begun, Observer: s.observe(s.spec.CallID, s.spec.Reply)})
}

// observe remembers someone who wants an answer.
func (s *shell) observe(callID string, r Reply) *Observer {
	o := &Observer{CallID: callID, Reply: r}
	s.observers = append(slices.DeleteFunc(s.observers, (*Observer).done), o)
	return o
}

func (o *Observer) done() bool { return o.answered }

// answer answers once.
func (o *Observer) answer(r *schemas.Result) {
	if o.answered {
		return
	}
	o.answered = true
	if o.Reply != nil {
		o.Reply(r)
	}
}

func (s *shell) cancel(m *Cancel) {
	done := func(*schemas.Result) {
		if m.Done != nil {
			m.Done()
		}
	}
	s.feed(Abort{At: time.Now(), Reason: m.Reason, Observer: s.observe("", done)})
}

func (s *shell) answered(a *schemas.Answer) {
	s.feed(Answer{At: time.Now(), ID: a.ID, State: a.State, Value: a.Value, Err: failure(a), Untrusted: a.Untrusted})
}

// failure is the error of an answer. A failed answer without one is still a failure.
func failure(a *schemas.Answer) *schemas.CallError {
	if a.State == schemas.AnswerFailed && a.Err == nil {
		return &schemas.CallError{Code: schemas.CallToolError, Message: "the tool failed and gave no reason",
			Location: "tool", Effect: schemas.Unknown}
	}
	if a.State == schemas.AnswerDone {
		return nil
	}
	return a.Err
}

func (s *shell) granted(m *slot.Granted) {
	if m.Kind == slot.Slot {
		s.feed(SlotGranted{At: time.Now(), Ticket: m.Ticket})
		return
	}
	s.feed(WorkerGranted{At: time.Now(), Ticket: m.Ticket})
}

// feed steps the machine and does what it says, including what comes of that at once. A panic is ours:
// the cell ends, and everyone is told.
func (s *shell) feed(e Event) {
	if s.dead {
		s.sayLast("the cell has ended")
		return
	}
	defer func() {
		if r := recover(); r != nil {
			s.log().Error("a cell panicked", "panic", r, "stack", string(debug.Stack()))
			s.lastWords("internal error")
			s.end(&Ended{Result: internalFailure("internal error")})
		}
	}()
	s.queue = append(s.queue, e)
	for i := 0; i < len(s.queue); i++ {
		for _, effect := range s.machine.Step(s.queue[i]) {
			s.do(effect)
		}
	}
	s.queue = s.queue[:0]
}

// lastWords releases everything and answers everyone who still waits.
func (s *shell) lastWords(why string) {
	if s.dead {
		return
	}
	s.dead = true
	s.timers.clearAll()
	s.guest.abandon()
	if s.machine.Ended() {
		s.sayLast(why)
		return
	}
	for _, id := range s.machine.Dispatched() {
		s.spec.Port.Cancel(id)
		if s.spec.Record {
			s.spec.Port.Settled(Settled{ID: id, Outcome: schemas.Unknown})
		}
	}
	for _, k := range [...]slot.Kind{slot.Slot, slot.Worker} {
		s.root.Send(s.deps.Ledger, &slot.Free{Holder: s.self, Kind: k})
	}
	s.sayLast(why)
}

func (s *shell) sayLast(why string) {
	for _, o := range s.observers {
		o.answer(internalFailure(why))
	}
	s.observers = nil
}

func internalFailure(why string) *schemas.Result {
	return &schemas.Result{Status: schemas.StatusFailed, Code: schemas.InternalError,
		Error: "code mode run failed: " + why + "; look at earlier results for what it has done"}
}

// end tells the parent; a cell without one stops by itself.
func (s *shell) end(m *Ended) {
	m.Cell, m.ID = s.self, s.spec.Address.Cell
	if s.parent == nil {
		s.root.Poison(s.self)
		return
	}
	s.root.Send(s.parent, m)
}

func (s *shell) status() *schemas.CellStatus {
	st := s.machine.Status()
	st.Address, st.Title, st.AgeMs = s.spec.Address, s.spec.Title, time.Since(s.begun).Milliseconds()
	return &st
}
