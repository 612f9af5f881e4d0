package host

import (
	"sync"
	"time"

	"github.com/asynkron/protoactor-go/actor"
)

// flightKey names a call of this host.
type flightKey struct{ cell, call string }

// flight is a call that was handed to the bus and hasn't settled.
type flight struct {
	key flightKey
	// cell gets the answer.
	cell *actor.PID
	// owner is the subject token of the tool's owner.
	owner string
	tool  string
	sent  time.Time
	// executor holds the call; empty until one said so.
	executor string
}

// flights is the ledger of calls in flight, the truth about which answers are still wanted. Every
// call leaves it exactly once, so every call is settled at most once from here.
type flights struct {
	mu   sync.Mutex
	open map[flightKey]*flight
}

func newFlights() *flights { return &flights{open: make(map[flightKey]*flight)} }

func (f *flights) add(fl flight) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.open[fl.key] = &fl
}

// accepted notes who holds a call. It tells whether the call is still open.
func (f *flights) accepted(key flightKey, executor string) (*actor.PID, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	fl := f.open[key]
	if fl == nil {
		return nil, false
	}
	fl.executor = executor
	return fl.cell, true
}

// take removes a call, once.
func (f *flights) take(key flightKey) (flight, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	fl := f.open[key]
	if fl == nil {
		return flight{}, false
	}
	delete(f.open, key)
	return *fl, true
}

// held groups the open calls by the executor that holds them. Those that no executor has
// accepted since the given time are returned apart.
func (f *flights) held(unacceptedSince time.Time) (byExecutor map[string][]flightKey, unaccepted []flightKey) {
	f.mu.Lock()
	defer f.mu.Unlock()
	byExecutor = make(map[string][]flightKey)
	for key, fl := range f.open {
		switch {
		case fl.executor != "":
			byExecutor[fl.executor] = append(byExecutor[fl.executor], key)
		case fl.sent.Before(unacceptedSince):
			unaccepted = append(unaccepted, key)
		}
	}
	return byExecutor, unaccepted
}
