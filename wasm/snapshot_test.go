package wasm

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"runtime"
	"strconv"
	"testing"
)

// parked starts a program that waits for answers, freezes it and closes it.
func parked(t testing.TB, img *Image, source string) (Leg, []byte) {
	t.Helper()
	g := acquire(t, img, testLimits(), Env{})
	leg := start(t, g, source)
	b, err := g.Snapshot(64 << 20)
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Close(); err != nil {
		t.Fatal(err)
	}
	return leg, b
}

func restore(t testing.TB, img *Image, snapshot []byte, world Env) *Guest {
	t.Helper()
	g, err := img.engine.Restore(t.Context(), img, snapshot, testLimits(), world)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = g.Close() })
	return g
}

// A parked guest's memory can be counted.
func TestSpec_S10_MemoryOfAGuest(t *testing.T) {
	img := newImage(t, shared)
	g := acquire(t, img, testLimits(), Env{})
	start(t, g, `await call("x")`)
	if before := g.Memory(); before != int(img.size) {
		t.Errorf("%d bytes, the image has %d", before, img.size)
	}
	grown := acquire(t, img, testLimits(), Env{})
	start(t, grown, `globalThis.kept = new Uint8Array(4 << 20); await call("x")`)
	if n := grown.Memory(); n < 4<<20 {
		t.Errorf("%d bytes with 4 MiB in it", n)
	}
	if err := grown.Close(); err != nil {
		t.Fatal(err)
	}
	if n := grown.Memory(); n != 0 {
		t.Errorf("%d bytes of a closed guest", n)
	}
}

const richProgram = `
	class Counter { #n = 40; add(k) { return this.#n += k } }
	const c = new Counter(), m = new Map([['k', [1, 2n]]]), s = Symbol('s'), o = {[s]: 'sym'};
	const big = new Uint8Array(3e6).fill(7), re = /a(.)c/g;
	function* gen() { const got = yield 1; yield got + 1 }
	const it = gen(); it.next();
	const [x, y, z] = await Promise.all([call('x'), call('y'), call('z')]);
	return [c.add(2), m.get('k')[0], String(m.get('k')[1]), o[s], big[2999999], re.exec('abc')[1], it.next(9).value, x, y, z];`

const richValue = `[42,1,"2","sym",7,"b",10,"X","Y","Z"]`

func TestSnapshotKeepsTheWholeProgram(t *testing.T) {
	img := newImage(t, shared)
	leg, snapshot := parked(t, img, richProgram)
	for range 2 { // a snapshot can be restored more than once
		g := restore(t, img, snapshot, Env{})
		resume(t, g, Answer{leg.Requests[2].ID, true, []byte(`"Z"`)}, Answer{leg.Requests[0].ID, true, []byte(`"X"`)})
		again, err := g.Snapshot(64 << 20)
		if err != nil {
			t.Fatal(err)
		}
		last := resume(t, restore(t, img, again, Env{}), Answer{leg.Requests[1].ID, true, []byte(`"Y"`)})
		if got := value(t, last); got != richValue {
			t.Errorf("value %s, want %s", got, richValue)
		}
	}
}

func TestSnapshotMovesBetweenProcesses(t *testing.T) {
	other := newEngine(t, Config{controller: testController})
	leg, snapshot := parked(t, newImage(t, shared), richProgram)
	g := restore(t, newImage(t, other), snapshot, Env{})
	var answers []Answer
	for i, v := range []string{`"X"`, `"Y"`, `"Z"`} {
		answers = append(answers, Answer{leg.Requests[i].ID, true, []byte(v)})
	}
	if got := value(t, resume(t, g, answers...)); got != richValue {
		t.Errorf("value %s, want %s", got, richValue)
	}
}

func TestSnapshotKeepsTheHostsSide(t *testing.T) {
	img := newImage(t, shared)
	limits := testLimits()
	limits.OutputBytes = 10
	g := acquire(t, img, limits, Env{})
	leg := start(t, g, `
		raw('"abc"'); globalThis.p = Promise.reject(new Error('lost')); const timer = later();
		await call({}); raw('"abcdefgh"'); const late = call({}); cancel(timer); p.catch(() => {});
		await late; return 1`)
	snapshot, err := g.Snapshot(1 << 20)
	if err != nil {
		t.Fatal(err)
	}
	g, err = shared.Restore(t.Context(), img, snapshot, limits, Env{})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	next := resume(t, g, Answer{ID: leg.Requests[1].ID, OK: true})
	if next.OmittedBytes != 5 {
		t.Errorf("the budget of output began anew: %+v", next)
	}
	if leg.Unhandled == nil || next.Unhandled != nil {
		t.Errorf("unhandled %v, then %v; want it handled after the park", leg.Unhandled, next.Unhandled)
	}
	if len(next.Cancelled) != 1 || next.Cancelled[0] != leg.Requests[0].ID {
		t.Errorf("cancelled %v, want [%s]", next.Cancelled, leg.Requests[0].ID)
	}
	if next.Requests[0].ID == leg.Requests[0].ID || next.Requests[0].ID == leg.Requests[1].ID {
		t.Errorf("the ID %s was given twice", next.Requests[0].ID)
	}
	if _, err := g.Start(t.Context(), "return 2"); err == nil {
		t.Error("a restored guest started another program")
	}
	if last := resume(t, g, Answer{ID: next.Requests[0].ID, OK: true}); value(t, last) != "1" {
		t.Errorf("%+v", last)
	}
}

