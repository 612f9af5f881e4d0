package cell

import (
	"time"

	"github.com/codecell/codecell/schemas"
)

// Effect is something that the shell must do, in the order given.
type Effect interface{ effect() }

type (
	// AskSlot asks the ledger for a slot; [SlotGranted] or [SlotRefused] follows.
	AskSlot struct{ Ticket uint64 }
	// AskWorker asks the ledger for a worker; [WorkerGranted] follows.
	AskWorker struct{ Ticket uint64 }
	// FreeSlot gives the slot back, or withdraws the ask.
	FreeSlot struct{}
	// FreeWorker gives the worker back, or withdraws the ask.
	FreeWorker struct{}
	// IdleWorker tells the ledger that the worker isn't computing.
	IdleWorker struct{}
	// BusyWorker tells the ledger that the worker computes.
	BusyWorker struct{}
	// RunLeg runs the guest until it is idle: a fresh one, the live one, or the snapshot, whichever there
	// is. [LegDone] follows, always.
	RunLeg struct {
		Answers []Settlement
		// Deadline stops the leg. One that is Light may outlast it, as long as it does little more than take its answers.
		Deadline time.Time
		Light    bool
		// Tainted: data of an MCP server or a client has reached the program (O5).
		Tainted bool
	}
	// StopLeg stops the running leg; its LegDone still follows.
	StopLeg struct{}
	// Park turns the live guest into a snapshot; cells that park live do without. [Parked] or [ParkFailed] follows.
	Park struct{}
	// DropGuest gives up the live guest.
	DropGuest struct{}
	// Dispatch hands a call to the run. A call that is refused comes back as an [Answer].
	Dispatch struct{ Call Call }
	// CancelCall says that nobody waits for a dispatched call any more.
	CancelCall struct{ ID string }
	// Settle says how a dispatched call has ended (P6).
	Settle struct{ Settled Settled }
	// Commit keeps what the program stored; [Committed] follows, always.
	Commit struct{ Tainted bool }
	// SetTimer sets a timer: at the time At, or, if that's zero, After from now.
	SetTimer struct {
		Timer Timer
		At    time.Time
		After time.Duration
	}
	// ClearTimer clears one. A firing may still come and is ignored.
	ClearTimer struct{ Timer Timer }
	// Respond answers all of To with one result.
	Respond struct {
		To     []*Observer
		Result *schemas.Result
	}
	// Tell publishes a fact.
	Tell struct{ Fact any }
	// Stop is the last effect but for later answers: the cell holds nothing any more.
	Stop struct {
		Result *schemas.Result
		Waits  []WaitResult
	}
)

func (AskSlot) effect()    {}
func (AskWorker) effect()  {}
func (FreeSlot) effect()   {}
func (FreeWorker) effect() {}
func (IdleWorker) effect() {}
func (BusyWorker) effect() {}
func (RunLeg) effect()     {}
func (StopLeg) effect()    {}
func (Park) effect()       {}
func (DropGuest) effect()  {}
func (Dispatch) effect()   {}
func (CancelCall) effect() {}
func (Settle) effect()     {}
func (Commit) effect()     {}
func (SetTimer) effect()   {}
func (ClearTimer) effect() {}
func (Respond) effect()    {}
func (Tell) effect()       {}
func (Stop) effect()       {}
