package catalog

import (
	"slices"
	"strings"

	"github.com/codecell/codecell/schemas"
)

// MaxToolReply bounds an answer of tool_search, in UTF-16 units of compact JSON (L2).
const MaxToolReply = 4000

// toolHit is a tool as tool_search gives it. What it is known by is never shortened.
type toolHit struct {
	ID          string         `json:"id"`
	Name        string         `json:"name"`
	Source      schemas.Source `json:"source"`
	Description string         `json:"description,omitempty"`
	Input       string         `json:"input,omitempty"`
}

// hitShapes are the ways to give a hit, from the longest to the one with nothing but what it is known by.
var hitShapes = []struct {
	description int // UTF-16 units
	input       bool
}{{300, true}, {160, true}, {80, true}, {80, false}, {40, false}, {0, false}}

func (e *Entry) toolHit(shape int) schemas.JSON {
	h := toolHit{ID: e.ID(), Name: e.Name, Source: e.Source}
	if limit := hitShapes[shape].description; limit > 0 {
		h.Description = ellipsis(plainLine(e.description()), limit)
	}
	if hitShapes[shape].input && !e.Untrusted() {
		h.Input = e.InputHint
	}
	return encode(h)
}

// toolGroup is what one search has found.
type toolGroup struct {
	Query string         `json:"query,omitempty"`
	Hits  []schemas.JSON `json:"hits"`
	// More counts the hits that are left out for want of room.
	More int `json:"more,omitempty"`
}

type (
	oneSearch struct {
		toolGroup
		Note string `json:"note,omitempty"`
	}
	manySearches struct {
		Results []toolGroup `json:"results"`
		Note    string      `json:"note,omitempty"`
	}
)

const noHits = "no tool matches; try other words"

// ToolSearch answers tool_search: {hits}, or {results: [{query, hits}]} in the order of the queries of a batch. Hits are
// {id, name, source, description?, input?}, best first (C9); input is the hint of a trusted tool. The answer has at most
// [MaxToolReply] UTF-16 units: descriptions are shortened and left out first, then the last hits of the longest
// lists, which more counts. untrusted: it has text of an MCP server or a client (M6).
func (c *Catalog) ToolSearch(in schemas.ToolSearchInput, settings schemas.ToolSearch) (reply schemas.JSON, untrusted bool) {
	limits := hitLimits(in.Queries, settings)
	found := make([][]int, len(in.Queries))
	groups := make([]toolGroup, len(in.Queries))
	none := false
	for i, q := range in.Queries {
		found[i] = c.index().search(q.Query, limits[i])
		none = none || len(found[i]) == 0 && strings.TrimSpace(q.Query) != ""
		for _, ref := range found[i] {
			untrusted = untrusted || c.entries[ref].Untrusted()
		}
		if in.Batch {
			groups[i].Query = plainLine(q.Query)
		}
	}
	c.fitHits(groups, found)
	note := ""
	if none && !slices.ContainsFunc(found, func(refs []int) bool { return len(refs) > 0 }) {
		note = noHits
	}
	if in.Batch {
		return encode(manySearches{groups, note}), untrusted
	}
	return encode(oneSearch{groups[0], note}), untrusted
}

// hitLimits says how many hits each query may have. Those that don't say share what the others leave.
func hitLimits(queries []schemas.ToolQuery, settings schemas.ToolSearch) []int {
	left, open := schemas.MaxToolHits, 0
	for _, q := range queries {
		left -= q.Limit
		if q.Limit == 0 {
			open++
		}
	}
	limits := make([]int, len(queries))
	for i, q := range queries {
		if limits[i] = q.Limit; q.Limit == 0 {
			limits[i] = min(settings.SearchDefault, left/open)
		}
		limits[i] = min(limits[i], settings.SearchMax)
	}
	return limits
}

// fitHits fills the groups with as much of what was found as there is room for.
func (c *Catalog) fitHits(groups []toolGroup, found [][]int) {
	const around = len(`,"hits":[],"more":50`) + len(`{},`)
	room := MaxToolReply - len(`{"results":[],"note":""}`) - len(noHits)
	for _, g := range groups {
		room -= around + len(`"query":`) + units(string(encode(g.Query)))
	}
	size := 0
	for shape := range hitShapes {
		size = 0
		for i, refs := range found {
			groups[i].Hits = make([]schemas.JSON, len(refs))
			for j, ref := range refs {
				groups[i].Hits[j] = c.entries[ref].toolHit(shape)
				size += hitSize(groups[i].Hits[j])
			}
		}
		if size <= room {
			return
		}
	}
	for size > room {
		longest := 0
		for i := range groups {
			if len(groups[i].Hits) >= len(groups[longest].Hits) {
				longest = i
			}
		}
		g := &groups[longest]
		last := len(g.Hits) - 1
		if last < 0 {
			return
		}
		size -= hitSize(g.Hits[last])
		g.Hits = g.Hits[:last]
		g.More++
	}
}

// hitSize is what a hit takes, with its comma.
func hitSize(hit schemas.JSON) int { return units(string(hit)) + 1 }
