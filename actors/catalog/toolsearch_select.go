package catalog

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/codecell/codecell/schemas"
)

// maxChoices is how many tools a refusal lists.
const maxChoices = 5

// longestGuess bounds a name for which something similar is looked for, in bytes.
const longestGuess = 256

// Shown is a tool that a model calls by itself, under the name that it has there.
type Shown struct {
	Name string
	Tool *schemas.Tool
}

// Refusal says why a control tool did nothing, and what to do instead.
type Refusal struct {
	Message string
	// Untrusted: the message has names of tools of an MCP server or a client.
	Untrusted bool
}

// Select gives the tool that a selector means (L2). What it says is an exact catalog id, or an exact callable name or
// tool's own name that only one tool has. If nothing has that spelling, case counts for nothing. Whatever isn't one
// tool of the catalog is refused: several, none, or one of those that are shown besides the catalog.
//
// A refusal knows nothing beyond the catalog and what is shown, so that a tool hidden by policy is like one that
// doesn't exist (L4).
func (c *Catalog) Select(s schemas.ToolSelector, shown []Shown) (*Entry, *Refusal) {
	first, field := s.ID, "id"
	if first == "" {
		first, field = s.Name, "name"
	}
	e, refusal := c.resolve(field, first, shown)
	if refusal != nil || s.ID == "" || s.Name == "" {
		return e, refusal
	}
	if other, _ := c.resolve("name", s.Name, shown); other != e {
		return nil, &Refusal{Message: "name: it doesn't mean the tool that id means: give only id; if it is an argument of the tool, " +
			`write {"id": "…", "args": {"name": …}}. Nothing was done`}
	}
	return e, nil
}

// target is what a text may mean.
type target struct {
	*schemas.Tool
	entry *Entry // nil of a tool that is shown
	shown string // its name there
}

func (t target) untrusted() bool { return t.Source != schemas.SourceNative }

func (c *Catalog) resolve(field, text string, shown []Shown) (*Entry, *Refusal) {
	switch found := c.targets(text, shown); {
	case len(found) == 0:
		return nil, c.unknownTool(field, text, shown)
	case len(found) > 1:
		r := &Refusal{Message: fmt.Sprintf("%s: %d tools are called %s; nothing was done. Choose one by its id: ", field, len(found), quoteShort(text))}
		c.list(r, found, shown)
		return nil, r
	case found[0].entry == nil:
		return nil, &Refusal{Untrusted: found[0].untrusted(), Message: fmt.Sprintf(
			"%s: this tool is one of those that you call directly: call %s itself, with its own arguments; nothing was done", field, quoteID(found[0].shown))}
	default:
		return found[0].entry, nil
	}
}

// targets are the tools that a text means: by id, else by name, else by name without case.
func (c *Catalog) targets(text string, shown []Shown) []target {
	if found := c.matching(text, shown, func(t target) bool { return t.ID() == text }); len(found) > 0 {
		return found
	}
	for _, alike := range []func(name string) bool{
		func(name string) bool { return name == text },
		func(name string) bool { return foldCase(name) == foldCase(text) },
	} {
		if found := c.matching(text, shown, func(t target) bool { return t.named(alike) }); len(found) > 0 {
			return found
		}
	}
	return nil
}

func (t target) named(alike func(name string) bool) bool {
	return alike(t.Name) || t.entry != nil && alike(t.entry.CallableName) || t.entry == nil && alike(t.shown)
}

// matching gives those tools that match, of the catalog first, among the ones that have text as their id or name in any case.
func (c *Catalog) matching(text string, shown []Shown, match func(target) bool) (found []target) {
	add := func(t target) {
		if match(t) && !slices.Contains(found, t) {
			found = append(found, t)
		}
	}
	for _, e := range c.ids()[text] {
		add(target{Tool: &e.Tool, entry: e})
	}
	for _, doc := range c.index().names[foldCase(text)] {
		e := c.entries[doc]
		add(target{Tool: &e.Tool, entry: e})
	}
	for _, s := range shown {
		if len(c.ids()[s.Tool.ID()]) == 0 { // a tool may be shown and in the catalog
			add(target{Tool: s.Tool, shown: s.Name})
		}
	}
	return found
}

