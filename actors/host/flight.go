package host

import (
	"sync"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/codecell/codecell/schemas"
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
	// brought: the tool is one that a caller brought for the run.
	brought bool
	// untrusted: what the tool says is data, whatever its executor says of it (O5).
	untrusted bool
	sent      time.Time
	// executor holds the call; empty until one said so.
	executor string
	// again is the call itself, kept while it may be sent once more: its tool is idempotent.
	again *schemas.Call
	// resent: the call was sent twice, so that no word from an executor can say that it never ran.
	resent bool
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

// resend gives a lost call that may be sent once more, and notes that it is.
func (f *flights) resend(key flightKey, now time.Time) (*schemas.Call, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	fl := f.open[key]
	if fl == nil || fl.again == nil {
		return nil, false
	}
	call := fl.again
	fl.again, fl.resent, fl.executor, fl.sent = nil, true, "", now
	return call, true
}

// wasResent tells whether the call was sent twice.
func (f *flights) wasResent(key flightKey) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	fl := f.open[key]
	return fl != nil && fl.resent
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
