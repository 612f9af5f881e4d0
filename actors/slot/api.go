// Package slot keeps the ledger of what cells compete for within one process: slots, the right
// to hold a continuation (S1), and workers, the right to run a guest (S3).
//
// One actor keeps both. A holder asks for either in the same way and must lose both when it
// stops, so one watch covers them, and a host has one place to look at.
//
// The two differ in what happens when none is free. A slot is refused at once (S2). A worker is
// waited for, first come first served, and the ledger asks the holder that has been idle longest
// to give its worker up.
//
// # Duties of a holder
//
//   - Ask for each kind at most once before the grant or refusal, and hold at most one of each.
//   - Number its asks, and ignore a [Granted] with any ticket but the last one's: a grant may cross
//     a [Free].
//   - Send [Idle] whenever it holds a worker that isn't computing, and answer [Wanted] by parking and
//     then [Free], or by [Busy].
//
// A holder that stops, for whatever reason, is freed of everything.
package slot

import (
	"runtime"

	"github.com/asynkron/protoactor-go/actor"
)

// DefaultSlots is the number of slots of a process that isn't told otherwise (S1).
const DefaultSlots = 64

// DefaultWorkers is the number of guest workers of a process that isn't told otherwise: two for
// each processor, so that some can wait for their tools while others compute, and at least four.
func DefaultWorkers() int { return max(4, 2*runtime.GOMAXPROCS(0)) }

// Kind is what is asked for.
type Kind uint8

const (
	// Slot is the right to hold a continuation.
	Slot Kind = iota
	// Worker is the right to run a guest, or to keep one live between two legs.
	Worker
	kinds
)

// String names the kind.
func (k Kind) String() string {
	if k == Worker {
		return "worker"
	}
	return "slot"
}

// Messages to the ledger.
type (
	// Ask wants one of a kind for Holder. Answered by [Granted] or, for slots only, [Refused].
	Ask struct {
		Holder *actor.PID
		Kind   Kind
		// Ticket comes back with the answer.
		Ticket uint64
		// Name is how the holder is called in [Change].
		Name string
	}
	// Free gives one back, or withdraws an ask that hasn't been answered. Freeing what isn't held is
	// harmless.
	Free struct {
		Holder *actor.PID
		Kind   Kind
	}
	// Idle says that the holder's worker isn't computing and may be asked for.
	Idle struct{ Holder *actor.PID }
	// Busy answers [Wanted]: the holder computes again and can't give its worker up now.
	Busy struct{ Holder *actor.PID }
	// Count asks for [Counts], as a request.
	Count struct{}
)

// Messages from the ledger.
type (
	// Granted says that the holder has one.
	Granted struct {
		Kind   Kind
		Ticket uint64
	}
	// Refused says that there is none and that the holder isn't queued.
	Refused struct {
		Kind   Kind
		Ticket uint64
	}
	// Wanted asks the holder of an idle worker to give it up.
	Wanted struct{}
	// Counts answers [Count].
	Counts struct {
		Slots, Workers Level
		// Waiting is the number of holders queued for a worker.
		Waiting int
	}
)

// Level is how many of a kind are held, out of how many.
type Level struct{ Held, Limit int }

// Change tells that a slot was taken or freed.
type Change struct {
	Name  string
	Taken bool
	// Held is the number of slots held after the change.
	Held int
}

// Options configure a ledger. Zero numbers mean the defaults.
type Options struct {
	Slots   int
	Workers int
	// OnChange, if set, is told of every slot taken or freed. It is called by the ledger and must
	// not block.
	OnChange func(Change)
}

// throughput is the number of messages after which a busy ledger lets other goroutines run.
const throughput = 100

// New makes the properties of a ledger actor. One a process: the ledger is the truth about its
// limits, so a host that sees it fail must end.
func New(o Options) *actor.Props {
	if o.Slots <= 0 {
		o.Slots = DefaultSlots
	}
	if o.Workers <= 0 {
		o.Workers = DefaultWorkers()
	}
	// A step of the ledger is shorter than the way to another goroutine: whoever asks takes it.
	return actor.PropsFromProducer(func() actor.Actor { return newLedger(o) },
		actor.WithDispatcher(actor.NewSynchronizedDispatcher(throughput)))
}
