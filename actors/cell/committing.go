package cell

import (
	"time"

	"github.com/codecell/codecell/schemas"
)

// commit ends a completed cell, after what it stored is kept (T2). Its guest isn't needed for that any more. Nothing can
// change the result by then: who aborts the cell is answered with it, and a wait is told that it's being resumed.
func (m *Machine) commit(at time.Time, r *schemas.Result) {
	if m.spec.Unsaved == nil || !m.spec.Unsaved() {
		m.finish(at, r)
		return
	}
	m.dropGuest()
	m.endGrace()
	m.endLife()
	m.phase, m.result = phaseCommitting, r
	m.emit(Commit{Tainted: m.untrusted})
}

// committed gives the result. What could not be kept is a warning: the program has completed.
func (m *Machine) committed(e Committed) {
	if m.phase != phaseCommitting {
		return
	}
	r := m.result
	if e.Warning != "" {
		r.Warnings = append(r.Warnings, e.Warning)
	}
	m.finish(e.At, r)
}
