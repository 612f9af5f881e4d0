package session

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/codecell/codecell/bus"
	"github.com/codecell/codecell/bus/bustest"
	"github.com/codecell/codecell/schemas"
)

const streamName = "CODECELL_SESSIONS"

// resize changes how much the stream may hold.
func resize(t testing.TB, conn *bus.Conn, size int64) {
	t.Helper()
	stream, err := conn.JetStream().Stream(t.Context(), streamName)
	if err != nil {
		t.Fatal(err)
	}
	config := stream.CachedInfo().Config
	config.MaxBytes = size
	if _, err := conn.JetStream().UpdateStream(t.Context(), config); err != nil {
		t.Fatal(err)
	}
}

func TestSpec_S6_Case87_FullStoreKeepsWhatIsAcknowledged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, conn := openStore(t, bustest.Server(t))
		s := bind(t, store, "s")
		s.Append(say("before"))
		if err := commitNow(s, write("k", "1")); err != nil {
			t.Fatal(err)
		}
		resize(t, conn, 4<<10)
		long := strings.Repeat("x", 4<<10)
		s.Append(say(long))
		start := time.Now()
		if err := commitNow(s, write("k", "2")); err == nil || !strings.Contains(err.Error(), "has not taken it") || !strings.Contains(err.Error(), "store it again") {
			t.Errorf("a full store: %v", err)
		}
		if took := time.Since(start); took < commitPatience || took > 2*commitPatience {
			t.Errorf("the commit was answered after %v", took)
		}
		if got := plain(s.Values()); got["k"] != "1" {
			t.Errorf("the values are %v after a commit that failed", got)
		}
		s.Append(say("behind it"))
		time.Sleep(time.Minute) // virtual: long enough for the pauses to have grown
		p := strings.Join(store.Problems(), "\n")
		if !strings.Contains(p, `session "s": 2 entries wait`) || !strings.Contains(p, "maximum bytes exceeded") {
			t.Errorf("problems: %q", p)
		}
		resize(t, conn, 1<<20)
		time.Sleep(2 * lastRetry) // virtual: the next attempt comes within the longest pause
		if got := said(branchOf(t, store, "s", "")); got != "before "+long+" behind it" {
			t.Errorf("when there is room again the branch says %.100q", got)
		}
		if p := store.Problems(); len(p) != 0 {
			t.Errorf("problems: %v", p)
		}
		if err := commitNow(s, write("k", "3")); err != nil || plain(s.Values())["k"] != "3" {
			t.Errorf("%v, %v", err, plain(s.Values()))
		}
	})
}

func TestSpec_T3_LostStreamIsTrouble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, conn := openStore(t, bustest.Server(t))
		s := bind(t, store, "s")
		if err := commitNow(s, write("k", "1")); err != nil {
			t.Fatal(err)
		}
		if err := conn.JetStream().DeleteStream(t.Context(), streamName); err != nil {
			t.Fatal(err)
		}
		trouble := func(when string) {
			t.Helper()
			s.Append(say("later"))
			if err := commitNow(s, write("k", "2")); err == nil {
				t.Error(when + ": committed")
			}
			if p := strings.Join(store.Problems(), "\n"); !strings.Contains(p, "are gone from the bus") {
				t.Errorf("%s: problems: %q", when, p)
			}
			if got := plain(s.Values()); !maps.Equal(got, map[string]string{"k": "1"}) {
				t.Errorf("%s: the values are %v", when, got)
			}
		}
		trouble("without the stream")
		if _, err := store.List(t.Context()); err == nil {
			t.Error("a missing stream is a list of no sessions")
		}
		if _, err := store.Branch(t.Context(), "s", ""); err == nil || strings.Contains(err.Error(), "there is no session") {
			t.Errorf("a missing stream has no session: %v", err)
		}
		if _, err := store.Session(t.Context(), "other"); err == nil {
			t.Error("a missing stream begins sessions")
		}
		// An empty stream in its place doesn't make it better: the session had entries.
		if _, err := conn.JetStream().CreateStream(t.Context(), jetstream.StreamConfig{
			Name: streamName, Subjects: []string{bus.AllSessions()}, Storage: jetstream.MemoryStorage, AllowDirect: true,
		}); err != nil {
			t.Fatal(err)
		}
		trouble("with an empty stream")
	})
}

