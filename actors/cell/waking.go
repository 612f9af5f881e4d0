package cell

import (
	"time"

	"github.com/codecell/codecell/schemas"
)

// answer takes news of a call. Only its first settlement counts.
func (m *Machine) answer(e Answer) {
	q := m.requests.find(e.ID)
	if q == nil || q.Kind != CallRequest || q.state == queued || q.state == answered || m.phase >= phaseStopping {
		return
	}
	switch e.State {
	case schemas.AnswerAwaiting:
		m.requests.turn(q, awaiting)
		m.setGrace()
		return
	case schemas.AnswerAccepted:
		m.requests.turn(q, started)
		m.decided()
		return
	case keptBack:
		m.requests.turn(q, kept)
		m.history.set(q.ID, schemas.NotStarted)
		return
	case ItsTurn:
		if q.state == kept {
			m.requests.turn(q, sent)
			q.sent = e.At
			m.dispatch(q, Call{ID: q.ID, Ref: q.Ref, Turn: true}, e.At)
		}
		return
	default: // it settles the call
	}
	m.requests.turn(q, answered)
	m.decided()
	m.untrusted = m.untrusted || e.Untrusted
	took := e.At.Sub(q.sent)
	outcome, code := schemas.Done, schemas.CallCode("")
	if e.Err != nil {
		outcome, code = schemas.Failed, e.Err.Code
		if e.Err.Effect != "" {
			outcome = e.Err.Effect
		}
	}
	m.history.set(q.ID, outcome)
	m.emit(Tell{&schemas.CallEnded{
		At: e.At.UnixNano(), Address: m.spec.Address, Call: q.ID, Outcome: outcome, Code: code,
		DurationUs: took.Microseconds(),
	}})
	if m.spec.Record {
		m.emit(Settle{Settled{ID: q.ID, Outcome: outcome, Value: e.Value, Err: e.Err, Untrusted: e.Untrusted, Duration: took}})
	}
	m.inbox.put(Settlement{ID: q.ID, Value: e.Value, Err: e.Err, worked: worked(e.Err, took)})
	m.wake(e.At)
}

// decided lets an idle guest stay once no person is waited for any more.
func (m *Machine) decided() {
	if m.requests.awaiting == 0 && !m.required {
		m.endGrace()
	}
}

// wake goes on with a cell that has something in its inbox, if someone waits for it.
func (m *Machine) wake(at time.Time) {
	switch {
	case m.phase == phaseIdle && m.slot == slotHeld:
		m.runLeg(at)
	case m.phase == phaseParked && len(m.observers) > 0:
		m.queueForWorker()
	}
	// A running leg is followed by another, a queued cell is on its way, and a parked one waits for a wait.
}

func (m *Machine) timerFired(e TimerFired) {
	if m.phase >= phaseStopping {
		return
	}
	switch e.Timer.Kind {
	case RequestTimer:
		q := m.requests.find(e.Timer.Request)
		if q == nil || q.Kind != TimerRequest || q.state != sent {
			return // cleared in the meantime
		}
		q.state = answered
		m.inbox.put(Settlement{ID: q.ID, Value: schemas.JSON("null"), worked: true})
		m.wake(e.At)
	case DeadlineTimer:
		if e.Timer == m.life && !m.due {
			m.deadlineDue(e.At)
		}
	case TTLTimer:
		if e.Timer == m.life {
			m.fail(e.At, m.expired())
		}
	case GraceTimer:
		if e.Timer == m.grace {
			m.park(e.At, false)
		}
	}
}

// deadlineDue ends the budget of the current call (S5).
func (m *Machine) deadlineDue(at time.Time) {
	switch m.phase {
	case phaseQueued:
		m.emit(FreeWorker{})
		if !m.started {
			m.phase = phaseNew
			m.fail(at, Failure{Code: schemas.Timeout, Text: "no guest was free within the budget of " + m.budget() +
				"; the program was not started. Try again later."})
			return
		}
		m.phase = phaseParked
		m.overdue(at)
	case phaseParked:
		m.overdue(at)
	case phaseIdle:
		switch {
		case m.slot != slotHeld:
			m.due = true // the ledger's answer is on its way
		case m.staysOpen():
			m.fail(at, m.exhausted())
		default:
			m.park(at, true)
		}
	default:
		m.due = true // the leg or park in progress ends by itself
	}
}

// overdue ends the call of a parked cell.
func (m *Machine) overdue(at time.Time) {
	if m.staysOpen() {
		m.fail(at, m.exhausted())
		return
	}
	m.announce(at)
}

func (m *Machine) budget() string { return m.spec.Limits.Timeout.String() }
