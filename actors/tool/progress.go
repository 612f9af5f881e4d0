package tool

import (
	"math"
	"strings"
	"sync"
	"time"

	"github.com/codecell/codecell/schemas"
)

const (
	// progressPause is at least between two progress facts of one call, the last one excepted.
	progressPause = 100 * time.Millisecond
	// maxProgressBytes bounds the message of one.
	maxProgressBytes = 512
)

// reports thins out what one running call says of its progress. What comes too soon waits, and gives way to what comes
// after it; the last report is always told, before the call is answered.
type reports struct {
	feed interface{ Publish(fact any) }
	// call is whose they are: once it was stopped, nobody wants to know.
	call *held

	mu      sync.Mutex
	told    time.Time
	waiting *schemas.CallProgressed
	timer   *time.Timer
	over    bool
}

// add takes a report. It is the caller's no more.
func (r *reports) add(fact *schemas.CallProgressed) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over {
		return
	}
	if r.timer != nil {
		r.waiting = fact
		return
	}
	if pause := progressPause - time.Since(r.told); !r.told.IsZero() && pause > 0 {
		r.waiting = fact
		r.timer = time.AfterFunc(pause, r.due)
		return
	}
	r.pass(fact)
}

func (r *reports) due() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.timer = nil
	if !r.over && r.wanted() {
		r.pass(r.waiting)
	}
}

// pass tells a report. Under the lock, so that facts are in order and none comes after the end.
func (r *reports) pass(fact *schemas.CallProgressed) {
	r.told, r.waiting = time.Now(), nil
	r.feed.Publish(fact)
}

func (r *reports) wanted() bool { return r.call.ctx.Err() == nil }

// end tells what waits, and ends the reports.
func (r *reports) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.over = true
	if r.timer != nil {
		r.timer.Stop()
	}
	if r.waiting != nil && r.wanted() {
		r.pass(r.waiting)
	}
}

// reporter gives the function that a call's tool reports to. Reports of a call that was stopped go nowhere.
func (e *Executor) reporter(h *held) Progress {
	h.progress.feed, h.progress.call = e.feed, h
	return func(done, total float64, message string) {
		if !h.progress.wanted() {
			return
		}
		h.progress.add(&schemas.CallProgressed{
			At: now(), Address: h.call.Address, Call: h.call.ID,
			Done: finite(done), Total: finite(total), Message: schemas.Prefix(strings.ToValidUTF8(message, "\uFFFD"), maxProgressBytes),
		})
		if e.progress != nil {
			e.progress(h.call, done, total, message)
		}
	}
}

// finite keeps numbers that JSON has no word for out of facts.
func finite(x float64) float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return 0
	}
	return x
}
