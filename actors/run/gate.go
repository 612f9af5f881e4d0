package run

import (
	"slices"
	"sync"

	"github.com/codecell/codecell/schemas"
)

// gate lets a sequential tool run alone among the calls of a run, whichever executors serve them (P4): it is sent when
// all calls before it have settled, and those after it wait until it has. The cells whose catalog has such a tool share
// it; other runs have none.
//
// A call passes once and leaves once: when it has settled, was lost or was cancelled, or with its cell. A tool that
// works on after it was cancelled isn't waited for.
type gate struct {
	mu    sync.Mutex
	queue []*gated // in order of issue
	out   map[gateKey]bool
	// alone: the one call that is out is a sequential one.
	alone bool
}

// gateKey names a call of the run.
type gateKey struct{ cell, call string }

// gated is one call at the gate.
type gated struct {
	key        gateKey
	sequential bool
	// send hands the call to the executors. It is called under the gate's lock, so that a call is either sent or
	// cancelled: it must not block, nor come back to the gate.
	send func() *schemas.CallError
	// fail tells the cell of a call that was let through and could not be sent.
	fail func(*schemas.CallError)
}

func newGate() *gate { return &gate{out: make(map[gateKey]bool)} }

// enter sends a call, or keeps it until it is its turn. The error says that it was not sent.
func (g *gate) enter(c *gated) *schemas.CallError {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.queue) > 0 || !g.open(c) {
		g.queue = append(g.queue, c)
		return nil
	}
	return g.pass(c)
}

// leave takes a call out, wherever it is, and lets others in. Leaving twice does nothing.
func (g *gate) leave(key gateKey) {
	g.mu.Lock()
	if _, ok := g.out[key]; ok {
		g.forget(key)
	} else {
		g.queue = slices.DeleteFunc(g.queue, func(c *gated) bool { return c.key == key })
	}
	g.refill()
}

// cancel takes a call out, and all others of its cell that wait: a cell that gives one up is at its end, and gives up all.
func (g *gate) cancel(key gateKey) {
	g.mu.Lock()
	g.drop(key.cell)
	if _, ok := g.out[key]; ok {
		g.forget(key)
	}
	g.refill()
}

// leaveAll takes all calls of a cell out.
func (g *gate) leaveAll(cell string) {
	g.mu.Lock()
	g.drop(cell)
	for key := range g.out {
		if key.cell == cell {
			g.forget(key)
		}
	}
	g.refill()
}

// drop takes the calls of a cell out of the queue.
func (g *gate) drop(cell string) {
	g.queue = slices.DeleteFunc(g.queue, func(c *gated) bool { return c.key.cell == cell })
}

func (g *gate) forget(key gateKey) {
	delete(g.out, key)
	g.alone = false // it was this one, or there was none
}

// refill lets those in whose turn it is, and unlocks the gate.
func (g *gate) refill() {
	failed := g.pump()
	g.mu.Unlock()
	for _, tell := range failed { // a cell that hears of it may be back here at once
		tell()
	}
}

// open tells whether a call may pass.
func (g *gate) open(c *gated) bool { return !g.alone && (!c.sequential || len(g.out) == 0) }

// pass sends a call.
func (g *gate) pass(c *gated) *schemas.CallError {
	if err := c.send(); err != nil {
		return err
	}
	g.out[c.key], g.alone = true, c.sequential
	return nil
}

// pump lets those through whose turn it is: none overtakes another. It gives what is to be told of those that could not be sent.
func (g *gate) pump() (failed []func()) {
	for len(g.queue) > 0 && g.open(g.queue[0]) {
		c := g.queue[0]
		g.queue[0] = nil
		g.queue = g.queue[1:]
		if err := g.pass(c); err != nil {
			failed = append(failed, func() { c.fail(err) })
		}
	}
	return failed
}