func TestSpec_G9_ClonesDifferInRandomness(t *testing.T) {
	img := newImage(t, shared)
	leg, snapshot := parked(t, img, "const before = Math.random(); await call({}); return [before, Math.random()]")
	draw := func() string {
		return value(t, resume(t, restore(t, img, snapshot, Env{}), Answer{ID: leg.Requests[0].ID, OK: true}))
	}
	if a, b := draw(), draw(); a == b {
		t.Errorf("two clones drew %s", a)
	}
}

func TestRestoreAppliesTheLimitsAnew(t *testing.T) {
	img := newImage(t, shared)
	leg, snapshot := parked(t, img, `await call({});
		let name; function f() { return 1 + f() } try { f() } catch (e) { name = e.name }
		if (name !== 'RangeError') return name;
		const a = []; for (;;) a.push(new Uint8Array(1e5))`)
	limits := testLimits()
	limits.MemoryBytes = 2 << 20
	g, err := shared.Restore(t.Context(), img, snapshot, limits, Env{})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	_, err = g.Resume(t.Context(), []Answer{{ID: leg.Requests[0].ID, OK: true}})
	if !errors.Is(err, ErrMemory) {
		t.Errorf("error %v, want ErrMemory", err)
	}
	if size := g.env.machine.mem.Size(); size > 8<<20 {
		t.Errorf("a guest of 2 MiB grew to %d bytes", size)
	}
	_, large := parked(t, img, "globalThis.big = new Uint8Array(2e7).fill(1); await call({})")
	if _, err := shared.Restore(t.Context(), img, large, limits, Env{}); !errors.Is(err, ErrSnapshot) {
		t.Errorf("a snapshot over the memory limit: error %v, want ErrSnapshot", err)
	}
}

func TestSnapshotLimit(t *testing.T) {
	img := newImage(t, shared)
	g := acquire(t, img, testLimits(), Env{})
	// Random bytes don't compress.
	leg := start(t, g, "globalThis.noise = new Uint8Array(4e6).map(() => Math.random()*256); await call({}); return noise.length")
	for _, limit := range []int{0, 1, 1 << 10, 1 << 20, 3 << 20} {
		if b, err := g.Snapshot(limit); !errors.Is(err, ErrSnapshotLimit) {
			t.Errorf("limit %d: %d bytes, error %v", limit, len(b), err)
		}
	}
	b, err := g.Snapshot(8 << 20)
	if err != nil {
		t.Fatal(err)
	}
	if same, err := g.Snapshot(len(b)); err != nil || !bytes.Equal(same, b) {
		t.Errorf("a limit of exactly its size: error %v", err)
	}
	if _, err := g.Snapshot(len(b) - 1); !errors.Is(err, ErrSnapshotLimit) {
		t.Errorf("a limit of one byte less: error %v", err)
	}
	if v := value(t, resume(t, g, Answer{ID: leg.Requests[0].ID, OK: true})); v != "4000000" {
		t.Errorf("the guest didn't survive the refusals: %s", v)
	}
}

func TestSnapshotsAreSmall(t *testing.T) {
	_, snapshot := parked(t, newImage(t, shared), "const a = []; for (let i=0;i<500;i++) a.push({i, name: 'n'+i}); await call(a.slice(0, 3)); return a")
	t.Logf("%d bytes", len(snapshot))
	if len(snapshot) > 200<<10 {
		t.Errorf("a small program's snapshot has %d bytes", len(snapshot))
	}
}

// reseal makes the checksum right again, as whoever forges a snapshot would.
func reseal(b []byte) []byte {
	n := len(b) - 4
	binary.LittleEndian.PutUint32(b[n:], crc32.Checksum(b[:n], castagnoli))
	return b
}

