package bus

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"

	"github.com/nats-io/nats.go"

	"github.com/codecell/codecell/schemas"
)

// Request is one message of a [Serve] handler. The handler may keep it and answer later,
// from any goroutine.
type Request[Req, Rep any] struct {
	// Subject is the subject that the request came on.
	Subject string
	// Reply is where answers go; empty if nobody waits.
	Reply string
	// Body is the decoded request.
	Body Req

	c *Conn
}

// Respond answers the request. It doesn't wait; errors are those of [Conn.Publish].
func (r *Request[Req, Rep]) Respond(rep *Rep) error {
	if r.Reply == "" {
		return nil
	}
	return r.c.Publish(r.Reply, "", rep)
}

// Serve calls handle for each request on a subject. Servers with one queue share the
// requests; with an empty queue each gets all of them. Serve returns when the server has the
// subscription, so that a request sent from now on isn't lost.
//
// A request that can't be decoded is counted, and answered in the field Err of Rep (or, for
// a Result or an Answer, as a failed one). See the package comment for what a handler may do.
func Serve[Req, Rep any](c *Conn, subject, queue string, handle func(*Request[Req, Rep])) (*Subscription, error) {
	return c.subscribe(subject, queue, func(in incoming) {
		r := &Request[Req, Rep]{Subject: in.msg.Subject, Reply: in.msg.Reply, c: c}
		err := in.err
		if err == nil {
			err = schemas.Decode(in.data, &r.Body)
		}
		if err == nil {
			handle(r)
			return
		}
		if errors.Is(err, ErrNoResponders) {
			return // nothing to answer
		}
		c.stats.malformed.Add(1)
		if rep, ok := failure[Rep](in.msg.Reply, err); ok && r.Reply != "" {
			_ = r.Respond(rep)
		}
	})
}

// Listen calls handle for each message on a subject whose messages have no answer. What can't
// be decoded is counted and ignored.
func Listen[M any](c *Conn, subject, queue string, handle func(subject string, m *M)) (*Subscription, error) {
	return c.subscribe(subject, queue, func(in incoming) {
		m := new(M)
		err := in.err
		if err == nil {
			err = schemas.Decode(in.data, m)
		}
		if err == nil {
			handle(in.msg.Subject, m)
		} else if !errors.Is(err, ErrNoResponders) {
			c.stats.malformed.Add(1)
		}
	})
}

// Reply is what came back for one call that was published with [ReplySubject].
type Reply struct {
	// Cell and Call are taken from the subject.
	Cell, Call string
	// Answer is the executor's, if Err is nil.
	Answer schemas.Answer
	// NoResponders: no executor listens; the call was received by nobody.
	NoResponders bool
	// Err says why there is no Answer: [ErrNoResponders], [ErrMalformed], or a large answer
	// that couldn't be fetched. In the latter two the tool may have run.
	Err error
}

// Replies calls handle for each reply to the calls of a host, including word that nobody
// listens, which comes at once.
func Replies(c *Conn, host string, handle func(*Reply)) (*Subscription, error) {
	return c.subscribe(RepliesTo(host), "", func(in incoming) {
		r := new(Reply)
		var err error
		if _, r.Cell, r.Call, err = ParseReply(in.msg.Subject); err != nil {
			c.stats.malformed.Add(1)
			return
		}
		r.Err = in.err
		if r.Err == nil {
			if err := schemas.Decode(in.data, &r.Answer); err != nil {
				r.Err = fmt.Errorf("%w: %w", ErrMalformed, err)
			}
		}
		if r.NoResponders = errors.Is(r.Err, ErrNoResponders); r.Err != nil && !r.NoResponders {
			c.stats.malformed.Add(1)
		}
		handle(r)
	})
}

// failure puts an error into an answer, if its type has a place for one.
func failure[Rep any](reply string, cause error) (*Rep, bool) {
	e := schemas.Refuse("", "the message can't be read: "+cause.Error())
	rep := new(Rep)
	switch r := any(rep).(type) {
	case *schemas.Result:
		r.Status, r.Code, r.Error = schemas.StatusFailed, e.Code, e.Message
		return rep, true
	case *schemas.Answer:
		_, _, r.ID, _ = ParseReply(reply)
		r.State = schemas.AnswerFailed
		r.Err = &schemas.CallError{Code: schemas.CallInvalidInput, Message: e.Message, Location: "transport", Effect: schemas.NotStarted}
		return rep, true
	}
	v := reflect.ValueOf(rep).Elem()
	if v.Kind() != reflect.Struct {
		return nil, false
	}
	f := v.FieldByName("Err")
	if !f.IsValid() || f.Type() != reflect.TypeFor[*schemas.Error]() {
		return nil, false
	}
	f.Set(reflect.ValueOf(e))
	return rep, true
}

