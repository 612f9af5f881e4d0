package run

import (
	"slices"
	"sync"
)

// gate lets a sequential tool run alone among the calls of a run, whichever executors serve them (P4): its turn comes when
// all calls before it have settled, and those after it wait until it has. What is called from
// cells and what the model calls directly share it, as soon as either may be such a tool; other runs have none.
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
	// turn is told when a call that had to wait may pass; it has passed then, and must be sent or leave.
	turn func()
}

func newGate() *gate { return &gate{out: make(map[gateKey]bool)} }

// enter tells whether the call may be sent now. If not, it is told when.
func (g *gate) enter(c *gated) (now bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.queue) > 0 || !g.open(c) {
		g.queue = append(g.queue, c)
		return false
	}
	g.pass(c)
	return true
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

// refill lets those in whose turn it is, none before another, and unlocks the gate.
func (g *gate) refill() {
	var turns []*gated
	for len(g.queue) > 0 && g.open(g.queue[0]) {
		c := g.queue[0]
		g.queue[0] = nil
		g.queue = g.queue[1:]
		g.pass(c)
		turns = append(turns, c)
	}
	g.mu.Unlock()
	for _, c := range turns { // a cell that hears of it may be back here at once
		c.turn()
	}
}

// open tells whether a call may pass.
func (g *gate) open(c *gated) bool { return !g.alone && (!c.sequential || len(g.out) == 0) }

func (g *gate) pass(c *gated) { g.out[c.key], g.alone = true, c.sequential }
