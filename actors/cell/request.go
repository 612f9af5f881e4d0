package cell

import (
	"fmt"
	"slices"
	"time"

	"github.com/codecell/codecell/schemas"
)

// request is one request between its issue and the moment its answer is handed to the guest.
type request struct {
	Request
	state requestState
	sent  time.Time
}

type requestState uint8

const (
	queued   requestState = iota // waits for a place
	sent                         // dispatched, or its timer is set
	started                      // an executor said that it holds the call
	awaiting                     // a person decides whether it may run (S6)
	kept                         // dispatched, and kept back by the run until others have settled (P4)
	answered                     // its answer is in the inbox; a place is still taken
)

// String is the state as a pending list shows it.
func (s requestState) String() string {
	return [...]string{"queued", "sent", "started", "awaiting_approval", "queued", "answered"}[s]
}

// out tells whether a request is under way: somebody or something works on it.
func (s requestState) out() bool { return s != queued && s != answered }

// requests are a cell's outstanding requests, in order of issue.
//
// A call or timer takes a place when it's sent, and leaves it only when its answer is handed to the
// guest: so the continuation runs before the place is refilled (S7). A yield takes none.
type requests struct {
	all    []*request
	places int // places there are
	queue  int // requests that may wait for one
	taken  int // places taken
	// awaiting counts the calls in that state.
	awaiting int
}

// turn changes the state of a request that has been sent.
func (r *requests) turn(q *request, to requestState) {
	if q.state == awaiting {
		r.awaiting--
	}
	if to == awaiting {
		r.awaiting++
	}
	q.state = to
}

// room is how many more requests there may be.
func (r *requests) room() int { return r.places + r.queue - len(r.all) }

func (r *requests) add(q Request) {
	state := queued
	if q.Kind == YieldRequest {
		state = sent // it waits for a wait, not for a place
	}
	r.all = append(r.all, &request{Request: q, state: state})
}

func (r *requests) find(id string) *request {
	for _, q := range r.all {
		if q.ID == id {
			return q
		}
	}
	return nil
}

// remove forgets a request and leaves its place.
func (r *requests) remove(id string) {
	i := slices.IndexFunc(r.all, func(q *request) bool { return q.ID == id })
	if i < 0 {
		return
	}
	if q := r.all[i]; q.state != queued && q.Kind != YieldRequest {
		r.taken--
	}
	r.all = slices.Delete(r.all, i, i+1)
}

// next takes a place for the oldest queued request, or gives nil.
func (r *requests) next() *request {
	if r.taken >= r.places {
		return nil
	}
	for _, q := range r.all {
		if q.state == queued {
			q.state = sent
			r.taken++
			return q
		}
	}
	return nil
}

// unsettled counts the requests that have no answer yet, and those of them that are yields.
func (r *requests) unsettled() (all, yields int) {
	for _, q := range r.all {
		if q.state != answered {
			all++
			if q.Kind == YieldRequest {
				yields++
			}
		}
	}
	return all, yields
}

// pending lists the unsettled requests (W4).
func (r *requests) pending(tool func(ref int) string) []schemas.PendingCall {
	var list []schemas.PendingCall
	for _, q := range r.all {
		if q.state == answered {
			continue
		}
		p := schemas.PendingCall{ID: q.ID, Kind: q.Kind.String(), State: q.state.String()}
		if q.Kind == CallRequest {
			p.Tool = tool(q.Ref)
		}
		list = append(list, p)
	}
	return list
}

// inbox keeps answers that the guest hasn't been given yet, in order of arrival.
type inbox struct {
	items []Settlement
	bytes int
	limit int
}

// put keeps an answer. One that doesn't fit is replaced by a rejection: an answer reaches the guest
// whole or not at all (O4).
func (b *inbox) put(s Settlement) {
	size := s.size()
	if b.bytes+size > b.limit {
		s = Settlement{ID: s.ID, Err: b.tooLong(&s, size)}
		size = 0 // it's small, and the number of requests bounds the number of such rejections
	} else {
		s.kept = size
	}
	b.bytes += size
	b.items = append(b.items, s)
}

// tooLong is what a program gets in place of an answer that doesn't fit. That of a call which failed says so as before.
func (b *inbox) tooLong(s *Settlement, size int) *schemas.CallError {
	why := fmt.Sprintf("of %d bytes doesn't fit: replies that a program hasn't taken yet may have %d bytes together, and %d are taken. "+
		"Ask for less: paginate, or narrow the request.", size, b.limit, b.bytes)
	if s.Err != nil {
		failed := *s.Err
		failed.Message = "it failed, and the error " + why
		return &failed
	}
	if s.local {
		return &schemas.CallError{
			Code: schemas.CallInvalidInput, Location: "output", Effect: schemas.NotStarted, Message: "the reply " + why,
		}
	}
	return &schemas.CallError{
		Code: schemas.CallToolError, Location: "output", Effect: schemas.Done, Message: "the tool ran, but its reply " + why,
	}
}

// drop removes an answer that nobody wants any more.
func (b *inbox) drop(id string) {
	b.items = slices.DeleteFunc(b.items, func(s Settlement) bool {
		if s.ID == id {
			b.bytes -= s.kept
		}
		return s.ID == id
	})
}

// take empties the inbox.
func (b *inbox) take() []Settlement {
	items := b.items
	b.items, b.bytes = nil, 0
	return items
}

// maxOutcomes bounds the list of a cell's calls that a failed result carries. Of more, the oldest make room: those that are
// done first, then the other settled ones, since what failed or may have run matters most.
const maxOutcomes = 256

// history is what became of a cell's calls (E5).
type history struct {
	calls []callRecord
	total int
}

type callRecord struct {
	id      string
	ref     int
	outcome schemas.Outcome
}

func (h *history) add(id string, ref int) {
	h.total++
	if len(h.calls) >= maxOutcomes {
		i := slices.IndexFunc(h.calls, func(c callRecord) bool { return c.outcome == schemas.Done })
		if i < 0 {
			i = max(slices.IndexFunc(h.calls, callRecord.settled), 0)
		}
		h.calls = slices.Delete(h.calls, i, i+1)
	}
	h.calls = append(h.calls, callRecord{id: id, ref: ref, outcome: schemas.NotStarted})
}

// miss adds a call that was never sent, if there is room: those that ran matter more.
func (h *history) miss(id string, ref int) {
	if len(h.calls) < maxOutcomes {
		h.add(id, ref)
	}
}

func (c callRecord) settled() bool {
	return c.outcome != schemas.NotStarted && c.outcome != schemas.Started
}

func (h *history) set(id string, o schemas.Outcome) {
	for i := len(h.calls) - 1; i >= 0; i-- {
		if h.calls[i].id == id {
			h.calls[i].outcome = o
			return
		}
	}
}

func (h *history) outcomes(tool func(ref int) string) []schemas.CallOutcome {
	list := make([]schemas.CallOutcome, 0, len(h.calls))
	for _, c := range h.calls {
		list = append(list, schemas.CallOutcome{ID: c.id, Tool: tool(c.ref), Outcome: c.outcome})
	}
	return list
}
