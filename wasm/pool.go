package wasm

import (
	"slices"
	"sync"
)

// pool keeps idle machines. The next guest is mostly of the same image as the last one, so a machine is given that memory
// while it's idle: a guest that begins later doesn't wait for it.
type pool struct {
	mu     sync.Mutex
	size   int
	closed bool
	idle   []*machine // the most recently used last
}

// get takes an idle machine with exactly the given memory size, in bytes, or returns nil. Memory can't shrink, and the
// guest's allocator can tell when it is larger than its image. What the memory holds is up to the caller (see machine.holds);
// one that was made ready for img comes first.
func (p *pool) get(img *Image, size uint32) *machine {
	m := p.take(img, size)
	if m != nil {
		m.wake()
	}
	return m
}

func (p *pool) take(img *Image, size uint32) (m *machine) {
	p.mu.Lock()
	defer p.mu.Unlock()
	at := -1
	for i, m := range slices.Backward(p.idle) {
		if m.mem.Size() == size && (at < 0 || m.last == img) {
			at = i
			if m.last == img {
				break
			}
		}
	}
	if at < 0 {
		return nil
	}
	m = p.idle[at]
	p.idle = append(p.idle[:at], p.idle[at+1:]...)
	return m
}

// put gives a healthy machine back, whose guest was of the given image. The least recently used one makes room for it.
func (p *pool) put(m *machine, img *Image) {
	if m.holds == img {
		img.load(m) // a few known pages: less than finding a goroutine for it
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		m.close()
		return
	}
	if len(p.idle) >= p.size {
		p.idle[0].wake()
		p.idle[0].close()
		p.idle = append(p.idle[:0], p.idle[1:]...)
	}
	m.rest(img)
	p.idle = append(p.idle, m)
}

func (p *pool) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for _, m := range p.idle {
		m.wake()
		m.close()
	}
	p.idle = nil
}

// rest makes a machine idle and, unless it's ready for another guest of the image, ready in a moment.
func (m *machine) rest(img *Image) {
	m.tidy.Lock()
	m.idle, m.last = true, img
	ready := m.holds == img
	m.tidy.Unlock()
	if ready {
		return
	}
	go func() {
		m.tidy.Lock()
		defer m.tidy.Unlock()
		if m.idle && m.last == img { // nobody has taken it in the meantime
			img.load(m)
		}
	}()
}

// wake ends a machine's rest. If it's being made ready, that's waited for.
func (m *machine) wake() {
	m.tidy.Lock()
	m.idle = false
	m.tidy.Unlock()
}
