package wasm

import (
	"bytes"
	"fmt"
	"runtime"
	"sync"
	"testing"
)

// whole is the memory that a fresh guest of the image must have.
func whole(img *Image) []byte {
	mem := make([]byte, img.size)
	for n := range len(mem) / diffPage {
		copy(mem[n*diffPage:], img.page(n))
	}
	return mem
}

func TestImagesAreWrittenWhole(t *testing.T) {
	e := newEngine(t, Config{})
	for _, install := range []string{controllerInstall, string(benchInstall)} {
		img, err := e.NewImage(t.Context(), []byte(install))
		if err != nil {
			t.Fatal(err)
		}
		m, err := newMachine(t.Context(), e.rt, e.code, linearLimit(uint64(img.size), testLimits().MemoryBytes))
		if err != nil {
			t.Fatal(err)
		}
		defer m.close()
		if err := m.resize(img.size); err != nil {
			t.Fatal(err)
		}
		for _, before := range []byte{0, 0xa5} { // as the system gives it, and as another guest left it
			if before != 0 {
				for i := range m.bytes() {
					m.bytes()[i] = before
				}
			}
			m.holds = nil
			img.load(m)
			if !bytes.Equal(m.bytes(), whole(img)) {
				t.Errorf("after memory of %#x, a machine holds something else than its image", before)
			}
		}
	}
}

func twoImages(t *testing.T, e *Engine) (a, b *Image) {
	t.Helper()
	a, err := e.NewImage(t.Context(), []byte(controllerInstall))
	if err != nil {
		t.Fatal(err)
	}
	if b, err = e.NewImage(t.Context(), benchInstall); err != nil {
		t.Fatal(err)
	}
	if a.size != b.size {
		t.Fatal("the images have different sizes, so their guests can't share machines")
	}
	return a, b
}

func TestIdleMachinesBecomeReadyForTheImageOfTheirLastGuest(t *testing.T) {
	e := newEngine(t, Config{IdleMachines: 2})
	first, second := twoImages(t, e)
	dirty := func(img *Image) *machine {
		g := acquire(t, img, testLimits(), Env{})
		if m := g.env.machine; m.holds != nil {
			t.Error("a machine with a guest claims to hold an image")
		}
		start(t, g, "globalThis.left = Array(1000).fill('behind'); return 1")
		m := g.env.machine
		_ = g.Close()
		return m
	}
	a, b := dirty(first), acquire(t, second, testLimits(), Env{})
	if b.env.machine != a {
		t.Fatal("an idle machine wasn't used because it was of another image")
	}
	c := dirty(first)
	_ = b.Close()
	// Of both idle machines, each image gets its own again.
	if m := dirty(second); m != a {
		t.Error("the machine that was ready for the second image wasn't taken")
	}
	if m := dirty(first); m != c {
		t.Error("the machine that was ready for the first image wasn't taken")
	}
	for m, img := range map[*machine]*Image{a: second, c: first} {
		waitReady(m)
		if m.holds != img || !bytes.Equal(m.bytes(), whole(img)) {
			t.Error("an idle machine isn't ready for the image of its last guest")
		}
	}
}

// waitReady waits until an idle machine has been made ready.
func waitReady(m *machine) {
	for {
		m.tidy.Lock()
		ready := m.holds != nil
		m.tidy.Unlock()
		if ready {
			return
		}
		runtime.Gosched()
	}
}

func TestGuestsOfAlternatingImagesSeeOnlyTheirOwn(t *testing.T) {
	e := newEngine(t, Config{IdleMachines: 3})
	var images [2]*Image
	images[0], images[1] = twoImages(t, e)
	const program = `const seen = typeof globalThis.left + " " + catalog.all().length; globalThis.left = 1; return seen`
	want := [2]string{}
	for i, img := range images {
		g := acquire(t, img, testLimits(), Env{})
		want[i] = value(t, start(t, g, program))
		_ = g.Close()
	}
	if want[0] == want[1] {
		t.Fatalf("the images can't be told apart by %s", want)
	}
	var all sync.WaitGroup
	errs := make(chan error, 4)
	for worker := range 4 {
		all.Go(func() {
			for i := range 50 {
				which := (worker + i/3) % 2
				g, err := e.Acquire(t.Context(), images[which], testLimits(), Env{})
				if err != nil {
					errs <- err
					return
				}
				leg, err := g.Start(t.Context(), program)
				_ = g.Close()
				if err != nil || string(leg.Value) != want[which] {
					errs <- fmt.Errorf("%w: value %s, want %s", err, leg.Value, want[which])
					return
				}
			}
		})
	}
	all.Wait()
	close(errs)
	for err := range errs {
		t.Error(err)
	}
}

func TestSnapshotsHoldNoSpareMemory(t *testing.T) {
	g := acquire(t, newImage(t, shared), testLimits(), Env{})
	start(t, g, "await read({path: 'x'})")
	snapshot, err := g.Snapshot(1 << 20)
	if err != nil {
		t.Fatal(err)
	}
	if spare := cap(snapshot) - len(snapshot); spare > len(snapshot)/4 { // what the allocator rounds up
		t.Errorf("%d bytes of a snapshot of %d are spare", spare, len(snapshot))
	}
}
