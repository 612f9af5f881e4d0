package cell

import (
	"slices"
	"time"

	"pgregory.net/rapid"

	"github.com/codecell/codecell/schemas"
)

// world is the other side of a machine in a property test: it knows what the machine holds, and
// checks that each effect is allowed.
type world struct {
	t       *rapid.T
	m       *Machine
	now     time.Time
	program bool // some program text has run

	askedSlot, slot     bool
	askedWorker, worker bool
	ticket              uint64
	leg, park, stopped  bool
	live, frozen        bool
	timers              map[Timer]bool
	fired               []Timer
	calls               map[string]bool // dispatched and neither settled nor cancelled
	settled             map[string]int  // times that the guest was given an answer
	arrivals            []string        // ids in order of arrival, not handed over yet
	observers           map[*Observer]int
	waiting             map[*Observer]bool
	given               map[*schemas.Result]bool
	ended               bool

	required bool // by its exec, or since a call made it so
	strict   bool
	// The clock of the open call, as the world keeps it.
	callers   map[*Observer]bool // exec or waits that it will answer
	callBegan time.Time
	stood     time.Duration   // for how long it stood in this call
	overdue   bool            // its deadline was told to the machine
	persons   map[string]bool // calls that a person decides about
	stopping  bool
	kept      map[string]bool // calls that the run keeps back (P4)

	recorded            map[string]bool // dispatched calls, and whether their end was told
	unsaved, committing bool            // the program stored something; it is being kept
	committed           bool

	nextID      int
	guestTimers []string
	open        map[string]RequestKind // issued, not settled in the guest
	mainSettled bool
}

func newWorld(t *rapid.T) *world {
	l := schemas.DefaultLimits()
	l.PendingCalls = rapid.IntRange(1, 4).Draw(t, "places")
	l.QueuedCalls = rapid.IntRange(1, 6).Draw(t, "queue")
	l.MemoryBytes, l.SnapshotBytes = 1<<20, 100
	if rapid.Bool().Draw(t, "short") {
		l.Timeout = 300 * time.Millisecond
	}
	w := &world{t: t, now: time.Unix(1000, 0), timers: map[Timer]bool{}, calls: map[string]bool{}, settled: map[string]int{},
		observers: map[*Observer]int{}, given: map[*schemas.Result]bool{}, waiting: map[*Observer]bool{}, open: map[string]RequestKind{},
		callers: map[*Observer]bool{}, persons: map[string]bool{}, kept: map[string]bool{}, recorded: map[string]bool{}}
	w.required, w.unsaved = rapid.Bool().Draw(t, "required"), rapid.Bool().Draw(t, "unsaved")
	w.strict = w.seldom(3, "strict")
	wanted := w.required
	w.required = w.required && !w.strict
	w.m = NewMachine(MachineSpec{Limits: l, Start: w.now, Tool: func(int) string { return "tool" },
		Address: schemas.Address{Cell: "c"}, Required: wanted, Strict: w.strict, Live: rapid.Bool().Draw(t, "live"),
		Record: rapid.Bool().Draw(t, "record"), Awaits: func(ref int, _ schemas.JSON) bool { return ref == awaitable },
		Unsaved: func() bool { return w.unsaved }})
	o := w.observer("exec")
	w.call(o)
	w.step(Begin{At: w.now, Observer: o})
	return w
}

func (w *world) observer(id string) *Observer {
	o := &Observer{CallID: id}
	w.observers[o] = 0
	w.waiting[o] = true
	return o
}

// awaitable is the ref of a tool whose calls make a cell required (Q4).
const awaitable = 1

// call opens a call, unless one is open; the machine may refuse it.
func (w *world) call(o *Observer) {
	if len(w.callers) == 0 {
		w.callBegan, w.stood, w.overdue = w.now, 0, false
	}
	w.callers[o] = true
}

// remaining is what the open call has left.
func (w *world) remaining() time.Duration {
	return w.callBegan.Add(w.m.spec.Limits.Timeout + w.stood).Sub(w.now)
}