func TestDamagedSnapshotsAreRefused(t *testing.T) {
	img := newImage(t, shared)
	_, good := parked(t, img, "await call({})")
	refused := func(what string, b []byte) {
		t.Helper()
		if g, err := shared.Restore(t.Context(), img, b, testLimits(), Env{}); !errors.Is(err, ErrSnapshot) {
			t.Errorf("%s: error %v, want ErrSnapshot", what, err)
			if g != nil {
				_ = g.Close()
			}
		}
	}
	refused("nil", nil)
	for n := 0; n < len(good); n += 1 + n/50 {
		refused("cut after "+strconv.Itoa(n), good[:n])
	}
	for n := 0; n < len(good); n += 1 + n/50 {
		b := bytes.Clone(good)
		b[n] ^= 1 << (n % 8)
		refused("bit flipped in byte "+strconv.Itoa(n), b)
	}
	refused("something behind", append(bytes.Clone(good), 0))

	// With a right checksum, each field still has to fit.
	const fields = 8 // after magic and version
	forged := func(what string, at int, v uint32) {
		t.Helper()
		b := bytes.Clone(good)
		binary.LittleEndian.PutUint32(b[at:], v)
		refused(what, reseal(b))
	}
	forged("older version", 4, snapshotVersion-1)
	forged("newer version", 4, snapshotVersion+1)
	forged("other engine", fields, 1)
	forged("other image", fields+32, 1)
	forged("other image content", fields+64, 1)
	memory := fields + 96
	forged("memory of no whole pages", memory, img.size+1)
	forged("memory smaller than the image", memory, wasmPage)
	forged("memory over the limit", memory, 1<<30)
	forged("memory of 4 GiB", memory, 0xffff0000)
	forged("stack pointer", memory+4, 0xffffffff)
	forged("runtime", memory+8, 0)
	forged("context", memory+12, 0)
	forged("unknown flags", memory+16, 0xff)
	forged("unhandled rejections without end", memory+20+8+8+4, 0xffffffff)
	forged("unanswered requests without end", memory+20+8+8+8, 0xffffffff)
	forged("unanswered request never made", memory+20+8+8+12, 99)
	pages := memory + 20 + 8 + 8 + 12 + 8
	forged("pages without end", pages, 0xffffffff)
	forged("page past the end", pages+4, 0xffffffff)
	forged("pages out of order", pages+8, 0)
	b := reseal(bytes.Clone(good[:len(good)-100]))
	refused("cut and sealed again", b)
}

func FuzzRestore(f *testing.F) {
	img, err := shared.NewImage(context.Background(), []byte(`{"tools":["read"]}`))
	if err != nil {
		f.Fatal(err)
	}
	_, good := parked(f, img, "await call({})")
	f.Add(good)
	f.Add([]byte{})
	limits := testLimits()
	limits.MemoryBytes = 8 << 20
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > 12 {
			copy(b, good[:8])
			reseal(b)
		}
		g, err := shared.Restore(context.Background(), img, b, limits, Env{})
		if err != nil {
			return
		}
		// A forged snapshot that passes may do anything within its machine, in bounded time.
		defer g.Close()
		ctx, cancel := context.WithTimeout(context.Background(), stopGrace)
		defer cancel()
		_, _ = g.Resume(ctx, []Answer{{ID: "1", OK: true}})
	})
}

// Forging memory itself can only harm the forger's guest.
func TestForgedMemoryStaysInside(t *testing.T) {
	img := newImage(t, shared)
	_, good := parked(t, img, "await call({})")
	s, err := decodeSnapshot(good, 1<<30, new(workspace))
	if err != nil {
		t.Fatal(err)
	}
	for i := range 200 {
		h := s.snapshotHeader
		h.Rejections = []rejection{{1, uint32(i * 4), 0xfffffff0}}
		mem := make([]byte, h.Memory)
		for n := range len(mem) / diffPage {
			copy(mem[n*diffPage:], img.page(n))
		}
		s.pages.apply(mem)
		for k := i; k < len(s.pages.index)*diffPage; k += 97 + i*31 {
			mem[int(s.pages.index[k/diffPage])*diffPage+k%diffPage] ^= byte(k + i)
		}
		b, err := encodeSnapshot(&h, mem, s.pages.index, img.page, 64<<20)
		if err != nil {
			t.Fatal(err)
		}
		g, err := shared.Restore(t.Context(), img, b, testLimits(), Env{})
		if err != nil {
			continue
		}
		ctx, cancel := context.WithTimeout(t.Context(), stopGrace)
		_, _ = g.Resume(ctx, []Answer{{ID: "1", OK: true}})
		cancel()
		_ = g.Close()
	}
	runtime.GC()
	if v := value(t, start(t, acquire(t, img, testLimits(), Env{}), "return 1+2")); v != "3" {
		t.Errorf("the next guest returned %s", v)
	}
}
