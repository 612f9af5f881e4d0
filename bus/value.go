package bus

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	// headerValue names the object that holds the message; headerFailed says that the sender
	// couldn't store it, and why.
	headerValue  = "Codecell-Value"
	headerFailed = "Codecell-Failed"
	// valuePrefix begins the names of messages in the bucket: what arrives can name no other
	// object.
	valuePrefix = "v-"
	// valueID is the length of what follows it.
	valueID = 26
	// storeTimeout bounds storing or fetching one value.
	storeTimeout = 30 * time.Second
	// sendingValues bounds the bytes of values being stored, in multiples of the largest one.
	sendingValues = 4
	// fetchers bounds the values being fetched at once, fetchQueue those waiting for it.
	fetchers   = 4
	fetchQueue = 256
	// largestChunk is the largest message that an object is stored in, in bytes.
	largestChunk = 512 << 10
)

// values sends and fetches what is larger than a message may be (U6).
type values struct {
	c   *Conn
	max int

	ctx    context.Context
	cancel context.CancelFunc
	work   sync.WaitGroup

	sending  atomic.Int64 // bytes
	waiting  atomic.Int64 // fetches
	fetching chan struct{}

	mu     sync.Mutex
	closed bool
	store  jetstream.ObjectStore
}

func (v *values) start(c *Conn, largest int) {
	v.c, v.max = c, largest
	v.ctx, v.cancel = context.WithCancel(context.Background())
	v.fetching = make(chan struct{}, fetchers)
}

// background runs f on a goroutine, unless the connection is being closed.
func (v *values) background(f func()) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.closed {
		return false
	}
	v.work.Go(f)
	return true
}

// stop takes no more work, and gives what is under way some time to end.
func (v *values) stop(grace time.Duration) {
	v.mu.Lock()
	v.closed = true
	v.mu.Unlock()
	timer := time.AfterFunc(grace, v.cancel)
	v.work.Wait()
	timer.Stop()
	v.cancel()
}

// sendLater stores b, which it keeps, and then sends its name.
func (v *values) sendLater(subject, reply string, b []byte) error {
	if err := v.check(len(b)); err != nil {
		return fmt.Errorf("publish on %s: %w", subject, err)
	}
	if n := int64(len(b)); v.sending.Add(n) > sendingValues*int64(v.max) {
		v.sending.Add(-n)
		return fmt.Errorf("publish on %s: %w: try again when some have arrived", subject, ErrBusy)
	}
	started := v.background(func() {
		defer v.sending.Add(-int64(len(b)))
		m := nats.NewMsg(subject)
		m.Reply = reply
		if name, err := v.put(v.ctx, b); err == nil {
			m.Header.Set(headerValue, name)
		} else {
			v.c.log.Warn("a large message couldn't be stored", "subject", subject, "bytes", len(b), "error", err)
			m.Header.Set(headerFailed, oneLine(err))
		}
		if err := v.c.nats.PublishMsg(m); err != nil {
			v.c.log.Warn("a large message couldn't be sent", "subject", subject, "error", err)
		}
	})
	if !started {
		v.sending.Add(-int64(len(b)))
		return fmt.Errorf("publish on %s: %w", subject, ErrDisconnected)
	}
	return nil
}

// oneLine fits an error into a header.
func oneLine(err error) string {
	s := strings.Join(strings.Fields(err.Error()), " ")
	return s[:min(len(s), 1024)]
}

func (v *values) check(n int) error {
	if n > v.max {
		return &sizeError{size: int64(n), limit: int64(v.max)}
	}
	return nil
}

// put stores a value and gives its name. It may read b after it has failed.
func (v *values) put(ctx context.Context, b []byte) (string, error) {
	name := valuePrefix + randomID(valueID)
	return name, v.putAs(ctx, name, b)
}

// isValueName says whether put could have made the name. It becomes a part of subjects, so its length
// matters too: a server ends the connection of a client that sends it a long one.
func isValueName(name string) bool {
	id, ok := strings.CutPrefix(name, valuePrefix)
	return ok && len(id) == valueID && isBase32(id)
}

func (v *values) putAs(ctx context.Context, name string, b []byte) error {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	if _, err := v.bucket(ctx, false); err != nil {
		return err
	}
	err := v.putObject(ctx, name, b)
	if !lost(err) {
		return err
	}
	if _, err = v.bucket(ctx, true); err != nil {
		return err
	}
	return v.putObject(ctx, name, b)
}

// bucket gives the store. again: a server may have lost it, so look for it and make it anew.
func (v *values) bucket(ctx context.Context, again bool) (jetstream.ObjectStore, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.store == nil || again {
		s, err := v.c.valueBucket(ctx)
		if err != nil {
			return nil, err
		}
		v.store = s
	}
	return v.store, nil
}

// get fetches a value and removes it.
func (v *values) get(ctx context.Context, name string) ([]byte, error) {
	if !isValueName(name) {
		return nil, fmt.Errorf("%w: bad value name", ErrMalformed)
	}
	b, err := v.peek(ctx, name)
	if err == nil {
		v.remove(name)
	}
	return b, err
}

// peek fetches an object.
func (v *values) peek(ctx context.Context, name string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	s, err := v.bucket(ctx, false)
	if err != nil {
		return nil, err
	}
	object, err := s.Get(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("fetch a large message: %w", err)
	}
	defer object.Close()
	info, err := object.Info()
	if err != nil {
		return nil, fmt.Errorf("fetch a large message: %w", err)
	}
	if info.Size > uint64(v.max) {
		return nil, fmt.Errorf("fetch a large message: %w", v.check(int(min(info.Size, 1<<62))))
	}
	b := make([]byte, info.Size)
	if _, err := io.ReadFull(object, b); err != nil {
		return nil, fmt.Errorf("fetch a large message: %w", err)
	}
	return b, nil
}

// remove deletes an object in the background; its time to live is the fallback.
func (v *values) remove(name string) {
	v.background(func() {
		ctx, cancel := context.WithTimeout(v.ctx, storeTimeout)
		defer cancel()
		if s, err := v.bucket(ctx, false); err == nil {
			_ = s.Delete(ctx, name)
		}
	})
}

// fetch gets a value on a goroutine of its own, few at a time, and hands it to then.
func (v *values) fetch(name string, then func([]byte, error)) {
	if v.waiting.Add(1) > fetchQueue {
		v.waiting.Add(-1)
		then(nil, ErrBusy)
		return
	}
	started := v.background(func() {
		defer v.waiting.Add(-1)
		v.fetching <- struct{}{}
		b, err := v.get(v.ctx, name)
		<-v.fetching
		then(b, err)
	})
	if !started {
		v.waiting.Add(-1)
	}
}
