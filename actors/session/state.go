package session

import (
	"context"
	"errors"

	"github.com/codecell/codecell/bus"
	"github.com/codecell/codecell/schemas"
)

// state is what a host knows of a session: not its entries, but where the next one goes, and the values there.
type state struct {
	index
	projection
	// last is the sequence of the last message that was read.
	last uint64
	bad  int
}

// loadState reads a session, and what it was forked from.
func loadState(ctx context.Context, sessions *bus.Sessions, key string) (*state, error) {
	trees := func(ctx context.Context, key string) (*Tree, error) { return loadTree(ctx, sessions, key, true) }
	tree, err := trees(ctx, key)
	if err != nil {
		return nil, err
	}
	s := &state{index: tree.index, projection: newProjection(), last: tree.last, bad: tree.Bad()}
	if tree.Len() == 0 {
		return s, nil
	}
	branch, err := resolve(ctx, func(ctx context.Context, k string) (*Tree, error) {
		if k == key {
			return tree, nil
		}
		return trees(ctx, k)
	}, key, "")
	if err != nil {
		return nil, err
	}
	for i := range branch.Entries { // again: a commit may lack parts yet
		_ = s.add(&branch.Entries[i]) // counted by the branch
	}
	s.bad = branch.Bad
	return s, nil
}

// loadTree reads the entries of a session; slim says that only what stores values is wanted.
func loadTree(ctx context.Context, sessions *bus.Sessions, key string, slim bool) (*Tree, error) {
	tree := NewTree(key)
	tree.slim = slim
	err := sessions.Read(ctx, key, 0, func(r bus.SessionRecord) error {
		tree.last, tree.at = r.Seq, r.At
		if r.Batch == nil {
			tree.bad++
		} else {
			tree.Add(r.Batch)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return tree, nil
}

// errRewound says that an entry follows another one than the last: the values are those of another branch now.
var errRewound = errors.New("the session goes on at another entry")

// follow adds an entry of the stream. After errRewound the session must be read again.
func (s *state) follow(e *schemas.SessionEntry) error {
	head := s.head
	switch {
	case s.place(e) != nil:
		s.bad++
	case e.Parent != head:
		return errRewound
	case s.add(e) != nil:
		s.bad++
	}
	return nil
}

// read takes what others have appended. seen is told of each entry. After errRewound the session must be read again.
func (s *state) read(ctx context.Context, sessions *bus.Sessions, key string, seen func(id string)) error {
	rewound := false
	err := sessions.Read(ctx, key, s.last, func(r bus.SessionRecord) error {
		s.last = r.Seq
		if r.Batch == nil {
			s.bad++
			return nil
		}
		for _, text := range r.Batch.Entries {
			e, err := parseEntry(text)
			if err != nil {
				s.bad++
				continue
			}
			seen(e.ID)
			rewound = s.follow(e) != nil || rewound
		}
		return nil
	})
	if err == nil && rewound {
		err = errRewound
	}
	return err
}
