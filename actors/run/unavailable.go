package run

import (
	"encoding/json"
	"slices"

	"github.com/codecell/codecell/schemas"
)

// Unavailable is what a wait for an unknown, ended or expired cell is told (W2, W3).
const Unavailable = "runId is unavailable or expired: the cell has ended, expired or was never there. " +
	"Its calls may have run: look at the earlier results before you run anything again."

// unavailableToPollers is [Unavailable] for those who can look after commands that a cell has left in the background.
const unavailableToPollers = Unavailable +
	` A command that it left in the background may still run: a program can ask with process({action: "poll", sessionId}).`

// unavailable is what a wait for a cell that isn't there is told. It names the process tool only to those whose programs
// can call it.
func (r *run) unavailable() string {
	if r.admission != nil && r.admission.Surface.Mode != schemas.ModeCode {
		return "there is nothing to wait for: this run is in mode " + modeName(r.admission) + "; " + instead(r.admission)
	}
	if r.admission != nil && polls(r.admission) {
		return unavailableToPollers
	}
	return Unavailable
}

// polls tells whether programs can call a process tool of ours that has an action "poll".
func polls(a *Admission) bool {
	entry, ok := a.Catalog.Lookup("process")
	if !ok || entry.Source != schemas.SourceNative || entry.Name != "process" {
		return false
	}
	var parameters struct {
		Properties struct {
			Action struct {
				Enum []any `json:"enum"`
			} `json:"action"`
		} `json:"properties"`
	}
	return json.Unmarshal(entry.Parameters, &parameters) == nil && slices.Contains(parameters.Properties.Action.Enum, any("poll"))
}