// unknownTool refuses a text that means nothing, and says what it was probably meant to be.
func (c *Catalog) unknownTool(field, text string, shown []Shown) *Refusal {
	r := &Refusal{Message: fmt.Sprintf("%s: there is no tool %s; nothing was done. ", field, quoteShort(text))}
	if near := c.similar(text, shown); len(near) > 0 {
		r.Message += "Did you mean "
		c.list(r, near[:min(len(near), maxChoices)], shown)
		r.Message += "?"
		if len(near) > maxChoices {
			r.Message += " Or look for it with " + c.searchName()
		}
		return r
	}
	r.Message += "Look for it with " + c.searchName()
	return r
}

// list appends how to call some tools to a refusal.
func (c *Catalog) list(r *Refusal, tools []target, shown []Shown) {
	var texts []string
	for _, t := range tools[:min(len(tools), maxChoices)] {
		r.Untrusted = r.Untrusted || t.untrusted()
		switch {
		case t.entry == nil:
			texts = append(texts, quoteID(t.shown)+" (call it directly)")
		case len(c.targets(t.Name, shown)) == 1:
			texts = append(texts, quoteID(t.Name))
		case len(c.ids()[t.ID()]) == 1:
			texts = append(texts, quoteID(t.ID()))
		default:
			texts = append(texts, quoteID(t.entry.CallableName))
		}
	}
	r.Message += strings.Join(texts, ", ")
	if more := len(tools) - len(texts); more > 0 {
		r.Message += fmt.Sprintf(" or one of %d more: %s lists them", more, c.searchName())
	}
}

// similar gives the tools whose names have all the words of a text, or all of whose names' words it has, the closest
// first; then those with the nearest spelling.
func (c *Catalog) similar(text string, shown []Shown) []target {
	if len(text) > longestGuess {
		return nil
	}
	all := make([]target, 0, len(c.entries)+len(shown))
	for _, e := range c.entries {
		all = append(all, target{Tool: &e.Tool, entry: e})
	}
	for _, s := range shown {
		if len(c.ids()[s.Tool.ID()]) == 0 {
			all = append(all, target{Tool: s.Tool, shown: s.Name})
		}
	}
	type guess struct {
		target
		shared, other int // words
	}
	var guesses []guess
	wanted := c.wordsOf(text)
	names := make([]string, 0, len(all))
	for _, t := range all {
		names = append(names, t.Name)
		own := c.wordsOf(t.Name)
		g := guess{target: t}
		for word := range own {
			if wanted[word] {
				g.shared++
			}
		}
		if g.other = len(own) + len(wanted) - 2*g.shared; g.shared > 0 && g.shared == min(len(own), len(wanted)) {
			guesses = append(guesses, g)
		}
	}
	slices.SortStableFunc(guesses, func(a, b guess) int {
		return cmp.Or(cmp.Compare(b.shared, a.shared), cmp.Compare(a.other, b.other))
	})
	var found []target
	for _, g := range guesses {
		if g.shared == guesses[0].shared && g.other == guesses[0].other { // others are far-fetched
			found = append(found, g.target)
		}
	}
	nearest := schemas.Nearest(text, names)
	for _, t := range all {
		if nearest != "" && t.Name == nearest && !slices.Contains(found, t) {
			found = append(found, t)
		}
	}
	return found
}

// wordsOf gives the words of a name as the index has them.
func (c *Catalog) wordsOf(name string) map[string]bool {
	found := make(map[string]bool)
	c.index().tokens.each(name, false, func(word string) { found[word] = true })
	return found
}

// quoteID quotes what a model is to copy.
func quoteID(text string) string { return string(encode(text)) }
