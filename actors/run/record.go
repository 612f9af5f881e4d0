package run

import (
	"log/slog"
	"sync"
	"time"

	"github.com/codecell/codecell/actors/cell"
	"github.com/codecell/codecell/schemas"
)

// record is what one exec leaves in the transcript of the session that its run is bound to (P6): itself, its waits,
// what each was answered, and its calls with their outcomes. A nil record, that of a run that isn't bound, leaves
// nothing.
//
// Entries are in the order in which things happen: an exec comes before its calls, a call before its outcome, and
// outcomes before the answer that they are part of. An entry is handed over before the thing itself goes on (the exec
// before its guest, the call before it is sent), but nobody waits until it is kept: a crash can lose the last moment.
// So a transcript can't prove that a call was not made, and only cells that can't have changed anything are run again
// from one (R2).
type record struct {
	session Session
	exec    schemas.ExecEntry

	mu    sync.Mutex
	begun bool // the exec's entry is there
	// open counts answers that are still to come.
	open int
	// waits are the last ones, for repeated deliveries.
	waits []cell.WaitResult
	// end is what the cell ended with; over tells that the transcript has it.
	end  *schemas.Result
	over bool
}

// keptWaits bounds the waits of a cell that are told from repeated ones.
const keptWaits = 8

// newRecord makes the record of a program that was read, whether it may run or not.
func newRecord(spec *Spec, p *prepared) *record {
	if p.session == nil {
		return nil
	}
	input, redacted := spec.Redact.Input(p.exec.Msg.Input)
	r := &record{session: p.session, exec: schemas.ExecEntry{
		CallID: idOf(p.exec.Msg.CallID), Host: spec.Host, Identity: spec.Identity, Redacted: redacted,
		RestartSafe: p.input.RestartSafe, DryRun: spec.DryRun, Recovers: idOf(p.exec.Msg.Recovers),
	}}
	r.exec.Input, r.exec.Truncated = bounded(input, maxInputKept)
	return r
}

// remember keeps the session of a bound run for what comes without a program. A program whose session can't be opened
// runs all the same: that it isn't recorded is told in the log.
func (r *run) remember(p *prepared) {
	if p.session != nil {
		r.session = p.session
	}
	if p.sessionErr != nil {
		log := r.spec.Cells.Logger
		if log == nil {
			log = slog.Default()
		}
		log.Warn("a program is not recorded: its session can't be opened", "run", r.spec.Token, "error", p.sessionErr)
	}
}

// directRecord makes the record of a direct call, which is its own parent and has no answer besides its outcome.
func directRecord(session Session, callID, cell string) *record {
	if session == nil {
		return nil
	}
	return &record{session: session, exec: schemas.ExecEntry{CallID: idOf(callID), Cell: cell}}
}

// begin says that the exec has a cell.
func (r *record) begin(cell string) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.exec.Cell = cell
	r.enter()
}

// enter appends the exec itself, once.
func (r *record) enter() {
	if !r.begun {
		r.begun = true
		exec := r.exec
		note(r.session, schemas.SessionEntry{Kind: schemas.EntryExec, Exec: &exec})
	}
}

// answers gives a reply that notes what the exec is answered. An exec that was refused has no cell.
func (r *record) answers(reply cell.Reply) cell.Reply {
	if r == nil {
		return reply
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.open++
	return func(result *schemas.Result) {
		r.mu.Lock()
		r.enter()
		r.over = r.over || result.Status != schemas.StatusWaiting
		r.result(r.exec.CallID, result)
		r.answered()
		r.mu.Unlock()
		reply(result)
	}
}

// wait notes a wait, and gives a reply that notes its answer. A delivery that gets the answer of an earlier one leaves
// nothing (W5).
func (r *record) wait(callID string, reply cell.Reply) cell.Reply {
	if r == nil {
		return reply
	}
	callID = idOf(callID)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.open++
	if r.find(callID) == nil {
		r.enterWait(callID)
	}
	return func(result *schemas.Result) {
		r.mu.Lock()
		r.waited(callID, result)
		r.answered()
		r.mu.Unlock()
		reply(result)
	}
}

func (r *record) enterWait(callID string) {
	if len(r.waits) == keptWaits {
		r.waits = append(r.waits[:0:0], r.waits[1:]...)
	}
	r.waits = append(r.waits, cell.WaitResult{CallID: callID})
	note(r.session, schemas.SessionEntry{Kind: schemas.EntryWait, Wait: &schemas.WaitEntry{CallID: callID, Cell: r.exec.Cell}})
}

// find gives the wait with this id. One without an id is no other's repetition.
func (r *record) find(callID string) *cell.WaitResult {
	for i := range r.waits {
		if w := &r.waits[i]; callID != "" && w.CallID == callID {
			return w
		}
	}
	return nil
}

func (r *record) waited(callID string, result *schemas.Result) {
	if w := r.find(callID); w != nil {
		if w.Result == result {
			return
		}
		if w.Result != nil { // it was refused before, and delivered once more
			r.enterWait(callID)
			w = r.find(callID)
		}
		w.Result = result
	}
	r.result(callID, result)
	// A wait that is refused says nothing of its cell, and looks like one that ended it with a refusal.
	r.over = r.over || result.Status == schemas.StatusCompleted || result.Status == schemas.StatusFailed && result.Code != schemas.InvalidInput
}

// answered is called with every answer.
func (r *record) answered() {
	r.open--
	r.conclude()
}

// ended says how the cell has ended. If no answer tells, since nobody waited or it could be one about the wait alone,
// the transcript has it as the exec's. So a reader knows that a cell has ended by a result that isn't waiting, and is
// the exec's or has another code than invalid_input.
func (r *record) ended(result *schemas.Result) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.end = result
	r.conclude()
}

func (r *record) conclude() {
	if r.end == nil || r.over || r.open > 0 {
		return
	}
	r.over = true
	r.result(r.exec.CallID, r.end)
}

func (r *record) result(callID string, result *schemas.Result) {
	note(r.session, resultEntry(callID, r.exec.CallID, r.exec.Cell, result))
}

// call notes a call on its way.
func (r *record) call(c cell.Call, tool *schemas.Tool, placeholder bool) {
	if r == nil {
		return
	}
	e := &schemas.CallEntry{ParentID: r.exec.CallID, Cell: r.exec.Cell, Call: c.ID, Placeholder: placeholder}
	if tool != nil { // nil: there is no such tool, and the call is refused
		e.Source, e.Owner, e.Tool, e.ReplaySafe = tool.Source, tool.Owner, tool.Name, replaySafe(tool)
	}
	e.Args, e.Truncated = bounded(c.Args, maxArgsKept)
	note(r.session, schemas.SessionEntry{Kind: schemas.EntryCall, Call: e})
}

// settled notes how a call has ended.
func (r *record) settled(s *cell.Settled) {
	if r == nil {
		return
	}
	note(r.session, outcomeEntry(r.exec.CallID, r.exec.Cell, s))
}

// note appends an entry as of now.
func note(session Session, entry schemas.SessionEntry) {
	entry.At = time.Now().UnixNano()
	session.Append(entry)
}
