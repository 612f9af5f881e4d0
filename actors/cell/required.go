package cell

import "time"

// grace is how long an idle guest of a required cell is kept before it's parked. The budget pays for
// either: for the grace, since the guest is live, and for the park and the restore, which together
// take about as long. So tools that answer at once cost no park, and slow ones at most twice their
// park.
const grace = 5 * time.Millisecond

// idle leaves the guest live, to wait for answers.
func (m *Machine) idle(at time.Time) {
	m.calm = at
	m.emit(IdleWorker{})
	if m.spec.Required {
		m.grace = m.newTimer(GraceTimer)
		m.emit(SetTimer{Timer: m.grace, After: grace})
	}
}

func (m *Machine) endGrace() {
	if m.grace != (Timer{}) {
		m.emit(ClearTimer{m.grace})
		m.grace = Timer{}
	}
}

// rest stops the clock of a required cell that is parked, until one of its requests settles (Q2). That
// one must come within the time to live, so that the call can't hang for ever.
func (m *Machine) rest(at time.Time) {
	m.left = m.deadline.Sub(at)
	switch {
	case m.due || m.left <= 0:
		m.fail(at, m.exhausted())
	case len(m.inbox.items) > 0:
		m.queueForWorker()
	default:
		m.setLife(TTLTimer, SetTimer{After: m.spec.Limits.SnapshotTTL})
	}
}

// rise goes on after a rest, with what was left of the budget and no more.
func (m *Machine) rise(at time.Time) {
	m.deadline = at.Add(m.left)
	m.setLife(DeadlineTimer, SetTimer{At: m.deadline})
	m.queueForWorker()
}
