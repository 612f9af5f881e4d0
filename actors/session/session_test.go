package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/codecell/codecell/bus"
	"github.com/codecell/codecell/bus/bustest"
	"github.com/codecell/codecell/schemas"
)

// openStore gives a store on a server, which ends with the test.
func openStore(t testing.TB, server *bus.Server) (*Store, *bus.Conn) {
	t.Helper()
	conn := bustest.Connect(t, server)
	s, err := Open(t.Context(), conn, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		late, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = s.Close(late) // a test may leave it in trouble
	})
	return s, conn
}

func bind(t testing.TB, s *Store, key string) *Session {
	t.Helper()
	session, err := s.Session(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	return session
}

// commitNow commits, and gives what the program would be told.
func commitNow(s *Session, writes ...schemas.StoreWrite) error {
	told := make(chan error, 1)
	s.Commit("cell", writes, func(err error) { told <- err })
	return <-told
}

// flushed waits until everything before is kept.
func flushed(t testing.TB, s *Session) {
	t.Helper()
	if err := commitNow(s, schemas.StoreWrite{Key: "flushed"}); err != nil {
		t.Fatal(err)
	}
}

func branchOf(t testing.TB, s *Store, key, entry string) *Branch {
	t.Helper()
	b, err := s.Branch(t.Context(), key, entry)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func said(b *Branch) string {
	var out []string
	for i := range b.Entries {
		if m := b.Entries[i].Message; m != nil {
			var text string
			_ = json.Unmarshal(m.Content, &text)
			out = append(out, text)
		}
	}
	return strings.Join(out, " ")
}

func say(text string) schemas.SessionEntry { return message("", "", text) }

func TestSpec_T3_AppendsInOrder(t *testing.T) {
	server := bustest.Server(t)
	store, _ := openStore(t, server)
	s := bind(t, store, "chat with ünïcode and spaces")
	const n = 500
	var want []string
	for i := range n {
		s.Append(say(fmt.Sprint(i)))
		want = append(want, fmt.Sprint(i))
	}
	flushed(t, s)
	b := branchOf(t, store, s.key, "")
	if said(b) != strings.Join(want, " ") {
		t.Errorf("the transcript is %s", said(b))
	}
	parent := ""
	for _, e := range b.Entries {
		if e.Parent != parent || e.ID == "" || e.At == 0 {
			t.Fatalf("entry %+v follows %q", e, parent)
		}
		parent = e.ID
	}
	infos, err := store.List(t.Context())
	if err != nil || len(infos) != 1 || infos[0].Key != s.key || infos[0].Updated == 0 {
		t.Fatalf("%+v (%v)", infos, err)
	}
	// One message at a time is on its way, and takes what has gathered.
	if infos[0].Appends >= n/2 {
		t.Errorf("%d entries took %d messages", n, infos[0].Appends)
	}
	if p := store.Problems(); len(p) != 0 {
		t.Errorf("problems: %v", p)
	}
}

func TestSpec_T2_CommitShowsInValuesWhenItIsDone(t *testing.T) {
	store, _ := openStore(t, bustest.Server(t))
	s := bind(t, store, "s")
	before := s.Values()
	if err := commitNow(s, write("a", "1"), schemas.StoreWrite{Key: "b", Value: schemas.JSON(`"<&>"`), Untrusted: true}); err != nil {
		t.Fatal(err)
	}
	if got := s.Values(); string(got["a"].Value) != "1" || !got["b"].Untrusted || string(got["b"].Value) != `"<&>"` || len(before) != 0 {
		t.Errorf("values %v, before %v", got, before)
	}
	if err := commitNow(s, schemas.StoreWrite{Key: "a"}, write("n", "null"), write("big", "12345678901234567890")); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"b": `"<&>"`, "n": "null", "big": "12345678901234567890"}
	if got := plain(s.Values()); !maps.Equal(got, want) {
		t.Errorf("values %v, want %v", got, want)
	}
	if err := commitNow(s); err != nil {
		t.Errorf("nothing to commit: %v", err)
	}
	again, _ := openStore(t, bustest.Server(t)) // another bus has other sessions
	if got := bind(t, again, "s").Values(); len(got) != 0 {
		t.Errorf("values of another bus: %v", got)
	}
}

func TestSpec_T1_LimitsAreCheckedAtCommit(t *testing.T) {
	server := bustest.Server(t)
	store, _ := openStore(t, server)
	other, _ := openStore(t, server)
	s, o := bind(t, store, "s"), bind(t, other, "s")
	large := `"` + strings.Repeat("x", schemas.MaxStoreValue-2) + `"`
	// 768 KiB in one go take more than one message, and count as one commit.
	if err := commitNow(s, write("1", large), write("2", large), write("3", large)); err != nil {
		t.Fatal(err)
	}
	for name, writes := range map[string][]schemas.StoreWrite{
		"of the key":  {write("", "1")},
		"long key":    {write(strings.Repeat("x", schemas.MaxStoreKey+1), "1")},
		"large value": {write("k", `"`+strings.Repeat("x", schemas.MaxStoreValue)+`"`)},
		"all of it":   {write("4", large), write("5", large)},
	} {
		if err := commitNow(s, append(writes, write("harmless", "1"))...); err == nil || !strings.Contains(err.Error(), ":") {
			t.Errorf("%s: committed, or told nothing: %v", name, err)
		}
	}
	if got := s.Values(); len(got) != 3 {
		t.Errorf("a commit that failed has left %d values", len(got))
	}
	// The other host doesn't know yet what there is: it finds out when it commits.
	if len(o.Values()) != 0 {
		t.Fatal("the other host knows already")
	}
	if err := commitNow(o, write("4", large), write("5", large)); err == nil || !strings.Contains(err.Error(), "other programs of the session") {
		t.Errorf("over the limit together with another host's: %v", err)
	}
	if got := o.Values(); len(got) != 3 {
		t.Errorf("the other host sees %d values", len(got))
	}
	// What is over the limit by others' doing can still shrink, and be replaced.
	if err := commitNow(o, schemas.StoreWrite{Key: "1"}, write("2", "1"), write("2", large), write("4", large)); err != nil {
		t.Error(err)
	}
}

func TestSpec_T3_TwoHostsAppendBehindEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // a slow machine must not end the patience of commits
		server := bustest.Server(t)
		const hosts, each = 3, 60
		var working sync.WaitGroup
		for h := range hosts {
			store, _ := openStore(t, server)
			s := bind(t, store, "s")
			working.Go(func() {
				for i := range each {
					s.Append(say(fmt.Sprintf("%d:%d", h, i)))
					if err := commitNow(s, write(fmt.Sprintf("%d:%d", h, i), "1"), write("last", fmt.Sprint(h))); err != nil {
						t.Error(err)
					}
				}
			})
		}
		working.Wait()
		store, _ := openStore(t, server)
		b := branchOf(t, store, "s", "")
		if len(b.Entries) != 2*hosts*each || len(b.Values) != hosts*each+1 || b.Bad != 0 {
			t.Errorf("%d entries, %d values, %d bad", len(b.Entries), len(b.Values), b.Bad)
		}
		next := map[string]int{}
		for word := range strings.SplitSeq(said(b), " ") {
			h, i, _ := strings.Cut(word, ":")
			if i != fmt.Sprint(next[h]) {
				t.Fatalf("host %s says %s, want %d", h, i, next[h])
			}
			next[h]++
		}
	})
}

