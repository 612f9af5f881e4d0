package bus_test

import (
	"context"
	"errors"
	"sync/atomic"
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
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
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

func TestSpec_U6_LargeValue(t *testing.T) {
	c := bustest.Conn(t)
	defer echo(t, c, "echo").Close()
	for _, n := range []int{100, 2 << 20, 100, 9 << 20, 100} {
		args := `"` + string(make([]byte, n)) + `"`
		a, err := callEcho(t, c, args)
		if err != nil {
			t.Fatalf("%d bytes: %v", n, err)
		}
		if string(a.Value) != args {
			t.Fatalf("%d bytes: came back changed", n)
		}
	}
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

func TestRegistry_ExpiryIsSeen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := bustest.Server(t)
		watcher := bustest.Connect(t, s)
		r, err := bus.OpenRegistry(t.Context(), watcher)
		if err != nil {
			t.Fatal(err)
		}
		var changes atomic.Int32
		changed := make(chan int, 10)
		v, err := r.Watch(t.Context(), func(all []schemas.Registration) { changes.Add(1); changed <- len(all) })
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close(t.Context())
		defer v.Close()

		dying := bustest.Connect(t, s)
		r2, err := bus.OpenRegistry(t.Context(), dying)
		if err != nil {
			t.Fatal(err)
		}
		if err := r2.Put(t.Context(), schemas.Registration{Executor: "e", Source: schemas.SourceMCP, Owner: "fs", Tools: []schemas.Tool{{Name: "read"}}}); err != nil {
			t.Fatal(err)
		}
		if n := <-changed; n != 1 {
			t.Fatalf("%d registrations, want 1", n)
		}
		time.Sleep(10 * bus.RegistrationTTL) // virtual
		if changes.Load() != 1 {
			t.Fatalf("%d changes, want 1: heartbeats are none", changes.Load())
		}
		dying.Close()
		if n := <-changed; n != 0 {
			t.Fatalf("%d registrations, want 0 after the executor died", n)
		}
		r2.Close(t.Context())
	})
}
