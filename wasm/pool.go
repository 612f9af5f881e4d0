package wasm

import "sync"

// pool keeps idle machines. Their memory holds what the last guest left there: whoever takes one must overwrite all of it.
type pool struct {
	mu     sync.Mutex
	size   int
	closed bool
	idle   []*machine // the most recently used last
}

// get takes an idle machine with exactly the given memory size, in bytes, or returns nil. Memory can't shrink, and the
// guest's allocator can tell when it is larger than its image.
func (p *pool) get(size uint32) *machine {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := len(p.idle) - 1; i >= 0; i-- {
		if m := p.idle[i]; m.mem.Size() == size {
			p.idle = append(p.idle[:i], p.idle[i+1:]...)
			return m
		}
	}
	return nil
}

// put gives a healthy machine back. The least recently used one makes room for it.
func (p *pool) put(m *machine) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		m.close()
		return
	}
	if len(p.idle) >= p.size {
		p.idle[0].close()
		p.idle = append(p.idle[:0], p.idle[1:]...)
	}
	p.idle = append(p.idle, m)
}

func (p *pool) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for _, m := range p.idle {
		m.close()
	}
	p.idle = nil
}