func TestSpec_T3_QueueIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, conn := openStore(t, bustest.Server(t))
		s := bind(t, store, "s")
		resize(t, conn, 1)
		chunk := strings.Repeat("x", 512<<10)
		const n = 40 // 20 MiB
		for range n {
			s.Append(say(chunk))
		}
		synctest.Wait()
		waiting, _, _ := s.status()
		if waiting*len(chunk) > queueBytes || waiting < queueBytes/len(chunk)-1 {
			t.Errorf("%d entries of %d bytes wait", waiting, len(chunk))
		}
		p := strings.Join(store.Problems(), "\n")
		if !strings.Contains(p, fmt.Sprintf("%d entries of sessions are lost", n-waiting)) {
			t.Errorf("problems: %q", p)
		}
		large := `"` + strings.Repeat("x", 250<<10) + `"`
		if err := commitNow(s, write("k", large), write("l", large), write("m", large)); err == nil || !strings.Contains(err.Error(), "too much waits") {
			t.Errorf("a commit that doesn't fit: %v", err)
		}
		closing, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := store.Close(closing); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("%d entries", waiting)) {
			t.Errorf("Close says %v", err)
		}
	})
}

// TestSpec_T2_CommitWhoseAnswerIsLost cuts the way back: the commit lands, and nobody says so.
func TestSpec_T2_CommitWhoseAnswerIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, _ := openStore(t, bustest.Server(t))
		s := bind(t, store, "s")
		if err := commitNow(s, write("k", "1")); err != nil {
			t.Fatal(err)
		}
		// What a lost answer leaves behind: the batch is in the stream, and the writer doesn't know.
		c := newCommit("cell", []schemas.StoreWrite{write("k", "2")}, nil)
		told := make(chan error, 1)
		c.done = func(err error) { told <- err }
		e := c.parts[0]
		e.Parent = s.state.head
		text := entryText(t, &e)
		if _, err := store.sessions.Append(t.Context(), &schemas.SessionBatch{Key: "s", Entries: []schemas.JSON{text}}, s.state.last); err != nil {
			t.Fatal(err)
		}
		s.turn.Lock()
		s.unsure = true
		s.turn.Unlock()
		c.tried = true
		s.enqueue(&item{commit: c, bytes: 1})
		if err := <-told; err != nil || plain(s.Values())["k"] != "2" {
			t.Errorf("%v, %v", err, plain(s.Values()))
		}
		if b := branchOf(t, store, "s", ""); len(b.Entries) != 2 {
			t.Errorf("it was made %d times", len(b.Entries)-1)
		}
	})
}

func TestSpec_T3_BusThatRestarts(t *testing.T) {
	o := bus.ServerOptions{Listen: "127.0.0.1:0", StoreDir: t.TempDir()}
	server, front := bustest.Start(t, o), newFront(t)
	front.lead(server)
	conn, err := bus.Dial(t.Context(), bus.Options{URLs: []string{front.url}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	store, err := Open(t.Context(), conn, nil)
	if err != nil {
		t.Fatal(err)
	}
	s := bind(t, store, "s")
	s.Append(say("before"))
	if err := commitNow(s, write("k", "1")); err != nil {
		t.Fatal(err)
	}
	front.lead(nil)
	server.Close()
	s.Append(say("meanwhile"))
	told := make(chan error, 1)
	c := newCommit("cell", []schemas.StoreWrite{write("k", "2")}, func(err error) { told <- err })
	c.deadline = time.Now().Add(time.Minute) // how long a start takes is the machine's
	s.enqueue(&item{commit: c, bytes: 1})
	front.lead(bustest.Start(t, o))
	if err := <-told; err != nil {
		t.Errorf("the commit began before the bus was back, and ended so: %v", err)
	}
	if err := store.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if got := said(branchOf(t, store, "s", "")); got != "before meanwhile" || plain(s.Values())["k"] != "2" {
		t.Errorf("the branch says %q, the values are %v", got, plain(s.Values()))
	}
}
