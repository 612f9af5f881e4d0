package wasm

import (
	"sync/atomic"

	"github.com/tetratelabs/wazero/experimental"
)

const wasmPage = 64 << 10

// linearMemory backs one instance's memory. It reserves address space up to the engine's maximum and makes it accessible
// as the guest grows, so growth never copies; and it refuses to grow past the limit of the guest that holds the instance.
type linearMemory struct {
	limit   atomic.Uint64 // bytes the current guest may have
	refused atomic.Bool   // a growth was refused since the guest was given the instance
	mapping mapping
}

// mapping is a growable range of bytes that stays at its address where the platform allows it.
type mapping interface {
	// grow makes the first size bytes accessible, those past the old size being zero, and returns them.
	// nil says that it can't.
	grow(size uint64) []byte
	free()
}

// Allocate implements experimental.MemoryAllocator. Each linearMemory allocates itself, once.
func (l *linearMemory) Allocate(_, most uint64) experimental.LinearMemory {
	if l.mapping == nil {
		l.mapping = newMapping(most)
	}
	return l
}

// Reallocate implements experimental.LinearMemory.
func (l *linearMemory) Reallocate(size uint64) []byte {
	if size > l.limit.Load() {
		l.refused.Store(true)
		return nil
	}
	b := l.mapping.grow(size)
	if b == nil {
		l.refused.Store(true)
	}
	return b
}

// Free implements experimental.LinearMemory.
func (l *linearMemory) Free() { l.mapping.free() }

// heapMapping is the fallback: Go memory, copied on growth.
type heapMapping struct{ buf []byte }

func (m *heapMapping) grow(size uint64) []byte {
	if size > uint64(cap(m.buf)) {
		next := make([]byte, size, max(size, 2*uint64(cap(m.buf))))
		copy(next, m.buf)
		m.buf = next
	}
	m.buf = m.buf[:size]
	return m.buf
}

func (m *heapMapping) free() { m.buf = nil }
