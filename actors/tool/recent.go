package tool

import "github.com/codecell/codecell/schemas"

const (
	// recentCalls is how many ended calls an executor remembers, so that a second delivery
	// doesn't run them again.
	recentCalls = 4096
	// keptAnswerBytes bounds an answer that is remembered whole.
	keptAnswerBytes = 1 << 10
)

// entryOf is what is remembered of one call.
type entryOf struct {
	key string
	// answer is nil when it was too large to keep.
	answer  *schemas.Answer
	stopped bool
}

// recent remembers the last recentCalls calls. The zero value is ready.
type recent struct {
	byKey map[string]*entryOf
	ring  []*entryOf
	next  int
}

func (r *recent) find(key string) *entryOf { return r.byKey[key] }

// add remembers a call, and forgets the oldest.
func (r *recent) add(key string, answer *schemas.Answer, stopped bool) {
	if answer != nil && len(answer.Value) > keptAnswerBytes {
		answer = nil
	}
	if r.byKey == nil {
		r.byKey = make(map[string]*entryOf)
	}
	e := &entryOf{key: key, answer: answer, stopped: stopped}
	r.byKey[key] = e
	if len(r.ring) < recentCalls {
		r.ring = append(r.ring, e)
		return
	}
	if old := r.ring[r.next]; r.byKey[old.key] == old {
		delete(r.byKey, old.key)
	}
	r.ring[r.next] = e
	r.next = (r.next + 1) % recentCalls
}
