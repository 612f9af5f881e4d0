// Package cell runs one program from its first instruction to its last word.
//
// A cell is a pure machine in a shell. The [Machine] decides: events in, effects out, without a
// clock, a bus, a guest or a goroutine. The actor around it does what the machine says: it sends,
// sets timers, asks the slot ledger, and runs guests on a leg goroutine, the only place that
// touches package wasm. Nothing blocks in the actor.
//
// # Duties of the parent (the run)
//
//   - Spawn a cell with [New], and route [Wait], [Cancel] and [Answered] to it. Ownership of a wait is
//     checked before: whatever reaches the cell is admitted as the owner's (W2).
//   - On [Ended], take the cell out of the routing table, keep the result for a repeated wait (W5), and
//     poison the cell (ctx.Poison). The cell doesn't stop by itself, so that everything which the
//     parent sent before is still answered.
//   - Supervise with Stop, never restart: code has side effects. A cell that is stopped in any other way
//     answers everyone with internal_error as its last words.
package cell

import (
	"log/slog"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/codecell/codecell/schemas"
	"github.com/codecell/codecell/wasm"
)

// Deps are what all cells of a host share.
type Deps struct {
	// Engine makes the guests.
	Engine *wasm.Engine
	// Ledger is the slot ledger of this process.
	Ledger *actor.PID
	// Logger gets our own faults, never the program's. Nil: slog.Default.
	Logger *slog.Logger
}

// Spec is one cell.
type Spec struct {
	Address schemas.Address
	Title   string
	// CallID is the model's tool-call id of the exec.
	CallID string
	// Source is the program, already accepted by the run.
	Source string
	// Programs says in a sentence without its full stop what programs are, for one that has an error of syntax. Empty: plain
	// JavaScript.
	Programs string
	// Image is the memory that the guest starts from: the controller and the admitted catalog.
	Image *Image
	// Limits of the run (F2): defaults and clamps applied.
	Limits schemas.Limits
	// Start is when the exec call arrived: its wall-clock budget counts from there (S5). Zero: now.
	Start time.Time
	// RestartSafe marks results as replay-safe (R2).
	RestartSafe bool
	// Required keeps the exec open until its tools have answered (awaitResults, Q1–Q3). The cell never
	// waits for a wait: it parks unseen, and only the time that it is parked isn't counted in its budget.
	// Each such rest is bounded by Limits.SnapshotTTL, like any other idle time of a parked cell.
	Required bool
	// Strict makes the budget of the exec a hard one (L1): the cell has ended when it is over, and its calls are cancelled. Like
	// a required cell it answers nothing but its end, but only a person's time isn't counted, and nothing makes it required.
	Strict bool
	// Live parks the cell with its guest instead of a snapshot, for all its life (S10): no snapshot
	// limit, and up to Limits.MemoryBytes stay held.
	Live bool
	// Record has the cell tell Port.Settled how each of its calls has ended.
	Record bool
	// Port is the cell's way to its run.
	Port Port
	// Reply answers the exec.
	Reply Reply
}

// Reply takes the answer to an exec or a wait. It is called exactly once, by the cell's actor or a
// goroutine of its own, and must not block. The result is shared: don't change it.
type Reply func(*schemas.Result)