// stands tells whether the clock of the open call must stand (S6, Q2).
func (w *world) stands() bool {
	if len(w.callers) == 0 || w.ended || w.stopping || w.committing || w.overdue || w.leg || w.park || !w.program || w.remaining() <= 0 {
		return false
	}
	return len(w.persons) > 0 || w.required && !w.worker && !w.askedWorker
}

func (w *world) step(e Event) {
	for _, effect := range slices.Clone(w.m.Step(e)) {
		w.check(effect)
	}
	w.must(w.ended || w.leg || w.park || w.committing || w.askedWorker || w.askedSlot || w.running(DeadlineTimer, TTLTimer) > 0, "nothing will ever wake this cell")
	w.must(w.running(DeadlineTimer, TTLTimer) <= 1, "timers: %v", w.timers)
	if w.ended || w.stopping || w.committing {
		return
	}
	if len(w.callers) > 0 && !w.overdue {
		w.must(w.stands() == (w.running(DeadlineTimer) == 0), "S6, Q2: the clock stands: %v, must: %v", w.running(DeadlineTimer) == 0, w.stands())
	}
	w.must(!w.strict || !w.overdue || w.leg || w.park || w.askedSlot, "a strict cell goes on after its limit (L1)")
	w.must(w.running(GraceTimer) == 0 || w.worker && w.live && !w.leg && !w.park && (w.required || len(w.persons) > 0), "grace for a guest that isn't idle")
}

func (w *world) must(ok bool, format string, args ...any) {
	if !ok {
		w.t.Fatalf(format, args...)
	}
}

func (w *world) check(effect Effect) {
	switch e := effect.(type) {
	case Respond:
		for _, o := range e.To {
			w.observers[o]++
			w.must(w.observers[o] == 1, "an observer was answered twice")
			delete(w.waiting, o)
			delete(w.callers, o)
		}
		w.must(e.Result != nil, "an empty answer")
		if again := w.given[e.Result]; e.Result.Status == schemas.StatusWaiting && !again { // W5: a repeated wait may come at any time
			w.must(!w.required && !w.strict, "a required or strict cell gave a handle (Q1, L1)")
			w.must(w.slot && !w.worker && !w.askedWorker, "waiting with a worker, or without a slot")
		}
		w.must(e.Result.Status != schemas.StatusCompleted || !w.unsaved || w.committed, "completed before what it stored was kept (T2)")
		w.given[e.Result] = true
		return
	case Stop:
		w.must(!w.ended, "stopped twice")
		w.ended = true
		w.holdsNothing()
		return
	}
	w.must(!w.ended, "%T after the terminal state", effect)
	switch e := effect.(type) {
	case AskSlot:
		w.must(!w.askedSlot && !w.slot, "asked for a second slot")
		w.askedSlot = true
	case FreeSlot:
		w.must(w.askedSlot || w.slot, "freed a slot that it has not")
		w.askedSlot, w.slot = false, false
	case AskWorker:
		w.must(!w.askedWorker && !w.worker, "asked for a second worker")
		w.askedWorker, w.ticket = true, e.Ticket
	case FreeWorker:
		w.must(w.askedWorker || w.worker, "freed a worker that it has not")
		w.must(!w.leg && !w.park && (!w.live || w.m.spec.Live), "gave its worker up with a live guest")
		w.askedWorker, w.worker = false, false
	case IdleWorker, BusyWorker:
		w.must(w.worker, "%T without a worker", e)
	case RunLeg:
		w.runLeg(e)
	case StopLeg:
		w.must(w.leg, "stopped a leg that doesn't run")
		w.stopped = true
	case Park:
		w.must(w.live && !w.leg && !w.park, "parked what isn't idle")
		w.must(w.slot, "parked without a slot")
		w.must(!w.m.spec.Live, "a snapshot of a cell that parks live (S10)")
		w.park = true
	case DropGuest:
		w.must(w.live && !w.leg && !w.park, "dropped a guest that isn't idle")
		w.live = false
	case Dispatch:
		w.must(w.slot, "dispatched without a slot")
		if e.Call.Turn {
			w.must(w.kept[e.Call.ID] && w.calls[e.Call.ID] && len(e.Call.Args) == 0, "dispatched again without being asked to")
			delete(w.kept, e.Call.ID)
			return
		}
		w.must(!w.calls[e.Call.ID] && w.open[e.Call.ID] == CallRequest, "dispatched twice")
		w.must(w.overdue || e.Call.Budget == max(w.remaining(), time.Millisecond), "a budget of %v, with %v left", e.Call.Budget, w.remaining())
		w.calls[e.Call.ID], w.recorded[e.Call.ID] = true, false
		w.inFlight()
	case CancelCall:
		w.must(w.calls[e.ID], "cancelled a call that isn't in flight")
		delete(w.calls, e.ID)
		delete(w.persons, e.ID)
	case Settle:
		told, sent := w.recorded[e.Settled.ID]
		w.must(w.m.spec.Record && sent && !told, "told of the end of %s: sent %v, told before %v", e.Settled.ID, sent, told)
		w.recorded[e.Settled.ID] = true
		w.must(!w.kept[e.Settled.ID] || e.Settled.Outcome == schemas.NotStarted, "a call that was kept back ended as %s", e.Settled.Outcome)
	case Commit:
		w.must(w.unsaved && !w.committing && !w.leg && !w.park && !w.worker, "a commit of nothing, or beside something else")
		w.committing = true
	case SetTimer:
		w.must(!w.timers[e.Timer], "set a timer twice")
		w.timers[e.Timer] = true
		if e.Timer.Kind == RequestTimer {
			w.must(w.slot, "set a timer without a slot")
			w.inFlight()
		}
	case ClearTimer:
		delete(w.timers, e.Timer)
	}
}

