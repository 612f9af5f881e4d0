package session

import (
	"slices"

	"github.com/codecell/codecell/schemas"
)

// Interrupt is an exec whose end the transcript doesn't tell: its host was killed, or it runs still.
type Interrupt struct {
	// Entry is the id of the exec's entry.
	Entry string             `json:"entry"`
	Exec  *schemas.ExecEntry `json:"exec"`
	// Why says why the program can't be run again by itself (R2); empty if it can.
	Why string `json:"why,omitempty"`
}

// Interrupted finds the execs of a session itself, not of those that it was forked from, which lack a terminal result
// and haven't been run again. The oldest comes first.
func Interrupted(b *Branch) []Interrupt {
	type state struct {
		Interrupt
		over bool
		// unsafe are the calls that may have changed something, in order.
		unsafe []*schemas.CallEntry
	}
	var execs []*state
	of := func(callID, cell string) *state { // the latest: models may use a call id again
		for _, x := range slices.Backward(execs) {
			if e := x.Exec; e.CallID == callID && (cell == "" || e.Cell == "" || e.Cell == cell) {
				return x
			}
		}
		return nil
	}
	for i := b.Inherited; i < len(b.Entries); i++ {
		e := &b.Entries[i]
		switch e.Kind {
		case schemas.EntryExec:
			if e.Exec.Recovers != "" {
				if old := of(e.Exec.Recovers, ""); old != nil {
					old.over = true
				}
			}
			execs = append(execs, &state{Interrupt: Interrupt{Entry: e.ID, Exec: e.Exec, Why: unsafe(e.Exec)}})
		case schemas.EntryResult:
			if x := of(e.Result.ParentID, e.Result.Cell); x != nil && terminal(e.Result) {
				x.over = true
			}
		case schemas.EntryCall:
			if x := of(e.Call.ParentID, e.Call.Cell); x != nil && !e.Call.ReplaySafe && !e.Call.Placeholder {
				x.unsafe = append(x.unsafe, e.Call)
			}
		case schemas.EntryOutcome:
			if x := of(e.Outcome.ParentID, e.Outcome.Cell); x != nil && e.Outcome.Outcome == schemas.NotStarted {
				x.unsafe = slices.DeleteFunc(x.unsafe, func(c *schemas.CallEntry) bool { return c.Call == e.Outcome.Call && c.Cell == e.Outcome.Cell })
			}
		default:
		}
	}
	var out []Interrupt
	for _, x := range execs {
		if x.over {
			continue
		}
		if x.Why == "" && len(x.unsafe) > 0 {
			c := x.unsafe[0]
			x.Why = "it called " + c.Owner + "." + c.Tool + ", which isn't marked replay-safe: look at what it did, and decide yourself"
		}
		out = append(out, x.Interrupt)
	}
	return out
}

// terminal tells whether a cell has ended with a result. A wait that was refused says nothing of its cell.
func terminal(r *schemas.ResultEntry) bool {
	return r.Status != schemas.StatusWaiting && (r.CallID == r.ParentID || r.Code != schemas.InvalidInput)
}

// unsafe says why an exec can't be run again as it was submitted.
func unsafe(e *schemas.ExecEntry) string {
	switch {
	case !e.RestartSafe:
		return "it isn't restartSafe, so running it again may do something twice: look at its calls, and decide yourself"
	case e.DryRun:
		return "it was a dry run, which has changed nothing: run it again if you want its list"
	case e.Redacted:
		return "credentials are masked in the program that was kept: run the original"
	case e.Truncated:
		return "the program was too large to be kept whole: run the original"
	}
	return ""
}
