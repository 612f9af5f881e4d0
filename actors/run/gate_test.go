package run

import (
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"github.com/codecell/codecell/schemas"
)

// Random orders of calls, ends, cancels and ends of cells: a sequential call is out alone, calls pass in order of issue, none is
// sent after it was cancelled, and none is forgotten.
func TestSpec_P4_TheGateKeepsOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := newGate()
		type known struct {
			*gated
			sent, gone, refused bool
			told                bool
		}
		var calls []*known
		issued := 0
		out := func() (list []*known) {
			for _, c := range calls {
				if c.sent && !c.gone {
					list = append(list, c)
				}
			}
			return list
		}
		enter := func(t *rapid.T) {
			issued++
			c := &known{refused: rapid.IntRange(0, 9).Draw(t, "refused") == 0}
			c.gated = &gated{
				key:        gateKey{rapid.SampledFrom([]string{"a", "b"}).Draw(t, "cell"), strconv.Itoa(issued)},
				sequential: rapid.IntRange(0, 2).Draw(t, "sequential") == 0,
				send: func() *schemas.CallError {
					switch {
					case c.sent || c.gone:
						t.Fatal("sent twice, or after it was cancelled")
					case slices.ContainsFunc(calls[:slices.Index(calls, c)], func(b *known) bool { return !b.sent && !b.gone }):
						t.Fatal("a call overtook another")
					}
					if c.refused {
						c.gone = true
						return &schemas.CallError{Message: "not sent"}
					}
					c.sent = true
					if list := out(); len(list) > 1 && slices.ContainsFunc(list, func(o *known) bool { return o.sequential }) {
						t.Fatalf("%d calls are out beside a sequential one", len(list))
					}
					return nil
				},
				fail: func(*schemas.CallError) { c.told = true },
			}
			calls = append(calls, c)
			if err := g.enter(c.gated); err != nil {
				c.told = true
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"enter": enter,
			"leave": func(t *rapid.T) {
				if len(calls) == 0 {
					t.Skip()
				}
				c := rapid.SampledFrom(calls).Draw(t, "call")
				c.gone = true // settled, cancelled, or gone before
				g.leave(c.key)
			},
			"cancel": func(t *rapid.T) {
				if len(calls) == 0 {
					t.Skip()
				}
				c := rapid.SampledFrom(calls).Draw(t, "call")
				for _, o := range calls {
					o.gone = o.gone || o == c || !o.sent && o.key.cell == c.key.cell
				}
				g.cancel(c.key)
			},
			"end of a cell": func(t *rapid.T) {
				name := rapid.SampledFrom([]string{"a", "b"}).Draw(t, "cell")
				for _, c := range calls {
					c.gone = c.gone || c.key.cell == name
				}
				g.leaveAll(name)
			},
			"": func(t *rapid.T) {
				for _, c := range calls {
					if c.refused && !c.sent && c.gone != c.told && c.told {
						t.Fatal("a call was told that it failed, and is there still")
					}
				}
				if len(out()) == 0 && len(g.queue) > 0 {
					t.Fatalf("%d calls wait for nothing", len(g.queue))
				}
			},
		})
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
				passed := make(chan struct{})
				sequential := i%3 == 0
				key := gateKey{strconv.Itoa(cell), strconv.Itoa(i)}
				_ = g.enter(&gated{key: key, sequential: sequential, send: func() *schemas.CallError {
					if sequential && (alone.Add(1) > 1 || others.Load() > 0) || !sequential && (others.Add(1) < 1 || alone.Load() > 0) {
						t.Error("a sequential call isn't alone")
					}
					close(passed)
					return nil
				}})
				<-passed
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
