package bus

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	// scanMsgs and scanBytes bound what one request for messages of the stream brings.
	scanMsgs  = 256
	scanBytes = 4 << 20

	headerPending  = "Nats-Num-Pending"
	statusNotFound = "404"
)

// scanRequest asks the stream for messages of one subject, the first of them at Seq or after it, or for its last one.
type scanRequest struct {
	Seq      uint64 `json:"seq,omitempty"`
	Subject  string `json:"next_by_subj,omitempty"`
	Batch    int    `json:"batch,omitempty"`
	MaxBytes int    `json:"max_bytes,omitempty"`
	Last     string `json:"last_by_subj,omitempty"`
}

// scan gives the messages of a subject in their order, from a sequence on. It needs no consumer, so that reading
// leaves nothing behind on the server, and works when its disk is full.
func (s *Sessions) scan(ctx context.Context, subject string, from uint64, each func(m *nats.Msg, seq uint64) error) error {
	return s.inbox(func(inbox string, messages <-chan *nats.Msg) (err error) {
		for more := true; more && err == nil; {
			if err = s.request(inbox, scanRequest{Seq: from, Subject: subject, Batch: scanMsgs, MaxBytes: scanBytes}); err == nil {
				from, more, err = s.scanned(ctx, messages, from, each)
			}
		}
		return err
	})
}

// last gives the last message of a subject, if there is one.
func (s *Sessions) last(ctx context.Context, subject string, each func(m *nats.Msg, seq uint64) error) error {
	return s.inbox(func(inbox string, messages <-chan *nats.Msg) error {
		err := s.request(inbox, scanRequest{Last: subject})
		if err == nil {
			_, _, err = s.scanned(ctx, messages, 1, each)
		}
		return err
	})
}

// inbox subscribes for the time of use. It is a plain channel: the library's own way to take a message would read a stored
// one's header as a status, and fail for one with a false time.
func (s *Sessions) inbox(use func(inbox string, messages <-chan *nats.Msg) error) error {
	inbox, messages := s.c.nats.NewInbox(), make(chan *nats.Msg, 2*scanMsgs)
	sub, err := s.c.nats.ChanSubscribe(inbox, messages)
	if err != nil {
		return err
	}
	defer sub.Unsubscribe() //nolint:errcheck // fails only if closed already
	return use(inbox, messages)
}

func (s *Sessions) request(inbox string, r scanRequest) error {
	ask, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return s.c.nats.PublishRequest("$JS.API.DIRECT.GET."+sessionsStream, inbox, ask)
}

// scanned takes what one request has brought, and tells where to go on, if there is more.
func (s *Sessions) scanned(ctx context.Context, messages <-chan *nats.Msg, from uint64, each func(*nats.Msg, uint64) error) (uint64, bool, error) {
	for {
		var m *nats.Msg
		select {
		case m = <-messages:
		case <-ctx.Done():
			return from, false, ctx.Err()
		case <-s.c.lost:
			return from, false, ErrDisconnected
		}
		text := lastHeader(m, jetstream.SequenceHeader)
		if text == "" { // not a stored message, but the end of them
			if isNoResponders(m) {
				return from, false, jetstream.ErrNoStreamResponse
			}
			if m.Header.Get("Status") == statusNotFound {
				return from, false, nil
			}
			pending, err := strconv.ParseUint(m.Header.Get(headerPending), 10, 64)
			if err != nil {
				return from, false, fmt.Errorf("%w: the stream answered %q", ErrMalformed, m.Header.Get("Status"))
			}
			return from, pending > 0, nil
		}
		seq, err := strconv.ParseUint(text, 10, 64)
		if err != nil || seq < from {
			return from, false, fmt.Errorf("%w: the stream gave message %q", ErrMalformed, text)
		}
		from = seq + 1
		if err := each(m, seq); err != nil {
			return from, false, err
		}
		if lastHeader(m, headerPending) == "" { // a server that gives one at a time
			return from, true, nil
		}
	}
}

// lastHeader gives the server's own header: it comes behind those that a publisher may have made up.
func lastHeader(m *nats.Msg, name string) string {
	values := m.Header.Values(name)
	if len(values) == 0 {
		return ""
	}
	return values[len(values)-1]
}
