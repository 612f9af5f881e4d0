package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"weak"

	"github.com/codecell/codecell/bus"
)

const (
	// maxKey bounds the key of a session, in bytes.
	maxKey = 256
	// maxProblems bounds how many sessions are told of by name.
	maxProblems = 8
	// keptOpen is how many sessions stay as they were read while nobody holds them.
	keptOpen = 64
)

// Store is the way of a process to the sessions of its bus.
type Store struct {
	sessions *bus.Sessions
	log      *slog.Logger
	cancel   context.CancelFunc
	ctx      context.Context
	writers  sync.WaitGroup

	mu sync.Mutex
	// open are the sessions that somebody holds: runs, their writers, or recent, which are the last that were asked for.
	open   map[string]weak.Pointer[Session]
	recent []*Session
	closed bool
	lost   int
	// lostWhy is the reason of the last loss.
	lostWhy string
}

// Open gives the way to the sessions of a bus. It must be closed, before the connection is.
func Open(ctx context.Context, conn *bus.Conn, log *slog.Logger) (*Store, error) {
	sessions, err := bus.OpenSessions(ctx, conn)
	if err != nil {
		return nil, err
	}
	if log == nil {
		log = slog.Default()
	}
	s := &Store{sessions: sessions, log: log, open: map[string]weak.Pointer[Session]{}}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	return s, nil
}

// Session gives a session by its key, and begins one if there is none. All who hold a session of one key hold the same.
// It has read what others have appended by then; a session that is open and can't be read just now is given as it is,
// since what waits in it is kept later.
func (s *Store) Session(ctx context.Context, key string) (*Session, error) {
	if err := checkKey("identity.sessionKey", key); err != nil {
		return nil, err
	}
	if open := s.find(key); open != nil {
		if err := open.refresh(ctx); err != nil {
			s.log.Warn("a session can't be read; it goes on as it is known", "session", key, "error", err)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.hold(open), nil
	}
	state, err := loadState(ctx, s.sessions, key)
	if err != nil {
		return nil, err
	}
	fresh := &Session{store: s, key: key, state: state}
	fresh.settle()
	s.mu.Lock()
	defer s.mu.Unlock()
	if open := s.open[key].Value(); open != nil { // read at the same time
		return s.hold(open), nil
	}
	for k, p := range s.open {
		if p.Value() == nil {
			delete(s.open, k)
		}
	}
	s.open[key] = weak.Make(fresh)
	return s.hold(fresh), nil
}

// hold puts a session behind the recent ones. The lock is held.
func (s *Store) hold(session *Session) *Session {
	s.recent = slices.DeleteFunc(s.recent, func(other *Session) bool { return other == session })
	if len(s.recent) == keptOpen {
		s.recent = slices.Delete(s.recent, 0, 1)
	}
	s.recent = append(s.recent, session)
	return session
}

// find gives a session that somebody holds.
func (s *Store) find(key string) *Session {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.open[key].Value()
}

// start runs a writer, unless the store is closed.
func (s *Store) start(write func(context.Context)) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.writers.Go(func() { write(s.ctx) })
	return true
}

// lose counts entries that are not kept.
func (s *Store) lose(key string, n int, why error) {
	if n == 0 {
		return
	}
	s.mu.Lock()
	s.lost += n
	s.lostWhy = fmt.Sprintf("session %q: %v", key, why)
	s.mu.Unlock()
	s.log.Error("entries of a session are not kept", "session", key, "entries", n, "error", why)
}

// Problems says what is wrong with the sessions, for people: what waits because the bus doesn't take it, what was lost,
// and what can't be read.
func (s *Store) Problems() []string {
	s.mu.Lock()
	var open []*Session
	for _, p := range s.open {
		if one := p.Value(); one != nil {
			open = append(open, one)
		}
	}
	lost, why := s.lost, s.lostWhy
	s.mu.Unlock()
	slices.SortFunc(open, func(a, b *Session) int { return cmp.Compare(a.key, b.key) })
	var out []string
	for _, one := range open {
		waiting, bad, trouble := one.status()
		if trouble != nil {
			out = append(out, fmt.Sprintf("session %q: %d entries wait, since they can't be kept: %v", one.key, waiting, trouble))
		}
		if bad > 0 {
			out = append(out, fmt.Sprintf("session %q: %d messages or entries can't be read, and are left out: somebody else has published on the session's subject", one.key, bad))
		}
	}
	if more := len(out) - maxProblems; more > 0 {
		out = append(out[:maxProblems], fmt.Sprintf("%d more problems with sessions", more))
	}
	if lost > 0 {
		out = append(out, fmt.Sprintf("%d entries of sessions are lost; the last reason: %s", lost, why))
	}
	return out
}

// Close keeps what waits, at most until ctx ends, and takes nothing more.
func (s *Store) Close(ctx context.Context) error {
	s.mu.Lock()
	s.closed = true
	before := s.lost
	s.mu.Unlock()
	done := make(chan struct{})
	go func() { s.writers.Wait(); close(done) }()
	select {
	case <-done:
	case <-ctx.Done():
	}
	s.cancel()
	<-done
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := s.lost - before; n > 0 {
		return fmt.Errorf("%d entries of sessions are not kept: %s", n, s.lostWhy)
	}
	return nil
}

func checkKey(field, key string) error {
	switch {
	case key == "":
		return refuse(field, "%s is empty: name a session", field)
	case len(key) > maxKey:
		return refuse(field, "%s is longer than %d bytes: choose a shorter name", field, maxKey)
	}
	return nil
}

// unknown tells whether an append may have landed.
func unknown(err error) bool {
	for _, known := range []error{bus.ErrConflict, bus.ErrTooLarge, bus.ErrDisconnected, bus.ErrRefused} {
		if errors.Is(err, known) {
			return false
		}
	}
	return true
}
