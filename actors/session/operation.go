package session

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/codecell/codecell/bus"
	"github.com/codecell/codecell/schemas"
)

const (
	// maxSummary bounds the summary of a compaction, in bytes.
	maxSummary = 64 << 10
	// attempts is how often an operation begins anew when others append at the same time.
	attempts = 16
)

// Info is one session of the bus.
type Info struct {
	Key string `json:"key"`
	// Appends is how many messages it consists of, Updated when the last one was kept, in Unix nanoseconds.
	Appends uint64 `json:"appends"`
	Updated int64  `json:"updated"`
	// Problem says that nothing of it can be read. The key is then a part of its subject.
	Problem string `json:"problem,omitempty"`
}

// List gives all sessions in the order of their keys.
func (s *Store) List(ctx context.Context) ([]Info, error) {
	found, err := s.sessions.List(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]Info, 0, len(found))
	for _, f := range found {
		one := Info{Key: f.Key, Appends: f.Batches, Updated: f.Updated}
		if f.Err != nil {
			one.Problem = f.Err.Error()
		}
		out = append(out, one)
	}
	return out, nil
}

// tree reads a session.
func (s *Store) tree(ctx context.Context, key string) (*Tree, error) {
	return loadTree(ctx, s.sessions, key, false)
}

// Branch gives the path to an entry of a session; an empty entry means its last one. What isn't there is refused.
func (s *Store) Branch(ctx context.Context, key, entry string) (*Branch, error) {
	return resolve(ctx, s.tree, key, entry)
}

// Export writes the branch of a session's last entry as JSON lines, see [Branch.Export].
func (s *Store) Export(ctx context.Context, key string, w io.Writer) error {
	b, err := s.Branch(ctx, key, "")
	if err != nil {
		return err
	}
	return b.Export(w)
}

// Fork begins a session as a copy of another one's branch up to an entry, the last one if empty (T3).
func (s *Store) Fork(ctx context.Context, key, entry, newKey string) error {
	if err := checkKey("newKey", newKey); err != nil {
		return err
	}
	b, err := s.Branch(ctx, key, entry)
	if err != nil {
		return err
	}
	_, err = s.append(ctx, newKey, func(t *Tree) (*schemas.SessionEntry, error) {
		if t.last != 0 {
			return nil, refuse("newKey", "there is a session %q already: choose another name", newKey)
		}
		return &schemas.SessionEntry{Kind: schemas.EntryFork, Fork: &schemas.ForkEntry{Session: key, Entry: b.Head}}, nil
	})
	return err
}

// Compact puts a summary in the place of what is before the entry keep on the branch of a session's last entry, or of
// all of it if keep is empty, and gives the id of the entry that says so. Stored values stay (T3).
func (s *Store) Compact(ctx context.Context, key, summary, keep string) (string, error) {
	switch {
	case summary == "":
		return "", refuse("summary", "summary is empty: say in a few words what it stands for")
	case len(summary) > maxSummary:
		return "", refuse("summary", "summary is longer than %d bytes: make it shorter", maxSummary)
	}
	return s.append(ctx, key, func(t *Tree) (*schemas.SessionEntry, error) {
		b, err := s.Branch(ctx, key, t.Head())
		if err != nil {
			return nil, err
		}
		if keep != "" && !slices.ContainsFunc(b.View(), func(e schemas.SessionEntry) bool {
			return e.ID == keep && e.Kind != schemas.EntryCompact
		}) {
			return nil, refuse("keep", "session %q doesn't show an entry %q: name one that `codecell session show` lists", key, keep)
		}
		return &schemas.SessionEntry{Parent: t.Head(), Kind: schemas.EntryCompact, Compact: &schemas.CompactEntry{Summary: summary, Keep: keep}}, nil
	})
}

// append adds one entry to what a session has come to by then.
func (s *Store) append(ctx context.Context, key string, build func(*Tree) (*schemas.SessionEntry, error)) (string, error) {
	id, tried := bus.NewEntryID(), false
	for range attempts {
		tree, err := s.tree(ctx, key)
		if err != nil {
			return "", err
		}
		if tried && tree.Path(id) != nil { // its answer was lost
			return id, nil
		}
		e, err := build(tree)
		if err != nil {
			return "", err
		}
		e.ID, e.At = id, time.Now().UnixNano()
		if e.Parent == "" {
			e.Parent = tree.Head()
		}
		text, err := encodeEntry(e)
		if err != nil {
			return "", err
		}
		_, err = s.sessions.Append(ctx, &schemas.SessionBatch{Key: key, Entries: []schemas.JSON{text}}, tree.last)
		switch {
		case err == nil:
			if open := s.find(key); open != nil {
				_ = open.refresh(ctx) // if it can't, it will when it appends
			}
			return id, nil
		case unknown(err) && !tried:
			tried = true
		case !errors.Is(err, bus.ErrConflict):
			return "", err
		}
		if ctx.Err() != nil {
			return "", err
		}
	}
	return "", fmt.Errorf("session %q: others append all the time, or the bus keeps nothing: try again", key)
}

func refuse(field, format string, args ...any) error {
	return schemas.Refuse(field, fmt.Sprintf(format, args...))
}
