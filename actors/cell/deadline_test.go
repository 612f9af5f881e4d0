package cell

import (
	"strconv"
	"testing"
	"time"

	"github.com/codecell/codecell/schemas"
)

// legOf is the leg that the effects begin.
func legOf(t *testing.T, effects []Effect) RunLeg {
	t.Helper()
	for _, e := range effects {
		if leg, ok := e.(RunLeg); ok {
			return leg
		}
	}
	t.Fatalf("no leg in %+v", effects)
	return RunLeg{}
}

// answerOf is the result that the effects give.
func answerOf(effects []Effect) *schemas.Result {
	for _, e := range effects {
		if r, ok := e.(Respond); ok {
			return r.Result
		}
	}
	return nil
}

// S5: a cell that has waited for its tools most of the time may end the leg that it is in when the budget ends, and
// waits on. One that has computed may not.
func TestSpec_S5_AtWorkWhenTheBudgetEnds(t *testing.T) {
	for _, c := range []struct {
		name             string
		computed, waited time.Duration // of the budget of a second
		more             time.Duration
	}{
		{"waited", 0, 990 * time.Millisecond, lastLeg},
		{"waited, with time enough", 0, 600 * time.Millisecond, 400 * time.Millisecond},
		{"waited more than computed", 400 * time.Millisecond, 590 * time.Millisecond, lastLeg},
		{"computed more than waited", 600 * time.Millisecond, 390 * time.Millisecond, 10 * time.Millisecond},
		{"computed", 980 * time.Millisecond, 10 * time.Millisecond, 10 * time.Millisecond},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, now := begun(MachineSpec{})
			now = now.Add(c.computed)
			m.Step(LegDone{At: now, Effort: 10_000, Requests: []Request{{ID: "1", Kind: TimerRequest}}})
			m.Step(SlotGranted{At: now})
			now = now.Add(c.waited)
			leg := legOf(t, m.Step(TimerFired{At: now, Timer: Timer{Kind: RequestTimer, Request: "1"}}))
			if got := leg.Deadline.Sub(now); got != c.more {
				t.Fatalf("the leg has %v, want %v", got, c.more)
			}
			end := m.clock.deadline
			m.Step(TimerFired{At: end, Timer: m.life})
			m.Step(LegDone{At: end, Requests: []Request{{ID: "2", Kind: TimerRequest}}})
			m.Step(Parked{At: end})
			if m.phase != phaseParked || len(m.observers) > 0 {
				t.Errorf("phase %d with %d observers, want a parked cell whose call is answered", m.phase, len(m.observers))
			}
			// The next call begins from nothing.
			m.Step(Observed{At: end, Observer: &Observer{CallID: "w"}})
			if m.effort.spent != 0 || m.effort.helped {
				t.Errorf("carried over: %+v", m.effort)
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
	end := m.clock.deadline
	m.Step(TimerFired{At: end, Timer: m.life})
	m.Step(LegDone{At: end})
	if r := answerOf(m.Step(Parked{At: end})); r == nil || r.Status != schemas.StatusWaiting {
		t.Errorf("result %+v", r)
	}
}

// S5, S9: a program that calls again and again, whose budget ends within a leg. If tools have answered it waits, however
// short their work and however often; if they refused or failed on the spot, it has used the budget up by itself.
func TestSpec_S5_S9_LoopsOfCalls(t *testing.T) {
	refused := &schemas.CallError{Code: schemas.CallInvalidInput, Effect: schemas.NotStarted}
	broken := &schemas.CallError{Code: schemas.CallToolError, Effect: schemas.Unknown}
	for _, c := range []struct {
		name   string
		leg    time.Duration
		effort int
		tool   time.Duration
		errs   []*schemas.CallError // of one call after the other
		waits  bool
	}{
		{"light polling", 100 * time.Microsecond, 1, 100 * time.Microsecond, []*schemas.CallError{nil}, true},
		{"light polling on a busy machine", 150 * time.Millisecond, 1, 100 * time.Microsecond, []*schemas.CallError{nil}, true},
		{"a long poll", 5 * time.Millisecond, 200, 50 * time.Millisecond, []*schemas.CallError{nil}, true},
		{"a long poll that fails", 5 * time.Millisecond, 200, 50 * time.Millisecond, []*schemas.CallError{broken}, true},
		{"computing between calls", 50 * time.Millisecond, 2000, time.Millisecond, []*schemas.CallError{nil}, false},
		{"refusals", 100 * time.Microsecond, 1, 0, []*schemas.CallError{refused}, false},
		{"refusals that take their time", 100 * time.Microsecond, 1, 30 * time.Millisecond, []*schemas.CallError{refused}, false},
		{"failures on the spot", 100 * time.Microsecond, 1, 100 * time.Microsecond, []*schemas.CallError{broken}, false},
		{"mostly refusals", 100 * time.Microsecond, 1, 100 * time.Microsecond, []*schemas.CallError{refused, refused, refused, nil}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, now := begun(MachineSpec{})
			leg := RunLeg{Deadline: m.clock.deadline}
			for i := 1; ; i++ {
				if now = now.Add(c.leg); now.After(leg.Deadline) && (!leg.Light || c.effort > lightLeg) { // the guest is stopped
					m.Step(LegDone{At: leg.Deadline, Failure: &Failure{Code: schemas.Timeout, Text: "stopped"}})
					break
				}
				if now.After(m.clock.deadline) {
					m.Step(TimerFired{At: m.clock.deadline, Timer: m.life})
				}
				id := strconv.Itoa(i)
				m.Step(LegDone{At: now, Effort: c.effort, Requests: []Request{{ID: id, Kind: CallRequest}}})
				m.Step(SlotGranted{At: now})
				if m.phase == phaseParking { // at the deadline, with a call pending
					m.Step(Parked{At: now})
					break
				}
				now = now.Add(c.tool)
				if now.After(m.clock.deadline) {
					now = m.clock.deadline.Add(-time.Microsecond) // what is decided here is the end within a leg
				}
				leg = legOf(t, m.Step(Answer{At: now, ID: id, State: schemas.AnswerDone, Err: c.errs[i%len(c.errs)]}))
			}
			if waits := m.phase == phaseParked; waits != c.waits {
				t.Errorf("waits: %v, result %+v, effort %+v", waits, m.result, m.effort)
			}
		})
	}
}

// S9, S6: nor is it for a cell one of whose calls waits for a person. What the person's time would have been isn't in the
// budget.
func TestSpec_S9_S6_RefusedBesideAPerson(t *testing.T) {
	for _, refused := range []bool{false, true} {
		m, now := afterFirstLeg(t, MachineSpec{}, Request{ID: "1", Kind: CallRequest}, Request{ID: "2", Kind: CallRequest})
		m.Step(Answer{At: now, ID: "1", State: schemas.AnswerAwaiting})
		m.Step(Answer{At: now, ID: "2", State: schemas.AnswerFailed, Err: &schemas.CallError{Effect: schemas.NotStarted}})
		end := m.clock.deadline
		m.Step(TimerFired{At: end, Timer: m.life})
		var asked []Request
		if refused {
			asked = append(asked, Request{ID: "3", Kind: CallRequest})
		}
		m.Step(LegDone{At: end, Effort: 10_000, Requests: asked})
		m.Step(Answer{At: end, ID: "3", State: schemas.AnswerFailed, Err: &schemas.CallError{Effect: schemas.NotStarted}})
		want := schemas.StatusWaiting
		if refused {
			want = schemas.StatusFailed
		}
		if r := answerOf(m.Step(Parked{At: end})); r == nil || r.Status != want {
			t.Errorf("refused %v: result %+v", refused, r)
		}
	}
}

// S9: a refusal that arrives while the cell is being parked is nothing to wait for.
func TestSpec_S9_RefusedWhileItParks(t *testing.T) {
	for _, c := range []struct {
		err  *schemas.CallError
		want schemas.Status
	}{
		{nil, schemas.StatusWaiting},
		{&schemas.CallError{Code: schemas.CallInvalidInput, Effect: schemas.NotStarted}, schemas.StatusFailed},
	} {
		m, now := begun(MachineSpec{})
		now = now.Add(time.Second)
		m.Step(TimerFired{At: now, Timer: m.life})
		m.Step(LegDone{At: now, Requests: []Request{{ID: "1", Kind: CallRequest}}})
		m.Step(SlotGranted{At: now})
		m.Step(Answer{At: now, ID: "1", State: schemas.AnswerDone, Err: c.err})
		r := answerOf(m.Step(Parked{At: now}))
		if r == nil || r.Status != c.want || c.err != nil && r.Code != schemas.Timeout {
			t.Errorf("with %+v: %+v", c.err, r)
		}
	}
}
