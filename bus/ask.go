package bus

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/nats-io/nats.go"

	"github.com/codecell/codecell/schemas"
)

// Ask sends a request and waits for the first answer. If nobody listens it fails at once with
// [ErrNoResponders]; when ctx ends, with its error: then the request may have been received.
// An error that the answer itself carries is left to the caller.
func Ask[Rep any](ctx context.Context, c *Conn, subject string, req any) (*Rep, error) {
	m, err := c.ask(ctx, subject, req)
	if err != nil {
		return nil, err
	}
	b := m.Data
	if len(m.Header) > 0 {
		if b, err = c.fetched(ctx, m); err != nil {
			return nil, fmt.Errorf("ask %s: %w", subject, err)
		}
	}
	rep := new(Rep)
	if err := schemas.Decode(b, rep); err != nil {
		c.stats.malformed.Add(1)
		return nil, fmt.Errorf("ask %s: %w: %w", subject, ErrMalformed, err)
	}
	return rep, nil
}

// fetched gives the bytes of an answer with headers.
func (c *Conn) fetched(ctx context.Context, m *nats.Msg) ([]byte, error) {
	switch name, failed := m.Header.Get(headerValue), m.Header.Get(headerFailed); {
	case failed != "":
		return nil, fmt.Errorf("%w: its sender couldn't store it: %s", ErrMalformed, failed)
	case name != "":
		return c.values.get(ctx, name)
	}
	return m.Data, nil
}

func (c *Conn) ask(ctx context.Context, subject string, req any) (*nats.Msg, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("ask %s: %w", subject, err)
	}
	token, answer := c.inbox.open()
	defer c.inbox.drop(token)
	name, err := c.askBytes(ctx, subject, c.inbox.prefix+token, req)
	if err != nil {
		return nil, fmt.Errorf("ask %s: %w", subject, err)
	}
	select {
	case m, ok := <-answer:
		if !ok {
			return nil, fmt.Errorf("ask %s: %w", subject, ErrDisconnected)
		}
		if isNoResponders(m) {
			if name != "" {
				c.values.remove(name)
			}
			return nil, noResponders(subject)
		}
		return m, nil
	case <-ctx.Done():
		err := ctx.Err()
		if !c.nats.IsConnected() {
			err = fmt.Errorf("%w: %w", ErrDisconnected, err)
		}
		return nil, fmt.Errorf("ask %s: %w", subject, err)
	}
}

// Listened publishes a message, and tells whether anybody listens on its subject. It takes a round trip to the server. If
// the bus gives no answer, somebody may listen.
func (c *Conn) Listened(ctx context.Context, subject string, msg any) bool {
	b, err := schemas.Encode(msg)
	if err != nil {
		return true
	}
	token, answer := c.inbox.open()
	defer c.inbox.drop(token)
	inbox := c.inbox.prefix + token
	// The server takes both in this order, so its word that nobody listens comes before the second one.
	if c.publishBytes(subject, inbox, b) != nil || c.publishBytes(inbox, "", nil) != nil {
		return true
	}
	select {
	case m, ok := <-answer:
		return !ok || !isNoResponders(m)
	case <-ctx.Done():
		return true
	}
}

// askBytes sends the request and gives the name of the object, if it took one.
func (c *Conn) askBytes(ctx context.Context, subject, reply string, req any) (name string, err error) {
	err = encode(req, func(b []byte) error {
		err := c.publishBytes(subject, reply, b)
		if !errors.Is(err, nats.ErrMaxPayload) {
			return err
		}
		if err := c.values.check(len(b)); err != nil {
			return err
		}
		if name, err = c.values.put(ctx, append([]byte(nil), b...)); err != nil {
			return err
		}
		m := nats.NewMsg(subject)
		m.Reply = reply
		m.Header.Set(headerValue, name)
		return c.publishError(subject, c.nats.PublishMsg(m))
	})
	return name, err
}

// inboxSecretLen characters of a request's token, 65 bits, are random.
const inboxSecretLen = 13

// inbox receives the answers to requests: one subscription, one token a request. A late
// answer finds no token, so it is counted and can't reach a later request.
type inbox struct {
	prefix string
	sub    *nats.Subscription

	mu      sync.Mutex
	last    uint64
	waiting map[string]chan *nats.Msg
}

func (i *inbox) start(c *Conn) (err error) {
	i.waiting = map[string]chan *nats.Msg{}
	i.prefix = c.nats.NewInbox() + "."
	i.sub, err = c.nats.Subscribe(i.prefix+"*", func(m *nats.Msg) {
		if !i.deliver(strings.TrimPrefix(m.Subject, i.prefix), m) {
			c.stats.late.Add(1)
		}
	})
	if err != nil {
		return err
	}
	return i.sub.SetPendingLimits(pendingMsgs, pendingBytes)
}

func (i *inbox) open() (token string, answer <-chan *nats.Msg) {
	ch := make(chan *nats.Msg, 1)
	i.mu.Lock()
	defer i.mu.Unlock()
	i.last++
	// Who was asked knows the token of that request. Nobody can tell the next one's from it, and answer in another's place.
	token = strconv.FormatUint(i.last, 36) + "-" + randomID(inboxSecretLen)
	if i.waiting == nil { // closed
		close(ch)
		return token, ch
	}
	i.waiting[token] = ch
	return token, ch
}

func (i *inbox) drop(token string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	delete(i.waiting, token)
}

func (i *inbox) deliver(token string, m *nats.Msg) bool {
	i.mu.Lock()
	ch, ok := i.waiting[token]
	delete(i.waiting, token)
	i.mu.Unlock()
	if ok {
		ch <- m // has room for the one
	}
	return ok
}

func (i *inbox) size() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return len(i.waiting)
}

func (i *inbox) close() {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, ch := range i.waiting {
		close(ch)
	}
	i.waiting = nil
}
