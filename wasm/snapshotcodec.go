package wasm

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"sync"

	"github.com/klauspost/compress/s2"
)

// A snapshot is, all numbers little-endian:
//
//	magic "CCSN", u32 version
//	header fields in the order of snapshotHeader; lists with a u32 count
//	u32 number of pages, their u32 page numbers, ascending
//	blocks: u32 length, s2 block of the patch for the next blockPages pages
//	u32 CRC-32C of everything before
const (
	snapshotMagic   = "CCSN"
	snapshotVersion = 2
	blockPages      = 64 // pages compressed together: 260 KiB at most
	maxPending      = 1 << 20
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// snapshotHeader is everything in a snapshot but the memory.
type snapshotHeader struct {
	Engine, Image, ImageSum [32]byte
	Memory                  uint32 // bytes, whole WebAssembly pages
	StackPointer            uint32
	Runtime, Context        uint32
	Started, Settled        bool
	NextID                  uint64
	Output                  int64
	Lost                    uint32
	Rejections              []rejection
	Pending                 []uint64 // ascending
}

// snapshot is a decoded one.
type snapshot struct {
	snapshotHeader
	pages patch
}

// encodeSnapshot writes header and difference, which is in the pages that index lists. It gives up as soon as the result is
// larger than limit.
func encodeSnapshot(h *snapshotHeader, mem []byte, index []uint32, base func(page int) []byte, limit int) ([]byte, error) {
	tooLarge := func() error { return fmt.Errorf("%w of %d bytes", ErrSnapshotLimit, limit) }
	work := workspaces.Get().(*workspace)
	defer work.put()
	b := append(work.out[:0], snapshotMagic...)
	defer func() { work.out = b }()
	b = binary.LittleEndian.AppendUint32(b, snapshotVersion)
	b = h.append(b)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(index)))
	for _, n := range index {
		b = binary.LittleEndian.AppendUint32(b, n)
	}
	for len(index) > 0 {
		if len(b)+4 > limit {
			return nil, tooLarge()
		}
		n := min(len(index), blockPages)
		raw := work.raw[:0]
		for _, page := range index[:n] {
			raw = appendPatch(raw, pageOf(mem, int(page)), base(int(page)))
		}
		index = index[n:]
		work.raw = raw
		work.packed = s2.Encode(work.packed[:cap(work.packed)], raw)
		b = binary.LittleEndian.AppendUint32(b, uint32(len(work.packed)))
		b = append(b, work.packed...)
	}
	b = binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
	if len(b) > limit {
		return nil, tooLarge()
	}
	return bytes.Clone(b), nil // a parked cell keeps no more than it must
}

// workspace holds what making or reading one snapshot needs for a moment.
type workspace struct{ raw, packed, out, pages []byte }

var workspaces = sync.Pool{New: func() any { return new(workspace) }}

// keptBytes is the most that a workspace keeps in each buffer until the next snapshot.
const keptBytes = 1 << 20

func (w *workspace) put() {
	for _, b := range []*[]byte{&w.raw, &w.packed, &w.out, &w.pages} {
		if cap(*b) > keptBytes {
			*b = nil
		}
	}
	workspaces.Put(w)
}

func (h *snapshotHeader) append(b []byte) []byte {
	le := binary.LittleEndian
	b = append(b, h.Engine[:]...)
	b = append(b, h.Image[:]...)
	b = append(b, h.ImageSum[:]...)
	for _, v := range []uint32{h.Memory, h.StackPointer, h.Runtime, h.Context, flags(h.Started, h.Settled)} {
		b = le.AppendUint32(b, v)
	}
	b = le.AppendUint64(b, h.NextID)
	b = le.AppendUint64(b, uint64(h.Output))
	b = le.AppendUint32(b, h.Lost)
	b = le.AppendUint32(b, uint32(len(h.Rejections)))
	for _, r := range h.Rejections {
		b = le.AppendUint32(le.AppendUint32(le.AppendUint32(b, r.identity), r.promise), r.reason)
	}
	b = le.AppendUint32(b, uint32(len(h.Pending)))
	for _, id := range h.Pending {
		b = le.AppendUint64(b, id)
	}
	return b
}

func flags(set ...bool) (v uint32) {
	for i, s := range set {
		if s {
			v |= 1 << i
		}
	}
	return v
}

// cursor reads a snapshot. Reading past the end sets short and gives zeros.
type cursor struct {
	b     []byte
	short bool
}

