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

// span is a stretch of memory that is copied or cleared at once. data of nil stands for zeros.
type span struct {
	size int
	data []byte
}

// spansOf lays out a memory of whole pages, of which page gives each; nil and pages of zeros are the same.
func spansOf(pages int, page func(n int) []byte) (spans []span) {
	for n := range pages {
		data := page(n)
		if bytes.Equal(data, zeroPage[:]) {
			data = nil
		}
		if last := len(spans) - 1; last >= 0 && spans[last].continues(data) {
			spans[last].size += diffPage
			if data != nil {
				spans[last].data = spans[last].data[:spans[last].size]
			}
			continue
		}
		spans = append(spans, span{size: diffPage, data: data})
	}
	return spans
}

// continues tells whether a page lies right behind the span in the memory that both come from.
func (s span) continues(page []byte) bool {
	if s.data == nil || page == nil {
		return s.data == nil && page == nil
	}
	return cap(s.data) >= s.size+diffPage && &s.data[:s.size+1][s.size] == &page[0]
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
