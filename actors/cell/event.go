package cell

import (
	"time"

	"github.com/codecell/codecell/schemas"
)

// Event is something that happened to a cell. Events that matter for time say when, on the
// monotonic clock.
//
// Approvals (S6) are news of calls: an [Answer] opens one with its State, and the next about the same call closes it.
type Event interface{ when() time.Time }

type (
	// Begin is the first event.
	Begin struct {
		At       time.Time
		Observer *Observer
	}
	// WorkerGranted is the ledger's answer to [AskWorker] with that ticket.
	WorkerGranted struct {
		At     time.Time
		Ticket uint64
	}
	// SlotGranted is the ledger's yes to [AskSlot] with that ticket.
	SlotGranted struct {
		At     time.Time
		Ticket uint64
	}
	// SlotRefused is its no.
	SlotRefused struct {
		At     time.Time
		Ticket uint64
	}
	// WorkerWanted asks for the worker of an idle guest (S3).
	WorkerWanted struct{ At time.Time }
	// LegDone ends a leg.
	LegDone struct {
		At time.Time
		// Requests of the leg that need the host, in order of issue. Local ones are answered already.
		Requests []Request
		// Unsent are the calls of a leg with a Failure: they are for nobody but whoever reads what ran (E5).
		Unsent []Request
		// Cancelled are timers that the program cleared.
		Cancelled []string
		// Local are the answers to local requests of the last stretch, to be settled next.
		Local []Settlement
		// Output in guest order; Dropped is what came after it and wasn't kept.
		Output  []Item
		Dropped Dropped
		printed int // bytes in Output
		// Memory is the size of the guest's memory in bytes.
		Memory int
		// Effort is how much was computed, in the measure of [wasm.Leg]: however long it took on a busy machine.
		Effort int
		// Untrusted: data of an MCP server or a client reached the program in this leg (O5).
		Untrusted bool
		// Main is set in the leg in which the main program settled.
		Main *Main
		// Unhandled is the first rejection that is still unhandled at the end of the leg (E3).
		Unhandled *Failure
		// Overflow: the requests exceeded the room; none of them is in Requests (S7).
		Overflow bool
		// Failure: the leg didn't end by itself. The guest is gone.
		Failure *Failure
	}
	// Parked says that the guest is a snapshot of Bytes now, and gone.
	Parked struct {
		At    time.Time
		Bytes int
	}
	// ParkFailed says that the guest could not be parked. If the failure's code is
	// snapshot_limit_exceeded it's unharmed and live; else it is gone.
	ParkFailed struct {
		At      time.Time
		Failure Failure
	}
	// Answer brings news of a call.
	Answer struct {
		At        time.Time
		ID        string
		State     schemas.AnswerState
		Value     schemas.JSON
		Err       *schemas.CallError
		Untrusted bool
	}
	// TimerFired says that a timer set by [SetTimer] is due.
	TimerFired struct {
		At    time.Time
		Timer Timer
	}
	// Observed is an admitted wait; its budget counts from Start.
	Observed struct {
		At       time.Time
		Start    time.Time
		Observer *Observer
	}
	// Abort ends the cell (S8). Its observer, if there is one, is answered when the guest has stopped.
	Abort struct {
		At       time.Time
		Reason   string
		Observer *Observer
	}
	// Committed says that what the program stored is kept, or, with a Warning, why it isn't (T2).
	Committed struct {
		At      time.Time
		Warning string
	}
)

func (e Begin) when() time.Time         { return e.At }
func (e WorkerGranted) when() time.Time { return e.At }
func (e SlotGranted) when() time.Time   { return e.At }
func (e SlotRefused) when() time.Time   { return e.At }
func (e WorkerWanted) when() time.Time  { return e.At }
func (e LegDone) when() time.Time       { return e.At }
func (e Parked) when() time.Time        { return e.At }
func (e ParkFailed) when() time.Time    { return e.At }
func (e Answer) when() time.Time        { return e.At }
func (e TimerFired) when() time.Time    { return e.At }
func (e Observed) when() time.Time      { return e.At }
func (e Abort) when() time.Time         { return e.At }
func (e Committed) when() time.Time     { return e.At }

// Observer is one exec, wait or cancel that wants an answer.
type Observer struct {
	CallID string
	Reply  Reply

	answered bool // kept by the shell
}

// Main is how the main program settled: with Value, or with Err.
type Main struct {
	Value schemas.JSON
	Err   *Failure
}

// Failure is why something failed: Code by origin (E1), Text for the model (E2).
type Failure struct {
	Code schemas.Code
	Text string
}

// RequestKind tells what a request needs of the host.
type RequestKind uint8

const (
	// CallRequest is a tool call.
	CallRequest RequestKind = iota
	// TimerRequest is a setTimeout.
	TimerRequest
	// YieldRequest is a yield_control.
	YieldRequest
)

// String is the kind as results name it.
func (k RequestKind) String() string {
	return [...]string{"call", "timer", "yield"}[k]
}

// Request is one bridge request that the host must work on.
type Request struct {
	ID   string
	Kind RequestKind
	// Ref and Args of a call.
	Ref  int
	Args schemas.JSON
	// Delay of a timer.
	Delay time.Duration
	// Reason of a yield, as JSON text; empty without one.
	Reason schemas.JSON
}

// Settlement settles one request in the guest: with Value, or with Err.
type Settlement struct {
	ID    string
	Value schemas.JSON
	Err   *schemas.CallError

	local  bool // the run has answered it at once
	kept   int  // bytes counted in the inbox
	worked bool // somebody has worked for it, or it is what the program waited for
}

func (s *Settlement) size() int {
	if s.Err != nil {
		return len(s.Value) + len(s.Err.Message)
	}
	return len(s.Value)
}

// TimerKind tells the timers of a cell apart.
type TimerKind uint8

const (
	// DeadlineTimer ends the budget of an exec or wait call.
	DeadlineTimer TimerKind = iota
	// TTLTimer ends the life of a parked cell.
	TTLTimer
	// GraceTimer parks a required cell whose tools don't answer at once.
	GraceTimer
	// RequestTimer is a setTimeout of the program.
	RequestTimer
)

// Timer names one timer. No two timers of a cell have one name, so a late firing can't be taken for
// another's.
type Timer struct {
	Kind TimerKind
	// Request is the id of the program's request, for a RequestTimer.
	Request string
	// Turn counts all others.
	Turn int
}