// inFlight checks S7's first bound.
func (w *world) inFlight() {
	n := len(w.calls)
	for t := range w.timers {
		if t.Kind == RequestTimer {
			n++
		}
	}
	w.must(n <= w.m.spec.Limits.PendingCalls, "%d requests in flight", n)
}

func (w *world) runLeg(e RunLeg) {
	w.must(w.worker && !w.leg && !w.park, "a leg without a worker, or beside another")
	w.must(w.live || w.frozen || !w.program, "a leg without a guest")
	left := w.remaining()
	w.must(e.Deadline.Sub(w.now) == left || !w.required && !w.strict && left <= lastLeg && e.Deadline.Sub(w.now) == lastLeg,
		"S5, S6, Q2: a leg with %v, of a call that has %v left", e.Deadline.Sub(w.now), left)
	w.must(!w.strict || !w.overdue && !e.Light, "a strict cell's leg after its limit (L1)")
	w.leg, w.live, w.frozen, w.program, w.stopped = true, true, false, true, false
	for _, a := range e.Answers {
		w.settled[a.ID]++
		w.must(w.settled[a.ID] == 1, "request %s was settled twice", a.ID)
		told, sent := w.recorded[a.ID]
		w.must(!w.m.spec.Record || !sent || told, "%s reached the program before its end was told (P6)", a.ID)
		delete(w.open, a.ID)
		if i := slices.Index(w.arrivals, a.ID); i >= 0 {
			w.must(i == 0, "%s was settled before %s, which arrived first", a.ID, w.arrivals[0])
			w.arrivals = w.arrivals[1:]
		}
	}
}

func (w *world) holdsNothing() {
	w.must(!w.askedSlot && !w.slot, "ended with a slot")
	w.must(!w.askedWorker && !w.worker, "ended with a worker")
	w.must(!w.leg && !w.park && !w.live, "ended with a guest")
	w.must(len(w.calls) == 0, "ended with calls in flight")
	for id, told := range w.recorded {
		w.must(told == w.m.spec.Record, "the end of %s was told: %v", id, told)
	}
	w.must(len(w.timers) == 0, "ended with timers: %v", w.timers)
}
