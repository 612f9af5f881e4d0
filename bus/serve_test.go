package bus_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/codecell/codecell/bus"
	"github.com/codecell/codecell/bus/bustest"
	"github.com/codecell/codecell/schemas"
)

// echo serves a tool that answers with its arguments.
func echo(t testing.TB, c *bus.Conn, name string) *bus.Subscription {
	t.Helper()
	s, err := bus.Serve(c, bus.ToolSubject(schemas.SourceNative, "core", name), "q", func(r *bus.Request[schemas.Call, schemas.Answer]) {
		if err := r.Respond(&schemas.Answer{ID: r.Body.ID, State: schemas.AnswerDone, Value: r.Body.Args}); err != nil {
			t.Error(err)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func callEcho(t testing.TB, c *bus.Conn, args string) (*schemas.Answer, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	return bus.Ask[schemas.Answer](ctx, c, bus.ToolSubject(schemas.SourceNative, "core", "echo"), &schemas.Call{ID: "1", Args: schemas.JSON(args)})
}

func TestCase83_RequestRightAfterServe(t *testing.T) {
	s := bustest.Server(t)
	server, client := bustest.Connect(t, s), bustest.Connect(t, s)
	for range 1000 {
		sub := echo(t, server, "echo")
		if _, err := callEcho(t, client, `{}`); err != nil {
			t.Fatal(err)
		}
		sub.Close()
		if err := server.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := callEcho(t, client, `{}`); !errors.Is(err, bus.ErrNoResponders) {
		t.Errorf("with the responder gone: %v, want ErrNoResponders", err)
	}
}

func TestBubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := bustest.Conn(t)
		sub, err := bus.Serve(c, bus.ExecSubject("h", "r"), "", func(*bus.Request[schemas.Exec, schemas.Result]) {})
		if err != nil {
			t.Fatal(err)
		}
		defer sub.Close()
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		start := time.Now()
		_, err = bus.Ask[schemas.Result](ctx, c, bus.ExecSubject("h", "r"), &schemas.Exec{})
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != time.Hour {
			t.Errorf("got %v after %v, want a deadline after exactly one hour", err, time.Since(start))
		}
	})
}

func TestSpec_U2_Replies(t *testing.T) {
	c := bustest.Conn(t)
	replies := make(chan *bus.Reply, 10)
	sub, err := bus.Replies(c, "h", func(r *bus.Reply) { replies <- r })
	if err != nil {
		t.Fatal(err)
	}
	defer sub.Close()
	subject := bus.ToolSubject(schemas.SourceNative, "core", "echo")
	if err := c.Publish(subject, bus.ReplySubject("h", "c", "7"), &schemas.Call{ID: "7"}); err != nil {
		t.Fatal(err)
	}
	if r := <-replies; !r.NoResponders || r.Cell != "c" || r.Call != "7" || !errors.Is(r.Err, bus.ErrNoResponders) {
		t.Errorf("got %+v, want no responders for call 7 of cell c", r)
	}
	defer echo(t, c, "echo").Close()
	if err := c.Publish(subject, bus.ReplySubject("h", "c", "8"), &schemas.Call{ID: "8", Args: schemas.JSON(`1`)}); err != nil {
		t.Fatal(err)
	}
	if r := <-replies; r.Err != nil || r.Call != "8" || string(r.Answer.Value) != "1" {
		t.Errorf("got %+v, want the answer of call 8", r)
	}
}

func TestServe_MalformedIsAnswered(t *testing.T) {
	c := bustest.Conn(t)
	never := func(*bus.Request[schemas.Exec, schemas.Result]) { t.Error("a malformed message reached the handler") }
	exec, err := bus.Serve(c, bus.ExecSubject("h", "r"), "", never)
	if err != nil {
		t.Fatal(err)
	}
	defer exec.Close()
	found, err := bus.Serve(c, bus.SearchSubject("h", "r"), "", func(*bus.Request[schemas.Search, schemas.Found]) {
		t.Error("a malformed message reached the handler")
	})
	if err != nil {
		t.Fatal(err)
	}
	defer found.Close()
	defer echo(t, c, "echo").Close()

	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	wrong := schemas.Registration{Tools: []schemas.Tool{{Name: "x"}}}
	raw := func(subject string) []byte {
		t.Helper()
		m, err := c.NATS().RequestWithContext(ctx, subject, []byte{0xdd, 0xff, 0xff, 0xff, 0xff})
		if err != nil {
			t.Fatal(err)
		}
		return m.Data
	}
	var result schemas.Result
	if err := schemas.Decode(raw(bus.ExecSubject("h", "r")), &result); err != nil || result.Status != schemas.StatusFailed || result.Code != schemas.InvalidInput {
		t.Errorf("exec: %+v, %v", result, err)
	}
	var hits schemas.Found
	if err := schemas.Decode(raw(bus.SearchSubject("h", "r")), &hits); err != nil || !errors.Is(hits.Err, schemas.InvalidInput) {
		t.Errorf("search: %+v, %v", hits, err)
	}
	var answer schemas.Answer
	if err := schemas.Decode(raw(bus.ToolSubject(schemas.SourceNative, "core", "echo")), &answer); err != nil || answer.Err == nil || answer.Err.Effect != schemas.NotStarted {
		t.Errorf("call: %+v, %v", answer, err)
	}
	if n := c.Stats().Malformed; n != 3 {
		t.Errorf("%d malformed messages counted, want 3", n)
	}
	// A message of another type is no danger either: unknown fields are skipped.
	if _, err := bus.Ask[schemas.Answer](ctx, c, bus.ToolSubject(schemas.SourceNative, "core", "echo"), &wrong); err != nil {
		t.Error(err)
	}
}

func TestSubscription_Drain(t *testing.T) {
	s := bustest.Server(t)
	c, other := bustest.Connect(t, s), bustest.Connect(t, s)
	hold, handled := make(chan struct{}), make(chan struct{}, 100)
	sub, err := bus.Listen(c, bus.StopsOf("core"), "", func(string, *schemas.Stop) { <-hold; handled <- struct{}{} })
	if err != nil {
		t.Fatal(err)
	}
	for range 10 {
		if err := other.Publish(bus.StopSubject("core", "h", "c", "1"), "", &schemas.Stop{}); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []*bus.Conn{other, c} {
		if err := c.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	expired, cancel := context.WithCancel(t.Context())
	cancel()
	drained := make(chan error, 1)
	go func() { drained <- sub.Drain(t.Context()) }()
	close(hold)
	if err := <-drained; err != nil || len(handled) != 10 {
		t.Errorf("drained with %v after %d messages, want all 10", err, len(handled))
	}

	held := make(chan struct{})
	sub, err = bus.Listen(c, bus.StopsOf("core"), "", func(string, *schemas.Stop) { <-held })
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Publish(bus.StopSubject("core", "h", "c", "1"), "", &schemas.Stop{}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []*bus.Conn{other, c} {
		if err := c.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if err := sub.Drain(expired); !errors.Is(err, context.Canceled) {
		t.Errorf("a handler that hangs: %v, want ctx's error", err)
	}
	close(held)
}

// TestSpec_B4_HostileBytes: whatever comes on whatever subject, nothing panics, and all of
// it works afterwards.
func TestSpec_B4_HostileBytes(t *testing.T) {
	s := bustest.Server(t)
	c, attacker := bustest.Connect(t, s), bustest.Connect(t, s)
	var subjects []string
	serve := func(subject string, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		subjects = append(subjects, subject)
	}
	_, err := bus.Serve(c, bus.OpenSubject(), bus.HostQueue, func(r *bus.Request[schemas.Open, schemas.Opened]) { _ = r.Respond(&schemas.Opened{}) })
	serve(bus.OpenSubject(), err)
	_, err = bus.Serve(c, bus.ExecSubject("h", "r"), "", func(r *bus.Request[schemas.Exec, schemas.Result]) { _ = r.Respond(&schemas.Result{}) })
	serve(bus.ExecSubject("h", "r"), err)
	_, err = bus.Serve(c, bus.CancelSubject("h", "r"), "", func(r *bus.Request[schemas.Cancel, schemas.Ack]) { _ = r.Respond(&schemas.Ack{}) })
	serve(bus.CancelSubject("h", "r"), err)
	_, err = bus.Serve(c, bus.ExecutorSubject("e"), "", func(r *bus.Request[schemas.Ping, schemas.Pong]) { _ = r.Respond(&schemas.Pong{}) })
	serve(bus.ExecutorSubject("e"), err)
	_, err = bus.Replies(c, "h", func(*bus.Reply) {})
	serve(bus.ReplySubject("h", "c", "1"), err)
	_, err = bus.Listen(c, bus.StopsOf("core"), "", func(string, *schemas.Stop) {})
	serve(bus.StopSubject("core", "h", "c", "1"), err)
	echo(t, c, "echo")
	serve(bus.ToolSubject(schemas.SourceNative, "core", "echo"), nil)
	events, err := bus.NewClient(c).Watch(t.Context())
	serve(bus.Prefix+"feed.cell.ended.h.c", err)
	subjects = append(subjects, bus.Prefix+"feed.cell.unknown.h.c", bus.Prefix+"feed.x")
	r := bustest.Record(t, s)

	bustest.RandomBytes(t, attacker, subjects...)
	if a, err := callEcho(t, attacker, `1`); err != nil || string(a.Value) != "1" {
		t.Errorf("afterwards: %v, %v", a, err)
	}
	if c.Stats().Malformed == 0 || !strings.Contains(r.Transcript(t), "malformed") {
		t.Error("nothing was found malformed")
	}
	n := 0
	for e := range events {
		if n++; n == 50 {
			break
		}
		if e.Err == nil && e.Fact == nil {
			t.Errorf("event %+v says nothing", e)
		}
	}
}
