package wasm

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/bits"
	"slices"
)

const (
	patchWord  = 8              // bytes that a patch takes or leaves together
	patchBlock = 64 * patchWord // bytes with a mask of their own, a bit for each word
	patchMasks = diffPage / patchBlock * 8
	// maxPatch is the most that a patch holds for one page, in bytes.
	maxPatch = patchMasks + diffPage
)

// patch turns pages of an image into those of a guest. A program changes a few words of each page that it touches, so for
// each page there are masks that tell which words changed, the lowest bit standing for the first word, and then those
// words, XORed with the image's.
type patch struct {
	index []uint32 // page numbers, ascending
	words []byte   // masks and words, one page after another
}

// appendPatch appends the masks and the words of one page. old of nil stands for zeros.
func appendPatch(b, page, old []byte) []byte {
	if old == nil {
		old = zeroPage[:]
	}
	le := binary.LittleEndian
	at := len(b)
	b = append(slices.Grow(b, maxPatch), zeroPage[:patchMasks]...)
	for ; len(page) > 0; page, old, at = page[patchBlock:], old[patchBlock:], at+8 {
		now, was := page[:patchBlock], old[:patchBlock]
		if bytes.Equal(now, was) {
			continue
		}
		mask := uint64(0)
		for k := 0; k < patchBlock; k += patchWord {
			if word := le.Uint64(now[k:]) ^ le.Uint64(was[k:]); word != 0 {
				mask |= 1 << (k / patchWord)
				b = le.AppendUint64(b, word)
			}
		}
		le.PutUint64(b[at:], mask)
	}
	return b
}

var errPatch = errors.New("its masks and words don't fit")

// check makes sure that apply can't read past the end.
func (p *patch) check() error {
	rest := p.words
	for range p.index {
		if len(rest) < patchMasks {
			return errPatch
		}
		words := 0
		for at := 0; at < patchMasks; at += 8 {
			words += bits.OnesCount64(binary.LittleEndian.Uint64(rest[at:]))
		}
		if rest = rest[patchMasks:]; len(rest) < words*patchWord {
			return errPatch
		}
		rest = rest[words*patchWord:]
	}
	if len(rest) > 0 {
		return errPatch
	}
	return nil
}

// apply combines a checked patch with mem, which must be large enough.
func (p *patch) apply(mem []byte) {
	le := binary.LittleEndian
	words := p.words
	for _, n := range p.index {
		page, masks := pageOf(mem, int(n)), words[:patchMasks]
		words = words[patchMasks:]
		for ; len(page) > 0; page, masks = page[patchBlock:], masks[8:] {
			for mask := le.Uint64(masks); mask != 0; mask &= mask - 1 {
				word := page[bits.TrailingZeros64(mask)*patchWord:]
				le.PutUint64(word, le.Uint64(word)^le.Uint64(words))
				words = words[patchWord:]
			}
		}
	}
}
