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
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, errors.New("the host is shutting down")
	}
	if s.store == nil {
		store, err := session.Open(ctx, s.conn, s.log)
		if err != nil {
			return nil, err
		}
		s.store = store
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
