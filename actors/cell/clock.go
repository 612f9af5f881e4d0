package cell

import (
	"slices"
	"time"

	"github.com/codecell/codecell/schemas"
)

// clock is the budget of one exec or wait (S5): it runs to its deadline, or stands with what is left. It counts on the
// monotonic clock: no jump of the wall's moves a deadline.
type clock struct {
	deadline time.Time     // while it runs
	left     time.Duration // while it stands
	standing bool
}

// remaining is what is left of the budget; 0 or less when it's used up.
func (c *clock) remaining(at time.Time) time.Duration {
	if c.standing {
		return c.left
	}
	return c.deadline.Sub(at)
}

func (c *clock) stop(at time.Time) { c.left, c.standing = c.deadline.Sub(at), true }

func (c *clock) goOn(at time.Time) { c.deadline, c.standing = at.Add(c.left), false }

// effort tells what a call's budget went into: into the program's own work, or into waiting for tools.
type effort struct {
	mark   time.Duration // what was left when the leg, or the wait for answers, began
	spent  time.Duration // by the program itself
	helped bool          // something was done for it: a tool has answered, or a timer was due
	alone  bool          // the leg was begun by refusals only
}

const (
	// lightLeg is the effort of a leg that does little more than take its answers: about a millisecond of a quiet machine.
	lightLeg = 64
	// instant is how soon a failure comes that no tool has worked for.
	instant = 10 * time.Millisecond
	// lastLeg is how long a leg may take at least if it is tools that have used the budget up.
	lastLeg = 100 * time.Millisecond
	// lateLeg is how much later such a leg may end if it is a light one: that long a busy machine may let it wait.
	lateLeg = time.Second
	// longestApproval is longer than any approval may take (a day), which has its own deadline: it ends what its executor
	// has forgotten.
	longestApproval = 25 * time.Hour
)

// setDeadline opens the budget of one exec or wait call (S5).
func (m *Machine) setDeadline(start time.Time) {
	m.due = false
	m.clock = clock{deadline: start.Add(m.spec.Limits.Timeout)}
	m.effort = effort{mark: m.spec.Limits.Timeout}
	m.setLife(DeadlineTimer, SetTimer{At: m.clock.deadline})
}

// setLife replaces the one timer that ends the cell's call or the cell.
func (m *Machine) setLife(kind TimerKind, s SetTimer) {
	m.endLife()
	m.life = m.newTimer(kind)
	s.Timer = m.life
	m.emit(s)
}

func (m *Machine) endLife() {
	if m.life != (Timer{}) {
		m.emit(ClearTimer{m.life})
		m.life = Timer{}
	}
}

func (m *Machine) newTimer(kind TimerKind) Timer {
	m.turn++
	return Timer{Kind: kind, Turn: m.turn}
}

// stands tells whether the clock must stand now: while a required cell has no worker and wants none (Q2), and, for any
// cell, while a person decides about one of its calls and neither a leg nor a park is under way (S6). So a program that
// computes while it could wait for a person pays for it, and for nothing else.
func (m *Machine) stands() bool {
	switch m.phase {
	case phaseIdle, phaseQueued:
		return m.requests.awaiting > 0
	case phaseParked:
		return m.required || m.requests.awaiting > 0
	default:
		return false
	}
}

// keepTime stops the clock of the open call, or lets it go on with exactly what is left. Whatever changes the phase or
// decides an approval is followed by it.
func (m *Machine) keepTime(at time.Time) {
	if len(m.observers) == 0 || m.due || m.phase >= phaseStopping {
		return // no call is open, or its budget is over
	}
	personal := m.requests.awaiting > 0
	switch stands := m.stands(); {
	case stands == m.clock.standing && (!stands || personal == m.personal):
	case !stands:
		m.clock.goOn(at)
		m.setLife(DeadlineTimer, SetTimer{At: m.clock.deadline})
	case m.clock.standing:
		m.bound(personal)
	case m.clock.remaining(at) > 0: // otherwise the deadline's timer is about to fire
		m.clock.stop(at)
		m.bound(personal)
	}
}

// bound ends a call whose clock stands for ever: one of its tools must answer within the time to live, and a person has
// as long as approvals may take.
func (m *Machine) bound(personal bool) {
	m.personal = personal
	limit := m.spec.Limits.SnapshotTTL
	if personal {
		limit = longestApproval
	}
	m.setLife(TTLTimer, SetTimer{After: limit})
}

// leg is one that begins now. It is stopped at the end of the budget. A cell that it's tools that used it up for isn't
// failed for being at work in that very moment: it may end a short leg, or one that's late and does next to nothing, and
// is parked (S5).
func (m *Machine) leg(at time.Time, answers []Settlement) RunLeg {
	leg := RunLeg{Answers: answers, Deadline: m.clock.deadline, Tainted: m.untrusted}
	if leg.Light = !m.staysOpen() && m.hasWaited(); leg.Light && m.clock.remaining(at) < lastLeg {
		leg.Deadline = at.Add(lastLeg)
	}
	return leg
}

// legBegins charges the wait before a leg to the program if nothing was done for it meanwhile: waiting for refusals is no
// waiting for tools (S9). A person's time isn't in it, since the clock stood.
func (m *Machine) legBegins(at time.Time, answers []Settlement) {
	left := m.clock.remaining(at)
	helped := slices.ContainsFunc(answers, func(a Settlement) bool { return a.worked })
	m.effort.helped = m.effort.helped || helped
	if m.effort.alone = m.started && !helped; m.effort.alone {
		m.effort.spent += m.effort.mark - left
	}
	m.effort.mark = left
}

// legEnds charges a leg to the program, unless it did little more than take what tools have answered: how long that takes
// says more about the machine than about the program.
func (m *Machine) legEnds(e LegDone) {
	left := m.clock.remaining(e.At)
	if m.effort.alone || e.Effort > lightLeg {
		m.effort.spent += m.effort.mark - left
	}
	m.effort.mark = left
}

// hasWaited tells whether it's mostly tools that the call's budget went into.
func (m *Machine) hasWaited() bool {
	return m.effort.helped && 2*m.effort.spent < m.spec.Limits.Timeout
}

// idled tells whether a cell whose budget is used up has nothing to wait for but what was refused at once, beside people,
// for whom its clock would have stood: then it has used the budget up by itself (S9).
func (m *Machine) idled() bool {
	unsettled, _ := m.requests.unsettled()
	return unsettled == m.requests.awaiting && len(m.inbox.items) > 0 && !m.hasWaited() && !slices.ContainsFunc(m.inbox.items, func(a Settlement) bool { return a.worked })
}

// worked tells whether a tool has worked for an answer: not if it was refused, or failed on the spot (S9).
func worked(err *schemas.CallError, took time.Duration) bool {
	return err == nil || err.Effect != schemas.NotStarted && took >= instant
}
