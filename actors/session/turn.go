package session

import (
	"context"

	"github.com/codecell/codecell/schemas"
)

const (
	// maxTurnText bounds each text of a turn's entry, and maxTurnError what it says of its failure, in bytes.
	maxTurnText  = 256
	maxTurnError = 4 << 10
	// calledRoom is what one of a turn's called tools takes, in bytes, by a generous guess.
	calledRoom = 2 * maxTurnText
)

// Turn adds what a turn of an agent has come to (L5). Texts that are too long are cut, and so is the list of called tools
// ([schemas.MaxCalled]). A session that isn't there begins with it.
func (s *Store) Turn(ctx context.Context, key string, entry schemas.TurnEntry) error {
	switch entry.Stop {
	case schemas.StopAnswered, schemas.StopLimit, schemas.StopCancelled, schemas.StopFailed:
	default:
		return refuse("stop", "stop must be %s, %s, %s or %s, not %q",
			schemas.StopAnswered, schemas.StopLimit, schemas.StopCancelled, schemas.StopFailed, entry.Stop)
	}
	if err := checkKey("key", key); err != nil {
		return err
	}
	if entry.Run == "" {
		return refuse("run", "run is empty: name the run of the turn")
	}
	entry = boundTurn(entry)
	_, err := s.keep(ctx, key, schemas.SessionEntry{Kind: schemas.EntryTurn, Turn: &entry})
	return err
}

// boundTurn cuts what a provider or a host may have made long.
func boundTurn(e schemas.TurnEntry) schemas.TurnEntry {
	for _, text := range []*string{&e.Run, &e.Host, &e.Token, &e.Model, (*string)(&e.Mode), &e.Search} {
		*text = beginning(*text, maxTurnText)
	}
	e.Error = beginning(e.Error, maxTurnError)
	called := e.Totals.Called
	if more := len(called) - schemas.MaxCalled; more > 0 {
		e.Totals.Dropped += more
		called = called[:schemas.MaxCalled]
	}
	e.Totals.Called = make([]schemas.CalledTool, 0, len(called))
	for _, c := range called {
		c.ID, c.Source = beginning(c.ID, maxTurnText), schemas.Source(beginning(string(c.Source), maxTurnText))
		e.Totals.Called = append(e.Totals.Called, c)
	}
	return e
}
