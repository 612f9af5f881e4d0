package wasm

import (
	"context"
	crand "crypto/rand"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"
)

// Env is what a guest may know of the world.
type Env struct {
	// Seed starts the program's random numbers. 0 means a random seed.
	Seed uint64
	// Clock is the program's time. nil means time.Now.
	Clock func() time.Time
	// Sync answers the controller's immediate look-ups: method and JSON payload in, JSON {"ok":…} or {"error":{…}} out. It runs
	// within a leg and must return quickly. nil refuses every look-up.
	Sync func(method string, payload []byte) []byte
}

// Guest is one program's machine. Its methods may be called from any goroutine, one at a time; a second call at the same
// time fails with ErrBusy, except Close, which stops the first.
type Guest struct {
	engine *Engine
	image  *Image
	limits Limits
	env    *env
	ctx    *callContext
	sync   func(string, []byte) []byte

	mu       sync.Mutex // held while the machine is in use
	state    guestState
	poisoned error
	closed   bool
	leg      *legBuffer
}

// Acquire makes a guest from an image: a pooled machine overwritten with the image's memory, or a new one.
func (e *Engine) Acquire(ctx context.Context, img *Image, limits Limits, world Env) (*Guest, error) {
	leave, err := e.enter()
	if err != nil {
		return nil, err
	}
	defer leave()
	g, err := e.newGuest(ctx, img, limits, world, img.size)
	if err != nil {
		return nil, err
	}
	if err := g.prepare(world.Seed, func(m *machine) { img.load(m) }); err != nil {
		g.discard()
		return nil, err
	}
	e.register(g)
	return g, nil
}

// newGuest finds a machine with at least size bytes of memory. The caller has entered the engine.
func (e *Engine) newGuest(ctx context.Context, img *Image, limits Limits, world Env, size uint32) (*Guest, error) {
	if img.engine != e {
		return nil, errors.New("the image belongs to another engine")
	}
	if err := limits.check(e.maxMemory); err != nil {
		return nil, err
	}
	limit := linearLimit(uint64(img.size), limits.MemoryBytes)
	if uint64(size) > limit {
		return nil, fmt.Errorf("%w: %d bytes, the limit is %d", ErrMemory, size, limit)
	}
	m := e.pool.get(img, size)
	if m == nil {
		var err error
		if m, err = newMachine(ctx, e.rt, e.code, limit); err != nil {
			return nil, err
		}
	}
	m.linear.limit.Store(limit)
	m.linear.refused.Store(false)
	if err := m.resize(size); err != nil {
		m.close()
		return nil, err
	}
	if world.Clock == nil {
		world.Clock = time.Now
	}
	g := &Guest{engine: e, image: img, limits: limits, sync: world.Sync}
	g.env = &env{machine: m, scratch: e.base.scratch, context: e.base.context, clock: world.Clock, host: g}
	g.ctx = newCallContext(g.env)
	g.state.pending = make(map[uint64]struct{})
	return g, nil
}

// prepare fills the machine's memory and applies everything that must not come from there: limits and seed.
func (g *Guest) prepare(seed uint64, fill func(*machine)) error {
	for seed == 0 {
		var b [8]byte
		crand.Read(b[:]) // never fails
		seed = binary.LittleEndian.Uint64(b[:])
	}
	m, base := g.env.machine, g.engine.base
	fill(m)
	m.holds = nil
	// Neighbouring seeds must not give neighbouring sequences; and the engine's generator must not start at 0.
	g.env.random = seed
	binary.LittleEndian.PutUint64(m.read(base.seed, 8), splitmix(&g.env.random)|1)
	return guard(func() {
		m.call(g.ctx, xSetMemoryLimit, uint64(g.image.heap)+uint64(g.limits.MemoryBytes))
		m.call(g.ctx, xSetMaxStack, uint64(g.limits.StackBytes))
	})
}

var errStarted = errors.New("guest: its program was started already")

// Start compiles the program and runs it until nothing is left to do without the host. Call it once.
//
// A syntax error is the leg's Err with code invalid_input. The returned error says that the leg didn't end by itself; it
// matches ErrInterrupted, ErrTrap, ErrMemory, ErrClosed, ErrPoisoned or ErrController, and the leg then holds only the
// output that came before, and the main program's end if that came before too.
func (g *Guest) Start(ctx context.Context, source string) (Leg, error) {
	return g.run(ctx, func() error {
		if g.state.started {
			return errStarted
		}
		g.state.started = true
		return g.callAPI(apiStart, []apiArg{stringArg(strings.ToValidUTF8(source, "\ufffd"))}, nil)
	})
}

// Resume settles the answered requests, in order, and runs the program as Start does. Answers to unknown or answered
// requests are ignored. No answers at all are fine.
func (g *Guest) Resume(ctx context.Context, answers []Answer) (Leg, error) {
	return g.run(ctx, func() error {
		for _, a := range answers {
			if !g.state.settle(a.ID) {
				continue
			}
			args := []apiArg{stringArg(a.ID), boolArg(a.OK), stringArg(strings.ToValidUTF8(string(a.Body), "\ufffd"))}
			if err := g.callAPI(apiSettle, args, nil); err != nil {
				return err
			}
		}
		return nil
	})
}

// StopAfter has the next leg stopped as by the end of its context, once it has computed more than effort (see Leg.Effort)
// and due has passed. So a leg that does next to nothing may end, however late a busy machine lets it. Call it before the
// leg, from where the leg is run.
func (g *Guest) StopAfter(due time.Time, effort int) { g.env.stop.due, g.env.stop.effort = due, effort }

// Check compiles the program without running it, and returns its syntax error, or nil.
func (g *Guest) Check(ctx context.Context, source string) (*GuestError, error) {
	var text string
	_, err := g.run(ctx, func() error {
		return g.callAPI(apiCheck, []apiArg{stringArg(strings.ToValidUTF8(source, "\ufffd"))}, &text)
	})
	if err != nil || text == "" {
		return nil, err
	}
	return parseGuestError(text), nil
}

// Memory is the size of the guest's linear memory in bytes, 0 once it's closed. A running leg is waited for.
func (g *Guest) Memory() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return 0
	}
	return int(g.env.machine.mem.Size())
}

// Close frees the guest. A running leg is stopped first (its error matches ErrClosed), so Close must not be called from
// Env.Sync or Env.Clock. Closing twice is fine.
func (g *Guest) Close() error {
	g.env.stop.closed.Store(true)
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return nil
	}
	g.closed = true
	g.engine.unregister(g)
	if g.poisoned != nil || g.env.machine.mem.Size() != g.image.size {
		g.discard()
		return nil
	}
	if d := g.env.deepest; d != 0 && d+shallowStack < g.image.sp {
		g.env.machine.forgetDeepStacks()
	}
	g.engine.pool.put(g.env.machine, g.image)
	return nil
}

func (g *Guest) discard() { g.env.machine.close() }

// usable says why the guest can't be used, if so. g.mu is held.
func (g *Guest) usable() error {
	switch {
	case g.closed:
		return fmt.Errorf("guest: %w", ErrClosed)
	case g.poisoned != nil:
		return fmt.Errorf("%w: %w", ErrPoisoned, g.poisoned)
	}
	return nil
}

func parseGuestError(text string) *GuestError {
	var e GuestError
	if json.Unmarshal([]byte(text), &e) != nil {
		return &GuestError{Name: "Error", Message: text}
	}
	return &e
}
