package wasm

import (
	"bytes"
	"sort"
)

// pageSet is the pages in which one memory differs from another, in ascending order.
type pageSet struct {
	index []uint32 // page numbers
	data  []byte   // diffPage bytes for each
}

var zeroPage [diffPage]byte

// diff collects the pages of mem that differ from what base returns for them (nil standing for zeros).
func diff(mem []byte, base func(page int) []byte) pageSet {
	var s pageSet
	for n := 0; n*diffPage < len(mem); n++ {
		page := mem[n*diffPage : (n+1)*diffPage]
		old := base(n)
		if old == nil {
			old = zeroPage[:]
		}
		if !bytes.Equal(page, old) {
			s.index = append(s.index, uint32(n))
			s.data = append(s.data, page...)
		}
	}
	return s
}

// apply writes the pages into mem, which must be large enough.
func (s *pageSet) apply(mem []byte) {
	for i, n := range s.index {
		copy(mem[int(n)*diffPage:], s.data[i*diffPage:(i+1)*diffPage])
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
