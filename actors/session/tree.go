package session

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/codecell/codecell/schemas"
)

// maxID bounds the id of an entry, in bytes.
const maxID = 64

// index knows how the entries of a session hang together.
type index struct {
	// parent is each entry's parent by its id; empty at the root.
	parent map[string]string
	// first is the root, head the last entry.
	first, head string
}

func newIndex() index { return index{parent: map[string]string{}} }

// place adds an entry and gives it its parent: that which it names, or else the one before it. Where the named one isn't
// there (it was malformed, or there never was one), the one before it is taken too: what follows a hole stays in sight.
func (x *index) place(e *schemas.SessionEntry) error {
	if _, ok := x.parent[e.ID]; ok {
		return fmt.Errorf("entry %s is there twice", e.ID)
	}
	if _, ok := x.parent[e.Parent]; !ok {
		e.Parent = x.head
	}
	if x.first == "" {
		x.first = e.ID
	}
	x.parent[e.ID] = e.Parent
	x.head = e.ID
	return nil
}

// Tree is the entries of one session. It holds whatever was published, for whoever may publish may be hostile.
type Tree struct {
	index
	key     string
	entries map[string]*schemas.SessionEntry
	// slim keeps only what the values of a branch come from.
	slim bool
	// last is the sequence of the last message, at when it was stored.
	last uint64
	at   int64
	bad  int
}

// NewTree makes the tree of a session without entries.
func NewTree(key string) *Tree {
	return &Tree{index: newIndex(), key: key, entries: map[string]*schemas.SessionEntry{}}
}

// Add adds what one message holds. Entries that can't be read, or whose id is there already, are counted and left out.
func (t *Tree) Add(batch *schemas.SessionBatch) {
	for _, text := range batch.Entries {
		e, err := parseEntry(text)
		if err == nil {
			err = t.place(e)
		}
		if err != nil {
			t.bad++
			continue
		}
		if t.slim && e.Kind != schemas.EntryStore && e.Kind != schemas.EntryFork {
			e = &schemas.SessionEntry{ID: e.ID, Parent: e.Parent, Kind: e.Kind}
		}
		t.entries[e.ID] = e
	}
}

// Head is the id of the last entry, empty if there is none.
func (t *Tree) Head() string { return t.head }

// Len counts the entries.
func (t *Tree) Len() int { return len(t.entries) }

// Bad counts the messages and entries that were left out.
func (t *Tree) Bad() int { return t.bad }

// root is the entry that all others follow. The tree isn't empty.
func (t *Tree) root() *schemas.SessionEntry { return t.entries[t.first] }

// Path gives the entries from the root to one of them, nil if it isn't there.
func (t *Tree) Path(entry string) []*schemas.SessionEntry {
	var path []*schemas.SessionEntry
	for e := t.entries[entry]; e != nil; e = t.entries[e.Parent] { // ends: a parent was there before its children
		path = append(path, e)
	}
	slices.Reverse(path)
	return path
}

// parseEntry reads an entry, which must have the part that its kind names.
func parseEntry(text schemas.JSON) (*schemas.SessionEntry, error) {
	var e schemas.SessionEntry
	if err := json.Unmarshal(text, &e); err != nil {
		return nil, err
	}
	if e.ID == "" || len(e.ID) > maxID {
		return nil, errors.New("an entry has no id, or too long a one")
	}
	var whole bool
	switch e.Kind {
	case schemas.EntryMessage:
		whole = e.Message != nil
	case schemas.EntryExec:
		whole = e.Exec != nil
	case schemas.EntryWait:
		whole = e.Wait != nil
	case schemas.EntryResult:
		whole = e.Result != nil
	case schemas.EntryCall:
		whole = e.Call != nil
	case schemas.EntryOutcome:
		whole = e.Outcome != nil
	case schemas.EntryStore:
		whole = e.Store != nil && e.Store.Part >= 1 && e.Store.Part <= e.Store.Parts && e.Store.Parts <= maxParts
	case schemas.EntryFork:
		whole = e.Fork != nil
	case schemas.EntryCompact:
		whole = e.Compact != nil
	case schemas.EntryTurn:
		whole = e.Turn != nil
	default:
		whole = true // of a later version
	}
	if !whole {
		return nil, fmt.Errorf("entry %s lacks what its kind %q says", e.ID, e.Kind)
	}
	return &e, nil
}
