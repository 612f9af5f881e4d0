package wasm

import (
	"bytes"
	"sort"
)

const diffPage = 4 << 10 // granularity of differences between memories, in bytes

// pageSet is the pages in which one memory differs from another, in ascending order.
type pageSet struct {
	index []uint32 // page numbers
	data  []byte   // diffPage bytes for each
}

var zeroPage [diffPage]byte

// differing appends to list the pages of mem that differ from the memory that the spans lay out, in ascending order. Behind
// the last span are zeros.
func differing(mem []byte, spans []span, list []uint32) []uint32 {
	page := uint32(0)
	compare := func(old []byte) {
		if !bytes.Equal(mem[:diffPage], old) {
			list = append(list, page)
		}
		mem = mem[diffPage:]
		page++
	}
	for _, s := range spans {
		for at := 0; at < s.size; at += diffPage {
			if s.data == nil {
				compare(zeroPage[:])
			} else {
				compare(s.data[at : at+diffPage])
			}
		}
	}
	for len(mem) > 0 {
		compare(zeroPage[:])
	}
	return list
}

// diff is differing with the pages copied.
func diff(mem []byte, spans []span) pageSet {
	s := pageSet{index: differing(mem, spans, nil)}
	s.data = make([]byte, 0, len(s.index)*diffPage)
	for _, n := range s.index {
		s.data = append(s.data, pageOf(mem, int(n))...)
	}
	return s
}

// find returns a page of the set, or nil.
func (s *pageSet) find(n int) []byte {
	i := sort.Search(len(s.index), func(i int) bool { return int(s.index[i]) >= n })
	if i == len(s.index) || int(s.index[i]) != n {
		return nil
	}
	return pageOf(s.data, i)
}

// pageOf returns a page of a memory, or nil if it's past the end.
func pageOf(mem []byte, n int) []byte {
	if n*diffPage >= len(mem) {
		return nil
	}
	return mem[n*diffPage : (n+1)*diffPage]
}

// span is a stretch of memory that is one in an image, too. data of nil stands for zeros.
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
