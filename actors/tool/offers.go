package tool

import "github.com/codecell/codecell/schemas"

// CoreNames are the tools of [Core], in catalog order.
var CoreNames = []string{"read", "ls", "find", "grep"}

// Offers gives the executor's registrations as they are on the bus.
func (e *Executor) Offers() []schemas.Registration {
	out := make([]schemas.Registration, 0, len(e.owners))
	for _, w := range e.owners {
		out = append(out, w.offered())
	}
	return out
}
