package tool

import (
	"context"

	"github.com/codecell/codecell/schemas"
)

// Provider is one owner's set of tools. Its methods may be called from any goroutine.
type Provider interface {
	// Offer gives the tools as they are now. The executor fills in its own id. The value
	// and what it refers to belong to the reader: a provider never changes them afterwards.
	Offer() schemas.Registration
	// Changed is signalled after the offer has changed. Signals may be merged; nobody but
	// the executor reads the channel.
	Changed() <-chan struct{}
	// Call runs one tool with arguments that fit its input schema. It returns when the
	// tool has ended, or soon after ctx has. The value is one JSON text, or empty for
	// undefined. An error that is no *schemas.CallError becomes a tool_error.
	Call(ctx context.Context, call *schemas.Call, progress Progress) (schemas.JSON, error)
	// Close ends what the provider holds: connections, child processes. It returns by the
	// end of ctx, whatever the other side does.
	Close(ctx context.Context) error
}

// Progress takes a tool's word on how far it is. Total is 0 when it is unknown. It never
// blocks and may be called after the call has ended, which does nothing.
type Progress func(done, total float64, message string)

// callKey is the context key of the call that a handler works for.
type callKey struct{}

// running is what a handler's context carries.
type running struct {
	call     *schemas.Call
	progress Progress
	held     *held // nil if no executor holds the call
}

// withCall gives the context under which a provider's handler runs.
func withCall(ctx context.Context, call *schemas.Call, progress Progress) context.Context {
	return context.WithValue(ctx, callKey{}, &running{call: call, progress: progress})
}

// CallOf gives the call that a handler works for: the identity of the run, the parent
// tool-call id, the cell's address, the trace context and the idempotency key (P2). It is
// nil outside a handler, and must not be changed.
func CallOf(ctx context.Context) *schemas.Call {
	if r, ok := ctx.Value(callKey{}).(*running); ok {
		return r.call
	}
	return nil
}

// Report tells the caller how far a handler is. Outside a handler it does nothing.
func Report(ctx context.Context, done, total float64, message string) {
	if r, ok := ctx.Value(callKey{}).(*running); ok && r.progress != nil {
		r.progress(done, total, message)
	}
}

// signal is a Changed channel: any number of notes, at most one of them kept.
type signal chan struct{}

func newSignal() signal { return make(signal, 1) }

// note never blocks.
func (s signal) note() {
	select {
	case s <- struct{}{}:
	default:
	}
}
