package run

import (
	"github.com/codecell/codecell/actors/cell"
	"github.com/codecell/codecell/schemas"
)

// endedKept is how many ended cells of a run are remembered for repeated waits.
const endedKept = 64

// finished remembers what the last waits for ended cells were answered, so that a repeated
// delivery of the same wait gets the same answer (W5). The oldest cell is forgotten first.
type finished struct {
	limit int
	order []string
	waits map[string][]cell.WaitResult
}

func newFinished(keep int) *finished {
	return &finished{limit: keep, waits: make(map[string][]cell.WaitResult)}
}

func (f *finished) keep(id string, waits []cell.WaitResult) {
	if len(waits) == 0 {
		return
	}
	f.order = append(f.order, id)
	f.waits[id] = waits
	if len(f.order) > f.limit {
		delete(f.waits, f.order[0])
		f.order = f.order[1:]
	}
}

// waited gives the answer to an earlier delivery of the wait, or nil.
func (f *finished) waited(id, callID string) *schemas.Result {
	for _, w := range f.waits[id] {
		if w.CallID == callID && callID != "" {
			return w.Result
		}
	}
	return nil
}
