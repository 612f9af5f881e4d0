package host

import (
	"time"

	"github.com/codecell/codecell/schemas"
)

// describeHold is how long a caller that knows the surface is kept waiting for another one.
const describeHold = 25 * time.Second

// describe tells what a new cell of the run would get. To a caller that knows this surface already
// it answers when there is another, when the host shuts down, or after [describeHold].
func (h *Host) describe(token, known string) *schemas.Described {
	hold := time.NewTimer(describeHold)
	defer hold.Stop()
	for {
		// Taken before the look, so that no change falls between the look and the wait.
		changed := h.directory.change()
		admission, err := h.admissionOf(token)
		if err != nil {
			return &schemas.Described{Err: err}
		}
		if admission.Surface.Version != known {
			return &schemas.Described{
				Surface: admission.Surface, Catalog: admission.Catalog.Entries(), Problems: admission.Problems,
			}
		}
		select {
		case <-changed:
		case <-hold.C:
			known = "" // this is all there is to tell
		case <-h.stopping:
			return &schemas.Described{Err: &schemas.Error{Code: schemas.RuntimeUnavailable, Message: drainingMessage}}
		}
	}
}
