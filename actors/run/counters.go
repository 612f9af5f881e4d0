package run

import (
	"sync/atomic"

	"github.com/codecell/codecell/actors/catalog"
	"github.com/codecell/codecell/schemas"
)

// counters are a run's cumulative counts (E4). Its cells share them.
type counters struct {
	// scope lets a reader sum counters over runs: equal scopes are one counter. A run has one for its life, however its
	// catalog changes.
	scope    string
	search   atomic.Int64
	describe atomic.Int64
	call     atomic.Int64
	tools    tally
}

func newCounters() *counters { return &counters{scope: newScope()} }

// called counts a call of a tool of the catalog.
func (c *counters) called(e *catalog.Entry) { c.calledTool(&e.Tool) }

// calledTool counts a call of a tool, which must not move or change while the run may call it.
func (c *counters) calledTool(t *schemas.Tool) {
	c.call.Add(1)
	c.tools.add(t)
}

// totals is what the run has come to so far (L5).
func (c *counters) totals() *schemas.RunTotals {
	t := &schemas.RunTotals{Searches: int(c.search.Load()), Describes: int(c.describe.Load()), Calls: int(c.call.Load())}
	t.Called, t.Dropped = c.tools.list()
	return t
}

// telemetry gives a detached copy of the counts, with the sizes of what was admitted and the names of what the model sees.
func (c *counters) telemetry(admission *Admission) schemas.Telemetry {
	t := schemas.Telemetry{
		CounterScope:  c.scope,
		SearchCount:   int(c.search.Load()),
		DescribeCount: int(c.describe.Load()),
		CallCount:     int(c.call.Load()),
	}
	if admission == nil {
		t.VisibleTools = []string{schemas.ExecTool, schemas.WaitTool}
		return t
	}
	t.CatalogSize, t.Sources = admission.Catalog.Size(), admission.Catalog.Counts()
	t.VisibleTools = make([]string, len(admission.Surface.Tools))
	for i := range admission.Surface.Tools {
		t.VisibleTools[i] = admission.Surface.Tools[i].Name
	}
	return t
}

// failure is the result of a call that came to no cell. It has the run's telemetry like any other.
func (r *run) failure(code schemas.Code, message string) *schemas.Result {
	return &schemas.Result{Status: schemas.StatusFailed, Code: code, Error: message, Telemetry: r.counters.telemetry(r.admission)}
}

// stranger is the result of somebody who asks for another's cell: it tells nothing of the run (A6).
func (r *run) stranger(err *schemas.Error) *schemas.Result {
	return &schemas.Result{Status: schemas.StatusFailed, Code: err.Code, Error: err.Message, Telemetry: newCounters().telemetry(nil)}
}
