package cell

import (
	"testing"
	"time"
	"unsafe"

	"github.com/codecell/codecell/schemas"
)

// jumped is a moment as it would be read if the wall's clock had been set in the meantime: its monotonic part stays. By
// is a multiple of a second.
func jumped(t *testing.T, at time.Time, by time.Duration) time.Time {
	t.Helper()
	moved := at
	*(*uint64)(unsafe.Pointer(&moved)) += uint64(by/time.Second) << 30 // the wall's seconds; see package time
	if moved.Sub(at) != 0 || moved.Round(0).Sub(at.Round(0)) != by {
		t.Fatalf("jumped by %v and %v, want 0 and %v", moved.Sub(at), moved.Round(0).Sub(at.Round(0)), by)
	}
	return moved
}

// S5, S6: legs are charged, with or without a person deciding, and nothing else is while one does; whatever becomes of
// the wall's clock.
func TestSpec_S5_S6_TheClockIsExact(t *testing.T) {
	for _, jump := range []time.Duration{0, time.Hour, -time.Hour} {
		now, wall := time.Now(), time.Duration(0)
		at := func() time.Time { return jumped(t, now, wall) }
		m := NewMachine(MachineSpec{Limits: limits(), Tool: func(int) string { return "t" }, Start: now})
		step := func(after time.Duration, e func(time.Time) Event) []Effect {
			now, wall = now.Add(after), wall+jump
			return m.Step(e(at()))
		}
		// left is what the deadline that the effects set, or the leg that they begin, leaves.
		left := func(effects []Effect, want time.Duration) {
			t.Helper()
			for _, e := range effects {
				switch e := e.(type) {
				case RunLeg:
					if got := e.Deadline.Sub(at()); got != want {
						t.Fatalf("jumps of %v: a leg with %v, want %v", jump, got, want)
					}
					return
				case SetTimer:
					if got := e.At.Sub(at()); e.Timer.Kind == DeadlineTimer && got != want {
						t.Fatalf("jumps of %v: a deadline in %v, want %v", jump, got, want)
					}
				}
			}
		}
		news := func(id string, state schemas.AnswerState) func(time.Time) Event {
			return func(at time.Time) Event { return Answer{At: at, ID: id, State: state} }
		}
		ms := time.Millisecond
		calls := []Request{{ID: "1", Kind: CallRequest}, {ID: "2", Kind: CallRequest}, {ID: "3", Kind: CallRequest}}
		step(0, func(at time.Time) Event { return Begin{At: at, Observer: &Observer{}} })
		left(step(50*ms, func(at time.Time) Event { return WorkerGranted{At: at, Ticket: m.ticket} }), 950*ms)
		step(100*ms, func(at time.Time) Event { return LegDone{At: at, Requests: calls} })
		step(0, func(at time.Time) Event { return SlotGranted{At: at} })
		step(10*ms, news("1", schemas.AnswerAwaiting)) // 840 left
		step(time.Minute, news("2", schemas.AnswerAwaiting))
		left(step(time.Minute, news("3", schemas.AnswerDone)), 840*ms) // a leg, while two are decided
		step(20*ms, news("1", schemas.AnswerAccepted))
		step(20*ms, func(at time.Time) Event { return LegDone{At: at} }) // 800 left
		if !m.clock.standing {
			t.Fatal("the clock runs while 2 is decided")
		}
		step(time.Minute, func(at time.Time) Event { return WorkerWanted{At: at} })
		step(30*ms, func(at time.Time) Event { return Parked{At: at} })    // 770 left
		step(time.Minute, news("1", schemas.AnswerDone))                   // asks for a worker, 2 is still decided
		step(time.Minute, news("2", schemas.AnswerAwaiting))               // told twice
		left(step(time.Minute, news("2", schemas.AnswerAccepted)), 770*ms) // the clock goes on in the queue
		left(step(70*ms, func(at time.Time) Event { return WorkerGranted{At: at, Ticket: m.ticket} }), 700*ms)
		step(600*ms, func(at time.Time) Event { return LegDone{At: at} }) // 100 left
		step(99*ms, news("2", schemas.AnswerAwaiting))
		left(step(24*time.Hour, news("2", schemas.AnswerAccepted)), ms)
		if m.Ended() || len(m.observers) == 0 {
			t.Fatal("the call was answered")
		}
	}
}

// S6: what overtakes is harmless: news of a call in any order, and the deadline's timer that fires when the clock was
// just stopped.
func TestSpec_S6_NewsInAnyOrder(t *testing.T) {
	m, now := afterFirstLeg(t, MachineSpec{}, Request{ID: "1", Kind: CallRequest}, Request{ID: "2", Kind: CallRequest})
	deadline := m.life
	m.Step(Answer{At: now, ID: "1", State: schemas.AnswerAccepted})
	m.Step(Answer{At: now.Add(time.Millisecond), ID: "1", State: schemas.AnswerAwaiting})
	if effects := m.Step(TimerFired{At: now.Add(time.Second), Timer: deadline}); len(effects) != 0 || !m.clock.standing {
		t.Errorf("effects of a late deadline: %+v", effects)
	}
	m.Step(Answer{At: now.Add(time.Minute), ID: "1", State: schemas.AnswerDone}) // approved and done before it was told
	m.Step(Answer{At: now.Add(time.Minute), ID: "1", State: schemas.AnswerAwaiting})
	m.Step(LegDone{At: now.Add(time.Minute)})
	m.Step(Answer{At: now.Add(time.Minute), ID: "1", State: schemas.AnswerAwaiting})
	if m.clock.standing || m.requests.awaiting != 0 {
		t.Errorf("the clock stands for a call that has settled: %+v", m.clock)
	}
	// A budget that was used up when a person was asked isn't stopped: its timer is about to fire.
	m.Step(Answer{At: m.clock.deadline.Add(time.Millisecond), ID: "2", State: schemas.AnswerAwaiting})
	if m.clock.standing {
		t.Error("the clock stands with nothing left")
	}
	m.Step(TimerFired{At: m.clock.deadline.Add(time.Millisecond), Timer: m.life})
	if r := answerOf(m.Step(Parked{At: m.clock.deadline})); r == nil || r.Status != schemas.StatusWaiting || r.Pending[0].State != "awaiting_approval" {
		t.Errorf("result %+v", r)
	}
}

// S4: a time to live that ends as a wait is admitted doesn't touch it, and a wait that comes after it finds nothing.
func TestSpec_S4_TTLAgainstAnAdmittedWait(t *testing.T) {
	parked := func() (*Machine, time.Time, Timer) {
		m, now := afterFirstLeg(t, MachineSpec{}, Request{ID: "1", Kind: CallRequest}, Request{ID: "2", Kind: YieldRequest})
		m.Step(Parked{At: now})
		return m, now.Add(m.spec.Limits.SnapshotTTL), m.life
	}
	m, now, ttl := parked()
	m.Step(Observed{At: now, Observer: &Observer{CallID: "w"}})
	if effects := m.Step(TimerFired{At: now, Timer: ttl}); len(effects) != 0 || m.Ended() {
		t.Errorf("effects of a late time to live: %+v", effects)
	}
	m, now, ttl = parked()
	m.Step(TimerFired{At: now, Timer: ttl})
	if r := answerOf(m.Step(Observed{At: now, Observer: &Observer{CallID: "w"}})); !m.Ended() || r == nil || r.Code != schemas.InvalidInput {
		t.Errorf("a late wait: %+v", r)
	}
}
