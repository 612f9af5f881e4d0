// Package run keeps one agent run: who it acts for, what its cells may call, its counters,
// and its cells, of which it is the parent.
//
// A run is an actor that routes. Whatever takes time (reading the program, admitting the
// catalog) happens on a goroutine of its own and comes back as a message.
//
// # Duties of the parent (the host)
//
//   - Route [Exec], [Wait], [Cancel] and [Close] to the run that owns the cell.
//   - Supervise with Stop, never restart: cells have side effects.
//   - On [Closed], take the run out of the routing table at once, and stop it a while later: it answers
//     what was on its way to it.
package run

import (
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/codecell/codecell/actors/catalog"
	"github.com/codecell/codecell/actors/cell"
	"github.com/codecell/codecell/schemas"
)

// Spec is one run.
type Spec struct {
	Host string
	// Token addresses the run on the bus.
	Token    string
	Identity schemas.Identity
	// Ephemeral: the run ends by itself after its last cell.
	Ephemeral bool
	// Bind records the run in its identity's session, DryRun calls only what is replay-safe; see [schemas.Open].
	Bind, DryRun bool
	// Mode, Model, Raw and Front are what the run was opened with; see [schemas.Open]. What they come to is in its admissions.
	Mode       schemas.Mode
	Model      string
	Raw, Front bool
	// Decide says which calls a restricted run may not make (A6), and why; nil allows those of every admitted tool.
	Decide func(*schemas.Tool) error
	// Admission is what the caller was shown when it opened the run; nil if that isn't known.
	Admission *Admission
	// Env is what the run needs of its host.
	Env Env
	// Contract is what programs are promised; empty means the current one.
	Contract string
	// Skills gives the skills as they are now; nil if programs have none. It may block.
	Skills func() *Skills
	// Redact masks credentials in what the session keeps of programs (P8); nil keeps them as they are (P7).
	Redact *Redactor
	// Hooks are asked about the run's programs.
	Hooks Hooks
	// Cells is what all cells of the host share.
	Cells cell.Deps
	// IdleTTL ends a run that has had no cell and no call for so long. Zero: never.
	IdleTTL time.Duration
	// LeaseMs is for how many milliseconds the run outlives its caller; see [schemas.Open].
	LeaseMs int64
}

// Env is what a run needs of its host. Its methods are called from many goroutines. Only
// Admit and Session may block.
type Env interface {
	// Admit gives what a new cell of this identity may see, as it is now.
	Admit(schemas.Identity) (*Admission, error)
	// NewCellID mints the public id of a cell.
	NewCellID() string
	// Send hands a call to the executors of its tool. News of it goes to the cell of its address, or, if
	// given, to another actor, as [cell.Answered].
	Send(call *schemas.Call, to *actor.PID) *schemas.CallError
	// Withdraw tells the executors that nobody waits for a call any more.
	Withdraw(cell schemas.Address, call string)
	// Session gives the session with this key, after its transcript was read; it may block.
	Session(key string) (Session, error)
	// Fact publishes a fact.
	Fact(any)
	// CellSpawned and CellGone keep the routing table of cells.
	CellSpawned(id string, run, cell *actor.PID)
	CellGone(id string)
}

// Admission is what one generation of a run's catalog comes to. A cell keeps the generation
// that it started with.
type Admission struct {
	// Catalog is what is reached through the control tools of the surface; in [schemas.ModeDirect], what the model sees.
	Catalog *catalog.Catalog
	// Image is nil in modes without programs.
	Image   *cell.Image
	Surface schemas.Surface
	// Direct are the tools that the model calls by their names: in [schemas.ModeDirect] all, otherwise the direct-only ones.
	Direct []DirectTool
	// Sequential: one of the tools, hidden or direct, must run alone, so that all calls of the run go through its gate (P4).
	Sequential bool
	// Search is the setting of Tool Search in [schemas.ModeSearch]. Its Mode is the one that the run has, after any fall-back.
	Search schemas.ToolSearch
	Limits schemas.Limits
	// Languages are those that programs may be written in (J1).
	Languages []string
	// Live parks cells with their guests instead of snapshots (S10).
	Live bool
	// Problems are tools and servers that could not be admitted.
	Problems []string
}

// Messages to a run.
type (
	// Exec starts a cell. The budget counts from Start.
	Exec struct {
		Msg   *schemas.Exec
		Start time.Time
		Reply cell.Reply
	}
	// Wait continues a cell.
	Wait struct {
		Msg   *schemas.Wait
		Start time.Time
		Reply cell.Reply
	}
	// Cancel ends a cell. Reply is called when the guest has stopped.
	Cancel struct {
		Cell  string
		Msg   *schemas.Cancel
		Reply func(*schemas.Error)
	}
	// Close ends the run and its cells. With an Identity it must be the run's own. Reply may be nil; it
	// is called when the last cell has ended, with what the run has come to.
	Close struct {
		Identity *schemas.Identity
		Reason   string
		Reply    func(*schemas.RunTotals, *schemas.Error)
	}
	// Abort ends the cell that an exec started, whose answer nobody waits for any more.
	Abort struct {
		Identity schemas.Identity
		CallID   string
		Reason   string
		Reply    func(*schemas.Error)
	}
	// Attach keeps the run open for a caller that opened it again. Reply says whether it is: one that
	// has ended can't be used any more. A run isn't what it is opened as again if that is another kind of run: then
	// Reply gets an error.
	Attach struct {
		Bind, DryRun bool
		Mode         schemas.Mode
		Model        string
		Raw, Front   bool
		Reply        func(open bool, err *schemas.Error)
	}
)

// Closed tells the parent that the run has ended and holds nothing any more.
type Closed struct {
	Token  string
	Reason string
}
