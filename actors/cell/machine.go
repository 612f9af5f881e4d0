package cell

import (
	"time"

	"github.com/codecell/codecell/schemas"
)

// phase is where a cell is.
type phase uint8

const (
	phaseNew        phase = iota
	phaseQueued           // no guest; a worker is asked for
	phaseRunning          // a leg runs
	phaseIdle             // the guest is live and waits for answers, or for the slot
	phaseParking          // the guest is being made a snapshot
	phaseParked           // there is a snapshot and no guest
	phaseStopping         // a leg or a park must end before the cell can
	phaseCommitting       // it has completed but for what it stored
	phaseEnded
)

// slotState is the cell's standing with the slot ledger.
type slotState uint8

const (
	slotNone slotState = iota
	slotAsked
	slotHeld
)

// Machine decides what a cell does. It is pure: it has no clock, no bus, no guest and no goroutine.
// The shell feeds it events, one at a time, and does the effects it returns, in order.
//
// It promises, for any order of events that the shell can produce:
//
//   - there is one leg or park at a time, and none without a worker;
//   - nothing reaches a tool or a timer before the slot is held (S1);
//   - a required cell answers nothing but its end (Q1), and so does a strict one, at the end of its budget at the latest (L1);
//   - the clock of a call stands exactly while a required cell is parked (Q2), and while a person decides and no leg or
//     park is under way (S6);
//   - every observer is answered once, every request settled at most once, in order of arrival;
//   - after the terminal state it only answers late observers, and it has released its slot, worker,
//     timers and calls.
type Machine struct {
	spec MachineSpec
	out  []Effect

	phase   phase
	slot    slotState
	ticket  uint64 // of the last ask
	started bool   // the program has begun: there is state worth keeping
	// required: the cell answers nothing but its end, by its exec's wish or since one of its calls made it so (Q1, Q4).
	required bool

	turn     int   // counts timers of the cell's own
	life     Timer // the one deadline or TTL that runs
	grace    Timer // runs while an idle guest is about to be parked unseen; zero otherwise
	clock    clock // of the call that is open
	effort   effort
	personal bool     // the clock stands for a person
	resumes  int      // waits admitted
	due      bool     // the deadline has passed, and the answer to it is on its way
	visible  bool     // the park in progress is for the observers, not for the ledger
	yielded  bool     // a yield was issued in the last leg
	rigid    *Failure // why the guest could not be made a snapshot; it hasn't run since

	observers []*Observer
	enders    []*Observer // of aborts, answered at the end
	waits     []WaitResult

	requests  requests
	inbox     inbox
	history   history
	output    Output
	main      *Main
	unhandled *Failure
	untrusted bool

	begun  time.Time
	memory int      // bytes of the guest, or of the snapshot
	ending *Failure // what a stopping cell ends with
	result *schemas.Result
}

// MachineSpec is what a machine must know of its cell.
type MachineSpec struct {
	Address     schemas.Address
	Title       string
	Limits      schemas.Limits
	Start       time.Time
	RestartSafe bool
	Required    bool
	Strict      bool
	Live        bool
	// Record has [Settle] emitted for each call.
	Record bool
	// Tool names a ref; it must be pure.
	Tool func(ref int) string
	// Telemetry is the run's part of a result's telemetry; nil for none.
	Telemetry func() schemas.Telemetry
	// The rest is the cell's [Port]; nil where there is nothing to ask.
	Awaits  func(ref int, args schemas.JSON) bool
	Keep    func(value schemas.JSON, tainted bool) (schemas.JSON, error)
	Unsaved func() bool
	DryRun  func() *schemas.DryRun
}

// NewMachine makes the machine of one cell. Its first event must be [Begin].
func NewMachine(spec MachineSpec) *Machine {
	l := spec.Limits
	return &Machine{
		spec:     spec,
		required: spec.Required && !spec.Strict,
		requests: requests{places: l.PendingCalls, queue: l.QueuedCalls},
		inbox:    inbox{limit: min(l.MemoryBytes, l.SnapshotBytes)},
		output:   Output{Max: l.OutputBytes},
	}
}

// Step takes one event and returns what must be done. The slice is valid until the next Step.
func (m *Machine) Step(e Event) []Effect {
	m.out = m.out[:0]
	if m.phase == phaseEnded {
		m.late(e)
		return m.out
	}
	m.handle(e)
	m.keepTime(e.when())
	return m.out
}

func (m *Machine) handle(e Event) {
	switch e := e.(type) {
	case Begin:
		m.begin(e)
	case WorkerGranted:
		m.workerGranted(e)
	case SlotGranted:
		m.slotGranted(e)
	case SlotRefused:
		m.slotRefused(e)
	case WorkerWanted:
		m.workerWanted(e)
	case LegDone:
		m.legDone(e)
	case Parked:
		m.parkDone(e)
	case ParkFailed:
		m.parkFailed(e)
	case Answer:
		m.answer(e)
	case TimerFired:
		m.timerFired(e)
	case Observed:
		m.observed(e)
	case Abort:
		m.abort(e)
	case Committed:
		m.committed(e)
	}
}

func (m *Machine) emit(e Effect) { m.out = append(m.out, e) }

func (m *Machine) begin(e Begin) {
	m.begun = e.At
	m.observers = append(m.observers, e.Observer)
	m.emit(Tell{&schemas.CellStarted{At: e.At.UnixNano(), Address: m.spec.Address, Title: m.spec.Title}})
	start := m.spec.Start
	if start.IsZero() {
		start = e.At
	}
	m.setDeadline(start)
	m.queueForWorker()
}

