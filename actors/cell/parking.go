package cell

import (
	"time"

	"github.com/codecell/codecell/schemas"
)

// park turns the live guest into a snapshot, or, where cells park live, just lets the worker go (S10).
// A visible park ends with a waiting result; the other kind gives the worker to someone else and
// nobody sees it (S3).
func (m *Machine) park(at time.Time, visible bool) {
	m.endGrace()
	m.visible = visible
	if m.spec.Live {
		m.parked(at)
		return
	}
	m.phase = phaseParking
	m.emit(Park{})
}

// workerWanted gives up the worker of a guest that waits for its tools.
func (m *Machine) workerWanted(e WorkerWanted) {
	unsettled, _ := m.requests.unsettled()
	switch {
	case m.phase == phaseIdle && m.slot == slotHeld && m.rigid == nil && unsettled > 0:
		m.park(e.At, false)
	case m.phase == phaseRunning || m.phase == phaseIdle:
		m.emit(BusyWorker{})
	}
	// Otherwise the worker is being given up, or gone.
}

func (m *Machine) parkDone(e Parked) {
	m.memory = e.Bytes
	if m.phase == phaseStopping {
		m.phase = phaseParked
		m.emit(FreeWorker{})
		m.fail(e.At, *m.ending)
		return
	}
	m.parked(e.At)
}

// parked decides what comes after a park: an answer, or another leg as soon as there is something in the
// inbox.
func (m *Machine) parked(at time.Time) {
	m.phase = phaseParked
	m.emit(FreeWorker{})
	switch {
	case m.staysOpen():
		m.rest(at)
	case m.due && m.idled():
		m.fail(at, m.exhausted())
	case m.visible || m.due:
		m.announce(at)
	case len(m.inbox.items) > 0:
		m.queueForWorker()
	}
}

func (m *Machine) parkFailed(e ParkFailed) {
	tooLarge := e.Failure.Code == schemas.SnapshotLimitExceeded
	stopping := m.phase == phaseStopping
	m.phase = phaseIdle
	if !tooLarge {
		m.emit(FreeWorker{})
		m.phase = phaseNew
	}
	switch {
	case stopping:
		m.fail(e.At, *m.ending)
	case m.due && m.spec.Strict:
		m.fail(e.At, m.exhausted())
	case !tooLarge || m.visible || m.due:
		m.fail(e.At, e.Failure)
	default:
		// Nobody sees this park. The program may well finish without one: go on with the live guest.
		m.rigid = &e.Failure
		m.emit(BusyWorker{})
		if len(m.inbox.items) > 0 {
			m.runLeg(e.At)
		}
	}
}

func (m *Machine) slotGranted(e SlotGranted) {
	if m.slot != slotAsked {
		return
	}
	m.slot = slotHeld
	if m.phase == phaseIdle {
		m.settle(e.At)
	}
}

func (m *Machine) slotRefused(e SlotRefused) {
	if m.slot != slotAsked {
		return
	}
	m.slot = slotNone
	if m.phase == phaseIdle {
		m.fail(e.At, Failure{Code: schemas.InvalidInput, Text: "too many suspended code mode runs. None of this program's pending " +
			"requests was sent. Wait for a parked run, or cancel one, and try again; programs that call no tools still run."})
	}
}
