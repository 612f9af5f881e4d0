package session

import (
	"context"

	"github.com/codecell/codecell/schemas"
)

// Transcript is one session as a turn of an agent reads and writes it.
type Transcript struct {
	// Store gives the store, which may be opened for it.
	Store func(context.Context) (*Store, error)
	// Key is the session's.
	Key string
	// Mask gives a message as it is kept; nil keeps it as it is (P8).
	Mask func(schemas.MessageEntry) schemas.MessageEntry
}

// History gives what was said before, oldest first; see [Store.History].
func (t *Transcript) History(ctx context.Context) ([]schemas.MessageEntry, error) {
	store, err := t.Store(ctx)
	if err != nil {
		return nil, err
	}
	return store.History(ctx, t.Key)
}

// Say adds a message behind the last entry; see [Store.Say].
func (t *Transcript) Say(ctx context.Context, message schemas.MessageEntry) error {
	store, err := t.Store(ctx)
	if err != nil {
		return err
	}
	if t.Mask != nil {
		message = t.Mask(message)
	}
	_, err = store.Say(ctx, t.Key, "", message)
	return err
}

// Turn adds what the turn has come to (L5).
func (t *Transcript) Turn(ctx context.Context, entry schemas.TurnEntry) error {
	store, err := t.Store(ctx)
	if err != nil {
		return err
	}
	return store.Turn(ctx, t.Key, entry)
}
