package wasm

import (
	"context"
	"errors"
	"fmt"
)

// run is one leg: begin, then all jobs, then the collection of what happened.
func (g *Guest) run(ctx context.Context, begin func() error) (Leg, error) {
	if !g.mu.TryLock() {
		return Leg{}, fmt.Errorf("guest: %w", ErrBusy)
	}
	defer g.mu.Unlock()
	if err := g.usable(); err != nil {
		return Leg{}, err
	}
	if err := ctx.Err(); err != nil {
		return Leg{}, fmt.Errorf("%w before it ran: %w", ErrInterrupted, err)
	}
	defer g.env.stop.watch(ctx)()
	g.env.machine.holds = nil
	g.leg = &legBuffer{}
	g.env.refuels = 0
	var err error
	trap := guard(func() {
		if err = begin(); err == nil {
			err = g.drain()
		}
		if err == nil {
			err = g.findUnhandled()
		}
		if err == nil && g.leg.fault != "" {
			err = fmt.Errorf("%w: %s", ErrController, g.leg.fault)
		}
	})
	leg := g.leg.take(g)
	leg.Effort = g.env.refuels
	if errors.Is(err, errStarted) { // nothing ran
		return Leg{}, err
	}
	if err = g.explain(ctx, trap, err); err != nil {
		g.poisoned = err
		leg.Requests, leg.Unsent, leg.Cancelled, leg.Unhandled = nil, leg.Requests, nil, nil
	} else if leg.Overflow {
		g.poisoned = errors.New("too many requests")
	}
	return leg, err
}

// drain runs jobs (promise reactions) until none is left. Each is a way back to Go, so a flood of them can be stopped too.
func (g *Guest) drain() error {
	m := g.env.machine
	for {
		switch n := int32(m.call32(g.ctx, xExecuteJob)); {
		case n == 0:
			return nil
		case n < 0:
			return g.exhausted()
		}
		if g.env.stop.requested(g.env.refuels) {
			return ErrInterrupted
		}
	}
}

// exhausted turns an exception that came through the controller into an error. Programs can't cause one by throwing: what the
// engine doesn't let the controller catch either is its own refusal to go on, for want of memory or of room in a string.
// The error also holds a *GuestError that tells which, for errors.As.
func (g *Guest) exhausted() error {
	m := g.env.machine
	exc := m.call32(g.ctx, xGetException)
	defer m.freeValue(g.ctx, exc)
	described := m.apply(g.ctx, g.image.api[apiDescribeError], g.env.scratch, m.call32(g.ctx, xDupValue, uint64(exc)))
	defer m.freeValue(g.ctx, described)
	if !m.isException(g.ctx, described) {
		if text, ok := m.stringOf(g.ctx, described, g.env.scratch); ok {
			return fmt.Errorf("%w: %w", ErrMemory, parseGuestError(text))
		}
	}
	return fmt.Errorf("%w: %w", ErrMemory, g.env.readError(g.ctx, exc))
}

// explain finds the reason for which a leg ended early. What was asked for from outside comes first: it explains a trap.
func (g *Guest) explain(ctx context.Context, trap, err error) error {
	if trap == nil && err == nil {
		return nil
	}
	if reason := g.env.stop.reason(ctx); reason != nil {
		return fmt.Errorf("%w: %w", ErrInterrupted, reason)
	}
	if trap == nil {
		return err
	}
	if g.env.machine.linear.refused.Load() {
		return fmt.Errorf("%w: %w: %w", ErrMemory, ErrTrap, trap)
	}
	return fmt.Errorf("%w: %w", ErrTrap, trap)
}

// apiArg makes an argument of a controller function. 0 says that there's no memory for it.
type apiArg func(g *Guest) uint32

func stringArg(s string) apiArg {
	return func(g *Guest) uint32 { return g.env.machine.newString(g.ctx, s) }
}

func boolArg(b bool) apiArg {
	x := xFalse
	if b {
		x = xTrue
	}
	return func(g *Guest) uint32 { return g.env.machine.call32(g.ctx, x) }
}

func valueArg(v uint32) apiArg {
	return func(g *Guest) uint32 { return g.env.machine.call32(g.ctx, xDupValue, uint64(v)) }
}

// callAPI calls a function of the controller. text, if not nil, gets its result if that's a string.
func (g *Guest) callAPI(f apiFunction, args []apiArg, text *string) error {
	m := g.env.machine
	var values [3]uint32
	for i, a := range args {
		if values[i] = a(g); values[i] == 0 {
			return fmt.Errorf("%w: no room for the argument of %s", ErrMemory, apiNames[f])
		}
	}
	v := m.apply(g.ctx, g.image.api[f], g.env.scratch, values[:len(args)]...)
	if m.isException(g.ctx, v) {
		m.freeValue(g.ctx, v)
		return g.exhausted()
	}
	if text != nil {
		*text, _ = m.stringOf(g.ctx, v, g.env.scratch)
	}
	m.freeValue(g.ctx, v)
	return nil
}

// findUnhandled renders the first rejection that nobody handles.
func (g *Guest) findUnhandled() error {
	t := &g.env.reject
	if len(t.list) == 0 {
		if t.lost > 0 {
			g.leg.unhandled = t.lostError()
		}
		return nil
	}
	var text string
	if err := g.callAPI(apiDescribeError, []apiArg{valueArg(t.list[0].reason)}, &text); err != nil {
		return err
	}
	g.leg.unhandled = parseGuestError(text)
	return nil
}
