package session

import (
	"context"
	"fmt"
	"slices"

	"github.com/codecell/codecell/schemas"
)

// maxForks bounds how many forks lie between an entry and its root: a ring of forks, which no host makes, ends there.
const maxForks = 64

// Branch is the path from the root to an entry of a session, through forks.
type Branch struct {
	Key string `json:"key"`
	// Head is the entry that the path leads to.
	Head string `json:"head"`
	// Entries are those of the path, the root first. The first Inherited of them are other sessions', from which this
	// one was forked.
	Entries   []schemas.SessionEntry `json:"entries"`
	Inherited int                    `json:"inherited,omitempty"`
	// Values are what was committed on the path, by key.
	Values map[string]schemas.StoreWrite `json:"-"`
	// Bad counts messages and entries that can't be read.
	Bad int `json:"bad,omitempty"`
}

// load gives the tree of a session, without entries if there is no such session.
type load func(ctx context.Context, key string) (*Tree, error)

// resolve finds the branch of an entry, or of the session's last one if entry is empty.
func resolve(ctx context.Context, trees load, key, entry string) (*Branch, error) {
	w := walk{trees: trees}
	entries, inherited, err := w.path(ctx, key, entry, 0)
	if err != nil {
		return nil, err
	}
	b := &Branch{Key: key, Head: entries[len(entries)-1].ID, Entries: entries, Inherited: inherited, Bad: w.bad}
	p := newProjection()
	for i := range b.Entries {
		if p.add(&b.Entries[i]) != nil {
			b.Bad++
		}
	}
	b.Values = p.snapshot()
	return b, nil
}

// walk follows paths back through forks, and counts what it can't read.
type walk struct {
	trees load
	bad   int
}

// path gives the entries that lead to one of a session, the root of all first, and how many of them are inherited.
func (w *walk) path(ctx context.Context, key, entry string, depth int) ([]schemas.SessionEntry, int, error) {
	if depth > maxForks {
		return nil, 0, fmt.Errorf("session %q was forked from another more than %d times in a row", key, maxForks)
	}
	tree, err := w.trees(ctx, key)
	if err != nil {
		return nil, 0, err
	}
	w.bad += tree.Bad()
	if tree.Len() == 0 {
		return nil, 0, noSession("key", key)
	}
	if entry == "" {
		entry = tree.Head()
	}
	own := tree.Path(entry)
	var before []schemas.SessionEntry
	if fork := tree.root().Fork; fork != nil && fork.Entry != "" {
		if before, _, err = w.path(ctx, fork.Session, fork.Entry, depth+1); err != nil {
			return nil, 0, fmt.Errorf("session %q was forked from session %q at entry %s: %w", key, fork.Session, fork.Entry, err)
		}
	}
	if own == nil { // one that it has inherited, or none
		at := slices.IndexFunc(before, func(e schemas.SessionEntry) bool { return e.ID == entry })
		if at < 0 {
			return nil, 0, schemas.Refuse("entry", fmt.Sprintf("session %q has no entry %q: see `codecell session show` for those that it has", key, entry))
		}
		return before[:at+1], at + 1, nil
	}
	inherited := len(before)
	for _, e := range own {
		before = append(before, *e)
	}
	return before, inherited, nil
}

// View is the branch as its readers see it: the last compaction's summary stands for what is before the entries that it
// keeps. One that keeps from an entry that isn't there hides nothing.
func (b *Branch) View() []schemas.SessionEntry {
	for at := len(b.Entries) - 1; at >= 0; at-- {
		e := &b.Entries[at]
		if e.Kind != schemas.EntryCompact {
			continue
		}
		keep := at
		if e.Compact.Keep != "" {
			keep = slices.IndexFunc(b.Entries[:at], func(kept schemas.SessionEntry) bool { return kept.ID == e.Compact.Keep })
			if keep < 0 {
				continue
			}
		}
		view := []schemas.SessionEntry{*e}
		for _, kept := range b.Entries[keep:at] {
			if kept.Kind != schemas.EntryCompact { // an earlier one stands for what this one stands for
				view = append(view, kept)
			}
		}
		return append(view, b.Entries[at+1:]...)
	}
	return b.Entries
}

func noSession(field, key string) error {
	return schemas.Refuse(field, fmt.Sprintf("there is no session %q: see `codecell session ls` for those that there are", key))
}
