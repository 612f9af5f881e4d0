package cell

import "github.com/codecell/codecell/schemas"

// park turns the live guest into a snapshot. A visible park ends with a waiting result; the other kind
// gives the worker to someone else and nobody sees it (S3).
func (m *Machine) park(visible bool) {
	m.phase, m.visible = phaseParking, visible
	m.emit(Park{})
}

// workerWanted gives up the worker of a guest that waits for its tools.
func (m *Machine) workerWanted() {
	unsettled, _ := m.requests.unsettled()
	switch {
	case m.phase == phaseIdle && m.slot == slotHeld && !m.rigid && unsettled > 0:
		m.park(false)
	case m.phase == phaseRunning || m.phase == phaseIdle:
		m.emit(BusyWorker{})
	}
	// Otherwise the worker is being given up, or gone.
}

func (m *Machine) parkDone(e Parked) {
	m.parked = e.Bytes
	m.emit(FreeWorker{})
	if m.phase == phaseStopping {
		m.phase = phaseParked
		m.fail(e.At, *m.ending)
		return
	}
	m.phase = phaseParked
	switch {
	case m.visible || m.due:
		m.announce(e.At)
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
	case !tooLarge || m.visible || m.due:
		m.fail(e.At, e.Failure)
	default:
		// Only the ledger wanted it. The program may well finish without a park: go on with the live guest.
		m.rigid = true
		m.emit(BusyWorker{})
		if len(m.inbox.items) > 0 {
			m.runLeg()
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
