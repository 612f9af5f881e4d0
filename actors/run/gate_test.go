package run

import (
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"
)

// Random orders of calls, ends, cancels and ends of cells: a sequential call is out alone, calls pass in order of issue, none is
// sent after it was cancelled, and none is forgotten.
func TestSpec_P4_TheGateKeepsOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := newGate()
		type known struct {
			*gated
			passed, gone bool
		}
		var calls []*known
		out := func() (list []*known) {
			for _, c := range calls {
				if c.passed && !c.gone {
					list = append(list, c)
				}
			}
			return list
		}
		pass := func(t *rapid.T, c *known) {
			switch {
			case c.passed || c.gone:
				t.Fatal("passed twice, or after it was cancelled")
			case slices.ContainsFunc(calls[:slices.Index(calls, c)], func(b *known) bool { return !b.passed && !b.gone }):
				t.Fatal("a call overtook another")
			}
			c.passed = true
			if list := out(); len(list) > 1 && slices.ContainsFunc(list, func(o *known) bool { return o.sequential }) {
				t.Fatalf("%d calls are out beside a sequential one", len(list))
			}
		}
		var now *rapid.T // of the step under way
		enter := func(t *rapid.T) {
			now = t
			c := &known{}
			c.gated = &gated{
				key:        gateKey{rapid.SampledFrom([]string{"a", "b"}).Draw(t, "cell"), strconv.Itoa(len(calls))},
				sequential: rapid.IntRange(0, 2).Draw(t, "sequential") == 0,
				turn:       func() { pass(now, c) },
			}
			calls = append(calls, c)
			if g.enter(c.gated) {
				pass(t, c)
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"enter": enter,
			"leave": func(t *rapid.T) {
				now = t
				if len(calls) == 0 {
					t.Skip()
				}
				c := rapid.SampledFrom(calls).Draw(t, "call")
				c.gone = true // settled, cancelled, or gone before
				g.leave(c.key)
			},
			"cancel": func(t *rapid.T) {
				now = t
				if len(calls) == 0 {
					t.Skip()
				}
				c := rapid.SampledFrom(calls).Draw(t, "call")
				for _, o := range calls {
					o.gone = o.gone || o == c || !o.passed && o.key.cell == c.key.cell
				}
				g.cancel(c.key)
			},
			"end of a cell": func(t *rapid.T) {
				now = t
				name := rapid.SampledFrom([]string{"a", "b"}).Draw(t, "cell")
				for _, c := range calls {
					c.gone = c.gone || c.key.cell == name
				}
				g.leaveAll(name)
			},
			"": func(t *rapid.T) {
				if len(out()) == 0 && len(g.queue) > 0 {
					t.Fatalf("%d calls wait for nothing", len(g.queue))
				}
			},
		})
		now = t
		for len(out()) > 0 {
			c := out()[0]
			c.gone = true
			g.leave(c.key)
		}
		if len(g.queue) > 0 || len(g.out) > 0 || g.alone {
			t.Fatalf("at the end: %d queued, %d out, alone %v", len(g.queue), len(g.out), g.alone)
		}
	})
}

// Calls of many goroutines, as the cells of a run make them: two sequential ones are never out together.
func TestSpec_P4_TheGateIsSharedByCells(t *testing.T) {
	g := newGate()
	var alone, others atomic.Int32
	var cells sync.WaitGroup
	for cell := range 4 {
		cells.Go(func() {
			for i := range 200 {
				turn := make(chan struct{})
				sequential := i%3 == 0
				key := gateKey{strconv.Itoa(cell), strconv.Itoa(i)}
				if !g.enter(&gated{key: key, sequential: sequential, turn: func() { close(turn) }}) {
					<-turn
				}
				if sequential && (alone.Add(1) > 1 || others.Load() > 0) || !sequential && (others.Add(1) < 1 || alone.Load() > 0) {
					t.Error("a sequential call isn't alone")
				}
				if sequential {
					alone.Add(-1)
				} else {
					others.Add(-1)
				}
				g.leave(key)
			}
		})
	}
	cells.Wait()
}
