package run

import (
	"sync/atomic"

	"github.com/codecell/codecell/actors/catalog"
	"github.com/codecell/codecell/schemas"
)

// counters are a run's cumulative counts (E4). Its cells share them.
type counters struct {
	// scope lets a reader sum counters over runs: equal scopes are one counter.
	scope    string
	search   atomic.Int64
	describe atomic.Int64
	call     atomic.Int64
}

func newCounters() *counters { return &counters{scope: newScope()} }

// telemetry gives a detached copy of the counts, with the catalog's sizes if there is one.
func (c *counters) telemetry(cat *catalog.Catalog) schemas.Telemetry {
	t := schemas.Telemetry{
		CounterScope:  c.scope,
		SearchCount:   int(c.search.Load()),
		DescribeCount: int(c.describe.Load()),
		CallCount:     int(c.call.Load()),
		VisibleTools:  []string{"exec", "wait"},
	}
	if cat != nil {
		t.CatalogSize, t.Sources = cat.Size(), cat.Counts()
	}
	return t
}
