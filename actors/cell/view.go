package cell

import "github.com/codecell/codecell/schemas"

// Dispatched are the ids of the calls that tools may be working on.
func (m *Machine) Dispatched() []string {
	var ids []string
	for _, q := range m.requests.all {
		if q.Kind == CallRequest && q.state.out() {
			ids = append(ids, q.ID)
		}
	}
	return ids
}

// Ended tells whether the cell has its terminal result.
func (m *Machine) Ended() bool { return m.phase == phaseEnded }

// Status is the machine's part of the cell's status.
func (m *Machine) Status() schemas.CellStatus {
	unsettled, _ := m.requests.unsettled()
	st := schemas.CellStatus{State: "running", Pending: unsettled, Slot: m.slot == slotHeld, MemoryBytes: m.memory}
	switch {
	case m.phase >= phaseStopping:
		st.State = "ending"
	case m.phase == phaseParked && len(m.observers) == 0:
		st.State = "parked"
	}
	return st
}
