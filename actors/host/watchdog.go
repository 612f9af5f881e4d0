package host

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/codecell/codecell/bus"
	"github.com/codecell/codecell/schemas"
)

const (
	// watchEvery is how often executors that hold calls are asked whether they are alive.
	watchEvery = time.Second
	// watchTimeout is how long an executor may take to say so, and silences how often in a row
	// it may fail to.
	watchTimeout = 2 * time.Second
	silences     = 3
	// acceptWithin is how long a call may go without a word: an executor that has it says so within
	// a fraction of this. Beyond it the message is lost.
	acceptWithin = 5 * time.Second
	// answerWithin is how long the answer of a call that its executor no longer holds may be on its way:
	// a large one is stored and fetched first.
	answerWithin = 40 * time.Second
)

// watchdog finds calls whose executor is gone: delivery is at most once, so a lost call must be
// ended by whoever waits for it. A dead executor is noticed at once when it is asked, since
// nobody listens on its subject any more.
type watchdog struct {
	h      *Host
	silent map[string]int          // unanswered questions in a row, by executor
	gone   map[flightKey]time.Time // calls that their executor no longer holds, and since when
	cancel context.CancelFunc
	done   sync.WaitGroup
}

func startWatchdog(h *Host) *watchdog {
	ctx, cancel := context.WithCancel(context.Background())
	w := &watchdog{h: h, silent: make(map[string]int), gone: make(map[flightKey]time.Time), cancel: cancel}
	w.done.Go(func() { w.run(ctx) })
	return w
}

func (w *watchdog) close() {
	w.cancel()
	w.done.Wait()
}

func (w *watchdog) run(ctx context.Context) {
	ticker := time.NewTicker(watchEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-w.h.conn.Lost():
			w.h.fail(cmp.Or(w.h.conn.Err(), bus.ErrDisconnected))
			return
		case <-ticker.C:
			w.look(ctx)
		}
	}
}

// look asks every executor that holds calls, all at once.
func (w *watchdog) look(ctx context.Context) {
	held, unaccepted := w.h.flights.held(time.Now().Add(-acceptWithin))
	for _, key := range unaccepted {
		w.h.lose(key, "no executor has said that it took the call")
	}
	for executor := range w.silent {
		if held[executor] == nil {
			delete(w.silent, executor)
		}
	}
	var asking sync.WaitGroup
	words := make(chan word, len(held))
	for executor, keys := range held {
		asking.Go(func() { words <- w.ask(ctx, executor, keys) })
	}
	asking.Wait()
	close(words)
	if ctx.Err() != nil {
		return
	}
	before := w.gone
	w.gone = make(map[flightKey]time.Time)
	for said := range words {
		w.take(said, before)
	}
}

// word is what an executor said of the calls that it should hold.
type word struct {
	executor string
	keys     []flightKey
	// dead: nobody listens. silent: no answer in time. gone: calls that it doesn't hold.
	dead, silent bool
	gone         []flightKey
}

func (w *watchdog) take(said word, before map[flightKey]time.Time) {
	if !said.silent {
		delete(w.silent, said.executor)
	}
	switch {
	case said.dead:
		w.loseAll(said.keys, "the executor that held the call is gone")
	case said.silent:
		if w.silent[said.executor]++; w.silent[said.executor] >= silences {
			w.loseAll(said.keys, "the executor that held the call doesn't answer any more")
		}
	}
	for _, key := range said.gone {
		since, known := before[key]
		if !known {
			since = time.Now()
		}
		if time.Since(since) < answerWithin {
			w.gone[key] = since
			continue
		}
		w.h.lose(key, "the executor no longer holds the call and its answer was lost")
	}
}

// ask asks one executor about the calls that it holds.
func (w *watchdog) ask(ctx context.Context, executor string, keys []flightKey) word {
	ctx, cancel := context.WithTimeout(ctx, watchTimeout)
	defer cancel()
	said := word{executor: executor, keys: keys}
	names := make([]string, len(keys))
	byName := make(map[string]flightKey, len(keys))
	for i, key := range keys {
		names[i] = key.cell + "." + key.call
		byName[names[i]] = key
	}
	pong, err := bus.Ask[schemas.Pong](ctx, w.h.conn, bus.ExecutorSubject(executor), &schemas.Ping{Calls: names})
	if err != nil {
		said.dead = errors.Is(err, bus.ErrNoResponders)
		said.silent = !said.dead
		return said
	}
	for _, name := range pong.Gone {
		if key, ok := byName[name]; ok {
			said.gone = append(said.gone, key)
		}
	}
	return said
}

func (w *watchdog) loseAll(keys []flightKey, why string) {
	for _, key := range keys {
		w.h.lose(key, why)
	}
}
