package bus

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/codecell/codecell/schemas"
)

// rewatchWait is the pause before a broken watch is set up again.
const rewatchWait = time.Second

// View is a live copy of the registry.
type View struct {
	r       *Registry
	changed func([]schemas.Registration)
	cancel  context.CancelFunc
	done    chan struct{}

	mu   sync.Mutex
	seen map[string]*seen
}

// seen is one entry of the bucket.
type seen struct {
	value []byte
	reg   schemas.Registration
}

// Watch gives a view that holds all registrations when Watch returns. From then on changed,
// unless it is nil, is called with all of them after each change, one call after the other,
// on a goroutine of the view. A heartbeat is no change. Registrations that expire or are
// withdrawn are gone from the view.
func (r *Registry) Watch(ctx context.Context, changed func([]schemas.Registration)) (*View, error) {
	watching, cancel := context.WithCancel(context.Background())
	v := &View{r: r, changed: changed, cancel: cancel, done: make(chan struct{}), seen: map[string]*seen{}}
	w, err := v.begin(ctx, watching)
	if err != nil {
		cancel()
		return nil, fmt.Errorf("watch the registry: %w", err)
	}
	go v.run(watching, w)
	return v, nil
}

// All gives the registrations in the order of their keys.
func (v *View) All() []schemas.Registration {
	v.mu.Lock()
	defer v.mu.Unlock()
	all := make([]schemas.Registration, 0, len(v.seen))
	for _, k := range slices.Sorted(maps.Keys(v.seen)) {
		all = append(all, v.seen[k].reg)
	}
	return all
}

// Close ends the view. changed isn't called after it.
func (v *View) Close() {
	v.cancel()
	<-v.done
}

// begin starts a watch and reads the state that it finds. What the view knew and the bucket
// doesn't is gone.
func (v *View) begin(ctx, watching context.Context) (jetstream.KeyWatcher, error) {
	var w jetstream.KeyWatcher
	err := v.r.withBucket(ctx, func(kv jetstream.KeyValue) (err error) {
		w, err = kv.WatchAll(watching)
		return err
	})
	if err != nil {
		return nil, err
	}
	found, heard := map[string]*seen{}, map[string]bool{}
	var missing map[string]bool // nil until the first state has come
	for {
		select {
		case <-ctx.Done():
			_ = w.Stop()
			return nil, ctx.Err()
		case e, ok := <-w.Updates():
			if !ok {
				return nil, errors.New("the watch ended")
			}
			if e != nil {
				v.take(ctx, found, e)
				heard[e.Key()] = true
				delete(missing, e.Key())
			} else if missing, err = v.r.missing(ctx, heard); err != nil {
				_ = w.Stop()
				return nil, err
			}
		}
		if missing != nil && len(missing) == 0 {
			v.mu.Lock()
			v.seen = found
			v.mu.Unlock()
			return w, nil
		}
	}
}

// missing gives the keys in the bucket that a new watch hasn't heard of. An entry that is
// written while the watch starts isn't in its first state but comes right after it.
func (r *Registry) missing(ctx context.Context, heard map[string]bool) (map[string]bool, error) {
	const prefix = "$KV." + toolsBucket + "."
	s, err := r.c.js.Stream(ctx, "KV_"+toolsBucket)
	if err != nil {
		return nil, err
	}
	info, err := s.Info(ctx, jetstream.WithSubjectFilter(prefix+">"))
	if err != nil {
		return nil, err
	}
	missing := map[string]bool{}
	for subject := range info.State.Subjects {
		if key := strings.TrimPrefix(subject, prefix); !heard[key] {
			missing[key] = true
		}
	}
	return missing, nil
}

// take applies one update and says whether it changed anything.
func (v *View) take(ctx context.Context, to map[string]*seen, e jetstream.KeyValueEntry) bool {
	old := to[e.Key()]
	if e.Operation() != jetstream.KeyValuePut {
		delete(to, e.Key())
		return old != nil
	}
	if old != nil && bytes.Equal(old.value, e.Value()) {
		return false
	}
	reg, err := v.read(ctx, e)
	if err != nil {
		v.r.c.stats.malformed.Add(1)
		v.r.c.log.Warn("a registration can't be read", "key", e.Key(), "error", err)
		delete(to, e.Key())
		return old != nil
	}
	to[e.Key()] = &seen{value: e.Value(), reg: *reg}
	return true
}

func (v *View) read(ctx context.Context, e jetstream.KeyValueEntry) (*schemas.Registration, error) {
	var found entry
	if err := schemas.Decode(e.Value(), &found); err != nil {
		return nil, err
	}
	if found.Object != "" {
		whole, err := v.r.c.values.peek(ctx, found.Object)
		if err != nil {
			return nil, err
		}
		found = entry{}
		if err := schemas.Decode(whole, &found); err != nil {
			return nil, err
		}
	}
	if key := keyOf(&found.Registration); key != e.Key() {
		return nil, fmt.Errorf("it says that its key is %s", key)
	}
	return &found.Registration, nil
}

// run follows the bucket, through reconnections.
func (v *View) run(ctx context.Context, w jetstream.KeyWatcher) {
	defer close(v.done)
	again := make(chan struct{}, 1)
	stop := v.r.c.OnReconnect(func() {
		select {
		case again <- struct{}{}:
		default:
		}
	})
	defer stop()
	for ctx.Err() == nil {
		v.follow(ctx, w, again)
		_ = w.Stop()
		before := v.All()
		for ctx.Err() == nil {
			var err error
			attempt, cancel := context.WithTimeout(ctx, beatTimeout)
			w, err = v.begin(attempt, ctx)
			cancel()
			if err == nil {
				break
			}
			v.r.c.log.Warn("the registry can't be watched, trying again", "error", err)
			select {
			case <-ctx.Done():
			case <-time.After(rewatchWait):
			}
		}
		if ctx.Err() == nil {
			v.tell(before)
		}
	}
}

// follow takes updates until the watch must be set up again.
func (v *View) follow(ctx context.Context, w jetstream.KeyWatcher, again <-chan struct{}) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-again:
			return
		case e, ok := <-w.Updates():
			if !ok {
				return
			}
			if e == nil {
				continue
			}
			v.mu.Lock()
			next := maps.Clone(v.seen)
			v.mu.Unlock()
			if v.take(ctx, next, e) {
				v.mu.Lock()
				v.seen = next
				v.mu.Unlock()
				v.tell(nil)
			}
		}
	}
}

// tell calls changed, unless the view is as it was before.
func (v *View) tell(before []schemas.Registration) {
	all := v.All()
	if v.changed == nil || before != nil && sameRegistrations(before, all) {
		return
	}
	v.changed(all)
}

func sameRegistrations(x, y []schemas.Registration) bool {
	a, errA := schemas.Encode(x)
	b, errB := schemas.Encode(y)
	return errA == nil && errB == nil && bytes.Equal(a, b)
}
