package cell

import (
	"fmt"
	"slices"
	"strconv"
	"testing"
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
	rested              time.Duration // of a required cell: time off its worker
	timers              map[Timer]bool
	fired               []Timer
	calls               map[string]bool // dispatched and neither settled nor cancelled
	settled             map[string]int  // times that the guest was given an answer
	arrivals            []string        // ids in order of arrival, not handed over yet
	observers           map[*Observer]int
	waiting             map[*Observer]bool
	given               map[*schemas.Result]bool
	ended               bool
	nextID              int
	guestTimers         []string
	open                map[string]RequestKind // issued, not settled in the guest
	mainSettled         bool
}

func newWorld(t *rapid.T) *world {
	l := schemas.DefaultLimits()
	l.PendingCalls = rapid.IntRange(1, 4).Draw(t, "places")
	l.QueuedCalls = rapid.IntRange(1, 6).Draw(t, "queue")
	l.MemoryBytes, l.SnapshotBytes = 1<<20, 100
	w := &world{t: t, now: time.Unix(1000, 0), timers: map[Timer]bool{}, calls: map[string]bool{}, settled: map[string]int{},
		observers: map[*Observer]int{}, given: map[*schemas.Result]bool{}, waiting: map[*Observer]bool{}, open: map[string]RequestKind{}}
	w.m = NewMachine(MachineSpec{Limits: l, Start: w.now, Tool: func(int) string { return "tool" },
		Address: schemas.Address{Cell: "c"}, Required: rapid.Bool().Draw(t, "required"), Live: rapid.Bool().Draw(t, "live")})
	w.step(Begin{At: w.now, Observer: w.observer("exec")})
	return w
}

func (w *world) observer(id string) *Observer {
	o := &Observer{CallID: id}
	w.observers[o] = 0
	w.waiting[o] = true
	return o
}

func (w *world) step(e Event) {
	for _, effect := range slices.Clone(w.m.Step(e)) {
		w.check(effect)
	}
	w.must(w.ended || w.leg || w.park || w.askedWorker || w.askedSlot || w.running(DeadlineTimer, TTLTimer) > 0, "nothing will ever wake this cell")
	w.must(w.running(DeadlineTimer, TTLTimer) <= 1, "timers: %v", w.timers)
	if w.m.spec.Required && !w.ended {
		w.must(w.resting() == (w.running(TTLTimer) > 0), "the clock must stand exactly while the cell is off its worker (Q2)")
		w.must(w.running(GraceTimer) == 0 || w.worker && w.live && !w.leg && !w.park, "grace for a guest that isn't idle")
	}
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
		}
		w.must(e.Result != nil, "an empty answer")
		if again := w.given[e.Result]; e.Result.Status == schemas.StatusWaiting && !again { // W5: a repeated wait may come at any time
			w.must(!w.m.spec.Required, "a required cell gave a handle (Q1)")
			w.must(w.slot && !w.worker && !w.askedWorker, "waiting with a worker, or without a slot")
		}
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
		w.must(!w.calls[e.Call.ID] && w.open[e.Call.ID] == CallRequest, "dispatched twice")
		w.calls[e.Call.ID] = true
		w.inFlight()
	case CancelCall:
		w.must(w.calls[e.ID], "cancelled a call that isn't in flight")
		delete(w.calls, e.ID)
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
	if w.m.spec.Required {
		w.must(e.Deadline.Equal(w.m.spec.Start.Add(w.m.spec.Limits.Timeout+w.rested)), "a budget that isn't the first one (Q2): off by %v",
			e.Deadline.Sub(w.m.spec.Start)-w.m.spec.Limits.Timeout-w.rested)
	}
	w.leg, w.live, w.frozen, w.program, w.stopped = true, true, false, true, false
	for _, a := range e.Answers {
		w.settled[a.ID]++
		w.must(w.settled[a.ID] == 1, "request %s was settled twice", a.ID)
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
	w.must(len(w.timers) == 0, "ended with timers: %v", w.timers)
}

// moves are the events that can happen now.
func (w *world) moves() map[string]func() {
	moves := map[string]func(){
		"wait": func() {
			id := rapid.SampledFrom([]string{"", "w1", "w2", "w3"}).Draw(w.t, "call id")
			w.step(Observed{At: w.now, Start: w.now, Observer: w.observer(id)})
		},
		"strange answer": func() { w.step(Answer{At: w.now, ID: "9999", State: schemas.AnswerDone}) },
		"late timer": func() {
			if len(w.fired) > 0 {
				w.step(TimerFired{At: w.now, Timer: rapid.SampledFrom(w.fired).Draw(w.t, "fired")})
			}
		},
	}
	if w.worker {
		moves["worker wanted"] = func() { w.step(WorkerWanted{At: w.now}) }
		moves["worker wanted again"] = moves["worker wanted"]
	}
	if w.askedWorker {
		moves["worker granted"] = func() {
			w.askedWorker, w.worker = false, true
			w.step(WorkerGranted{At: w.now, Ticket: w.ticket})
		}
		moves["stale worker"] = func() { w.step(WorkerGranted{At: w.now, Ticket: w.ticket - 1}) }
	}
	if w.askedSlot {
		moves["slot answer"] = w.answerSlot
	}
	if w.leg {
		moves["leg done"] = w.endLeg
	}
	if w.park {
		moves["park done"] = w.endPark
	}
	if len(w.calls) > 0 {
		moves["answer"] = w.answerCall
	}
	if len(w.timers) > 0 {
		moves["timer"] = w.fireTimer
	}
	return moves
}

