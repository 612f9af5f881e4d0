package catalog

import (
	"math"
	"sync"

	"github.com/codecell/codecell/schemas"
)

// The ranking is Okapi BM25 over weighted fields (BM25F, C9), and a bonus for tools whose name the
// query covers: "send an email" means send_email before send_email_template_to_list.
const (
	saturation    = 1.2 // k1
	nameBonus     = 0.75
	maxQueryTerms = 256
	schemaTexts   = 2000 // parameters that are read of one schema
)

// field is a part of a tool's text with its own weight and length normalisation (b).
type field struct{ weight, normalise float64 }

const (
	fieldName = iota
	fieldOwner
	fieldDescription
	fieldParameter
	fieldParameterText
	fieldCount
)

var fields = [fieldCount]field{
	fieldName:          {2.5, 0.5},
	fieldOwner:         {1, 0.5},
	fieldDescription:   {1, 0.75},
	fieldParameter:     {1, 0.75},
	fieldParameterText: {0.5, 0.75},
}

// posting is one tool that has a term: what the term adds to the tool's score, and the share of
// the tool's name that it is, each weighed by the term's rarity.
type posting struct {
	doc    int32
	impact float32
	name   float32
}

// postings of a term lie side by side.
type termRange struct{ start, end int32 }

// index finds tools by words. It is read by any number of goroutines.
type index struct {
	entries  []*Entry
	tokens   *tokenizer
	terms    map[string]termRange
	postings []posting
	names    map[string][]int32 // folded names and callable names
	scratch  sync.Pool
}

// scratch is the working memory of one search.
type scratch struct {
	scores  []float32
	covered []float32 // how much of each tool's name the query has, times rarity
	touched []int32   // tools with a score
	used    []int32   // terms of the query
	best    []hit
}

func (s *scratch) reset() {
	for _, doc := range s.touched {
		s.scores[doc], s.covered[doc] = 0, 0
	}
	s.touched, s.used = s.touched[:0], s.used[:0]
}

// builder gathers term counts field by field.
type builder struct {
	tokens  *tokenizer
	ids     map[string]int32
	counts  [][]count32 // by term id
	lengths [][fieldCount]int32
}

// count32 says how often a term is in each field of one tool.
type count32 struct {
	doc int32
	n   [fieldCount]uint16
}

func newIndex(entries []*Entry) *index {
	b := &builder{
		tokens:  &tokenizer{stems: make(map[string]string)},
		ids:     make(map[string]int32),
		lengths: make([][fieldCount]int32, len(entries)),
	}
	x := &index{entries: entries, tokens: b.tokens, names: make(map[string][]int32, len(entries))}
	for i, e := range entries {
		doc := int32(i)
		b.addEntry(doc, e)
		x.addName(e.Name, doc)
		x.addName(e.CallableName, doc)
	}
	x.weigh(b)
	x.scratch.New = func() any {
		return &scratch{scores: make([]float32, len(entries)), covered: make([]float32, len(entries))}
	}
	return x
}

func (x *index) addName(name string, doc int32) {
	key := foldCase(name)
	if list := x.names[key]; len(list) == 0 || list[len(list)-1] != doc {
		x.names[key] = append(list, doc)
	}
}

// addEntry indexes a tool. Untrusted schemas stay out (C9).
func (b *builder) addEntry(doc int32, e *Entry) {
	b.add(doc, fieldName, e.Name)
	b.add(doc, fieldName, e.label())
	if e.Source != schemas.SourceClient && e.Owner != "core" {
		b.add(doc, fieldOwner, e.Owner)
	}
	b.add(doc, fieldDescription, e.description())
	if e.Source == schemas.SourceNative && len(e.Parameters) > 0 {
		left := schemaTexts
		b.addSchema(doc, parse(e.Parameters), 0, &left)
	}
}

// addSchema indexes the names and descriptions of parameters, at any place in the schema that
// describes one.
func (b *builder) addSchema(doc int32, n *node, depth int, left *int) {
	if n == nil || depth > 12 || *left <= 0 {
		return
	}
	*left--
	if depth > 0 {
		b.add(doc, fieldParameterText, cut(n.get("description").str(), trustedDescription))
	}
	if properties := n.get("properties"); properties.is('{') {
		for i, name := range properties.keys {
			if *left <= 0 {
				return
			}
			b.add(doc, fieldParameter, cut(name, labelLength))
			b.addSchema(doc, properties.values[i], depth+1, left)
		}
	}
	b.addSchema(doc, n.get("items"), depth+1, left)
	for _, keyword := range [...]string{"anyOf", "oneOf", "allOf", "prefixItems"} {
		for _, member := range n.get(keyword).items() {
			b.addSchema(doc, member, depth+1, left)
		}
	}
}

func (b *builder) add(doc int32, f int, text string) {
	b.tokens.each(text, true, func(term string) {
		id, known := b.ids[term]
		if !known {
			id = int32(len(b.counts))
			b.ids[term] = id
			b.counts = append(b.counts, nil)
		}
		list := b.counts[id]
		if len(list) == 0 || list[len(list)-1].doc != doc {
			list = append(list, count32{doc: doc})
		}
		if n := &list[len(list)-1].n[f]; *n < math.MaxUint16 {
			*n++
		}
		b.counts[id] = list
		b.lengths[doc][f]++
	})
}

// weigh turns counts into impacts, so that a search only adds.
func (x *index) weigh(b *builder) {
	var average [fieldCount]float64
	for f := range average {
		filled := 0
		for _, lengths := range b.lengths {
			if lengths[f] > 0 {
				filled++
				average[f] += float64(lengths[f])
			}
		}
		if filled > 0 {
			average[f] /= float64(filled)
		}
	}
	total := 0
	for _, list := range b.counts {
		total += len(list)
	}
	x.postings = make([]posting, 0, total)
	x.terms = make(map[string]termRange, len(b.ids))
	rarities := make([]float64, len(b.counts))
	names := make([]float64, len(b.lengths)) // the rarity of all terms of a tool's name
	tools := float64(len(b.lengths))
	for id, list := range b.counts {
		having := float64(len(list))
		rarities[id] = math.Log(1 + (tools-having+0.5)/(having+0.5))
		for _, c := range list {
			if c.n[fieldName] > 0 {
				names[c.doc] += rarities[id]
			}
		}
	}
	starts := make([]termRange, len(b.counts))
	for id, list := range b.counts {
		rarity := rarities[id]
		starts[id].start = int32(len(x.postings))
		for _, c := range list {
			frequency := 0.0
			for f, n := range c.n {
				if n > 0 {
					relative := float64(b.lengths[c.doc][f]) / average[f]
					frequency += fields[f].weight * float64(n) / (1 - fields[f].normalise + fields[f].normalise*relative)
				}
			}
			impact := rarity * frequency * (saturation + 1) / (frequency + saturation)
			p := posting{doc: c.doc, impact: float32(impact)}
			if c.n[fieldName] > 0 {
				p.name = float32(rarity / math.Sqrt(names[c.doc]))
			}
			x.postings = append(x.postings, p)
		}
		starts[id].end = int32(len(x.postings))
	}
	for term, id := range b.ids {
		x.terms[term] = starts[id]
	}
}
