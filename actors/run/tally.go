package run

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/codecell/codecell/schemas"
)

// maxTallied is how many tools of one run are counted one by one: a long run may see many generations of its catalog.
const maxTallied = 4096

// tally counts the calls of a run by tool. The cells of the run share it.
//
// A call takes one look-up that locks nothing and makes nothing: fast has the counters of the tools as the current
// catalogs hold them. A tool's counter is the same in each, by its id.
type tally struct {
	fast sync.Map // *schemas.Tool to *atomic.Int64

	mu   sync.Mutex
	byID map[string]*tallied
	// rest counts the calls of the tools beyond [maxTallied].
	rest atomic.Int64
}

// tallied is the count of one tool.
type tallied struct {
	source schemas.Source
	count  *atomic.Int64
}

func (t *tally) add(tool *schemas.Tool) {
	if n, ok := t.fast.Load(tool); ok {
		n.(*atomic.Int64).Add(1)
		return
	}
	n := t.of(tool)
	t.fast.Store(tool, n)
	n.Add(1)
}

func (t *tally) of(tool *schemas.Tool) *atomic.Int64 {
	id := tool.ID()
	t.mu.Lock()
	defer t.mu.Unlock()
	if known := t.byID[id]; known != nil {
		return known.count
	}
	if len(t.byID) == maxTallied {
		return &t.rest
	}
	if t.byID == nil {
		t.byID = make(map[string]*tallied)
	}
	n := new(atomic.Int64)
	t.byID[id] = &tallied{tool.Source, n}
	return n
}

// renew lets go of the catalogs that the run had so far. Cells that still have one count on.
func (t *tally) renew() { t.fast.Clear() }

// list gives the counts in the order of their ids, as many as [schemas.RunTotals] may have, and how many tools are left
// out, of which those that were never counted by themselves are one.
func (t *tally) list() (called []schemas.CalledTool, dropped int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for id, n := range t.byID {
		called = append(called, schemas.CalledTool{ID: id, Source: n.source, Count: int(n.count.Load())})
	}
	slices.SortFunc(called, func(a, b schemas.CalledTool) int { return cmp.Compare(a.ID, b.ID) })
	if t.rest.Load() > 0 {
		dropped = 1
	}
	if more := len(called) - schemas.MaxCalled; more > 0 {
		called, dropped = called[:schemas.MaxCalled:schemas.MaxCalled], dropped+more
	}
	return called, dropped
}
