package cell

import "time"

const (
	// grace is how long an idle guest of a required cell is kept before it's parked. The budget pays for
	// either: for the grace, since the guest is live, and for the park and the restore, which together
	// take about as long. So tools that answer at once cost no park, and slow ones at most twice their
	// park.
	grace = 5 * time.Millisecond
	// patience is how long an idle guest is kept while a person decides: longer than a program takes to decide in a person's
	// place, and short beside the time that its memory would be held.
	patience = 250 * time.Millisecond
)

// idle leaves the guest live, to wait for answers.
func (m *Machine) idle() {
	m.emit(IdleWorker{})
	m.setGrace()
}

// setGrace has an idle guest parked unseen, after a moment, if its cell is required or waits for a person. One that can't
// be parked stays.
func (m *Machine) setGrace() {
	after := patience
	switch {
	case m.phase != phaseIdle || m.grace != (Timer{}) || m.rigid != nil:
		return
	case m.required:
		after = grace
	case m.requests.awaiting == 0:
		return
	}
	m.grace = m.newTimer(GraceTimer)
	m.emit(SetTimer{Timer: m.grace, After: after})
}

func (m *Machine) endGrace() {
	if m.grace != (Timer{}) {
		m.emit(ClearTimer{m.grace})
		m.grace = Timer{}
	}
}

// staysOpen tells whether the exec is answered by the cell's end only: no observer ever gets a handle.
func (m *Machine) staysOpen() bool { return m.required || m.spec.Strict }

// rest waits without a worker until one of the requests of a cell that stays open settles. A required one's clock stands
// meanwhile (Q2).
func (m *Machine) rest(at time.Time) {
	switch {
	case m.due || m.clock.remaining(at) <= 0:
		m.fail(at, m.exhausted())
	case len(m.inbox.items) > 0:
		m.queueForWorker()
	}
}

// awaited tells whether a call makes its cell a required one (Q4).
func (m *Machine) awaited(q *Request) bool {
	return q.Kind == CallRequest && !m.spec.Strict && m.spec.Awaits != nil && m.spec.Awaits(q.Ref, q.Args)
}
