package wasm

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"math/rand/v2"
	"testing"
)

// randomMemory is whole pages of which some are zeros.
func randomMemory(rnd *rand.Rand, pages int) []byte {
	mem := make([]byte, pages*diffPage)
	for n := range pages {
		if rnd.IntN(3) > 0 {
			scribble(rnd, pageOf(mem, n), diffPage)
		}
	}
	return mem
}

// scribble writes random bytes to up to n random places.
func scribble(rnd *rand.Rand, mem []byte, n int) {
	for range rnd.IntN(n + 1) {
		mem[rnd.IntN(len(mem))] = byte(rnd.Uint32())
	}
}

// A patch makes exactly the other memory, whatever was written where.
func TestPatchesAreWhatDiffers(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 1))
	for range 300 {
		old := randomMemory(rnd, 1+rnd.IntN(12))
		mem := append(bytes.Clone(old), randomMemory(rnd, rnd.IntN(4))...) // it may have grown
		scribble(rnd, mem, 1<<rnd.IntN(12))
		base := func(n int) []byte { return pageOf(old, n) }
		var p patch
		for n := range len(mem) / diffPage { // also of pages that are equal
			p.index = append(p.index, uint32(n))
			p.words = appendPatch(p.words, pageOf(mem, n), base(n))
		}
		if err := p.check(); err != nil {
			t.Fatal(err)
		}
		got := append(bytes.Clone(old), make([]byte, len(mem)-len(old))...)
		p.apply(got)
		if !bytes.Equal(got, mem) {
			t.Fatal("a patched memory isn't the one that the patch was made of")
		}
	}
}

func TestPatchesHoldOnlyWhatChanged(t *testing.T) {
	page := bytes.Repeat([]byte{7}, diffPage)
	if n := len(appendPatch(nil, page, page)); n != patchMasks {
		t.Errorf("%d bytes for a page without a change, want its masks: %d", n, patchMasks)
	}
	changed := bytes.Clone(page)
	changed[0], changed[diffPage-1] = 8, 8
	if n := len(appendPatch(nil, changed, page)); n != patchMasks+2*patchWord {
		t.Errorf("%d bytes for two changes, want the masks and two words", n)
	}
	if n := len(appendPatch(nil, page, nil)); n != maxPatch {
		t.Errorf("%d bytes for a page of other words, want %d", n, maxPatch)
	}
}

// Whatever check lets pass, apply stays within the patch and its pages.
func TestForgedPatchesAreRefusedOrStayInside(t *testing.T) {
	rnd := rand.New(rand.NewPCG(2, 2))
	good := appendPatch(appendPatch(nil, bytes.Repeat([]byte{1}, diffPage), nil), zeroPage[:], nil)
	passed := 0
	for range 2000 {
		forged := bytes.Clone(good)[:rnd.IntN(len(good)+1)]
		if len(forged) > 0 {
			scribble(rnd, forged[:min(len(forged), patchMasks)], rnd.IntN(4))
		}
		if len(forged) >= patchMasks && rnd.IntN(2) == 0 { // as many words as one mask asks for
			clear(forged[:patchMasks])
			mask := rnd.Uint64()
			binary.LittleEndian.PutUint64(forged, mask)
			forged = append(forged[:patchMasks:patchMasks], make([]byte, bits.OnesCount64(mask)*patchWord+patchMasks)...)
		}
		p := patch{index: []uint32{1, 2}, words: forged}
		if p.check() != nil {
			continue
		}
		passed++
		mem := make([]byte, 4*diffPage)
		p.apply(mem)
		if !bytes.Equal(pageOf(mem, 0), zeroPage[:]) || !bytes.Equal(pageOf(mem, 3), zeroPage[:]) {
			t.Fatal("a patch wrote to a page that it doesn't list")
		}
	}
	if passed < 100 {
		t.Errorf("only %d of the forged patches passed the check", passed)
	}
	for what, words := range map[string][]byte{
		"no masks": nil, "cut": good[:len(good)-1], "something behind": append(bytes.Clone(good), 0),
		"a word less": append(bytes.Clone(good[:maxPatch-patchWord]), good[maxPatch:]...),
	} {
		if (&patch{index: []uint32{1, 2}, words: words}).check() == nil {
			t.Errorf("%s: the check let it pass", what)
		}
	}
}
