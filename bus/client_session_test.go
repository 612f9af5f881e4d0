package bus_test

import (
	"testing"

	"github.com/codecell/codecell/bus"
	"github.com/codecell/codecell/schemas"
)

// TestSpec_V3_Session checks what Go programs ask for in few words: each Do and Wait is a call of its own, with the
// identity that the session was opened with.
func TestSpec_V3_Session(t *testing.T) {
	server, err := bus.Start(t.Context(), bus.ServerOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	conn, err := server.Connect("test")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)

	host := bus.NewHostID()
	run, cell := bus.NewRunID(host), bus.NewRunID(host)
	identities, execs, waits := make(chan schemas.Identity, 4), make(chan schemas.Exec, 4), make(chan schemas.Wait, 4)
	serve := func(_ *bus.Subscription, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	serve(bus.Serve(conn, bus.OpenSubject(), "", func(r *bus.Request[schemas.Open, schemas.Opened]) {
		identities <- r.Body.Identity
		_ = r.Respond(&schemas.Opened{Host: host, Run: run})
	}))
	serve(bus.Serve(conn, bus.ExecSubject(host, run), "", func(r *bus.Request[schemas.Exec, schemas.Result]) {
		execs <- r.Body
		_ = r.Respond(&schemas.Result{Status: schemas.StatusWaiting, RunID: cell})
	}))
	for _, id := range []string{cell, "nonsense"} {
		serve(bus.Serve(conn, bus.WaitSubject(host, id), "", func(r *bus.Request[schemas.Wait, schemas.Result]) {
			waits <- r.Body
			_ = r.Respond(&schemas.Result{Status: schemas.StatusCompleted})
		}))
	}

	session, err := bus.NewClient(conn).Session(t.Context(), "me")
	if err != nil {
		t.Fatal(err)
	}
	if id := <-identities; id != session.Identity || id.Agent != schemas.DefaultAgent || id.SessionKey != "me" || id.SessionID == "" || id.Run == "" {
		t.Errorf("opened as %+v, kept %+v", id, session.Identity)
	}
	calls := map[string]bool{}
	for range 2 {
		result, err := session.Do(t.Context(), "A \"title\"", "return `<\n>`")
		if err != nil || result.RunID != cell {
			t.Fatalf("%+v, %v", result, err)
		}
		got := <-execs
		in, refused := schemas.ParseExecInput(got.Input)
		if refused != nil || in.Title != "A \"title\"" || in.Code != "return `<\n>`" {
			t.Errorf("input %s: %+v, %v", got.Input, in, refused)
		}
		if _, err := session.Wait(t.Context(), result.RunID); err != nil {
			t.Fatal(err)
		}
		wait := <-waits
		if wait.Identity != session.Identity || wait.RunID != cell {
			t.Errorf("waited with %+v", wait)
		}
		calls[got.CallID], calls[wait.CallID] = true, true
	}
	if len(calls) != 4 || calls[""] {
		t.Errorf("call ids %v: want four of their own", calls)
	}
	// What names no host is for the run's own (W3), if it can be asked at all.
	if _, err := session.WaitAs(t.Context(), "call-1", "nonsense"); err != nil {
		t.Fatal(err)
	}
	if wait := <-waits; wait.RunID != "nonsense" || wait.CallID != "call-1" || wait.Identity != session.Identity {
		t.Errorf("asked the run's host with %+v", wait)
	}
	if result, err := session.Wait(t.Context(), "non sense"); err != nil || result.Code != schemas.InvalidInput {
		t.Errorf("wait for nonsense: %+v, %v", result, err)
	}
}
