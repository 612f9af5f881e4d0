package wasm

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
)

// Snapshot freezes the guest into bytes from which Restore makes an equal guest, in this process or another one with the
// same build. They hold the difference between the guest's memory and its image, compressed; most parked programs take
// well under 100 KiB. The guest goes on living.
//
// More than limit bytes fail with ErrSnapshotLimit, and a poisoned guest with ErrPoisoned.
func (g *Guest) Snapshot(limit int) ([]byte, error) {
	if !g.mu.TryLock() {
		return nil, fmt.Errorf("guest: %w", ErrBusy)
	}
	defer g.mu.Unlock()
	if err := g.usable(); err != nil {
		return nil, err
	}
	m := g.env.machine
	h := snapshotHeader{
		Engine: g.engine.sum, Image: g.image.id, ImageSum: g.image.sum,
		Memory: m.mem.Size(), StackPointer: uint32(m.sp.Get()),
		Runtime: g.engine.base.runtime, Context: g.engine.base.context,
		Started: g.state.started, Settled: g.state.settled, NextID: g.state.nextID, Output: g.state.output,
		Lost: g.env.reject.lost, Rejections: g.env.reject.list,
		Pending: slices.Sorted(maps.Keys(g.state.pending)),
	}
	if m.holds != g.image {
		m.holds, m.stale = g.image, differing(m.bytes(), g.image.spans, m.stale[:0])
	}
	return encodeSnapshot(&h, m.bytes(), m.stale, g.image.page, limit)
}

// Restore makes a guest from a snapshot and the image it was started from. Limits, clock and seed are those given here, not
// those of the frozen guest.
//
// The snapshot is checked before a machine is touched; one that is damaged, of another build or image, or over the memory
// limit fails with ErrSnapshot. Its checksum guards against damage, not against forgery: a forged one can make the guest
// misbehave, but only within its own memory and limits.
func (e *Engine) Restore(ctx context.Context, img *Image, snapshot []byte, limits Limits, world Env) (*Guest, error) {
	leave, err := e.enter()
	if err != nil {
		return nil, err
	}
	defer leave()
	if err := limits.check(e.maxMemory); err != nil {
		return nil, err
	}
	work := workspaces.Get().(*workspace)
	defer work.put()
	s, err := decodeSnapshot(snapshot, linearLimit(uint64(img.size), limits.MemoryBytes), work)
	if err == nil {
		err = s.matches(e, img)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSnapshot, err)
	}
	g, err := e.newGuest(ctx, img, limits, world, s.Memory)
	if err != nil {
		return nil, err
	}
	err = g.prepare(world.Seed, func(m *machine) {
		img.load(m)
		s.pages.apply(m.bytes())
		m.sp.Set(uint64(s.StackPointer))
	})
	if err != nil {
		g.discard()
		return nil, fmt.Errorf("%w: %w", ErrSnapshot, err)
	}
	g.state.started, g.state.settled, g.state.nextID, g.state.output = s.Started, s.Settled, s.NextID, s.Output
	for _, id := range s.Pending {
		g.state.pending[id] = struct{}{}
	}
	g.env.reject = rejections{list: s.Rejections, lost: s.Lost}
	e.register(g)
	return g, nil
}

// matches checks what only the engine and the image can tell.
func (s *snapshot) matches(e *Engine, img *Image) error {
	switch {
	case s.Engine != e.sum:
		return fmt.Errorf("made by the engine module %x, this is %x", s.Engine[:6], e.sum[:6])
	case s.Image != img.id:
		return fmt.Errorf("made from the image %x, this is %x", s.Image[:6], img.id[:6])
	case s.ImageSum != img.sum:
		return errors.New("made from an image of the same name but other content")
	case s.Memory < img.size:
		return fmt.Errorf("its memory of %d bytes is smaller than its image's", s.Memory)
	case s.Runtime != e.base.runtime || s.Context != e.base.context:
		return errors.New("its runtime is at another place")
	case uint64(s.StackPointer) != img.sp:
		return fmt.Errorf("its stack pointer is %#x, a guest at rest has %#x", s.StackPointer, img.sp)
	}
	return nil
}
