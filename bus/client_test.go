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

// fakeHost serves the subjects of a cell host with fixed answers.
func fakeHost(t testing.TB, c *bus.Conn, host string) (run string) {
	t.Helper()
	run = bus.NewRunID(host)
	check := func(_ *bus.Subscription, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	status := func(r *bus.Request[schemas.StatusAsk, schemas.HostStatus]) {
		_ = r.Respond(&schemas.HostStatus{Host: host})
	}
	check(bus.Serve(c, bus.OpenSubject(), bus.HostQueue, func(r *bus.Request[schemas.Open, schemas.Opened]) {
		if r.Body.Identity.SessionID == "" {
			_ = r.Respond(&schemas.Opened{Err: schemas.Refuse("sessionId", "sessionId is missing")})
			return
		}
		_ = r.Respond(&schemas.Opened{Host: host, Run: run})
	}))
	check(bus.Serve(c, bus.OnHost(bus.ExecSubject, host), "", func(r *bus.Request[schemas.Exec, schemas.Result]) {
		if r.Body.CallID != "hang" {
			_ = r.Respond(&schemas.Result{Status: schemas.StatusCompleted, Value: r.Body.Input})
		}
	}))
	check(bus.Serve(c, bus.OnHost(bus.WaitSubject, host), "", func(r *bus.Request[schemas.Wait, schemas.Result]) {
		_ = r.Respond(&schemas.Result{Status: schemas.StatusWaiting, RunID: r.Body.RunID})
	}))
	check(bus.Serve(c, bus.OnHost(bus.CancelSubject, host), "", func(r *bus.Request[schemas.Cancel, schemas.Ack]) {
		_ = r.Respond(&schemas.Ack{Err: schemas.Refuse("runId", "no such cell")})
	}))
	check(bus.Serve(c, bus.OnHost(bus.CloseSubject, host), "", func(r *bus.Request[schemas.Close, schemas.Ack]) { _ = r.Respond(&schemas.Ack{}) }))
	check(bus.Serve(c, bus.OnHost(bus.DescribeSubject, host), "", func(r *bus.Request[schemas.Describe, schemas.Described]) {
		_ = r.Respond(&schemas.Described{Problems: []string{"none"}})
	}))
	check(bus.Serve(c, bus.OnHost(bus.SearchSubject, host), "", func(r *bus.Request[schemas.Search, schemas.Found]) {
		_ = r.Respond(&schemas.Found{Hits: []schemas.CatalogEntry{{ToolName: r.Body.Query}}})
	}))
	check(bus.Serve(c, bus.HostsSubject(), "", status))
	check(bus.Serve(c, bus.StatusSubject(host), "", status))
	return run
}

var me = schemas.Identity{Agent: "default", SessionID: "s"}

// All hosts are asked in virtual time: how long nobody answers must not depend on the machine.
func TestClient(t *testing.T) { synctest.Test(t, testClient) }

func testClient(t *testing.T) {
	s := bustest.Server(t)
	client := bus.NewClient(bustest.Connect(t, s))
	if _, err := client.Open(t.Context(), schemas.Open{Identity: me}); !errors.Is(err, schemas.RuntimeUnavailable) {
		t.Errorf("open without a host: %v, want runtime_unavailable", err)
	}
	if hosts, err := client.Hosts(t.Context()); err != nil || len(hosts) != 0 {
		t.Errorf("hosts without a host: %v, %v", hosts, err)
	}
	host := "aaaaaaaaaa"
	id := fakeHost(t, bustest.Connect(t, s), host)
	if _, err := client.Open(t.Context(), schemas.Open{}); !errors.Is(err, schemas.InvalidInput) {
		t.Errorf("open without a session: %v, want the host's refusal", err)
	}
	run, err := client.Open(t.Context(), schemas.Open{Identity: me})
	if err != nil || run.Host != host || run.ID != id {
		t.Fatalf("open: %+v, %v", run, err)
	}
	if r, err := run.Exec(t.Context(), schemas.Exec{Input: schemas.JSON(`{"title":"t"}`)}); err != nil || string(r.Value) != `{"title":"t"}` {
		t.Errorf("exec: %+v, %v", r, err)
	}
	if d, err := run.Describe(t.Context()); err != nil || len(d.Problems) != 1 {
		t.Errorf("describe: %+v, %v", d, err)
	}
	if f, err := run.Search(t.Context(), schemas.Search{Query: "q"}); err != nil || f.Hits[0].ToolName != "q" {
		t.Errorf("search: %+v, %v", f, err)
	}
	if r, err := client.Wait(t.Context(), schemas.Wait{RunID: id}); err != nil || r.RunID != id {
		t.Errorf("wait: %+v, %v", r, err)
	}
	if r, err := client.Wait(t.Context(), schemas.Wait{RunID: "nonsense"}); err != nil || r.Code != schemas.InvalidInput {
		t.Errorf("wait for nonsense: %+v, %v, want a failed result", r, err)
	}
	if err := client.Cancel(t.Context(), id, schemas.Cancel{}); !errors.Is(err, schemas.InvalidInput) {
		t.Errorf("cancel: %v, want the host's refusal", err)
	}
	if err := run.Close(t.Context(), "done"); err != nil {
		t.Errorf("close: %v", err)
	}
	fakeHost(t, bustest.Connect(t, s), "bbbbbbbbbb")
	if hosts, err := client.Hosts(t.Context()); err != nil || len(hosts) != 2 || hosts[0].Host != host || hosts[1].Host != "bbbbbbbbbb" {
		t.Errorf("hosts: %+v, %v", hosts, err)
	}
	if st, err := client.Status(t.Context(), "bbbbbbbbbb"); err != nil || st.Host != "bbbbbbbbbb" {
		t.Errorf("status: %+v, %v", st, err)
	}
}

// TestSpec_U5_VanishedOwner: an owner that is gone is told at once, and one that goes while
// it works soon.
func TestSpec_U5_VanishedOwner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := bustest.Server(t)
		client := bus.NewClient(bustest.Connect(t, s))
		owner, err := s.Connect("owner")
		if err != nil {
			t.Fatal(err)
		}
		id := fakeHost(t, owner, "aaaaaaaaaa")
		run, err := client.Open(t.Context(), schemas.Open{Identity: me})
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		time.AfterFunc(5*time.Minute, owner.Close)
		r, err := run.Exec(t.Context(), schemas.Exec{CallID: "hang"})
		if err != nil || r.Code != schemas.RuntimeUnavailable || r.Status != schemas.StatusFailed || !strings.Contains(r.Error, "may have run") {
			t.Errorf("exec on a host that died: %+v, %v", r, err)
		}
		if d := time.Since(start) - 5*time.Minute; d < 0 || d > 5*time.Second {
			t.Errorf("noticed after %v", d)
		}
		start = time.Now()
		r, err = client.Wait(t.Context(), schemas.Wait{RunID: id})
		if err != nil || r.Code != schemas.RuntimeUnavailable || time.Since(start) != 0 || !strings.Contains(r.Error, "was not started") {
			t.Errorf("wait on a host that is gone: %+v, %v after %v", r, err, time.Since(start))
		}
		if err := client.Cancel(t.Context(), id, schemas.Cancel{}); !errors.Is(err, schemas.RuntimeUnavailable) {
			t.Errorf("cancel: %v", err)
		}
		if _, err := client.Status(t.Context(), "aaaaaaaaaa"); !errors.Is(err, schemas.RuntimeUnavailable) {
			t.Errorf("status: %v", err)
		}
	})
}

