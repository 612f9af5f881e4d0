package wasm

import (
	"bytes"
	"testing"
)

func TestMappingsGrowInPlaceOrByCopy(t *testing.T) {
	for name, m := range map[string]mapping{"reserved": newMapping(8 << 20), "heap": &heapMapping{}} {
		b := m.grow(wasmPage)
		if len(b) != wasmPage || !bytes.Equal(b, make([]byte, wasmPage)) {
			t.Fatalf("%s: %d bytes, not all zero", name, len(b))
		}
		copy(b, "kept")
		b[wasmPage-1] = 9
		for _, size := range []uint64{2 * wasmPage, 2 * wasmPage, 5 << 20, 8 << 20} {
			b = m.grow(size)
			if uint64(len(b)) != size || string(b[:4]) != "kept" || b[wasmPage-1] != 9 {
				t.Fatalf("%s: lost its content on growing to %d bytes", name, size)
			}
			if !bytes.Equal(b[wasmPage:], make([]byte, size-wasmPage)) {
				t.Fatalf("%s: new memory isn't zero", name)
			}
		}
		b[8<<20-1] = 1
		m.free()
		m.free()
	}
}

func TestMemoryRefusesToGrowPastItsLimit(t *testing.T) {
	l := &linearMemory{}
	l.limit.Store(3 * wasmPage)
	mem := l.Allocate(0, 100*wasmPage)
	defer mem.Free()
	if b := mem.Reallocate(3 * wasmPage); len(b) != 3*wasmPage || l.refused.Load() {
		t.Fatalf("%d bytes, refused %v", len(b), l.refused.Load())
	}
	if b := mem.Reallocate(4 * wasmPage); b != nil || !l.refused.Load() {
		t.Errorf("%d bytes past the limit, refused %v", len(b), l.refused.Load())
	}
	l.limit.Store(1000 * wasmPage)
	if b := mem.Reallocate(101 * wasmPage); b != nil {
		t.Errorf("%d bytes past the reservation", len(b))
	}
}

// Guests run in Go memory too, as they do where no address space can be reserved.
func TestGuestsRunWithoutReservedMemory(t *testing.T) {
	img := newImage(t, shared)
	limits := testLimits()
	m, err := newMachineWith(t.Context(), shared.rt, shared.code, &linearMemory{mapping: &heapMapping{}}, linearLimit(uint64(img.size), limits.MemoryBytes))
	if err != nil {
		t.Fatal(err)
	}
	shared.pool.close()
	shared.pool.closed = false
	if err := m.resize(img.size); err != nil {
		t.Fatal(err)
	}
	m.used = true
	shared.pool.put(m, img)
	g := acquire(t, img, limits, Env{})
	if g.env.machine != m {
		t.Fatal("another machine was taken")
	}
	if v := value(t, start(t, g, "const a = new Uint8Array(2e7).fill(7); return a[19999999]")); v != "7" {
		t.Errorf("value %s", v)
	}
}
