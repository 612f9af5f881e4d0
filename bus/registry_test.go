package bus_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/codecell/codecell/bus"
	"github.com/codecell/codecell/bus/bustest"
	"github.com/codecell/codecell/schemas"
)

// registry opens a registry that ends with the test.
func registry(t *testing.T, c *bus.Conn) *bus.Registry {
	t.Helper()
	r, err := bus.OpenRegistry(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		_ = r.Close(ctx) // the connection may be gone on purpose
	})
	return r
}

// watch gives a view and a channel of what it saw: the owners of all registrations.
func watch(t *testing.T, r *bus.Registry) (*bus.View, <-chan string) {
	t.Helper()
	changes := make(chan string, 100)
	v, err := r.Watch(t.Context(), func(all []schemas.Registration) { changes <- owners(all) })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(v.Close)
	return v, changes
}

func owners(all []schemas.Registration) string {
	var names []string
	for _, r := range all {
		names = append(names, fmt.Sprintf("%s/%s:%d", r.Owner, r.Executor, len(r.Tools)))
	}
	return strings.Join(names, " ")
}

func expect(t *testing.T, changes <-chan string, want string) {
	t.Helper()
	timeout := time.After(30 * time.Second)
	for {
		select {
		case got := <-changes:
			if got == want {
				return
			}
			t.Logf("passed by: %q", got)
		case <-timeout:
			t.Fatalf("never saw %q", want)
		}
	}
}

func offer(owner, executor string, tools, size int) schemas.Registration {
	r := schemas.Registration{Executor: executor, Source: schemas.SourceMCP, Owner: owner}
	for i := range tools {
		r.Tools = append(r.Tools, schemas.Tool{Name: fmt.Sprint(i), Description: strings.Repeat("d", size)})
	}
	return r
}

func put(t *testing.T, r *bus.Registry, reg schemas.Registration) {
	t.Helper()
	if err := r.Put(t.Context(), reg); err != nil {
		t.Fatal(err)
	}
}

func TestRegistry_Life(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := bustest.Server(t)
		host, executor := bustest.Connect(t, s), bustest.Connect(t, s)
		theirs := registry(t, executor)
		put(t, theirs, offer("early", "e1", 1, 10))
		v, changes := watch(t, registry(t, host))
		if got := owners(v.All()); got != "early/e1:1" {
			t.Fatalf("the first view is %q", got)
		}
		put(t, theirs, offer("fs", "e1", 2, 10))
		expect(t, changes, "early/e1:1 fs/e1:2")
		put(t, theirs, offer("fs", "e1", 3, 10))
		expect(t, changes, "early/e1:1 fs/e1:3")
		// 300 tools are more than a message holds; they outlive the time to live of their object.
		put(t, theirs, offer("large", "e1", 300, 8000))
		expect(t, changes, "early/e1:1 fs/e1:3 large/e1:300")
		time.Sleep(time.Hour) // virtual: many heartbeats
		select {
		case c := <-changes:
			t.Fatalf("heartbeats changed the view to %q", c)
		default:
		}
		late, _ := watch(t, registry(t, host))
		if got := owners(late.All()); got != "early/e1:1 fs/e1:3 large/e1:300" {
			t.Fatalf("after an hour a new view is %q", got)
		}
		if err := theirs.Remove(t.Context(), schemas.SourceMCP, "early", "e1"); err != nil {
			t.Fatal(err)
		}
		expect(t, changes, "fs/e1:3 large/e1:300")
		// The executor dies without a word.
		start := time.Now()
		executor.Close()
		expect(t, changes, "")
		if d := time.Since(start); d > 2*bus.RegistrationTTL {
			t.Errorf("a dead executor was seen for %v", d)
		}
	})
}

func TestRegistry_CloseWithdraws(t *testing.T) {
	s := bustest.Server(t)
	_, changes := watch(t, registry(t, bustest.Connect(t, s)))
	r := registry(t, bustest.Connect(t, s))
	put(t, r, offer("a", "e", 1, 1))
	put(t, r, offer("b", "e", 1, 1))
	expect(t, changes, "a/e:1 b/e:1")
	if err := r.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	expect(t, changes, "")
}

func TestSpec_B4_RegistryIgnoresGarbage(t *testing.T) {
	s := bustest.Server(t)
	c := bustest.Connect(t, s)
	kv, err := c.JetStream().KeyValue(t.Context(), "codecell_tools")
	if err != nil {
		t.Fatal(err)
	}
	posing, err := schemas.Encode(&schemas.Registration{Owner: "core", Executor: "e"})
	if err != nil {
		t.Fatal(err)
	}
	for key, value := range map[string][]byte{"mcp-x.e": {0xdd, 0xff, 0xff, 0xff, 0xff}, "mcp-y.e": []byte("hello"), "mcp-z.e": posing} {
		if _, err := kv.Put(t.Context(), key, value); err != nil {
			t.Fatal(err)
		}
	}
	r := registry(t, c)
	put(t, r, offer("good", "e", 1, 1))
	v, _ := watch(t, r)
	if got := owners(v.All()); got != "good/e:1" {
		t.Errorf("the view is %q", got)
	}
}

// TestSpec_U1_ServerRestart: a server in memory comes back empty, and registrations,
// watches and subscriptions are there again.
func TestSpec_U1_ServerRestart(t *testing.T) {
	quiet := slog.New(slog.DiscardHandler)
	var second *bus.Server
	t.Cleanup(func() { // after all that uses it
		if second != nil {
			second.Close()
		}
	})
	first, err := bus.Start(t.Context(), bus.ServerOptions{Listen: "127.0.0.1:0", Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	d := newDoor(t)
	d.lead(strings.TrimPrefix(first.URL(), "nats://"))
	connect := func() *bus.Conn {
		c, err := bus.Dial(t.Context(), bus.Options{URLs: []string{d.url()}, Logger: quiet})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.Close)
		return c
	}
	host, executor := connect(), connect()
	defer echo(t, executor, "echo").Close()
	_, changes := watch(t, registry(t, host))
	put(t, registry(t, executor), offer("fs", "e", 1, 1))
	expect(t, changes, "fs/e:1")
	again := make(chan struct{}, 2)
	for _, c := range []*bus.Conn{host, executor} {
		stop := c.OnReconnect(func() { again <- struct{}{} })
		defer stop()
	}
	d.lead("")
	first.Close()
	if second, err = bus.Start(t.Context(), bus.ServerOptions{Listen: "127.0.0.1:0", Logger: quiet}); err != nil {
		t.Fatal(err)
	}
	d.lead(strings.TrimPrefix(second.URL(), "nats://"))
	<-again
	<-again
	put(t, registry(t, host), offer("new", "h", 1, 1))
	expect(t, changes, "fs/e:1 new/h:1")
	if a, err := callEcho(t, host, `1`); err != nil || string(a.Value) != "1" {
		t.Errorf("a call after the restart: %v, %v", a, err)
	}
}
