package session

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/codecell/codecell/bus"
	"github.com/codecell/codecell/schemas"
)

const (
	// batchBytes is about how much one message holds.
	batchBytes = 512 << 10
	// attemptTimeout bounds one request to the bus.
	attemptTimeout = 2 * time.Second
	// firstRetry and lastRetry are the pauses after attempts that failed; each is twice the one before.
	firstRetry = 50 * time.Millisecond
	lastRetry  = 5 * time.Second
)

// errNoAnswer is the trouble of a commit that has had no chance yet.
var errNoAnswer = errors.New("others wait before it")

// write works on the queue until it is empty. There is one at a time, so one message of a session is on its way at a
// time, and the next one takes what has gathered meanwhile.
func (s *Session) write(ctx context.Context) {
	pause := firstRetry
	for {
		if s.doubtful(time.Now()) {
			_ = s.lookOnce(ctx) // what can't be found out is told
		}
		next, more := s.expire(time.Now())
		if !more {
			return
		}
		err := s.publish(ctx)
		s.mu.Lock()
		s.trouble = err
		s.mu.Unlock()
		if err == nil {
			pause = firstRetry
			continue
		}
		wait := pause
		if !next.IsZero() {
			wait = min(wait, max(time.Until(next), time.Millisecond))
		}
		select {
		case <-time.After(wait):
			pause = min(2*pause, lastRetry)
		case <-ctx.Done():
			s.abandon(err)
			return
		}
	}
}

// doubtful tells whether a commit's time is over that may have landed.
func (s *Session) doubtful(now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(s.queue, func(it *item) bool {
		return it.commit != nil && it.commit.uncertain() && !now.Before(it.commit.deadline)
	})
}

// lookOnce reads what is in the stream.
func (s *Session) lookOnce(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, attemptTimeout)
	defer cancel()
	return s.refresh(ctx)
}

// expire answers the commits whose time is over, and tells when the next one's is. Without more to do the writer ends.
func (s *Session) expire(now time.Time) (next time.Time, more bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	left := s.queue[:0]
	for _, it := range s.queue {
		if it.commit == nil {
			left = append(left, it)
			continue
		}
		if now.Before(it.commit.deadline) {
			left = append(left, it)
			if next.IsZero() || it.commit.deadline.Before(next) {
				next = it.commit.deadline
			}
			continue
		}
		s.bytes -= it.bytes
		why := s.trouble
		if why == nil {
			why = errNoAnswer
		}
		go it.commit.done(it.commit.expired(why))
	}
	clear(s.queue[len(left):])
	s.queue = left
	if len(left) == 0 {
		s.writing, s.trouble, s.queue = false, nil, nil
	}
	return next, len(left) > 0
}

// abandon gives up what waits: the host ends.
func (s *Session) abandon(why error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	lost := 0
	for _, it := range s.queue {
		if it.commit != nil {
			go it.commit.done(it.commit.expired(errClosed))
			continue
		}
		if it.told != nil {
			it.told <- why
			continue
		}
		lost++
	}
	if lost > 0 {
		s.store.lose(s.key, lost, why)
	}
	s.queue, s.bytes, s.writing = nil, 0, false
}

// publish appends one message of what waits. Nil says that there was progress, not that nothing is left.
func (s *Session) publish(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, attemptTimeout)
	defer cancel()
	s.turn.Lock()
	defer s.turn.Unlock()
	defer s.finish()
	if s.unsure {
		return s.catchUp(ctx)
	}
	out, err := s.compose()
	if err != nil || len(out.entries) == 0 {
		return err
	}
	seq, err := s.store.sessions.Append(ctx, &schemas.SessionBatch{Key: s.key, Entries: out.texts}, s.state.last)
	switch {
	case err == nil:
		s.unsure = true // until the state shows it
		s.state.last = seq
		rewound := false
		for i := range out.entries {
			rewound = s.state.follow(&out.entries[i]) != nil || rewound
		}
		s.landed(ids(out.entries))
		if rewound {
			return s.reload(ctx)
		}
		s.unsure = false
		s.settle()
		return nil
	case errors.Is(err, bus.ErrConflict):
		before := s.state.last
		s.unsure = true
		if err := s.catchUp(ctx); err != nil {
			return err
		}
		if s.state.last == before {
			return bus.ErrConflict // a server that lags behind: try later
		}
		return nil
	case !unknown(err):
		return err // it isn't there, and won't be
	}
	s.unsure = true
	s.mark(out.entries)
	return err
}

// batch is what one message holds.
type batch struct {
	entries []schemas.SessionEntry
	texts   []schemas.JSON
}

