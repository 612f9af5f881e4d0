package catalog

import "github.com/codecell/codecell/schemas"

// Item is what a [Finder] finds: something with a name and a description that can be trusted.
type Item struct{ Name, Description string }

// Finder finds things by words, as a catalog finds tools (C9). It is read by any number of goroutines.
type Finder struct{ index *index }

// NewFinder makes a finder of the items.
func NewFinder(items []Item) *Finder {
	entries := make([]*Entry, len(items))
	for i, it := range items {
		entries[i] = &Entry{
			Tool:         schemas.Tool{Source: schemas.SourceNative, Owner: "core", Name: it.Name, Description: it.Description},
			CallableName: it.Name,
		}
	}
	return &Finder{newIndex(entries)}
}

// Search gives the numbers of the items that fit a query, best first, at most limit. Nothing fits a query without usable terms.
func (f *Finder) Search(query string, limit int) []int { return f.index.search(query, limit) }
