package host

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/codecell/codecell/actors/run"
	"github.com/codecell/codecell/actors/session"
	"github.com/codecell/codecell/bus"
)

// sessionTimeout bounds the reading of a transcript when a program is to run in its session.
const sessionTimeout = 10 * time.Second

// sessions are the transcripts of the host's bound runs. They are opened when the first such run needs them: a host
// without one needs no stream.
type sessions struct {
	conn *bus.Conn
	log  *slog.Logger

	// opening is held while the store is being opened: that may take its time, and those who ask for problems don't wait.
	opening sync.Mutex

	mu     sync.Mutex
	store  *session.Store
	closed bool
}

// get gives a session by its key.
func (s *sessions) get(key string) (run.Session, error) {
	ctx, cancel := context.WithTimeout(context.Background(), sessionTimeout)
	defer cancel()
	store, err := s.open(ctx)
	if err != nil {
		return nil, err
	}
	found, err := store.Session(ctx, key)
	if err != nil {
		return nil, err
	}
	return found, nil
}

func (s *sessions) open(ctx context.Context) (*session.Store, error) {
	s.opening.Lock()
	defer s.opening.Unlock()
	if store, err := s.opened(); store != nil || err != nil {
		return store, err
	}
	store, err := session.Open(ctx, s.conn, s.log)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		_ = store.Close(ctx) // nobody has written to it
		return nil, errClosing
	}
	s.store = store
	return store, nil
}

var errClosing = errors.New("the host is shutting down")

// opened gives the store if it is open already.
func (s *sessions) opened() (*session.Store, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, errClosing
	}
	return s.store, nil
}

// problems says what is wrong with the sessions.
func (s *sessions) problems() []string {
	s.mu.Lock()
	store := s.store
	s.mu.Unlock()
	if store == nil {
		return nil
	}
	return store.Problems()
}

// close keeps what waits, at most until ctx ends.
func (s *sessions) close(ctx context.Context) error {
	s.mu.Lock()
	s.closed = true
	store := s.store
	s.mu.Unlock()
	if store == nil {
		return nil
	}
	return store.Close(ctx)
}
