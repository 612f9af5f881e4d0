package tool

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/codecell/codecell/schemas"
)

// held is one call that an executor has taken: queued or running.
type held struct {
	key    string // "<cell>.<call>"
	call   *schemas.Call
	reply  string
	owner  *owner
	target *contract

	// ctx ends when the call is stopped, when a drain gives up, and when the call is over.
	ctx    context.Context
	cancel context.CancelFunc
	// running, stopped and back are guarded by the desk. A call that runs has a place. One that has given it up waits for a
	// person or for agents; once it wants a place again it is queued, and back is closed when it has one.
	running bool
	stopped bool
	back    chan struct{}
	turn    turn
	// tainted: the result may hold words of an MCP server or a client all the same (O5). It is the call's goroutine's.
	tainted bool
	// ack says that the call is held, when it takes its time.
	ack acknowledgement
	// progress is what its tool has said while it runs.
	progress reports
}

// desk decides which calls run: at most limit at once, at most queue more waiting, a
// sequential tool alone within its run (P4), each call once. Calls that wait for a person or for agents count as neither. It knows no bus and no tool.
type desk struct {
	limit, queueLimit int
	start             func(*held) // runs the call, on a goroutine of its own; ends in desk.done
	next              chan *held  // to a goroutine that has run a call and waits for another

	mu      sync.Mutex
	calls   map[string]*held
	queue   []*held
	running int
	runs    map[string]*runGate
	recent  recent
	closed  bool
	leaving chan struct{} // closed with the desk
	idle    chan struct{} // closed when closed and nothing is held
}

// runGate counts the running calls of one run. last is the turn of the one that got its place last.
type runGate struct {
	running int
	alone   bool
	last    *turn
}

func newDesk(limit, queueLimit int, start func(*held)) *desk {
	return &desk{
		limit: limit, queueLimit: queueLimit, start: start, next: make(chan *held),
		calls: map[string]*held{}, runs: map[string]*runGate{}, leaving: make(chan struct{}), idle: make(chan struct{}),
	}
}

// verdict is what a desk does with a call.
type verdict int

const (
	taken    verdict = iota // it runs or waits
	again                   // this delivery is a repetition
	full                    // the queue is full
	shut                    // the executor is leaving
	unwanted                // it was stopped before it came
)

// take accepts a call or says why not. A repetition of an ended call gives its answer, if
// it was small enough to keep.
func (d *desk) take(h *held) (verdict, *entryOf) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.calls[h.key] != nil {
		return again, nil
	}
	if e := d.recent.find(h.key); e != nil {
		if e.stopped {
			return unwanted, nil
		}
		return again, e
	}
	switch {
	case d.closed:
		return shut, nil
	case d.running < d.limit && d.gateOpen(h) && !d.waits(h.call.Address.Run):
		d.calls[h.key] = h
		d.launch(h)
	case len(d.queue) >= d.queueLimit:
		return full, nil
	default:
		d.calls[h.key] = h
		d.queue = append(d.queue, h)
	}
	return taken, nil
}

// waits tells whether a call of a run is queued.
func (d *desk) waits(run string) bool {
	return slices.ContainsFunc(d.queue, func(h *held) bool { return h.call.Address.Run == run })
}

// gateOpen tells whether nothing that runs in h's run forbids it.
func (d *desk) gateOpen(h *held) bool {
	g := d.runs[h.call.Address.Run]
	return g == nil || !g.alone && !h.target.tool.Sequential
}

// launch gives a call a place.
func (d *desk) launch(h *held) {
	h.running = true
	d.running++
	g := d.runs[h.call.Address.Run]
	if g == nil {
		g = &runGate{}
		d.runs[h.call.Address.Run] = g
	}
	g.running++
	g.alone = h.target.tool.Sequential
	if h.back != nil { // its goroutine waits for this
		close(h.back)
		h.back = nil
		return
	}
	h.turn.before = g.last.pending()
	g.last = &h.turn
	select {
	case d.next <- h:
	default:
		go d.work(h)
	}
}

// release takes a call's place away, if it has one.
func (d *desk) release(h *held) {
	if !h.running {
		return
	}
	h.running = false
	d.running--
	run := h.call.Address.Run
	g := d.runs[run]
	if g.running--; g.running == 0 {
		delete(d.runs, run)
	} else if g.last == &h.turn {
		g.last = h.turn.pending()
	}
}

// pause lets others in while a running call waits for a person, or, to its end, for agents. The call stays held.
func (d *desk) pause(h *held) {
	d.mu.Lock()
	defer d.mu.Unlock()
	h.turn.leave()
	d.release(h)
	d.pump()
}

