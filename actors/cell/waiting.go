package cell

import (
	"fmt"
	"time"

	"github.com/codecell/codecell/schemas"
)

// announce answers the observers of a parked cell, and opens its time to live (S4). The reason is
// "yield" if nothing but yields is unsettled, and "pending_tools" otherwise (X12); answers that have
// arrived since the last leg are neither in the reason nor in the list (W4).
func (m *Machine) announce(at time.Time) {
	unsettled, yields := m.requests.unsettled()
	reason := schemas.ReasonPendingTools
	if unsettled > 0 && unsettled == yields {
		reason = schemas.ReasonYield
	}
	fact := &schemas.CellParked{At: at.UnixNano(), Address: m.spec.Address, Reason: reason, Pending: unsettled}
	if m.spec.Live {
		fact.GuestBytes = m.memory
	} else {
		fact.SnapshotBytes = m.memory
	}
	m.emit(Tell{fact})
	m.respond(&schemas.Result{
		Status: schemas.StatusWaiting, RunID: m.spec.Address.Cell, Reason: reason,
		Pending: m.requests.pending(m.spec.Tool), Output: m.output.Waiting(),
	})
	m.setLife(TTLTimer, SetTimer{After: m.spec.Limits.SnapshotTTL})
}

// observed admits a wait, or says why not (W2, W5).
func (m *Machine) observed(e Observed) {
	if r := m.earlier(e.Observer.CallID); r != nil {
		m.emit(Respond{To: []*Observer{e.Observer}, Result: r})
		return
	}
	switch {
	case m.phase == phaseEnded:
		m.refuse(e.Observer, "this run has ended; its result was given before")
	case len(m.observers) == 0 && m.phase == phaseParked:
		m.resume(e)
	case len(m.observers) > 0 && e.Observer.CallID != "" && e.Observer.CallID == m.observers[0].CallID:
		m.observers = append(m.observers, e.Observer) // the same wait, delivered twice
	default:
		m.refuse(e.Observer, "code mode run is already being resumed; its first call stays valid and will be answered")
	}
}

// earlier finds what the wait with this id was answered.
func (m *Machine) earlier(callID string) *schemas.Result {
	for _, w := range m.waits {
		if callID != "" && w.CallID == callID {
			return w.Result
		}
	}
	return nil
}

// refuse answers an observer without touching the cell.
func (m *Machine) refuse(o *Observer, text string) {
	r := &schemas.Result{Status: schemas.StatusFailed, Code: schemas.InvalidInput, Error: text}
	m.addTelemetry(r)
	m.emit(Respond{To: []*Observer{o}, Result: r})
}

// resume opens the budget of a wait, answers the yields, and goes on if anything was answered.
func (m *Machine) resume(e Observed) {
	m.resumes++
	m.observers = append(m.observers, e.Observer)
	m.emit(Tell{&schemas.CellResumed{At: e.At.UnixNano(), Address: m.spec.Address}})
	start := e.Start
	if start.IsZero() {
		start = e.At
	}
	m.setDeadline(start)
	m.answerYields()
	if len(m.inbox.items) > 0 {
		m.queueForWorker()
	}
}

// answerYields settles the yields that are pending.
func (m *Machine) answerYields() {
	m.yielded = false
	for _, q := range m.requests.all {
		if q.Kind == YieldRequest && q.state != answered {
			q.state = answered
			m.inbox.put(Settlement{ID: q.ID, Value: yielded(q.Reason), worked: true})
		}
	}
}

// yielded is what yield_control resolves to.
func yielded(reason schemas.JSON) schemas.JSON {
	if len(reason) == 0 {
		return schemas.JSON(`{"status":"yielded"}`)
	}
	return fmt.Appendf(nil, `{"status":"yielded","reason":%s}`, reason)
}