// incoming is a message before it is decoded.
type incoming struct {
	msg  *nats.Msg
	data []byte
	// err: there is no data.
	err error
}

// open looks at a message's headers and hands it to take, later and on another goroutine if
// its value has to be fetched.
func (c *Conn) open(m *nats.Msg, take func(incoming)) {
	switch {
	case len(m.Header) == 0:
		take(incoming{msg: m, data: m.Data})
	case m.Header.Get(headerFailed) != "":
		take(incoming{msg: m, err: fmt.Errorf("%w: its sender couldn't store it: %s", ErrMalformed, m.Header.Get(headerFailed))})
	case m.Header.Get(headerValue) != "":
		c.values.fetch(m.Header.Get(headerValue), func(b []byte, err error) {
			take(incoming{msg: m, data: b, err: err})
		})
	case isNoResponders(m):
		take(incoming{msg: m, err: noResponders(m.Subject)})
	default:
		take(incoming{msg: m, data: m.Data})
	}
}

func isNoResponders(m *nats.Msg) bool {
	return len(m.Data) == 0 && len(m.Header) > 0 && m.Header.Get("Status") == "503"
}

// Subscription is a running handler.
type Subscription struct {
	c    *Conn
	sub  *nats.Subscription
	done chan struct{}
}

func (c *Conn) subscribe(subject, queue string, take func(incoming)) (*Subscription, error) {
	s := &Subscription{c: c, done: make(chan struct{})}
	handle := func(m *nats.Msg) { c.open(m, take) }
	var err error
	if queue == "" {
		s.sub, err = c.nats.Subscribe(subject, handle)
	} else {
		s.sub, err = c.nats.QueueSubscribe(subject, queue, handle)
	}
	if err != nil {
		return nil, fmt.Errorf("subscribe to %s: %w", subject, err)
	}
	s.sub.SetClosedHandler(func(string) { close(s.done) })
	c.subs.add(s.sub)
	if err = s.sub.SetPendingLimits(pendingMsgs, pendingBytes); err == nil {
		err = c.Flush(context.Background())
	}
	if err != nil {
		s.Close()
		return nil, fmt.Errorf("subscribe to %s: %w", subject, err)
	}
	return s, nil
}

// Dropped counts messages that came faster than the handler took them.
func (s *Subscription) Dropped() uint64 {
	n, _ := s.sub.Dropped()
	return uint64(n)
}

// Drain takes no new messages, lets the handler finish those that have arrived, and returns
// when it has, or with ctx's error. Call it from outside of the handler.
func (s *Subscription) Drain(ctx context.Context) error {
	defer s.c.subs.remove(s.sub)
	if err := s.sub.Drain(); err != nil {
		return nil // closed already, or the connection is
	}
	select {
	case <-s.done:
		return nil
	case <-ctx.Done():
		_ = s.sub.Unsubscribe()
		return fmt.Errorf("drain %s: %w", s.sub.Subject, ctx.Err())
	}
}

// Close stops the handler at once; what has arrived and isn't handled is lost.
func (s *Subscription) Close() {
	s.c.subs.remove(s.sub)
	_ = s.sub.Unsubscribe() // fails only if closed already
}

// subscriptions knows what is open, to count drops.
type subscriptions struct {
	mu   sync.Mutex
	open map[*nats.Subscription]struct{}
	gone uint64
}

func (s *subscriptions) add(sub *nats.Subscription) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open == nil {
		s.open = map[*nats.Subscription]struct{}{}
	}
	s.open[sub] = struct{}{}
}

func (s *subscriptions) remove(sub *nats.Subscription) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.open[sub]; ok {
		delete(s.open, sub)
		n, _ := sub.Dropped()
		s.gone += uint64(n)
	}
}

func (s *subscriptions) dropped() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	total := s.gone
	for sub := range s.open {
		n, _ := sub.Dropped()
		total += uint64(n)
	}
	return total
}
