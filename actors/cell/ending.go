package cell

import (
	"fmt"
	"time"

	"github.com/codecell/codecell/schemas"
)

// keptWaits bounds the results kept for repeated deliveries of a wait (W5).
const keptWaits = 4

// complete ends a cell for which nothing is pending any more (X11, X12, E3).
func (m *Machine) complete(at time.Time) {
	switch {
	case m.unhandled != nil:
		m.fail(at, *m.unhandled)
	case m.main == nil:
		m.fail(at, Failure{Code: schemas.InternalError, Text: "the program waits for a promise that nothing can settle: " +
			"it is pending without host work. Await something that ends by itself, such as a tool call, or resolve the promise yourself."})
	default:
		items, value := m.output.Completed(m.main.Value, m.keeper())
		m.commit(at, &schemas.Result{Status: schemas.StatusCompleted, Value: value, Output: items})
	}
}

// fail ends a cell at once: what is pending is cancelled, what is queued never starts.
func (m *Machine) fail(at time.Time, f Failure) {
	items, text := m.output.Failed(f.Text)
	r := &schemas.Result{Status: schemas.StatusFailed, Code: f.Code, Error: text, Output: items}
	r.Telemetry.Calls = m.history.outcomes(m.spec.Tool)
	m.finish(at, r)
}

// finish releases everything, gives the terminal result, and ends.
func (m *Machine) finish(at time.Time, r *schemas.Result) {
	m.releaseRequests(at)
	m.endLife()
	m.endGrace()
	if m.spec.Live && m.started && (m.phase == phaseQueued || m.phase == phaseParked) {
		m.emit(DropGuest{})
	}
	switch m.phase {
	case phaseIdle:
		m.dropGuest()
	case phaseQueued:
		m.emit(FreeWorker{})
	default: // no guest and no worker, or the leg that had them is over
	}
	if m.slot != slotNone {
		m.slot = slotNone
		m.emit(FreeSlot{})
	}
	m.phase = phaseEnded
	m.inbox.take()
	m.emit(Tell{&schemas.CellEnded{
		At: at.UnixNano(), Address: m.spec.Address, Status: r.Status, Code: r.Code,
		Calls: m.history.total, DurationUs: at.Sub(m.begun).Microseconds(),
	}})
	m.result = r
	m.respond(r)
	m.emit(Stop{Result: r, Waits: m.waits})
	// After the run knows, so that whoever has cancelled a cell finds none.
	if len(m.enders) > 0 {
		m.emit(Respond{To: m.enders, Result: r})
		m.enders = nil
	}
}

func (m *Machine) dropGuest() {
	m.emit(DropGuest{})
	m.emit(FreeWorker{})
	m.phase = phaseNew
}

// releaseRequests cancels calls and timers that nobody waits for any more.
func (m *Machine) releaseRequests(at time.Time) {
	for _, q := range m.requests.all {
		switch {
		case q.Kind == YieldRequest || !q.state.out():
		case q.Kind == TimerRequest:
			m.emit(ClearTimer{Timer{Kind: RequestTimer, Request: q.ID}})
		default:
			outcome := schemas.Unknown
			if q.state == kept {
				outcome = schemas.NotStarted
			}
			m.emit(CancelCall{ID: q.ID})
			m.emit(Tell{&schemas.CallEnded{
				At: at.UnixNano(), Address: m.spec.Address, Call: q.ID, Outcome: outcome,
				DurationUs: at.Sub(q.sent).Microseconds(),
			}})
			if m.spec.Record {
				m.emit(Settle{Settled{ID: q.ID, Outcome: outcome, Duration: at.Sub(q.sent)}})
			}
		}
	}
	m.requests.all, m.requests.taken, m.requests.awaiting = nil, 0, 0
}

// respond answers all observers with one result and remembers it for a repeated wait.
func (m *Machine) respond(r *schemas.Result) {
	r.Untrusted = m.untrusted
	if m.spec.DryRun != nil {
		r.DryRun = m.spec.DryRun()
	}
	r.ReplaySafe = m.spec.RestartSafe
	m.addTelemetry(r)
	if len(m.observers) == 0 {
		return
	}
	m.emit(Respond{To: m.observers, Result: r})
	if id := m.observers[0].CallID; m.resumes > 0 && id != "" {
		if len(m.waits) == keptWaits {
			m.waits = append(m.waits[:0:0], m.waits[1:]...)
		}
		m.waits = append(m.waits, WaitResult{CallID: id, Result: r})
	}
	m.observers = nil
}

// abort ends a cell from outside; the answers come when the guest has stopped (S8).
func (m *Machine) abort(e Abort) {
	if e.Observer != nil {
		m.enders = append(m.enders, e.Observer)
	}
	if m.phase >= phaseStopping {
		return // it is ending anyway
	}
	reason := e.Reason
	if reason == "" {
		reason = "cancelled"
	}
	f := Failure{Code: schemas.Aborted, Text: "code mode run aborted: " + reason}
	switch m.phase {
	case phaseRunning:
		m.emit(StopLeg{})
	case phaseParking:
	default:
		m.fail(e.At, f)
		return
	}
	m.phase, m.ending = phaseStopping, &f
	m.releaseRequests(e.At)
}

// exhausted says how a budget ended that nothing can be pending after.
func (m *Machine) exhausted() Failure {
	how := " without anything pending"
	unsettled, _ := m.requests.unsettled()
	switch {
	case m.spec.Strict && unsettled > 0:
		how = fmt.Sprintf(", and %d of its calls were still pending. They were cancelled, and may have acted: look at what they "+
			"have done before you call them again", unsettled)
	case m.spec.Strict:
	case m.rigid != nil:
		return *m.rigid
	case m.required:
		how = ", beside the time that it was parked for its tools"
	}
	return Failure{Code: schemas.Timeout, Text: "code mode timeout exceeded: the program used up its budget of " + m.budget() + how}
}

// expired says why a parked cell was given up (S4).
func (m *Machine) expired() Failure {
	why := "nobody waited for it in time"
	switch {
	case len(m.observers) > 0 && m.requests.awaiting > 0:
		why = "no decision about its calls came within " + longestApproval.String()
	case m.required:
		why = "none of its pending calls and timers answered within " + m.spec.Limits.SnapshotTTL.String()
	}
	return Failure{Code: schemas.Aborted, Text: "code mode run expired: " + why}
}

func (m *Machine) overflow() Failure {
	return Failure{Code: schemas.InvalidInput, Text: fmt.Sprintf("too many requests at once: at most %d calls and timers are in flight "+
		"and %d may queue. None of this step's requests was sent. Await smaller batches before creating more.",
		m.requests.places, m.requests.queue)}
}

// addTelemetry adds the run's part (E4); a result's own part is its calls.
func (m *Machine) addTelemetry(r *schemas.Result) {
	if m.spec.Telemetry == nil {
		return
	}
	calls := r.Telemetry.Calls
	r.Telemetry = m.spec.Telemetry()
	r.Telemetry.Calls = calls
}

// late answers who comes after the end.
func (m *Machine) late(e Event) {
	switch e := e.(type) {
	case Observed:
		m.observed(e)
	case Abort:
		if e.Observer != nil {
			m.emit(Respond{To: []*Observer{e.Observer}, Result: m.result})
		}
	}
}
