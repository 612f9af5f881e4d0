package tool

import (
	"slices"

	"github.com/codecell/codecell/schemas"
)

// CoreNames are the tools of [Core], in catalog order.
var CoreNames = []string{"read", "ls", "find", "grep", "write", "edit", execName, processName}

// readers are those that only read.
var readers = CoreNames[:4:4]

// EnabledCore names the core tools that a configuration has on: those that only read are, unless switched off, the
// others are if switched on. process comes with exec.
func EnabledCore(w schemas.WorkspaceConfig) (names []string) {
	for _, name := range CoreNames {
		on := slices.Contains(readers, name)
		if name == processName {
			on = w.Enabled(execName, false)
		}
		if w.Enabled(name, on) {
			names = append(names, name)
		}
	}
	return names
}

// Offers gives the executor's registrations as they are on the bus.
func (e *Executor) Offers() []schemas.Registration {
	out := make([]schemas.Registration, 0, len(e.owners))
	for _, w := range e.owners {
		out = append(out, w.offered())
	}
	return out
}
