package cell

import (
	"cmp"
	"slices"
	"time"
)

// timers are the shell's running timers.
type timers map[Timer]*alarm

// alarm is one of them.
type alarm struct {
	timer Timer
	clock *time.Timer
	due   time.Time
	order int // in which it was set; tells those apart that are due at one moment
}

func (t timers) clear(timer Timer) {
	if a := t[timer]; a != nil {
		a.clock.Stop()
		delete(t, timer)
	}
}

func (t timers) clearAll() {
	for timer := range t {
		t.clear(timer)
	}
}

func (a *alarm) compare(b *alarm) int {
	return cmp.Or(a.due.Compare(b.due), cmp.Compare(a.order, b.order))
}

func (s *shell) setTimer(e SetTimer) {
	due := e.At
	if due.IsZero() {
		due = time.Now().Add(e.After)
	}
	s.alarms++
	root, self, timer := s.root, s.self, e.Timer
	s.timers[timer] = &alarm{timer: timer, due: due, order: s.alarms, clock: time.AfterFunc(time.Until(due), func() {
		root.Send(self, &fired{timer})
	})}
}

// timerFired tells the machine about a timer. Each has a goroutine that brings the news, and they come in any order. A
// program's timers must fire in the order in which they are due, so those before this one fire first (G4).
func (s *shell) timerFired(t Timer) {
	last := s.timers[t]
	if last == nil {
		return // cleared, or fired with a later one
	}
	due := []*alarm{last}
	if t.Kind == RequestTimer {
		for _, a := range s.timers {
			if a.timer.Kind == RequestTimer && a.compare(last) < 0 {
				due = append(due, a)
			}
		}
		slices.SortFunc(due, (*alarm).compare)
	}
	for _, a := range due {
		if s.timers[a.timer] != a {
			continue // an earlier one ended the cell
		}
		s.timers.clear(a.timer)
		s.feed(TimerFired{At: time.Now(), Timer: a.timer})
	}
}
