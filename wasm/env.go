package wasm

import (
	"context"
	"encoding/binary"
	"sync/atomic"
	"time"
)

// env is what a machine's imports reach: one per guest, and one while an image is built.
type env struct {
	machine *machine
	scratch uint32 // see scratchSize
	context uint32 // the engine's JSContext, for JS_Throw…
	clock   func() time.Time
	random  uint64 // state of the numbers given to random_get
	stop    stopper
	refuels int     // calls of the meter: how much the guest has computed
	host    hostOps // nil while an image is built
	reject  rejections
}

// hostOps serves the controller's `host(op, a, b)`.
type hostOps interface {
	// hostOp returns the operation's result. A throw other than "" becomes a RangeError in the guest.
	hostOp(op, a, b string) (result hostResult, throw string)
}

type hostResult struct {
	kind resultKind
	str  string
	num  float64
}

type resultKind int

const (
	resultUndefined resultKind = iota
	resultString
	resultNumber
)

// callContext carries the env to the imports. It's never done: a machine is stopped by its fuel, not by its context.
type callContext struct {
	context.Context
	env *env
}

type envKey struct{}

// Value implements context.Context.
func (c *callContext) Value(key any) any {
	if key == (envKey{}) {
		return c.env
	}
	return nil
}

func newCallContext(e *env) *callContext { return &callContext{context.Background(), e} }

// envOf finds the env of the guest that calls an import.
func envOf(ctx context.Context) *env {
	if c, ok := ctx.(*callContext); ok {
		return c.env
	}
	e, _ := ctx.Value(envKey{}).(*env)
	return e
}

// stopCause says why a leg must end.
type stopCause int32

const (
	stopNone stopCause = iota
	stopContext
	stopClosed
)

// stopper is how a running machine is told to stop.
type stopper struct {
	cause    atomic.Int32
	deadline time.Time // of the running leg; zero if it has none
}

func (s *stopper) request(c stopCause) { s.cause.CompareAndSwap(int32(stopNone), int32(c)) }

// requested is asked at every refuelling. It reads the clock itself, because the timer behind a context's end may be late
// on a busy machine.
func (s *stopper) requested() bool {
	if s.cause.Load() != int32(stopNone) {
		return true
	}
	if !s.deadline.IsZero() && !time.Now().Before(s.deadline) {
		s.request(stopContext)
		return true
	}
	return false
}

// watch makes the end of ctx stop the machine, until the returned function is called.
func (s *stopper) watch(ctx context.Context) (unwatch func()) {
	s.deadline, _ = ctx.Deadline()
	cancel := context.AfterFunc(ctx, func() { s.request(stopContext) })
	return func() { cancel() }
}

// fillRandom writes the next numbers of a splitmix64 sequence.
func (e *env) fillRandom(b []byte) {
	for len(b) > 0 {
		var word [8]byte
		binary.LittleEndian.PutUint64(word[:], splitmix(&e.random))
		b = b[copy(b, word[:]):]
	}
}

func splitmix(state *uint64) uint64 {
	*state += 0x9e3779b97f4a7c15
	z := *state
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

func putU32(b []byte, v uint32) { binary.LittleEndian.PutUint32(b, v) }
