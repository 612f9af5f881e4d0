package run

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/codecell/codecell/schemas"
)

// generation is what one catalog holds of some tools.
func generation(from, to int) []schemas.Tool {
	tools := make([]schemas.Tool, 0, to-from)
	for i := from; i < to; i++ {
		tools = append(tools, schemas.Tool{Source: schemas.SourceNative, Owner: "lab", Name: fmt.Sprintf("t%04d", i)})
	}
	return tools
}

// Cells count side by side while catalogs come and go, and no call is lost.
func TestSpec_L5_TalliesAreExact(t *testing.T) {
	c := newCounters()
	const cells, rounds = 8, 50
	var counting sync.WaitGroup
	for range cells {
		counting.Go(func() {
			for range rounds {
				tools := generation(0, 10) // each cell has its own generation
				for i := range tools {
					c.calledTool(&tools[i])
				}
			}
		})
	}
	for range rounds {
		c.tools.renew()
	}
	counting.Wait()
	totals := c.totals()
	if totals.Calls != cells*rounds*10 || len(totals.Called) != 10 || totals.Dropped != 0 {
		t.Errorf("totals = %+v", totals)
	}
	for i, called := range totals.Called {
		want := schemas.CalledTool{ID: fmt.Sprintf("openclaw:lab:t%04d", i), Source: schemas.SourceNative, Count: cells * rounds}
		if called != want {
			t.Errorf("counted %+v, want %+v", called, want)
		}
	}
}

func TestSpec_L5_TotalsAreBounded(t *testing.T) {
	c := newCounters()
	tools := generation(0, maxTallied+100)
	slices.Reverse(tools)
	for i := range tools {
		c.calledTool(&tools[i])
	}
	totals := c.totals()
	if totals.Calls != len(tools) || len(totals.Called) != schemas.MaxCalled || totals.Dropped != maxTallied-schemas.MaxCalled+1 {
		t.Errorf("%d calls, %d tools, %d left out", totals.Calls, len(totals.Called), totals.Dropped)
	}
	if first := totals.Called[0].ID; first != "openclaw:lab:t0100" {
		t.Errorf("the first is %s", first)
	}
	if n := len(c.tools.byID); n != maxTallied {
		t.Errorf("%d tools are kept", n)
	}
}

// A call of a tool that was called before makes nothing.
func TestCountingACallAllocatesNothing(t *testing.T) {
	c := newCounters()
	tools := generation(0, 3)
	c.calledTool(&tools[1])
	if n := testing.AllocsPerRun(100, func() { c.calledTool(&tools[1]) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkCounting(b *testing.B) {
	c := newCounters()
	tools := generation(0, 100)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for i := 0; pb.Next(); i++ {
			c.calledTool(&tools[i%len(tools)])
		}
	})
}
