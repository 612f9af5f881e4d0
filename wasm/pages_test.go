package wasm

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// Spans lay out the memory they were made of, and comparing by them finds what comparing every page finds.
func TestSpansFindEveryPageThatDiffers(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 3))
	for range 300 {
		base, pages := randomMemory(rnd, 1+rnd.IntN(12)), 1+rnd.IntN(12)
		own := map[int][]byte{} // pages of the image that aren't the base's
		for range rnd.IntN(4) {
			own[rnd.IntN(pages)] = randomMemory(rnd, 1)
		}
		image := make([]byte, 0, pages*diffPage)
		page := func(n int) []byte {
			if p := own[n]; p != nil {
				return p
			}
			return pageOf(base, n)
		}
		for n := range pages {
			image = append(image, zeroPage[:]...)
			copy(pageOf(image, n), page(n))
		}
		spans := spansOf(pages, page)
		mem := append(bytes.Clone(image), make([]byte, rnd.IntN(4)*diffPage)...)
		if got := differing(mem, spans, nil); len(got) > 0 {
			t.Fatalf("pages %v of an image differ from it", got)
		}
		scribble(rnd, mem, 1<<rnd.IntN(8))
		var want []uint32
		for n := range len(mem) / diffPage {
			old := pageOf(image, n)
			if old == nil {
				old = zeroPage[:]
			}
			if !bytes.Equal(pageOf(mem, n), old) {
				want = append(want, uint32(n))
			}
		}
		if got := differing(mem, spans, nil); !slices.Equal(got, want) {
			t.Fatalf("pages %v differ, found %v", want, got)
		}
	}
}

// knows fails the test unless what the machine knows of its memory is true.
func knows(t *testing.T, m *machine) {
	t.Helper()
	if m.holds == nil {
		return
	}
	image, mem := whole(m.holds), m.bytes()
	for n := range len(mem) / diffPage {
		old := pageOf(image, n)
		if old == nil {
			old = zeroPage[:]
		}
		if _, stale := slices.BinarySearch(m.stale, uint32(n)); !stale && !bytes.Equal(pageOf(mem, n), old) {
			t.Fatalf("page %d isn't its image's, and the machine doesn't know", n)
		}
	}
}

// Loading an image leaves nothing of what was in a machine before, known or not, grown or not.
func TestLoadingAnImageIsAsGoodAsCopyingIt(t *testing.T) {
	e := newEngine(t, Config{})
	var images [2]*Image
	images[0], images[1] = twoImages(t, e)
	rnd := rand.New(rand.NewPCG(4, 4))
	for range 8 {
		m, err := newMachine(t.Context(), e.rt, e.code, linearLimit(uint64(images[0].size), testLimits().MemoryBytes))
		if err != nil {
			t.Fatal(err)
		}
		if err := m.resize(images[0].size + uint32(rnd.IntN(3))*wasmPage); err != nil {
			t.Fatal(err)
		}
		for range 20 {
			img := images[rnd.IntN(2)]
			img.load(m)
			want := append(whole(img), make([]byte, int(m.mem.Size()-img.size))...)
			if m.holds != img || !bytes.Equal(m.bytes(), want) || m.sp.Get() != img.sp {
				t.Fatal("a machine holds something else than the image that was loaded")
			}
			scribble(rnd, m.bytes(), 1<<rnd.IntN(10))
			m.sp.Set(0)
			if m.holds = nil; rnd.IntN(2) == 0 { // as a snapshot leaves it
				m.holds, m.stale = img, differing(m.bytes(), img.spans, m.stale[:0])
			}
			knows(t, m)
		}
		m.close()
	}
}

// Guests of two images start, wait, are frozen, go on, grow, trap and are restored in any order on few machines: a machine
// never believes more of its memory than is true, and an idle one holds nothing of any guest.
func TestSpec_L8_MachinesKnowWhatTheyHold(t *testing.T) {
	e := newEngine(t, Config{controller: testController, IdleMachines: 2})
	images := [2]*Image{newImage(t, e)}
	var err error
	if images[1], err = e.NewImage(t.Context(), []byte(`{"tools":["write","much"]}`)); err != nil {
		t.Fatal(err)
	}
	rnd := rand.New(rand.NewPCG(5, 5))
	var stop func() // called within a leg: before it, there would be nothing to stop
	world := Env{Seed: 1, Sync: func(string, []byte) []byte { stop(); return []byte("{}") }}
	for range 60 {
		img := images[rnd.IntN(2)]
		g := acquire(t, img, testLimits(), world)
		m := g.env.machine
		knows(t, m)
		leg := start(t, g, fmt.Sprintf(`globalThis.left = Array(%d).fill("behind"); const big = new Uint8Array(%d).fill(1);
			for (;;) { left.push(await call("x")); if (left.at(-1) === "loop") { lookUp("x", 0); for (;;); } }`,
			rnd.IntN(3000), rnd.IntN(5)/4*3_000_000))
		for range rnd.IntN(5) {
			switch rnd.IntN(4) {
			case 0: // again without a leg between
				_, _ = g.Snapshot(rnd.IntN(2) << 20)
				fallthrough
			case 1:
				_, _ = g.Snapshot(64 << 20)
				if m.holds != img {
					t.Fatal("a machine whose guest was frozen doesn't know what it holds")
				}
			case 2:
				snapshot, err := g.Snapshot(64 << 20)
				if err != nil {
					t.Fatal(err)
				}
				before := bytes.Clone(m.bytes())
				_ = g.Close()
				g = restore(t, img, snapshot, world)
				m = g.env.machine
				// The seed and the limits are the only words that are other ones.
				if n := len(differing(m.bytes(), []span{{len(before), before}}, nil)); n > 2 {
					t.Fatalf("%d pages of a restored guest aren't those that were frozen", n)
				}
			default:
				leg = resume(t, g, Answer{ID: leg.Requests[0].ID, OK: true, Body: []byte(`"more"`)})
			}
			knows(t, m)
		}
		stopped := rnd.IntN(6) == 0
		if stopped {
			ctx, cancel := context.WithCancel(t.Context())
			stop = cancel
			_, err := g.Resume(ctx, []Answer{{ID: leg.Requests[0].ID, OK: true, Body: []byte(`"loop"`)}})
			cancel()
			if err == nil {
				t.Fatal("a loop without end ended")
			}
			stopped = g.poisoned != nil // it may not have begun by then
		}
		discarded := stopped || m.mem.Size() != img.size
		_ = g.Close()
		if kept := slices.Contains(e.pool.idle, m); kept == discarded {
			t.Fatalf("stopped %v, %d bytes for an image of %d, and the machine is kept: %v", stopped, m.mem.Size(), img.size, kept)
		}
		for _, m := range e.pool.idle {
			waitReady(m)
			if !bytes.Equal(m.bytes(), whole(m.last)) {
				t.Fatal("an idle machine holds something else than an image")
			}
		}
	}
}