func (m *Machine) queueForWorker() {
	m.phase = phaseQueued
	m.ticket++
	m.emit(AskWorker{Ticket: m.ticket})
}

func (m *Machine) workerGranted(e WorkerGranted) {
	if m.phase != phaseQueued || e.Ticket != m.ticket {
		return // withdrawn in the meantime
	}
	m.runLeg(e.At)
}

// runLeg hands every answer to the guest, in order of arrival, and leaves their places.
func (m *Machine) runLeg(at time.Time) {
	m.endGrace()
	answers := m.inbox.take()
	for _, a := range answers {
		m.requests.remove(a.ID)
	}
	m.phase = phaseRunning
	m.keepTime(at)
	m.legBegins(at, answers)
	m.started, m.yielded, m.rigid = true, false, nil
	m.emit(m.leg(at, answers))
}

func (m *Machine) legDone(e LegDone) {
	for _, item := range e.Output {
		m.output.Add(item)
	}
	m.output.Drop(e.Dropped)
	m.untrusted = m.untrusted || e.Untrusted
	m.unhandled = e.Unhandled
	m.memory = e.Memory
	for _, q := range e.Unsent {
		m.history.miss(q.ID, q.Ref)
	}
	if m.phase == phaseStopping {
		if e.Failure == nil {
			m.dropGuest()
		} else {
			m.emit(FreeWorker{})
		}
		m.fail(e.At, *m.ending)
		return
	}
	m.phase = phaseIdle
	m.legEnds(e)
	room := m.requests.room()
	m.note(e)
	switch {
	case e.Failure != nil: // the guest is gone
		m.emit(FreeWorker{})
		m.phase = phaseNew
		m.fail(e.At, *e.Failure)
	case e.Overflow || len(e.Requests) > room:
		m.fail(e.At, m.overflow())
	case m.main != nil && m.main.Err != nil:
		m.fail(e.At, *m.main.Err)
	default:
		m.settle(e.At)
	}
}

// note takes over what the leg asked for.
func (m *Machine) note(e LegDone) {
	if e.Main != nil {
		m.main = e.Main
	}
	for _, q := range e.Requests {
		m.requests.add(q)
		m.yielded = m.yielded || q.Kind == YieldRequest
		if q.Kind == CallRequest {
			m.history.add(q.ID, q.Ref)
		}
		m.required = m.required || m.awaited(&q)
	}
	if m.staysOpen() {
		m.answerYields() // they can't hand the turn back (Q3)
	}
	for _, id := range e.Cancelled {
		m.clear(id)
	}
	for _, a := range e.Local {
		m.inbox.put(a)
	}
}

// clear forgets a timer that the program cleared, fired or not (G4).
func (m *Machine) clear(id string) {
	q := m.requests.find(id)
	if q == nil || q.Kind != TimerRequest {
		return
	}
	if q.state == sent {
		m.emit(ClearTimer{Timer{Kind: RequestTimer, Request: id}})
	}
	m.inbox.drop(id)
	m.requests.remove(id)
}

// refill sends queued requests into free places, oldest first.
func (m *Machine) refill(at time.Time) {
	for q := m.requests.next(); q != nil; q = m.requests.next() {
		q.sent = at
		if q.Kind == TimerRequest {
			m.emit(SetTimer{Timer: Timer{Kind: RequestTimer, Request: q.ID}, After: q.Delay})
			continue
		}
		m.dispatch(q, Call{ID: q.ID, Ref: q.Ref, Args: q.Args}, at)
		q.Args = nil
	}
}

// dispatch hands a call to the run.
func (m *Machine) dispatch(q *request, c Call, at time.Time) {
	m.history.set(q.ID, schemas.Started)
	if len(m.observers) > 0 {
		c.Budget = max(m.clock.remaining(at), time.Millisecond) // zero would say that there is none
	}
	m.emit(Dispatch{c})
}

// settle decides what comes after a leg, or after the slot was granted: the guest is live and idle.
//
// A yield, awaited or not, parks the cell at the end of its leg, after the leg's other requests were
// sent. All legs of a call share its one deadline, and a cell that reaches it with nothing unsettled has
// spent it computing, unless it has waited for most of it, however many requests were refused on the
// way (S9): that's a timeout, not a wait. For a required cell it always is one: what waits for tools is parked, and its
// clock stands. For a strict one too: it may not wait any longer.
func (m *Machine) settle(at time.Time) {
	unsettled, _ := m.requests.unsettled()
	if m.staysOpen() && m.due && unsettled+len(m.inbox.items) > 0 {
		m.fail(at, m.exhausted())
		return
	}
	if unsettled > 0 && m.slot != slotHeld {
		if m.slot == slotNone {
			m.slot = slotAsked
			m.ticket++
			m.emit(AskSlot{Ticket: m.ticket})
		}
		return
	}
	m.refill(at)
	switch {
	case m.yielded:
		m.park(at, true)
	case len(m.inbox.items) > 0 && m.due && unsettled == 0 && !m.hasWaited():
		m.fail(at, m.exhausted())
	case m.due && unsettled+len(m.inbox.items) > 0:
		m.park(at, true)
	case len(m.inbox.items) > 0:
		m.runLeg(at)
	case unsettled == 0:
		m.complete(at)
	default:
		m.idle()
	}
}