func TestSpec_B4_GarbageOnASessionsSubject(t *testing.T) {
	server := bustest.Server(t)
	store, conn := openStore(t, server)
	s := bind(t, store, "s")
	s.Append(say("before"))
	flushed(t, s)
	bustest.RandomBytes(t, conn, bus.SessionSubject("s"), bus.SessionSubject("garbage only"))
	foreign, err := schemas.Encode(&schemas.SessionBatch{Key: "other", Entries: []schemas.JSON{[]byte(`{"id":"x","kind":"message","message":{}}`)}})
	if err == nil {
		err = conn.NATS().Publish(bus.SessionSubject("s"), foreign)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := conn.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.Append(say("after"))
	if err := commitNow(s, write("k", "1")); err != nil {
		t.Fatal(err)
	}
	b := branchOf(t, store, "s", "")
	if said(b) != "before after" || b.Bad == 0 || plain(b.Values)["k"] != "1" {
		t.Errorf("the branch says %q, %d bad", said(b), b.Bad)
	}
	if p := strings.Join(store.Problems(), "\n"); !strings.Contains(p, "can't be read") {
		t.Errorf("problems: %q", p)
	}
	infos, err := store.List(t.Context())
	if err != nil || len(infos) != 2 || infos[1].Key != "s" || infos[1].Problem != "" || infos[0].Problem == "" {
		t.Errorf("%+v (%v)", infos, err)
	}
	fresh, _ := openStore(t, server)
	if got := plain(bind(t, fresh, "s").Values()); got["k"] != "1" {
		t.Errorf("another host sees %v", got)
	}
	if _, err := bind(t, fresh, "garbage only").Values(), commitNow(bind(t, fresh, "garbage only"), write("k", "1")); err != nil {
		t.Error(err)
	}
}

func TestSpec_U6_WhatDoesntFitIsCounted(t *testing.T) {
	store, _ := openStore(t, bustest.Server(t))
	s := bind(t, store, "s")
	s.Append(say("before"), message("", "", strings.Repeat("x", 2<<20)), say("after"))
	s.Append(schemas.SessionEntry{Kind: schemas.EntryMessage, Message: &schemas.MessageEntry{Content: schemas.JSON("{not JSON")}})
	flushed(t, s)
	if got := said(branchOf(t, store, "s", "")); got != "before after" {
		t.Errorf("the branch says %q", got)
	}
	if p := strings.Join(store.Problems(), "\n"); !strings.Contains(p, "2 entries of sessions are lost") {
		t.Errorf("problems: %q", p)
	}
}

func TestSpec_T3_KeysAreChecked(t *testing.T) {
	store, _ := openStore(t, bustest.Server(t))
	for _, key := range []string{"", strings.Repeat("x", 257)} {
		_, err := store.Session(t.Context(), key)
		refuses(t, err, "identity.sessionKey")
	}
	if one, two := bind(t, store, "a"), bind(t, store, "a"); one != two {
		t.Error("two who hold a session at once hold different ones")
	}
}

func TestSpec_T3_ClosedStoreTakesNothing(t *testing.T) {
	store, _ := openStore(t, bustest.Server(t))
	s := bind(t, store, "s")
	s.Append(say("in time"))
	if err := store.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := said(branchOf(t, store, "s", "")); got != "in time" {
		t.Errorf("after Close the branch says %q", got)
	}
	s.Append(say("late"))
	if err := commitNow(s, write("k", "1")); err == nil {
		t.Error("committed after Close")
	}
	if p := strings.Join(store.Problems(), "\n"); !strings.Contains(p, "1 entries of sessions are lost") || !strings.Contains(p, errClosed.Error()) {
		t.Errorf("problems: %q", p)
	}
	if errors.Is(store.ctx.Err(), nil) {
		t.Error("writers may still run")
	}
}
