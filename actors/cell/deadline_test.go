package cell

import (
	"testing"
	"time"

	"github.com/codecell/codecell/schemas"
)

// S5: a cell that has waited for its tools nearly all the time may end the leg that it is in when the budget ends, and
// waits on. One that has computed may not.
func TestSpec_S5_AtWorkWhenTheBudgetEnds(t *testing.T) {
	for _, c := range []struct {
		name       string
		waited     time.Duration // of the budget of a second
		left, more time.Duration
	}{
		{"waited", 990 * time.Millisecond, 10 * time.Millisecond, lastLeg},
		{"waited, with time enough", 600 * time.Millisecond, 400 * time.Millisecond, 400 * time.Millisecond},
		{"computed", 10 * time.Millisecond, 10 * time.Millisecond, 10 * time.Millisecond},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, now := afterFirstLeg(t, MachineSpec{}, Request{ID: "1", Kind: TimerRequest})
			now = now.Add(c.waited)
			m.deadline = now.Add(c.left)
			var legs []RunLeg
			for _, e := range m.Step(TimerFired{At: now, Timer: Timer{Kind: RequestTimer, Request: "1"}}) {
				if leg, ok := e.(RunLeg); ok {
					legs = append(legs, leg)
				}
			}
			if len(legs) != 1 || legs[0].Deadline.Sub(now) != c.more {
				t.Fatalf("legs %+v, want one of %v", legs, c.more)
			}
			m.Step(TimerFired{At: m.deadline, Timer: m.life})
			m.Step(LegDone{At: m.deadline, Requests: []Request{{ID: "2", Kind: TimerRequest}}})
			m.Step(Parked{At: m.deadline})
			if m.phase != phaseParked || len(m.observers) > 0 {
				t.Errorf("phase %d with %d observers, want a parked cell whose call is answered", m.phase, len(m.observers))
			}
			// The next call begins from nothing.
			m.Step(Observed{At: m.deadline, Observer: &Observer{CallID: "w"}})
			if m.calmed != 0 {
				t.Errorf("%v of waiting was carried over", m.calmed)
			}
		})
	}
}

// S5: an answer that came in the last leg is a reason to wait on, for a cell that has waited.
func TestSpec_S5_AnsweredInTheLastLeg(t *testing.T) {
	m, now := afterFirstLeg(t, MachineSpec{}, Request{ID: "1", Kind: CallRequest}, Request{ID: "2", Kind: CallRequest})
	now = now.Add(990 * time.Millisecond)
	m.Step(Answer{At: now, ID: "1", State: schemas.AnswerDone})
	m.Step(Answer{At: now, ID: "2", State: schemas.AnswerDone})
	m.Step(TimerFired{At: m.deadline, Timer: m.life})
	m.Step(LegDone{At: m.deadline})
	effects := m.Step(Parked{At: m.deadline})
	for _, e := range effects {
		if r, ok := e.(Respond); ok && r.Result.Status == schemas.StatusWaiting {
			return
		}
	}
	t.Errorf("effects %+v, result %+v", effects, m.result)
}
