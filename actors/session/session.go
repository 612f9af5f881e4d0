package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/codecell/codecell/bus"
	"github.com/codecell/codecell/schemas"
)

const (
	// queueBytes bounds what one session may have waiting to be kept, in bytes.
	queueBytes = 16 << 20
	// entryRoom is what an entry takes besides its texts, in bytes, by a generous guess.
	entryRoom = 512
	// commitPatience bounds how long a commit is tried. Its answer comes then, or when the attempt that is under way
	// has ended.
	commitPatience = 5 * time.Second
	// keepPatience bounds the wait until an entry is kept.
	keepPatience = 10 * time.Second
)

// errClosed is for what comes after the end.
var errClosed = errors.New("the host is shutting down")

// Session is the way to one transcript. All methods are safe for concurrent use, and none of them blocks.
type Session struct {
	store *Store
	key   string
	// values is the snapshot that [Session.Values] gives.
	values atomic.Pointer[map[string]schemas.StoreWrite]

	mu    sync.Mutex
	queue []*item
	bytes int
	// writing: a goroutine is at work on the queue.
	writing bool
	// trouble is why the queue isn't getting shorter.
	trouble error
	bad     int

	// turn is held by whoever uses what is below: the writer, or who reads what others have appended.
	turn  sync.Mutex
	state *state
	// unsure: what is known of the stream may be old, or the fate of an append isn't known.
	unsure bool
	// finished are commits that have landed and weren't answered yet.
	finished []*commit
}

// item is one entry that waits, or one commit.
type item struct {
	entry  schemas.SessionEntry
	bytes  int
	commit *commit
	// told, if set, has room for what became of the entry.
	told chan error
}

// Append adds entries to the transcript, in the order of the calls. Those without an id, a time or a parent get them. What
// doesn't fit in the queue, and what can't be kept in the end, is counted (see [Store.Problems]).
func (s *Session) Append(entries ...schemas.SessionEntry) {
	items := make([]*item, 0, len(entries))
	for _, e := range entries {
		items = append(items, newItem(e))
	}
	s.enqueue(items...)
}

func newItem(e schemas.SessionEntry) *item {
	if e.ID == "" {
		e.ID = bus.NewEntryID()
	}
	if e.At == 0 {
		e.At = time.Now().UnixNano()
	}
	return &item{entry: e, bytes: weight(&e)}
}

// Keep adds an entry as [Session.Append] does, and gives its id once it is kept. It waits for the bus, at most for ten
// seconds; when these or ctx have ended, the entry still waits to be kept. With another error it isn't kept.
func (s *Session) Keep(ctx context.Context, entry schemas.SessionEntry) (id string, err error) {
	it := newItem(entry)
	it.told = make(chan error, 1)
	if s.enqueue(it) == 0 {
		return "", errors.New("too much waits to be kept already, or the store is closed")
	}
	timed, cancel := context.WithTimeout(ctx, keepPatience)
	defer cancel()
	select {
	case err := <-it.told:
		return it.entry.ID, err
	case <-timed.Done():
	}
	if err := ctx.Err(); err != nil {
		return "", err
	}
	_, _, trouble := s.status()
	return "", fmt.Errorf("the bus has not taken it within %v (%w), so it is kept later, or lost with this process", keepPatience, cmp.Or(trouble, errNoAnswer))
}

// enqueue tells how many of the items were taken.
func (s *Session) enqueue(items ...*item) (taken int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, it := range items {
		if s.bytes+it.bytes > queueBytes {
			s.store.lose(s.key, plainItems(items[taken:]), errors.New("too much waits to be kept"))
			break
		}
		s.queue = append(s.queue, it)
		s.bytes += it.bytes
		taken++
	}
	if taken > 0 && !s.writing {
		if !s.store.start(s.write) {
			s.queue, s.bytes = nil, 0
			s.store.lose(s.key, plainItems(items[:taken]), errClosed)
			return 0
		}
		s.writing = true
	}
	return taken
}

// plainItems counts those of which nobody hears what became of them.
func plainItems(items []*item) (n int) {
	for _, it := range items {
		if it.commit == nil && it.told == nil {
			n++
		}
	}
	return n
}

// Values are the committed values by key, as they are now. Nobody changes the map any more.
func (s *Session) Values() map[string]schemas.StoreWrite { return *s.values.Load() }

// Commit keeps all of the writes or none (T2), and calls done once, from a goroutine of its own, after some five
// seconds, or ten if the bus doesn't answer at all. Without an error they are kept, and in [Session.Values]. With one they aren't, unless it says that
// this isn't known: then reading the session will tell.
func (s *Session) Commit(cell string, writes []schemas.StoreWrite, done func(error)) {
	if len(writes) == 0 {
		go done(nil)
		return
	}
	it := &item{commit: newCommit(cell, writes, done)}
	for i := range writes {
		it.bytes += entryRoom + writes[i].Bytes()
	}
	if s.enqueue(it) == 0 {
		go done(errors.New("too much waits to be kept already, since the bus takes nothing: see `codecell slots` for the reason"))
	}
}

// refresh reads what others have appended.
func (s *Session) refresh(ctx context.Context) error {
	s.turn.Lock()
	defer s.turn.Unlock()
	defer s.finish()
	return s.catchUp(ctx)
}

// settle shows what the state has come to. The turn is held.
func (s *Session) settle() {
	values := s.state.snapshot()
	s.values.Store(&values)
	s.mu.Lock()
	s.bad = s.state.bad
	s.mu.Unlock()
}

// status is what [Store.Problems] tells of a session.
func (s *Session) status() (waiting, bad int, trouble error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.queue), s.bad, s.trouble
}

// weight guesses how many bytes an entry takes.
func weight(e *schemas.SessionEntry) int {
	n := entryRoom
	switch {
	case e.Message != nil:
		n += len(e.Message.Content)
	case e.Exec != nil:
		n += len(e.Exec.Input)
	case e.Result != nil:
		n += len(e.Result.Result)
	case e.Call != nil:
		n += len(e.Call.Args)
	case e.Outcome != nil:
		n += len(e.Outcome.Value)
		if e.Outcome.Err != nil {
			n += len(e.Outcome.Err.Message)
		}
	case e.Store != nil:
		for i := range e.Store.Writes {
			n += e.Store.Writes[i].Bytes()
		}
	case e.Compact != nil:
		n += len(e.Compact.Summary)
	case e.Turn != nil:
		n += len(e.Turn.Error) + calledRoom*len(e.Turn.Totals.Called)
	}
	return n
}
