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
	refuels int     // of the leg: times that the fuel was used up
	deepest uint64  // lowest stack pointer that the meter has seen; 0 if it was never called
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

// stopper is how a running machine is told to stop.
type stopper struct {
	closed atomic.Bool // the guest or the engine is being closed: for good
	leg    *legStop    // of the running leg; set by the goroutine that runs it

	due    time.Time // of the next leg; see Guest.StopAfter
	effort int
}

// legStop belongs to one leg: the end of a leg's context, noticed late, must not stop the next one.
type legStop struct {
	ended    atomic.Bool
	deadline time.Time // zero if there is none
	due      time.Time // zero if there is none; from then on, more effort than this ends the leg
	effort   int
}

// requested is asked at every refuelling. It reads the clock itself, because the timer behind a context's end may be late
// on a busy machine. effort is the leg's so far.
func (s *stopper) requested(effort int) bool {
	if s.closed.Load() {
		return true
	}
	if s.leg == nil {
		return false
	}
	if !s.leg.ended.Load() && s.leg.over(effort) {
		s.leg.ended.Store(true)
	}
	return s.leg.ended.Load()
}

func (l *legStop) over(effort int) bool {
	if l.deadline.IsZero() && l.due.IsZero() {
		return false
	}
	now := time.Now()
	return !l.deadline.IsZero() && !now.Before(l.deadline) || !l.due.IsZero() && effort > l.effort && !now.Before(l.due)
}

// reason is the error that a requested stop stands for, or nil if none was requested.
func (s *stopper) reason(ctx context.Context) error {
	switch {
	case s.closed.Load():
		return ErrClosed
	case s.leg == nil || !s.leg.ended.Load():
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	}
	return context.DeadlineExceeded // our clock was ahead of the context's timer
}

// watch makes the end of ctx stop the machine, until the returned function is called.
func (s *stopper) watch(ctx context.Context) (unwatch func() bool) {
	leg := &legStop{due: s.due, effort: s.effort}
	s.due = time.Time{}
	leg.deadline, _ = ctx.Deadline()
	s.leg = leg
	return context.AfterFunc(ctx, func() { leg.ended.Store(true) })
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
