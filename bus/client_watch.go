package bus

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/codecell/codecell/schemas"
)

// watchQueue is how many facts may wait for a watcher.
const watchQueue = 8192

// Hosts asks all hosts for their status and gives the answers in the order of host ids. It
// ends when nobody has answered for 300 ms, or with ctx.
func (c *Client) Hosts(ctx context.Context) ([]schemas.HostStatus, error) {
	answers := make(chan *nats.Msg, 256)
	reply := c.c.nats.NewInbox()
	sub, err := c.c.nats.ChanSubscribe(reply, answers)
	if err != nil {
		return nil, fmt.Errorf("ask all hosts: %w", err)
	}
	defer sub.Unsubscribe() //nolint:errcheck // fails only if closed already
	if err := c.c.Publish(HostsSubject(), reply, &schemas.StatusAsk{}); err != nil {
		return nil, err
	}
	var hosts []schemas.HostStatus
	for {
		select {
		case m := <-answers:
			if isNoResponders(m) {
				return nil, nil
			}
			var h schemas.HostStatus
			b, err := c.c.fetched(ctx, m)
			if err == nil {
				err = schemas.Decode(b, &h)
			}
			if err != nil {
				c.c.stats.malformed.Add(1)
				continue
			}
			hosts = append(hosts, h)
		case <-time.After(quiet):
			if len(answers) > 0 { // it was this process that had no time
				continue
			}
			slices.SortFunc(hosts, func(a, b schemas.HostStatus) int { return cmp.Compare(a.Host, b.Host) })
			return hosts, nil
		case <-ctx.Done():
			return hosts, fmt.Errorf("ask all hosts: %w", ctx.Err())
		}
	}
}

// Event is one message of the feed.
type Event struct {
	Subject string
	// Fact points to a value of the subject's type, if Err is nil.
	Fact any
	// Err: the message is malformed, or of a kind that this version doesn't know.
	Err error
	// Dropped counts what the watcher has lost so far because it was too slow.
	Dropped uint64
}

// Watch subscribes to facts: with no filter to all, else to patterns such as those of [Facts].
// The facts published from now on are those of the sequence, which ends when ctx ends or the
// connection is closed. It may be ranged over once. A filter outside of the feed is an error.
func (c *Client) Watch(ctx context.Context, filters ...string) (iter.Seq[Event], error) {
	if len(filters) == 0 {
		filters = []string{Facts()}
	}
	messages := make(chan *nats.Msg, watchQueue)
	closed := make(chan struct{})
	var subs []*nats.Subscription
	stop := func() {
		for _, s := range subs {
			_ = s.Unsubscribe() // fails only if closed already
		}
	}
	for _, f := range filters {
		if !strings.HasPrefix(f, Prefix+verbFeed+".") {
			stop()
			return nil, schemas.Refuse("filter", fmt.Sprintf("filter %q is outside of the feed: it must begin with %q", f, Prefix+verbFeed+"."))
		}
		s, err := c.c.nats.ChanSubscribe(f, messages)
		if err != nil {
			stop()
			return nil, fmt.Errorf("watch %s: %w", f, err)
		}
		subs = append(subs, s)
	}
	subs[0].SetClosedHandler(func(string) { close(closed) })
	if err := c.c.Flush(ctx); err != nil {
		stop()
		return nil, err
	}
	unwatch := context.AfterFunc(ctx, stop)
	return func(yield func(Event) bool) {
		defer unwatch()
		defer stop()
		for {
			select {
			case m := <-messages:
				if !yield(event(m, dropped(subs))) {
					return
				}
			case <-ctx.Done():
				return
			case <-closed:
				return
			}
		}
	}, nil
}

func dropped(subs []*nats.Subscription) (n uint64) {
	for _, s := range subs {
		d, _ := s.Dropped()
		n += uint64(d)
	}
	return n
}

func event(m *nats.Msg, dropped uint64) Event {
	e := Event{Subject: m.Subject, Dropped: dropped}
	e.Fact, e.Err = FactFor(m.Subject)
	if e.Err == nil {
		e.Err = schemas.Decode(m.Data, e.Fact)
	}
	if e.Err != nil {
		e.Fact, e.Err = nil, errors.Join(ErrMalformed, e.Err)
	}
	return e
}
