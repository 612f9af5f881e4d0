package wasm

import (
	"bytes"
	"crypto/subtle"
	"sort"
)

// pageSet is the pages in which one memory differs from another, in ascending order.
type pageSet struct {
	index []uint32 // page numbers
	data  []byte   // diffPage bytes for each
}

var zeroPage [diffPage]byte

// diffIndex lists the pages of mem that differ from what base returns for them (nil standing for zeros).
func diffIndex(mem []byte, base func(page int) []byte) (index []uint32) {
	for n := 0; n*diffPage < len(mem); n++ {
		old := base(n)
		if old == nil {
			old = zeroPage[:]
		}
		if !bytes.Equal(mem[n*diffPage:(n+1)*diffPage], old) {
			index = append(index, uint32(n))
		}
	}
	return index
}

// diff is diffIndex with the pages copied.
func diff(mem []byte, base func(page int) []byte) pageSet {
	s := pageSet{index: diffIndex(mem, base)}
	s.data = make([]byte, 0, len(s.index)*diffPage)
	for _, n := range s.index {
		s.data = append(s.data, mem[int(n)*diffPage:(int(n)+1)*diffPage]...)
	}
	return s
}

// apply writes the pages into mem, which must be large enough.
func (s *pageSet) apply(mem []byte) {
	for i, n := range s.index {
		copy(mem[int(n)*diffPage:], s.data[i*diffPage:(i+1)*diffPage])
	}
}

// xor combines the pages with those of mem, which must be large enough.
func (s *pageSet) xor(mem []byte) {
	for i, n := range s.index {
		page := mem[int(n)*diffPage:][:diffPage]
		subtle.XORBytes(page, page, s.data[i*diffPage:(i+1)*diffPage])
	}
}

// find returns a page of the set, or nil.
func (s *pageSet) find(n int) []byte {
	i := sort.Search(len(s.index), func(i int) bool { return int(s.index[i]) >= n })
	if i == len(s.index) || int(s.index[i]) != n {
		return nil
	}
	return s.data[i*diffPage : (i+1)*diffPage]
}
