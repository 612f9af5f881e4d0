//go:build unix

package wasm

import (
	"math/bits"

	"golang.org/x/sys/unix"
)

// commitStep is the granularity of growth, in bytes: fewer system calls, and pages are only backed once touched.
const commitStep = 1 << 20

// newMapping reserves size bytes of address space. Where that isn't possible (a 32-bit process, a limit on address space)
// it falls back to Go memory.
func newMapping(size uint64) mapping {
	if bits.UintSize < 64 {
		return &heapMapping{}
	}
	buf, err := unix.Mmap(-1, 0, int(size), unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return &heapMapping{}
	}
	return &reservedMapping{buf: buf}
}

type reservedMapping struct {
	buf       []byte // the whole reservation
	committed uint64
}

func (m *reservedMapping) grow(size uint64) []byte {
	if size > uint64(len(m.buf)) {
		return nil
	}
	if size > m.committed {
		next := min((size+commitStep-1)/commitStep*commitStep, uint64(len(m.buf)))
		if unix.Mprotect(m.buf[m.committed:next], unix.PROT_READ|unix.PROT_WRITE) != nil {
			return nil
		}
		m.committed = next
	}
	return m.buf[:size:size]
}

func (m *reservedMapping) free() {
	if m.buf == nil {
		return
	}
	if err := unix.Munmap(m.buf); err != nil {
		panic("wasm: munmap of a guest's memory: " + err.Error()) // only a corrupted slice header can cause this
	}
	m.buf, m.committed = nil, 0
}