// Port is what a cell needs from its run. Dispatch, Cancel, Tool, Telemetry and Fact are called by
// the cell's actor, Local and Sync by the leg goroutine: they come concurrently from the cells of a
// run. None of them may block.
type Port interface {
	// Dispatch hands a call to its tool, or says that it is [KeptBack]. Any other error rejects the call at once, with Effect saying whether
	// it was started; without one, the answer comes later as [Answered].
	Dispatch(Call) *schemas.CallError
	// Cancel tells that nobody waits for the call any more. An answer may still come, and is ignored.
	Cancel(call string)
	// Tool is the callable name of a ref, or "" for an unknown one.
	Tool(ref int) string
	// Local answers a request that needs no tool: "search", "describe", "store", "load", "results". It runs on
	// the leg goroutine, within the program's time, and counts in the telemetry. tainted says that data of an
	// MCP server or a client has reached the program by then (O5).
	Local(kind string, payload schemas.JSON, tainted bool) Local
	// Sync answers an immediate look-up of the guest with {"ok":…} or {"error":{…}}. It says whether
	// the answer holds text of an MCP server or a client (O5).
	Sync(method string, payload []byte) (answer []byte, untrusted bool)
	// Telemetry is the run's part of a result's telemetry (E4). The cell adds its calls.
	Telemetry() schemas.Telemetry
	// Keep saves an oversized final object or array for later programs of the run, and gives the reference to it
	// as JSON (O3). Its error says why it can't be kept.
	Keep(value schemas.JSON, tainted bool) (reference schemas.JSON, err error)
	// Unsaved tells whether the program has stored something that Commit would keep. It doesn't block.
	Unsaved() bool
	// Commit keeps what the program has stored, and calls done once, from any goroutine, within a bounded time:
	// with why it could not be kept, or "" (T2).
	Commit(tainted bool, done func(warning string))
	// Awaits tells whether a call of this tool with these arguments makes its cell a required one, which stays until it
	// has its results (Q4). It is pure, and quick for a tool that never does.
	Awaits(ref int, args schemas.JSON) bool
	// Settled tells how a call that was dispatched has ended (P6): once for each, refused ones included, before the program
	// sees it, or when the cell ends without. It is called only if the cell's Spec says Record.
	Settled(Settled)
	// DryRun lists the calls so far if the run is a dry one, and is nil otherwise.
	DryRun() *schemas.DryRun
	// Fact publishes one of schemas.CellStarted, CellParked, CellResumed, CellEnded or CallEnded.
	// The run itself tells CallSent, in Dispatch.
	Fact(fact any)
}

// Call is one nested call on its way out.
type Call struct {
	// ID is unique in the cell, short, and made of digits.
	ID string
	// Ref is the tool's index in the admitted catalog, as the guest gave it: check it.
	Ref int
	// Args are the arguments as the guest gave them.
	Args schemas.JSON
	// Budget is what is left of the budget of the cell's current exec or wait (Q5). Zero: there is none now.
	Budget time.Duration
	// Turn: the call was kept back before, and is to be sent now. It has no arguments: the run has them.
	Turn bool
}

// KeptBack is what [Port].Dispatch returns, itself and no copy, for a call that has to wait for others of the run (P4). It
// counts as queued, and as not started, until an [Answered] with [ItsTurn] comes.
//
//nolint:errname // it's no error, but said in place of one
var KeptBack = &schemas.CallError{Code: schemas.CallToolError, Location: "transport", Effect: schemas.NotStarted, Message: "the call waits for others"}

// ItsTurn is a state that only the run tells: a call that was kept back may go now. The cell dispatches it again, with Turn set.
const ItsTurn schemas.AnswerState = "its_turn"

// keptBack is the state by which the machine hears of [KeptBack].
const keptBack schemas.AnswerState = "kept_back"

// Settled is how one call ended.
type Settled struct {
	ID      string
	Outcome schemas.Outcome
	Value   schemas.JSON
	Err     *schemas.CallError
	// Untrusted: the value is an MCP server's or a client's.
	Untrusted bool
	Duration  time.Duration
}

// Local is the answer to a local request.
type Local struct {
	Value schemas.JSON
	// Err, if set, rejects the request instead.
	Err *schemas.CallError
	// Untrusted: the value holds text of an MCP server or a client (O5).
	Untrusted bool
}

// Messages to a cell.
type (
	// Wait continues a parked cell (ch. 5). The budget of the call counts from Start (zero: now).
	Wait struct {
		CallID string
		Start  time.Time
		Reply  Reply
	}
	// Cancel ends the cell (S8). Done, if set, is called when the guest has stopped, also when the
	// cell had ended before. It must not block.
	Cancel struct {
		Reason string
		Done   func()
	}
	// Answered brings news of a call: accepted, done or failed. Only the first settlement counts.
	Answered struct{ Answer *schemas.Answer }
	// Ask requests the cell's status: a [schemas.CellStatus] is the response.
	Ask struct{}
)

// Ended is sent to the parent when the cell has its terminal result and holds nothing any more.
type Ended struct {
	Cell *actor.PID
	// ID is the cell's public id.
	ID string
	// Result is what the last observers got, or would have got if there had been any.
	Result *schemas.Result
	// Waits are the results of the last waits by call id, newest last, for repeated deliveries (W5).
	Waits []WaitResult
}

// WaitResult is what one wait was answered.
type WaitResult struct {
	CallID string
	Result *schemas.Result
}
