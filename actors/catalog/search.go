package catalog

import (
	"cmp"
	"encoding/json"
	"math"
	"slices"
	"strings"

	"github.com/codecell/codecell/schemas"
)

// MaxQueryBytes bounds a query; of a longer one (a pasted file, an image) the start is used.
const MaxQueryBytes = 4 << 10

// Search gives the refs of the tools that fit a query, best first (C5, C9): the tool of exactly that callable
// name, tools of exactly that name, then by score, then in catalog order. A query without usable terms, and one that
// nothing fits, gives nothing. limit is clamped to the configured maximum; 0 means the configured
// default, less is refused.
func (c *Catalog) Search(query string, limit int) ([]int, error) {
	switch {
	case limit < 0:
		return nil, schemas.Refuse("limit", "limit must be a positive integer")
	case limit == 0:
		limit = c.options.SearchDefault
	}
	return c.index().search(query, min(limit, c.options.SearchMax)), nil
}

// SearchRequest answers a guest's search request {query, limit?} with an array of handle
// records (C5, C7), and tells whether one of them holds text from outside (M6). The payload is the guest's:
// a query that isn't a string and a limit that isn't a positive integer are refused.
func (c *Catalog) SearchRequest(payload []byte) (records schemas.JSON, untrusted bool, err error) {
	var in struct {
		Query *string          `json:"query"`
		Limit *json.RawMessage `json:"limit"`
	}
	if err := json.Unmarshal(payload, &in); err != nil || in.Query == nil {
		return nil, false, schemas.Refuse("query", "search query must be a string")
	}
	limit := 0
	if in.Limit != nil {
		var wanted float64
		if json.Unmarshal(*in.Limit, &wanted) != nil || wanted < 1 || wanted != math.Trunc(wanted) {
			return nil, false, schemas.Refuse("limit", "limit must be a positive integer")
		}
		limit = int(min(wanted, 1<<20))
	}
	refs, err := c.Search(*in.Query, limit)
	if err != nil {
		return nil, false, err
	}
	found := make([]any, len(refs))
	for i, ref := range refs {
		found[i] = c.record(c.entries[ref])
		untrusted = untrusted || c.entries[ref].Untrusted()
	}
	return encode(found), untrusted, nil
}

// hit is a tool with what speaks for it.
type hit struct {
	doc   int32
	exact uint8 // 4: the callable name, 3: the tool's own, 2: one of them in another case, 1: named in the query
	score float32
}

func compareHits(a, b hit) int {
	return cmp.Or(cmp.Compare(b.exact, a.exact), cmp.Compare(b.score, a.score), cmp.Compare(a.doc, b.doc))
}

// search gives the best limit tools.
func (x *index) search(query string, limit int) []int {
	if len(query) > MaxQueryBytes {
		query = query[:MaxQueryBytes]
	}
	s := x.scratch.Get().(*scratch)
	defer x.scratch.Put(s)
	s.reset()

	x.tokens.each(query, false, func(term string) {
		if list, ok := x.terms[term]; ok && len(s.used) < maxQueryTerms && !slices.Contains(s.used, list.start) {
			s.used = append(s.used, list.start)
			share := float32(1)
			if askWords[term] {
				share = askShare
			}
			for _, p := range x.postings[list.start:list.end] {
				if s.scores[p.doc] == 0 {
					s.touched = append(s.touched, p.doc)
				}
				s.scores[p.doc] += share * p.impact
				s.covered[p.doc] += share * p.name
			}
		}
	})
	named := x.named(query)
	for doc := range named {
		if s.scores[doc] == 0 {
			s.touched = append(s.touched, doc)
		}
	}
	best := s.best[:0]
	for _, doc := range s.touched {
		covered := s.covered[doc]
		h := hit{doc: doc, exact: named[doc], score: s.scores[doc] + nameBonus*covered*covered}
		best = keep(best, h, limit)
	}
	s.best = best
	slices.SortFunc(best, compareHits)
	refs := make([]int, len(best))
	for i, h := range best {
		refs[i] = int(h.doc)
	}
	return refs
}

// keep holds the best limit hits in a heap with the worst on top.
func keep(heap []hit, h hit, limit int) []hit {
	worse := func(a, b int) bool { return compareHits(heap[a], heap[b]) > 0 }
	if len(heap) < limit {
		heap = append(heap, h)
		for i := len(heap) - 1; i > 0 && worse(i, (i-1)/2); i = (i - 1) / 2 {
			heap[i], heap[(i-1)/2] = heap[(i-1)/2], heap[i]
		}
		return heap
	}
	if compareHits(h, heap[0]) > 0 {
		return heap
	}
	heap[0] = h
	for i := 0; ; {
		child := 2*i + 1
		if child >= len(heap) {
			return heap
		}
		if child+1 < len(heap) && worse(child+1, child) {
			child++
		}
		if !worse(child, i) {
			return heap
		}
		heap[i], heap[child] = heap[child], heap[i]
		i = child
	}
}

// named gives the tools that a query names, and how exactly (C5). Nearly always none.
func (x *index) named(query string) map[int32]uint8 {
	var found map[int32]uint8
	add := func(name string, callable, own, folded uint8) {
		for _, doc := range x.names[foldCase(name)] {
			degree := folded
			switch e := x.entries[doc]; name {
			case e.CallableName:
				degree = callable
			case e.Name:
				degree = own
			}
			if degree > found[doc] {
				if found == nil {
					found = make(map[int32]uint8)
				}
				found[doc] = degree
			}
		}
	}
	query = strings.TrimSpace(query)
	add(query, 4, 3, 2)
	for word := range strings.FieldsSeq(query) {
		if word = strings.Trim(word, ".,;:!?()[]{}<>'\"`"); strings.ContainsAny(word, "_-.") {
			add(word, 1, 1, 1)
		}
	}
	return found
}

// foldCase is the one way in which names and words are compared without case.
func foldCase(s string) string { return strings.ToLower(s) }