// TestSpec_U5_VanishedBus: who asks learns that nothing can come any more.
func TestSpec_U5_VanishedBus(t *testing.T) {
	for name, vanish := range map[string]func(*bus.Server, *bus.Conn){
		"the server ends": func(s *bus.Server, _ *bus.Conn) { s.Close() },
		"the server ends the connection": func(_ *bus.Server, c *bus.Conn) {
			_ = c.NATS().Publish(strings.Repeat("x", 5000), nil)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := bustest.Server(t)
				conn, err := s.Connect("client")
				if err != nil {
					t.Fatal(err)
				}
				defer conn.Close()
				owner, err := s.Connect("owner")
				if err != nil {
					t.Fatal(err)
				}
				defer owner.Close()
				fakeHost(t, owner, "aaaaaaaaaa")
				run, err := bus.NewClient(conn).Open(t.Context(), schemas.Open{Identity: me})
				if err != nil {
					t.Fatal(err)
				}
				start := time.Now()
				time.AfterFunc(time.Minute, func() { vanish(s, conn) })
				r, err := run.Exec(t.Context(), schemas.Exec{CallID: "hang"})
				if err != nil || r.Code != schemas.RuntimeUnavailable || !strings.Contains(r.Error, "may have run") {
					t.Errorf("got %+v, %v", r, err)
				}
				if d := time.Since(start) - time.Minute; d < 0 || d > 20*time.Second {
					t.Errorf("noticed after %v", d)
				}
			})
		})
	}
}

func TestClient_ContextEndsARequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := bustest.Server(t)
		client := bus.NewClient(bustest.Connect(t, s))
		fakeHost(t, bustest.Connect(t, s), "aaaaaaaaaa")
		run, err := client.Open(t.Context(), schemas.Open{Identity: me})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := run.Exec(ctx, schemas.Exec{CallID: "hang"}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want the deadline", err)
		}
	})
}

func TestSpec_U4_Watch(t *testing.T) {
	s := bustest.Server(t)
	client := bus.NewClient(bustest.Connect(t, s))
	if _, err := client.Watch(t.Context(), "$SYS.>"); !errors.Is(err, schemas.InvalidInput) {
		t.Errorf("a filter outside of the feed: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	events, err := client.Watch(ctx, bus.Facts("cell"), bus.Facts("slot", "taken"))
	if err != nil {
		t.Fatal(err)
	}
	c := bustest.Connect(t, s)
	f := bus.NewFeed(c)
	at := schemas.Address{Host: "h", Run: "r", Cell: "c"}
	f.Publish(&schemas.CallSent{Address: at, Call: "1"}) // filtered out
	f.Publish(&schemas.CellStarted{Address: at, Title: "one"})
	f.Publish(&schemas.SlotTaken{Host: "h", Held: 3})
	if err := f.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := c.NATS().Publish(bus.Prefix+"feed.cell.unheard.h.c", nil); err != nil {
		t.Fatal(err)
	}
	var got []bus.Event
	for e := range events {
		if got = append(got, e); len(got) == 3 {
			cancel()
		}
	}
	if len(got) != 3 {
		t.Fatalf("%d events, want 3", len(got))
	}
	if e, ok := got[0].Fact.(*schemas.CellStarted); !ok || e.Title != "one" {
		t.Errorf("first: %+v", got[0])
	}
	if e, ok := got[1].Fact.(*schemas.SlotTaken); !ok || e.Held != 3 {
		t.Errorf("second: %+v", got[1])
	}
	if got[2].Err == nil || got[2].Fact != nil {
		t.Errorf("an unknown kind: %+v, want an error", got[2])
	}
}
