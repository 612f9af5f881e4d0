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

// scanRequest asks the stream for messages of one subject, the first of them at Seq or after it.
type scanRequest struct {
	Seq      uint64 `json:"seq"`
	Subject  string `json:"next_by_subj"`
	Batch    int    `json:"batch"`
	MaxBytes int    `json:"max_bytes"`
}

// scan gives the messages of a subject in their order, from a sequence on. It needs no consumer, so that reading
// leaves nothing behind on the server, and works when its disk is full.
func (s *Sessions) scan(ctx context.Context, subject string, from uint64, each func(m *nats.Msg, seq uint64) error) error {
	inbox := s.c.nats.NewInbox()
	// A plain channel: the library's own way to take a message would read a stored one's header as a status.
	messages := make(chan *nats.Msg, 2*scanMsgs)
	sub, err := s.c.nats.ChanSubscribe(inbox, messages)
	if err != nil {
		return err
	}
	defer sub.Unsubscribe() //nolint:errcheck // fails only if closed already
	for more := true; more; {
		ask, err := json.Marshal(scanRequest{Seq: from, Subject: subject, Batch: scanMsgs, MaxBytes: scanBytes})
		if err != nil {
			return err
		}
		if err := s.c.nats.PublishRequest("$JS.API.DIRECT.GET."+sessionsStream, inbox, ask); err != nil {
			return err
		}
		if from, more, err = s.scanned(ctx, messages, from, each); err != nil {
			return err
		}
	}
	return nil
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
