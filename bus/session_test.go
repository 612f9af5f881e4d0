package bus_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/codecell/codecell/bus"
	"github.com/codecell/codecell/bus/bustest"
	"github.com/codecell/codecell/schemas"
)

func batchOf(key string, texts ...string) *schemas.SessionBatch {
	b := &schemas.SessionBatch{Key: key}
	for _, text := range texts {
		b.Entries = append(b.Entries, schemas.JSON(text))
	}
	return b
}

func openSessions(t *testing.T, c *bus.Conn) *bus.Sessions {
	t.Helper()
	s, err := bus.OpenSessions(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// readAll gives what is after a sequence, as text.
func readAll(s *bus.Sessions, key string, after uint64) (string, error) {
	var out []string
	err := s.Read(context.Background(), key, after, func(r bus.SessionRecord) error {
		switch {
		case r.Err != nil:
			out = append(out, "malformed")
		case r.At == 0 || r.Seq <= after:
			out = append(out, "without time or sequence")
		default:
			for _, e := range r.Batch.Entries {
				out = append(out, string(e))
			}
		}
		return nil
	})
	return strings.Join(out, " "), err
}

func TestSpec_T3_AppendsFollowWhatWasRead(t *testing.T) {
	c := bustest.Conn(t)
	s := openSessions(t, c)
	first, err := s.Append(t.Context(), batchOf("a b", "1", "2"), 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Append(t.Context(), batchOf("a b", "x"), 0); !errors.Is(err, bus.ErrConflict) {
		t.Errorf("an append to what has grown: %v", err)
	}
	if _, err := s.Append(t.Context(), batchOf("other", "y"), 0); err != nil {
		t.Error(err)
	}
	second, err := s.Append(t.Context(), batchOf("a b", "3"), first)
	if err != nil {
		t.Fatal(err)
	}
	for after, want := range map[uint64]string{0: "1 2 3", first: "3", second: ""} {
		if got, err := readAll(s, "a b", after); err != nil || got != want {
			t.Errorf("after %d: %q (%v), want %q", after, got, err, want)
		}
	}
	if got, err := readAll(s, "nobody", 0); err != nil || got != "" {
		t.Errorf("a session that isn't there: %q (%v)", got, err)
	}
	if _, err := readAll(s, "a b", 1000); !errors.Is(err, bus.ErrSessionsLost) {
		t.Errorf("after a message that isn't there: %v", err)
	}
	if _, err := s.Append(t.Context(), batchOf("a b", strings.Repeat("x", bus.DefaultMaxPayload)), second); !errors.Is(err, bus.ErrTooLarge) {
		t.Errorf("a batch that is too large: %v", err)
	}
	stop := errors.New("stop")
	if err := s.Read(t.Context(), "a b", 0, func(bus.SessionRecord) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("the reader's own error: %v", err)
	}
	list, err := s.List(t.Context())
	if err != nil || len(list) != 2 || list[0].Key != "a b" || list[0].Batches != 2 || list[0].Updated == 0 || list[1].Key != "other" {
		t.Errorf("%+v (%v)", list, err)
	}
}

func TestSpec_T3_LongSessionsAreReadWhole(t *testing.T) {
	s := openSessions(t, bustest.Conn(t))
	var last uint64
	var want []string
	for n := range 700 { // more than one request brings, and in between large ones
		text := fmt.Sprint(n)
		if n%100 == 0 {
			text = strings.Repeat(text+"0", 400<<10/(len(text)+1))
		}
		seq, err := s.Append(t.Context(), batchOf("s", text), last)
		if err != nil {
			t.Fatal(err)
		}
		last = seq
		want = append(want, text)
	}
	if got, err := readAll(s, "s", 0); err != nil || got != strings.Join(want, " ") {
		t.Errorf("%d bytes (%v), want %d", len(got), err, len(strings.Join(want, " ")))
	}
}

func TestSpec_B4_FalseHeadersInTheStream(t *testing.T) {
	c := bustest.Conn(t)
	s := openSessions(t, c)
	if _, err := s.Append(t.Context(), batchOf("s", "1"), 0); err != nil {
		t.Fatal(err)
	}
	body, err := schemas.Encode(batchOf("s", "2"))
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range []nats.Header{
		{"Status": {"404"}}, {"Status": {"503"}}, {"Status": {"204"}}, {"Nats-Sequence": {"1"}}, {"Nats-Sequence": {"x"}},
		{"Nats-Num-Pending": {"0"}}, {"Nats-Time-Stamp": {"yesterday"}},
	} {
		for _, b := range [][]byte{nil, body} {
			if _, err := c.JetStream().PublishMsg(t.Context(), &nats.Msg{Subject: bus.SessionSubject("s"), Header: h, Data: b}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if list, err := s.List(t.Context()); err != nil || len(list) != 1 || list[0].Key != "s" {
		t.Errorf("%+v (%v)", list, err)
	}
	got, err := readAll(s, "s", 0)
	if want := "1" + strings.Repeat(" malformed 2", 7); err != nil || got != want {
		t.Errorf("%q (%v), want %q", got, err, want)
	}
}

func TestSpec_T3_SessionsOnABusThatIsNotOurs(t *testing.T) {
	server := bustest.Server(t)
	c := bustest.Connect(t, server)
	if err := c.JetStream().DeleteStream(t.Context(), "CODECELL_SESSIONS"); err != nil {
		t.Fatal(err)
	}
	s := openSessions(t, c) // makes it
	if _, err := s.Append(t.Context(), batchOf("s", "1"), 0); err != nil {
		t.Fatal(err)
	}
	if err := c.JetStream().DeleteStream(t.Context(), "CODECELL_SESSIONS"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Append(t.Context(), batchOf("s", "1"), 0); !errors.Is(err, bus.ErrSessionsLost) {
		t.Errorf("append to a stream that is gone: %v", err)
	}
	if _, err := readAll(s, "s", 0); !errors.Is(err, bus.ErrSessionsLost) {
		t.Errorf("read of a stream that is gone: %v", err)
	}
	if _, err := s.List(t.Context()); !errors.Is(err, bus.ErrSessionsLost) {
		t.Errorf("list of a stream that is gone: %v", err)
	}
	c.Close()
	if _, err := s.Append(t.Context(), batchOf("s", "1"), 0); !errors.Is(err, bus.ErrDisconnected) {
		t.Errorf("append without a connection: %v", err)
	}
}
