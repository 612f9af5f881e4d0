package bus_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/codecell/codecell/bus"
	"github.com/codecell/codecell/bus/bustest"
	"github.com/codecell/codecell/schemas"
)

func text(n int) string { return `"` + strings.Repeat("x", n) + `"` }

func TestCase84_LargeValues(t *testing.T) {
	for name, o := range map[string]bus.ServerOptions{"default": {}, "small payload": {MaxPayload: 64 << 10}, "files": {StoreDir: t.TempDir()}} {
		t.Run(name, func(t *testing.T) {
			s := bustest.Start(t, o)
			server, client := bustest.Connect(t, s), bustest.Connect(t, s)
			defer echo(t, server, "echo").Close()
			for _, n := range []int{10, 2 << 20, 10, 9 << 20, 10} {
				a, err := callEcho(t, client, text(n))
				if err != nil {
					t.Fatalf("%d bytes: %v", n, err)
				}
				if string(a.Value) != text(n) {
					t.Fatalf("%d bytes came back changed", n)
				}
			}
			waitEmpty(t, client)
		})
	}
}

// waitEmpty waits until no value is left in the store: each is removed when it arrives.
func waitEmpty(t *testing.T, c *bus.Conn) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	store, err := c.JetStream().ObjectStore(ctx, "codecell_values")
	if err != nil {
		t.Fatal(err)
	}
	w, err := store.Watch(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = w.Stop() }()
	left, initial := map[string]bool{}, true
	for initial || len(left) > 0 {
		select {
		case o := <-w.Updates():
			switch {
			case o == nil:
				initial = false
			case o.Deleted:
				delete(left, o.Name)
			default:
				left[o.Name] = true
			}
		case <-ctx.Done():
			t.Fatalf("%d values are left in the store", len(left))
		}
	}
}

func TestSpec_U6_OverTheLimitIsRefusedAtTheSender(t *testing.T) {
	s := bustest.Start(t, bus.ServerOptions{Listen: "127.0.0.1:0"})
	c := dial(t, s, bus.Options{MaxValueBytes: 3 << 20})
	defer echo(t, c, "echo").Close()
	if _, err := callEcho(t, c, text(4<<20)); !errors.Is(err, bus.ErrTooLarge) {
		t.Errorf("request: %v, want ErrTooLarge", err)
	}
	err := c.Publish("some.subject", "", &schemas.Answer{Value: schemas.JSON(text(4 << 20))})
	if !errors.Is(err, bus.ErrTooLarge) || !strings.Contains(err.Error(), "some.subject") {
		t.Errorf("publish: %v, want ErrTooLarge", err)
	}
	// What a program reads of it has the sizes, and not the subject (E2).
	if why := bus.Reason(err); strings.Contains(why, "subject") || !strings.Contains(why, "message too large: 41943") || !strings.Contains(why, "at most 3145728") {
		t.Errorf("the reason is %q", why)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := bus.Ask[schemas.Answer](gone, c, "some.subject", &schemas.Call{}); bus.Reason(err) != context.Canceled.Error() {
		t.Errorf("the reason of %v is %q", err, bus.Reason(err))
	}
	if _, err := callEcho(t, c, `1`); err != nil {
		t.Errorf("a small request after it: %v", err)
	}
	// A receiver with a smaller limit than the sender's says so instead of leaving the sender to a timeout.
	if _, err := callEcho(t, bustest.Connect(t, s), text(5<<20)); err != nil {
		t.Errorf("the error must come as an answer: %v", err)
	} else if a, _ := callEcho(t, bustest.Connect(t, s), text(5<<20)); a.Err == nil || !strings.Contains(a.Err.Message, "too large") {
		t.Errorf("got %+v, want an answer that says too large", a.Err)
	}
}

// TestSpec_U6_StoreFails: a large answer that can't be stored is an error at the receiver.
func TestSpec_U6_StoreFails(t *testing.T) {
	c := bustest.Conn(t)
	defer echo(t, c, "echo").Close()
	replies := make(chan *bus.Reply, 1)
	sub, err := bus.Replies(c, "h", func(r *bus.Reply) { replies <- r })
	if err != nil {
		t.Fatal(err)
	}
	defer sub.Close()
	// A bucket without room.
	if err := c.JetStream().DeleteObjectStore(t.Context(), "codecell_values"); err != nil {
		t.Fatal(err)
	}
	if _, err := c.JetStream().CreateObjectStore(t.Context(), jetstream.ObjectStoreConfig{Bucket: "codecell_values", Storage: jetstream.MemoryStorage, MaxBytes: 4096}); err != nil {
		t.Fatal(err)
	}
	if err := c.Publish(bus.ReplySubject("h", "c", "1"), "", &schemas.Answer{ID: "1", Value: schemas.JSON(text(2 << 20))}); err != nil {
		t.Fatal(err)
	}
	if r := <-replies; !errors.Is(r.Err, bus.ErrMalformed) || r.Call != "1" {
		t.Errorf("got %+v, want an error for call 1", r)
	}
}

func TestSpec_U6_StoreIsMadeAgain(t *testing.T) {
	c := bustest.Conn(t)
	defer echo(t, c, "echo").Close()
	if _, err := callEcho(t, c, text(2<<20)); err != nil {
		t.Fatal(err)
	}
	if err := c.JetStream().DeleteObjectStore(t.Context(), "codecell_values"); err != nil {
		t.Fatal(err)
	}
	if _, err := callEcho(t, c, text(2<<20)); err != nil {
		t.Errorf("after the bucket was lost: %v", err)
	}
}

func TestSpec_B4_ValueHeaderReachesOnlyValues(t *testing.T) {
	c := bustest.Conn(t)
	defer echo(t, c, "echo").Close()
	store, err := c.JetStream().ObjectStore(t.Context(), "codecell_values")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store.PutBytes(t.Context(), "r-precious", []byte("x")); err != nil {
		t.Fatal(err)
	}
	m := nats.NewMsg(bus.ToolSubject(schemas.SourceNative, "core", "echo"))
	m.Header.Set("Codecell-Value", "r-precious")
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if _, err := c.NATS().RequestMsgWithContext(ctx, m); err != nil {
		t.Fatal(err)
	}
	if _, err := store.GetInfo(t.Context(), "r-precious"); err != nil {
		t.Errorf("another's object: %v", err)
	}
}

// A server ends the connection of a client that sends it a long line, so no name that comes from
// elsewhere may make one.
func TestSpec_B4_LongNamesDontEndTheConnection(t *testing.T) {
	s := bustest.Server(t)
	server, client := bustest.Connect(t, s), bustest.Connect(t, s)
	defer echo(t, server, "echo").Close()
	long := strings.Repeat("a", 5000)
	for _, name := range []string{"v-" + long, "v-", "v-*", "v-" + strings.Repeat("A", 26), long} {
		m := nats.NewMsg(bus.ToolSubject(schemas.SourceNative, "core", "echo"))
		m.Header.Set("Codecell-Value", name)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		if _, err := client.NATS().RequestMsgWithContext(ctx, m); err != nil {
			t.Fatalf("a value named %.10s…: %v", name, err)
		}
	}
	if _, err := bus.Ask[schemas.Pong](t.Context(), server, bus.ExecutorSubject(long+long), &schemas.Ping{}); !errors.Is(err, bus.ErrNoResponders) {
		t.Errorf("a long id: %v, want ErrNoResponders", err)
	}
	if a, err := callEcho(t, client, `1`); err != nil || string(a.Value) != "1" {
		t.Errorf("afterwards: %v, %v", a, err)
	}
}
