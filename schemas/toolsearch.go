package schemas

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
)

// Limits of one call of a control tool (L2).
const (
	// MaxToolQueries is how many searches it makes.
	MaxToolQueries = 16
	// MaxQueryText bounds the text of all its queries, in characters and in bytes of UTF-8. In a batch each query
	// counts queryFrame bytes more.
	MaxQueryText = 512
	// MaxToolHits bounds the hits of all its searches.
	MaxToolHits = 50
	// MaxToolDescribe is how many tools it describes.
	MaxToolDescribe = 8
)

// queryFrame is what stands around a query in a batch: its quotes and its comma.
const queryFrame = 3

// ToolSearchInput is what tool_search was asked for.
type ToolSearchInput struct {
	// Queries are 1 to [MaxToolQueries].
	Queries []ToolQuery
	// Batch: they were given as a list, and the answer is one.
	Batch bool
}

// ToolQuery is one search. A blank query finds nothing.
type ToolQuery struct {
	Query string
	// Limit is at least 1, or 0 where the input says nothing.
	Limit int
}

// ParseToolSearchInput checks the input of tool_search, {query} or {queries}, as a whole: if anything in it is wrong nothing
// is searched. With queries, a query beside them is one more. limit is that of every query that has none of its own.
func ParseToolSearchInput(input JSON) (ToolSearchInput, *Error) {
	var in ToolSearchInput
	f, err := readFields(input)
	if err != nil {
		return in, err
	}
	if err := f.known([]string{"query", "queries", "limit"}); err != nil {
		return in, err
	}
	limit, err := f.limit("")
	if err != nil {
		return in, err
	}
	query, err := f.text("query")
	if err != nil {
		return in, err
	}
	list, given := f["queries"]
	in.Batch = given
	if _, alone := f["query"]; alone && (!given || query != "") {
		in.Queries = append(in.Queries, ToolQuery{query, limit})
	}
	if given {
		items, ok := list.([]any)
		if !ok {
			return in, Refuse("queries", "queries: expected an array of queries, got "+kindOf(list))
		}
		for i, item := range items {
			q, err := toolQuery(item, i, limit)
			if err != nil {
				return in, err
			}
			in.Queries = append(in.Queries, q)
		}
	}
	return in, in.check()
}

// toolQuery reads an item of queries: {query, limit?}, or the query alone.
func toolQuery(item any, i, limit int) (ToolQuery, *Error) {
	at := fmt.Sprintf("queries[%d]", i)
	if text, ok := item.(string); ok {
		return ToolQuery{text, limit}, nil
	}
	object, ok := item.(map[string]any)
	if !ok {
		return ToolQuery{}, Refuse(at, at+`: expected {"query": "…"} or a string, got `+kindOf(item))
	}
	f := fields(object)
	if err := f.known([]string{"query", "limit"}); err != nil {
		return ToolQuery{}, Refuse(at, at+"."+err.Message)
	}
	text, ok := f["query"].(string)
	if !ok {
		return ToolQuery{}, Refuse(at, at+".query: give a string that says what the tool should do")
	}
	own, err := f.limit(at + ".")
	if own == 0 {
		own = limit
	}
	return ToolQuery{text, own}, err
}

// limit reads a number of hits; an absent one is 0.
func (f fields) limit(at string) (int, *Error) {
	v, given := f["limit"]
	if !given || v == nil {
		return 0, nil
	}
	n, err := json.Number(fmt.Sprint(v)).Float64()
	if err != nil || n < 1 || n != math.Trunc(n) || n > MaxToolHits {
		return 0, Refuse(at+"limit", fmt.Sprintf("%slimit: expected a whole number from 1 to %d", at, MaxToolHits))
	}
	return int(n), nil
}

// check holds a whole input against the limits.
func (in *ToolSearchInput) check() *Error {
	text, hits := 0, 0
	for _, q := range in.Queries {
		text += len(q.Query)
		hits += max(q.Limit, 1)
	}
	if in.Batch {
		text += queryFrame * len(in.Queries)
	}
	switch n := len(in.Queries); {
	case n == 0:
		return Refuse("query", `query: give a string that says what the tool should do, or several as queries`)
	case n > MaxToolQueries:
		return Refuse("queries", fmt.Sprintf("queries: at most %d searches at once, got %d; nothing was searched", MaxToolQueries, n))
	case text > MaxQueryText:
		return Refuse("query", fmt.Sprintf("query: at most %d bytes in all queries together, got %d: use a few words each; nothing was searched", MaxQueryText, text))
	case hits > MaxToolHits:
		return Refuse("limit", fmt.Sprintf("limit: at most %d hits in all searches together, got %d; nothing was searched", MaxToolHits, hits))
	}
	return nil
}

// ToolSelector names a tool of the catalog: by its id, by a name, or by both, which must mean one tool then.
type ToolSelector struct{ ID, Name string }

// selector reads {id}, also called toolId, or {name}. What is blank is absent, as for other aliases.
func (f fields) selector() (ToolSelector, *Error) {
	var s ToolSelector
	id, err := f.said("id")
	if err != nil {
		return s, err
	}
	other, err := f.said("toolId")
	if err != nil {
		return s, err
	}
	if id != "" && other != "" && id != other {
		return s, Refuse("toolId", "toolId: it differs from id, of which it is an alias: give only id; arguments of that name go into args")
	}
	s.ID = id
	if id == "" {
		s.ID = other
	}
	s.Name, err = f.said("name")
	return s, err
}

// said is a text that is empty if it is blank.
func (f fields) said(name string) (string, *Error) {
	s, err := f.text(name)
	if strings.TrimSpace(s) == "" {
		s = ""
	}
	return s, err
}

func (s ToolSelector) blank() bool { return s.ID == "" && s.Name == "" }

const selectorHelp = "give the tool's id from " + ToolSearchTool
