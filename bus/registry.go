package bus

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/codecell/codecell/schemas"
)

const (
	// inlineBytes is the largest registration that is kept in the bucket itself. A larger one
	// is an object, so that its heartbeats stay small.
	inlineBytes = 64 << 10
	// objectRefresh is how often the object of a large registration is stored again.
	objectRefresh = valueTTL / 3
	// beatTimeout bounds one heartbeat; one that fails is tried again after beatRetry. A server
	// that has just started may swallow a request.
	beatTimeout = 2 * time.Second
	beatRetry   = time.Second
	// registrationPrefix begins the objects of large registrations.
	registrationPrefix = "r-"
)

// entry is what the bucket holds: a registration, or one without tools and the name of the
// object with the whole of it.
type entry struct {
	schemas.Registration
	Object string `msgpack:"object,omitempty"`
}

// Registry is the list of what executors offer, a bucket that all hosts and executors share.
// An executor that stops sending heartbeats disappears after [RegistrationTTL].
type Registry struct {
	c      *Conn
	cancel context.CancelFunc
	beats  sync.WaitGroup

	mu  sync.Mutex
	kv  jetstream.KeyValue
	own map[string]*own
}

// own is a registration of this process.
type own struct {
	write   sync.Mutex // orders writes of one key
	value   []byte     // what the bucket holds
	object  string
	whole   []byte // what the object holds
	storing time.Time
	removed bool
}

// OpenRegistry opens the registry. It must be closed.
func OpenRegistry(ctx context.Context, c *Conn) (*Registry, error) {
	kv, err := c.toolBucket(ctx)
	if err != nil {
		return nil, err
	}
	beating, cancel := context.WithCancel(context.Background())
	r := &Registry{c: c, cancel: cancel, kv: kv, own: map[string]*own{}}
	r.beats.Go(func() { r.beat(beating) })
	return r, nil
}

// RegistrationKey is the key of what one executor offers under one owner.
func RegistrationKey(source schemas.Source, owner, executor string) string {
	return OwnerToken(source, owner) + "." + clean(executor)
}

func keyOf(r *schemas.Registration) string { return RegistrationKey(r.Source, r.Owner, r.Executor) }

// Put offers a registration, or replaces the one of the same executor and owner, and keeps
// it alive until Remove or Close.
func (r *Registry) Put(ctx context.Context, reg schemas.Registration) error {
	whole, err := schemas.Encode(&entry{Registration: reg})
	if err != nil {
		return err
	}
	key := keyOf(&reg)
	next := &own{value: whole}
	if len(whole) > inlineBytes {
		next.whole, next.object = whole, registrationPrefix+randomID(26)
		short := reg
		short.Tools = nil
		if next.value, err = schemas.Encode(&entry{Registration: short, Object: next.object}); err != nil {
			return err
		}
	}
	if err := r.c.values.check(len(whole)); err != nil {
		return fmt.Errorf("register %s: %w", key, err)
	}
	next.write.Lock()
	defer next.write.Unlock()
	r.mu.Lock()
	old := r.own[key]
	r.own[key] = next
	r.mu.Unlock()
	if old != nil {
		old.end()
	}
	if err := r.write(ctx, key, next); err != nil {
		r.mu.Lock()
		if r.own[key] == next {
			delete(r.own, key)
		}
		r.mu.Unlock()
		next.removed = true
		return fmt.Errorf("register %s: %w", key, err)
	}
	if old != nil && old.object != "" {
		r.c.values.remove(old.object)
	}
	return nil
}

// end waits for a write that is under way and lets no other follow.
func (o *own) end() {
	o.write.Lock()
	defer o.write.Unlock()
	o.removed = true
}

// write stores a registration; its write lock is held.
func (r *Registry) write(ctx context.Context, key string, o *own) error {
	if o.removed {
		return nil
	}
	if o.object != "" && time.Since(o.storing) >= objectRefresh {
		if err := r.c.values.putAs(ctx, o.object, o.whole); err != nil {
			return err
		}
		o.storing = time.Now()
	}
	return r.withBucket(ctx, func(kv jetstream.KeyValue) error {
		_, err := kv.Put(ctx, key, o.value)
		return err
	})
}

// withBucket runs f with the bucket, and once more with a new one if a server lost it.
func (r *Registry) withBucket(ctx context.Context, f func(jetstream.KeyValue) error) error {
	r.mu.Lock()
	kv := r.kv
	r.mu.Unlock()
	err := f(kv)
	if !lost(err) {
		return err
	}
	kv, err = r.c.toolBucket(ctx)
	if err != nil {
		return err
	}
	r.mu.Lock()
	r.kv = kv
	r.mu.Unlock()
	return f(kv)
}

// Remove withdraws a registration of this process.
func (r *Registry) Remove(ctx context.Context, source schemas.Source, owner, executor string) error {
	return r.remove(ctx, RegistrationKey(source, owner, executor))
}

func (r *Registry) remove(ctx context.Context, key string) error {
	r.mu.Lock()
	o := r.own[key]
	delete(r.own, key)
	r.mu.Unlock()
	if o == nil {
		return nil
	}
	o.end()
	err := ErrDisconnected // then waiting for an answer is in vain
	if r.c.nats.IsConnected() {
		err = r.withBucket(ctx, func(kv jetstream.KeyValue) error { return kv.Delete(ctx, key) })
	}
	if o.object != "" {
		r.c.values.remove(o.object)
	}
	if err != nil {
		return fmt.Errorf("withdraw %s: %w: it disappears within %v", key, err, RegistrationTTL)
	}
	return nil
}

// Close withdraws everything that this process registered. Views end with their own Close.
func (r *Registry) Close(ctx context.Context) error {
	r.cancel()
	r.beats.Wait()
	r.mu.Lock()
	keys := make([]string, 0, len(r.own))
	for k := range r.own {
		keys = append(keys, k)
	}
	r.mu.Unlock()
	var errs []error
	for _, k := range keys {
		errs = append(errs, r.remove(ctx, k))
	}
	return errors.Join(errs...)
}

// beat writes everything again, three times within its time to live and after a
// reconnection, when the bucket may be a new one.
func (r *Registry) beat(ctx context.Context) {
	ticker := time.NewTicker(RegistrationTTL / 3)
	defer ticker.Stop()
	again := make(chan struct{}, 1)
	stop := r.c.OnReconnect(func() {
		select {
		case again <- struct{}{}:
		default:
		}
	})
	defer stop()
	for {
		var retry <-chan time.Time
		if !r.beatOnce(ctx) {
			retry = time.After(beatRetry)
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		case <-retry:
		case <-again:
		}
	}
}

// beatOnce says whether all registrations could be written.
func (r *Registry) beatOnce(ctx context.Context) bool {
	r.mu.Lock()
	all := maps.Clone(r.own)
	r.mu.Unlock()
	done := true
	for key, o := range all {
		if err := r.refresh(ctx, key, o); err != nil && ctx.Err() == nil {
			r.c.log.Warn("a heartbeat failed, trying again", "key", key, "error", err)
			done = false
		}
	}
	return done
}

func (r *Registry) refresh(ctx context.Context, key string, o *own) error {
	ctx, cancel := context.WithTimeout(ctx, beatTimeout)
	defer cancel()
	o.write.Lock()
	defer o.write.Unlock()
	return r.write(ctx, key, o)
}