func (c *cursor) take(n int) []byte {
	if n > len(c.b) {
		c.short = true
		return make([]byte, min(n, 32))
	}
	out := c.b[:n]
	c.b = c.b[n:]
	return out
}

func (c *cursor) u32() uint32 { return binary.LittleEndian.Uint32(c.take(4)) }
func (c *cursor) u64() uint64 { return binary.LittleEndian.Uint64(c.take(8)) }

// count reads the length of a list of elements of the given size. It's never more than what follows can hold.
func (c *cursor) count(size int) int {
	n := c.u32()
	if uint64(n)*uint64(size) > uint64(len(c.b)) {
		c.short = true
		return 0
	}
	return int(n)
}

var errTruncated = errors.New("truncated")

// decodeSnapshot checks everything that can be told without a machine, and allocates no more than twice memoryLimit and the
// input's size. The pages are the workspace's.
func decodeSnapshot(b []byte, memoryLimit uint64, work *workspace) (*snapshot, error) {
	if len(b) < len(snapshotMagic)+8 || string(b[:len(snapshotMagic)]) != snapshotMagic {
		return nil, errors.New("not a snapshot")
	}
	if v := binary.LittleEndian.Uint32(b[len(snapshotMagic):]); v != snapshotVersion {
		return nil, fmt.Errorf("of version %d, this build reads %d", v, snapshotVersion)
	}
	body, sum := b[:len(b)-4], binary.LittleEndian.Uint32(b[len(b)-4:])
	if crc32.Checksum(body, castagnoli) != sum {
		return nil, errors.New("damaged: the checksum differs")
	}
	c := &cursor{b: body[len(snapshotMagic)+4:]}
	s := &snapshot{}
	if err := s.read(c, memoryLimit); err != nil {
		return nil, err
	}
	if err := s.readPages(c, work); err != nil {
		return nil, err
	}
	return s, nil
}

func (h *snapshotHeader) read(c *cursor, memoryLimit uint64) error {
	copy(h.Engine[:], c.take(32))
	copy(h.Image[:], c.take(32))
	copy(h.ImageSum[:], c.take(32))
	h.Memory, h.StackPointer, h.Runtime, h.Context = c.u32(), c.u32(), c.u32(), c.u32()
	set := c.u32()
	h.Started, h.Settled = set&1 != 0, set&2 != 0
	h.NextID, h.Output, h.Lost = c.u64(), int64(c.u64()), c.u32()
	h.Rejections = make([]rejection, c.count(12))
	for i := range h.Rejections {
		h.Rejections[i] = rejection{c.u32(), c.u32(), c.u32()}
	}
	h.Pending = make([]uint64, c.count(8))
	for i := range h.Pending {
		h.Pending[i] = c.u64()
	}
	switch {
	case c.short:
		return errTruncated
	case h.Memory%wasmPage != 0:
		return fmt.Errorf("memory of %d bytes isn't a number of pages", h.Memory)
	case uint64(h.Memory) > memoryLimit:
		return fmt.Errorf("memory of %d bytes is over the limit of %d", h.Memory, memoryLimit)
	case set > 3 || h.Output < 0 || len(h.Rejections) > maxRejections || len(h.Pending) > maxPending:
		return errors.New("a field is out of range")
	}
	for i, id := range h.Pending {
		if id > h.NextID || (i > 0 && id <= h.Pending[i-1]) {
			return errors.New("the unanswered requests aren't in order")
		}
	}
	return nil
}

func (s *snapshot) readPages(c *cursor, work *workspace) error {
	index := make([]uint32, c.count(4))
	for i := range index {
		index[i] = c.u32()
		if (uint64(index[i])+1)*diffPage > uint64(s.Memory) || (i > 0 && index[i] <= index[i-1]) {
			return fmt.Errorf("page %d is out of order or past the end of memory", index[i])
		}
	}
	words := work.pages[:0]
	defer func() { work.pages = words }()
	for n := len(index); n > 0; n -= blockPages {
		block := c.take(c.count(1))
		size, err := s2.DecodedLen(block)
		if c.short || err != nil || size > min(n, blockPages)*(maxPatch) {
			return errTruncated
		}
		at := len(words)
		words = slices.Grow(words, size)[:at+size]
		if _, err := s2.Decode(words[at:], block); err != nil {
			return fmt.Errorf("block: %w", err)
		}
	}
	if c.short || len(c.b) != 0 {
		return errors.New("truncated, or with something behind its end")
	}
	s.pages = patch{index: index, words: words}
	return s.pages.check()
}
