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

// moves are the events that can happen now.
func (w *world) moves() map[string]func() {
	moves := map[string]func(){
		"wait": func() {
			id := rapid.SampledFrom([]string{"", "w1", "w2", "w3"}).Draw(w.t, "call id")
			o := w.observer(id)
			w.call(o)
			w.step(Observed{At: w.now, Start: w.now, Observer: o})
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
	if w.committing {
		moves["committed"] = w.endCommit
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

func (w *world) endCommit() {
	w.committing, w.committed = false, true
	e := Committed{At: w.now}
	if w.seldom(3, "not kept") {
		e.Warning = "not kept"
	}
	w.step(e)
	w.must(w.m.result.Status == schemas.StatusCompleted && len(w.m.result.Warnings) == len(e.Warning)/len("not kept"), "after a commit: %+v", w.m.result)
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
	if w.kept[id] {
		w.step(Answer{At: w.now, ID: id, State: ItsTurn})
		w.must(!w.kept[id] || w.m.phase >= phaseStopping, "a call whose turn has come was not dispatched")
		w.step(Answer{At: w.now, ID: id, State: ItsTurn}) // a second time changes nothing
		return
	}
	switch rapid.IntRange(0, 6).Draw(w.t, "answer") {
	case 6:
		if q := w.m.requests.find(id); q != nil && q.state == sent {
			w.kept[id] = true
			w.step(Answer{At: w.now, ID: id, State: keptBack})
		}
		return
	case 0:
		delete(w.persons, id)
		w.step(Answer{At: w.now, ID: id, State: schemas.AnswerAccepted})
		return
	case 4, 5:
		w.persons[id] = true
		w.step(Answer{At: w.now, ID: id, State: schemas.AnswerAwaiting})
		return
	case 1:
		a.State, a.Value, a.Err = schemas.AnswerFailed, nil, &schemas.CallError{Code: schemas.CallToolError, Message: "no"}
	case 2:
		a.Value = schemas.JSON(make([]byte, 60))
	}
	delete(w.calls, id)
	delete(w.persons, id)
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
	w.overdue = w.overdue || t.Kind == DeadlineTimer
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
		q := Request{ID: id, Kind: kind, Delay: time.Second}
		if w.seldom(10, "awaits") {
			q.Ref = awaitable
			w.required = w.required || kind == CallRequest && !w.stopping && !w.strict
		}
		e.Requests = append(e.Requests, q)
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
	if w.seldom(15, "a long moment") {
		pass = 300 * time.Millisecond
	}
	if w.stands() {
		w.stood += pass
	}
	w.now = w.now.Add(pass)
	moves[rapid.SampledFrom(sorted(moves)).Draw(w.t, "move")]()
}

// finish ends the cell from wherever it is.
func (w *world) finish() {
	by := w.observer("cancel")
	w.stopping = w.leg || w.park
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
	case w.committing:
		w.must(w.waiting[by], "a cancel was answered before what was stored is kept")
		w.endCommit()
	}
	w.must(w.ended, "an aborted cell hasn't ended")
	w.must(len(w.waiting) == 0, "%d observers were never answered", len(w.waiting))
}

// TestSpec_S1_S6_S8_Q1_Q2_Q4_S10_T2_L1_MachineKeepsItsPromises feeds random orders of everything that can happen, to
// cells of all kinds.
func TestSpec_S1_S6_S8_Q1_Q2_Q4_S10_T2_L1_MachineKeepsItsPromises(t *testing.T) {
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