// compose takes as many entries from the queue as one message holds, each behind the one before. A commit ends it, since
// its limits are checked by the values that are there before it; what it lacks makes it fail. The turn is held.
func (s *Session) compose() (batch, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out batch
	size, head := 0, s.state.head
	for i := 0; i < len(s.queue); i++ {
		it := s.queue[i]
		e := it.entry
		if c := it.commit; c != nil {
			if err := s.state.check(c.writes); err != nil {
				if len(out.entries) > 0 {
					return out, nil
				}
				s.remove(i)
				go c.done(err)
				i--
				continue
			}
			e = c.parts[c.sent]
		}
		rewinds := e.Parent != "" && e.Parent != head
		if e.Parent == "" {
			e.Parent = head
		}
		text, err := encodeEntry(&e)
		if err == nil && len(text)+entryRoom > s.store.sessions.MaxBatch() {
			err = fmt.Errorf("%w: %d bytes", bus.ErrTooLarge, len(text))
		}
		if err != nil {
			s.remove(i)
			i--
			s.refuse(it, err)
			continue
		}
		if len(out.entries) > 0 && size+len(text) > batchBytes {
			break
		}
		size += len(text)
		head = e.ID
		out.entries = append(out.entries, e)
		out.texts = append(out.texts, text)
		if it.commit != nil || rewinds {
			break
		}
	}
	return out, nil
}

// refuse tells of what can't be kept at all.
func (s *Session) refuse(it *item, err error) {
	if it.commit != nil {
		go it.commit.done(err)
		return
	}
	if it.told != nil {
		it.told <- err
		return
	}
	s.store.lose(s.key, 1, err)
}

// remove takes an item out of the queue. The lock is held.
func (s *Session) remove(i int) {
	s.bytes -= s.queue[i].bytes
	s.queue = append(s.queue[:i:i], s.queue[i+1:]...)
}

// mark notes commits that may have landed.
func (s *Session) mark(entries []schemas.SessionEntry) {
	sent := ids(entries)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, it := range s.queue {
		if it.commit != nil && sent[it.commit.parts[it.commit.sent].ID] {
			it.commit.tried = true
		}
	}
}

// landed takes what is in the stream out of the queue. The turn is held; the commits are answered by finish.
func (s *Session) landed(seen map[string]bool) {
	if len(seen) == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	left := s.queue[:0:0]
	for _, it := range s.queue {
		gone := seen[it.entry.ID]
		if c := it.commit; c != nil {
			gone = false
			for c.sent < len(c.parts) && seen[c.parts[c.sent].ID] && !gone {
				gone = c.kept()
			}
			if gone {
				s.finished = append(s.finished, c)
			}
		}
		if gone {
			s.bytes -= it.bytes
			if it.told != nil {
				it.told <- nil
			}
			continue
		}
		left = append(left, it)
	}
	s.queue = left
}

// finish answers the commits that have landed, now that the values show them. The turn is held.
func (s *Session) finish() {
	for _, c := range s.finished {
		go c.done(nil)
	}
	s.finished = nil
}

// catchUp reads what is in the stream, and finds out what of our own is there. The turn is held.
func (s *Session) catchUp(ctx context.Context) error {
	seen := map[string]bool{}
	s.unsure = true
	err := s.state.read(ctx, s.store.sessions, s.key, func(id string) { seen[id] = true })
	s.landed(seen)
	if errors.Is(err, errRewound) {
		return s.reload(ctx)
	}
	if err != nil {
		return err
	}
	s.unsure = false
	s.forget()
	s.settle()
	return nil
}

// reload reads the session from its beginning: it goes on at another entry than the last. A commit that is there in
// parts only would be on two branches, so it begins anew. The turn is held.
func (s *Session) reload(ctx context.Context) error {
	s.unsure = true
	next, err := loadState(ctx, s.store.sessions, s.key)
	if err != nil {
		return err
	}
	if next.last < s.state.last {
		return bus.ErrSessionsLost
	}
	s.state = next
	s.mu.Lock()
	for _, it := range s.queue {
		if it.commit != nil && it.commit.sent > 0 {
			it.commit.renew()
		}
	}
	s.mu.Unlock()
	s.unsure = false
	s.forget()
	s.settle()
	return nil
}

// forget notes that what was tried and wasn't found did not land: whatever is late of it names a sequence that it
// follows, and the next message names the same one.
func (s *Session) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, it := range s.queue {
		if it.commit != nil {
			it.commit.tried = false
		}
	}
}

func ids(entries []schemas.SessionEntry) map[string]bool {
	out := make(map[string]bool, len(entries))
	for i := range entries {
		out[entries[i].ID] = true
	}
	return out
}

// encodeEntry gives an entry's JSON. Texts in it that are no JSON are an error.
func encodeEntry(e *schemas.SessionEntry) (schemas.JSON, error) {
	var b bytes.Buffer
	out := json.NewEncoder(&b)
	out.SetEscapeHTML(false)
	if err := out.Encode(e); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