// resume returns when a paused call has a place again, before all that came later, or when it isn't wanted any more.
func (d *desk) resume(h *held) {
	back := make(chan struct{})
	d.mu.Lock()
	h.back = back
	first := slices.IndexFunc(d.queue, func(q *held) bool { return q.back == nil })
	if first < 0 {
		first = len(d.queue)
	}
	d.queue = slices.Insert(d.queue, first, h)
	d.pump()
	d.mu.Unlock()
	select {
	case <-back:
	case <-h.ctx.Done():
		d.mu.Lock()
		defer d.mu.Unlock()
		d.queue = slices.DeleteFunc(d.queue, func(q *held) bool { return q == h })
		d.pump()
	}
}

// work runs a call, and others after it until the desk is closed. A goroutine that has checked a
// schema has a large stack, which a new one would have to grow again. There are never many more of
// them than calls have run at once.
func (d *desk) work(h *held) {
	for {
		d.start(h)
		select {
		case h = <-d.next:
		case <-d.leaving:
			return
		}
	}
}

// wanted tells whether somebody still waits for a call's answer.
func (d *desk) wanted(h *held) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return !h.stopped
}

// done ends a call, after it was answered, and lets waiting ones in.
func (d *desk) done(h *held, answer *schemas.Answer) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.calls, h.key)
	h.turn.leave()
	d.release(h)
	d.recent.add(h.key, answer, h.stopped)
	d.pump()
	d.settleIdle()
}

// pump starts the queued calls that may run, in order; within a run none overtakes.
func (d *desk) pump() {
	if len(d.queue) == 0 {
		return
	}
	var blocked map[string]bool
	kept := d.queue[:0]
	for _, h := range d.queue {
		run := h.call.Address.Run
		if d.running < d.limit && !blocked[run] && d.gateOpen(h) {
			d.launch(h)
			continue
		}
		if blocked == nil {
			blocked = map[string]bool{}
		}
		blocked[run] = true
		kept = append(kept, h)
	}
	clear(d.queue[len(kept):])
	d.queue = kept
}

// stop ends a call that nobody waits for any more. A queued one never runs; one that runs or waits for a person
// has its context ended, and what it still returns is dropped. One that hasn't come yet is
// remembered, and not run when it does.
func (d *desk) stop(key string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	h := d.calls[key]
	if h == nil {
		if d.recent.find(key) == nil {
			d.recent.add(key, nil, true)
		}
		return
	}
	h.stopped = true
	h.ack.cancel()
	h.cancel()
	if !h.running {
		d.drop(func(q *held) bool { return q == h })
	}
}

// drop takes out queued calls that have no goroutine yet.
func (d *desk) drop(which func(*held) bool) (dropped []*held) {
	kept := d.queue[:0]
	for _, h := range d.queue {
		if h.back == nil && which(h) {
			delete(d.calls, h.key)
			d.recent.add(h.key, nil, true)
			dropped = append(dropped, h)
			continue
		}
		kept = append(kept, h)
	}
	clear(d.queue[len(kept):])
	d.queue = kept
	d.pump()
	d.settleIdle()
	return dropped
}

// missing gives those of the keys that are neither queued nor running.
func (d *desk) missing(keys []string) (gone []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, k := range keys {
		if h := d.calls[k]; h == nil || h.stopped {
			gone = append(gone, k)
		}
	}
	return gone
}

// close refuses further calls. idle is closed once nothing is held.
func (d *desk) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.closed {
		d.closed = true
		close(d.leaving)
	}
	d.settleIdle()
}

// abandon cancels everything that is held, and gives the queued calls, which never run.
func (d *desk) abandon() (queued []*held) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, h := range d.calls {
		h.cancel()
	}
	return d.drop(func(*held) bool { return true })
}

// forsake gives the calls that still run, and makes their answers unwanted.
func (d *desk) forsake() (running []*held) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, h := range d.calls {
		if !h.stopped {
			h.stopped = true
			h.ack.cancel()
			running = append(running, h)
		}
	}
	return running
}

func (d *desk) settleIdle() {
	if d.closed && len(d.calls) == 0 {
		select {
		case <-d.idle:
		default:
			close(d.idle)
		}
	}
}

// counts tells how many calls run and wait.
func (d *desk) counts() (running, queued int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.running, len(d.queue)
}

// acknowledgement is sent once, unless the call is over before it is due. It never comes
// after cancel has returned.
type acknowledgement struct {
	mu    sync.Mutex
	timer *time.Timer
	over  bool
}

// after arms it.
func (a *acknowledgement) after(d time.Duration, send func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.over {
		return
	}
	a.timer = time.AfterFunc(d, func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		if !a.over {
			a.over = true
			send()
		}
	})
}

func (a *acknowledgement) cancel() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.over = true
	if a.timer != nil {
		a.timer.Stop()
	}
}
