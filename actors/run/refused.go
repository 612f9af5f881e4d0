package run

import (
	"slices"

	"github.com/codecell/codecell/schemas"
)

// refusedWaits are the last waits that were refused since there is no such cell (W2), so that a repeated delivery
// leaves nothing in the transcript (W5).
type refusedWaits []schemas.WaitEntry

// maxRefused is how many are remembered.
const maxRefused = 64

// note puts a refused wait and its answer into the transcript, if there is one.
func (r *refusedWaits) note(session Session, m *schemas.Wait, result *schemas.Result) {
	wait := schemas.WaitEntry{CallID: idOf(m.CallID), Cell: idOf(m.RunID)}
	if session == nil || wait.CallID != "" && slices.Contains(*r, wait) {
		return
	}
	if len(*r) == maxRefused {
		*r = slices.Delete(*r, 0, 1)
	}
	*r = append(*r, wait)
	note(session, schemas.SessionEntry{Kind: schemas.EntryWait, Wait: &wait})
	note(session, resultEntry(wait.CallID, "", wait.Cell, result))
}
