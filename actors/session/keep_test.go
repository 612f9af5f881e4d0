package session

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/codecell/codecell/bus/bustest"
	"github.com/codecell/codecell/schemas"
)

// Whoever keeps an entry hears that it is kept, or why it isn't, within a bounded time.
func TestSpec_T3_KeepTellsWhatBecameOfIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, conn := openStore(t, bustest.Server(t))
		s := bind(t, store, "s")
		id, err := s.Keep(t.Context(), say("one"))
		if b := branchOf(t, store, "s", ""); err != nil || b.Head != id || said(b) != "one" {
			t.Errorf("%s, %v: the branch says %q", id, err, said(b))
		}
		if _, err := s.Keep(t.Context(), say(strings.Repeat("x", 2<<20))); err == nil || !strings.Contains(err.Error(), "too large") {
			t.Errorf("an entry that is too large: %v", err)
		}
		if p := store.Problems(); len(p) != 0 {
			t.Errorf("what somebody was told is counted as lost: %v", p)
		}
		resize(t, conn, 1)
		start := time.Now()
		if _, err := s.Keep(t.Context(), say("two")); err == nil || !strings.Contains(err.Error(), "has not taken it within 10s") || !strings.Contains(err.Error(), "maximum bytes") {
			t.Errorf("a full store: %v", err)
		}
		if took := time.Since(start); took != keepPatience {
			t.Errorf("it was told after %v", took)
		}
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := s.Keep(short, say("three")); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a caller without patience: %v", err)
		}
		resize(t, conn, 1<<20)
		if _, err := s.Keep(t.Context(), say("four")); err != nil {
			t.Error(err)
		}
		if got := said(branchOf(t, store, "s", "")); got != "one two three four" {
			t.Errorf("when there is room again the branch says %q", got)
		}
		resize(t, conn, 1)
		told := make(chan error, 1)
		go func() {
			_, err := s.Keep(context.WithoutCancel(t.Context()), say("five"))
			told <- err
		}()
		synctest.Wait()
		closing, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := store.Close(closing); err != nil {
			t.Errorf("Close tells of what its owner was told: %v", err)
		}
		if err := <-told; err == nil || time.Since(start) > time.Minute {
			t.Error("a closed store has kept an entry")
		}
		if _, err := s.Keep(t.Context(), say("six")); err == nil {
			t.Error("a closed store takes entries")
		}
	})
}

// Messages of many that talk into one session at once are all there, each once.
func TestSpec_T3_KeepAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // a slow machine must not end the patience of keeping
		server := bustest.Server(t)
		a, _ := openStore(t, server)
		b, _ := openStore(t, server)
		const each = 50
		var talking sync.WaitGroup
		for n, store := range []*Store{a, b} {
			for i := range each {
				talking.Go(func() {
					text := fmt.Sprintf("%d.%d", n, i)
					if _, err := store.Say(t.Context(), "s", "", schemas.NewMessage(schemas.RoleUser, schemas.Said{Text: text})); err != nil {
						t.Error(err)
					}
				})
			}
		}
		talking.Wait()
		seen := map[string]int{}
		for text := range strings.FieldsSeq(said(branchOf(t, a, "s", ""))) {
			seen[text]++
		}
		for text, n := range seen {
			if n != 1 {
				t.Errorf("%s is there %d times", text, n)
			}
		}
		if len(seen) != 2*each {
			t.Errorf("%d messages are there", len(seen))
		}
	})
}