// seldom is true in about one of n cases.
func (w *world) seldom(n int, what string) bool { return rapid.IntRange(1, n).Draw(w.t, what) == n }

func (w *world) answerSlot() {
	w.askedSlot = false
	if w.seldom(10, "slot refused") {
		w.step(SlotRefused{At: w.now})
		return
	}
	w.slot = true
	w.step(SlotGranted{At: w.now})
}

func (w *world) endPark() {
	w.park = false
	if !w.seldom(5, "park failed") {
		w.live, w.frozen = false, true
		w.step(Parked{At: w.now, Bytes: 7})
		return
	}
	f := Failure{Code: schemas.SnapshotLimitExceeded}
	if w.seldom(4, "harmful") {
		f.Code, w.live = schemas.InternalError, false
	}
	w.step(ParkFailed{At: w.now, Failure: f})
}

func sorted[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

func (w *world) answerCall() {
	id := rapid.SampledFrom(sorted(w.calls)).Draw(w.t, "call")
	a := Answer{At: w.now, ID: id, State: schemas.AnswerDone, Value: schemas.JSON(strconv.Quote(fmt.Sprint("of ", id)))}
	switch rapid.IntRange(0, 3).Draw(w.t, "answer") {
	case 0:
		a = Answer{At: w.now, ID: id, State: schemas.AnswerAccepted}
		w.step(a)
		return
	case 1:
		a.State, a.Value, a.Err = schemas.AnswerFailed, nil, &schemas.CallError{Code: schemas.CallToolError, Message: "no"}
	case 2:
		a.Value = schemas.JSON(make([]byte, 60))
	}
	delete(w.calls, id)
	if w.m.phase < phaseStopping {
		w.arrivals = append(w.arrivals, id)
	}
	w.step(a)
	w.step(a) // a second delivery changes nothing
}

func (w *world) fireTimer() {
	names := map[string]Timer{}
	for t := range w.timers {
		names[fmt.Sprint(t)] = t
	}
	t := names[rapid.SampledFrom(sorted(names)).Draw(w.t, "timer")]
	delete(w.timers, t)
	w.fired = append(w.fired, t)
	if t.Kind == RequestTimer && w.m.phase < phaseStopping {
		w.arrivals = append(w.arrivals, t.Request)
	}
	w.step(TimerFired{At: w.now, Timer: t})
}

func (w *world) endLeg() {
	w.leg = false
	e := LegDone{At: w.now}
	if w.stopped && !w.seldom(3, "it ended by itself") || w.seldom(60, "trouble") {
		w.live = false
		e.Failure = &Failure{Code: schemas.Aborted, Text: "stopped"}
		w.step(e)
		return
	}
	e.Overflow = w.seldom(60, "overflow")
	for range rapid.IntRange(0, min(4, w.m.requests.room()+1)).Draw(w.t, "requests") {
		w.nextID++
		id := strconv.Itoa(w.nextID)
		kind := RequestKind(rapid.IntRange(0, 2).Draw(w.t, "kind"))
		e.Requests = append(e.Requests, Request{ID: id, Kind: kind, Delay: time.Second})
		w.open[id] = kind
		if kind == TimerRequest {
			w.guestTimers = append(w.guestTimers, id)
		}
	}
	if len(w.guestTimers) > 0 && rapid.Bool().Draw(w.t, "clear") {
		id := rapid.SampledFrom(w.guestTimers).Draw(w.t, "cleared")
		e.Cancelled = []string{id}
		w.arrivals = slices.DeleteFunc(w.arrivals, func(a string) bool { return a == id })
		delete(w.open, id)
	}
	if w.seldom(5, "local") {
		w.nextID++
		e.Local = []Settlement{{ID: strconv.Itoa(w.nextID)}}
	}
	if !w.mainSettled && w.seldom(4, "main") {
		w.mainSettled = true
		e.Main = &Main{Value: schemas.JSON("1")}
		if w.seldom(6, "throws") {
			e.Main = &Main{Err: &Failure{Code: schemas.InternalError, Text: "thrown"}}
		}
	}
	w.step(e)
}

func (w *world) move() {
	moves := w.moves()
	pass := time.Duration(rapid.IntRange(1, 20).Draw(w.t, "ms")) * time.Millisecond
	w.now = w.now.Add(pass)
	if w.resting() {
		w.rested += pass
	}
	moves[rapid.SampledFrom(sorted(moves)).Draw(w.t, "move")]()
}

// finish ends the cell from wherever it is.
func (w *world) finish() {
	by := w.observer("cancel")
	w.step(Abort{At: w.now, Observer: by})
	if w.seldom(3, "cancelled twice") {
		w.step(Abort{At: w.now, Observer: w.observer("cancel")})
	}
	if w.leg || w.park {
		w.must(w.waiting[by], "a cancel was answered before the guest had stopped (S8)")
	}
	switch {
	case w.leg:
		w.endLeg()
	case w.park:
		w.endPark()
	}
	w.must(w.ended, "an aborted cell hasn't ended")
	w.must(len(w.waiting) == 0, "%d observers were never answered", len(w.waiting))
}

// TestSpec_S1_S8_Q1_Q2_S10_MachineKeepsItsPromises feeds random orders of everything that can happen, to
// cells of all kinds.
func TestSpec_S1_S8_Q1_Q2_S10_MachineKeepsItsPromises(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		for range rapid.IntRange(0, 120).Draw(t, "steps") {
			if w.ended && len(w.observers) > 5 {
				break
			}
			w.move()
		}
		w.finish()
	})
}
