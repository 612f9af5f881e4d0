package bustest_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/codecell/codecell/bus"
	"github.com/codecell/codecell/bus/bustest"
	"github.com/codecell/codecell/schemas"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m, bustest.Clock()) }

// TestRecorder runs the same conversation twice, with other ids, and expects one transcript.
func TestRecorder(t *testing.T) {
	const want = `open ? Open {identity:"default/s/main/turn-1"}
= open Opened {host:"host1" run:"run1"}
exec.host1.run1 ? Exec {call_id:"toolu_1" input:{"title":"t"}}
feed.call.sent.host1.cell1.1 CallSent {at:* address:{host:"host1" run:"run1" cell:"cell1"} call:"1" source:"openclaw" owner:"core" tool:"read"}
tool.core.read ? Call {id:"1" address:{host:"host1" run:"run1" cell:"cell1"} source:"openclaw" owner:"core" tool:"read" args:{"path":"a"} parent_id:"toolu_1"}
reply.host1.cell1.1 nobody listens
= exec.host1.run1 Result {status:"waiting" run_id:"cell1" pending:[{id:"1" kind:"call" state:"sent"}]}
executor.executor1 ? Ping {calls:["cell1.1"]}
= executor.executor1 nobody listens
codecell.v1.nonsense not in the table: 3 bytes
`
	for range 2 {
		s := bustest.Server(t)
		r := bustest.Record(t, s)
		host, client := bustest.Connect(t, s), bustest.Connect(t, s)
		converse(t, host, client)
		if got := r.Transcript(t); got != want {
			t.Errorf("got:\n%s\nwant:\n%s", got, want)
		}
	}
}

func converse(t *testing.T, host, client *bus.Conn) {
	t.Helper()
	id := bus.NewHostID()
	run, cell := bus.NewRunID(id), bus.NewRunID(id)
	at := schemas.Address{Host: id, Run: run, Cell: cell}
	_, err := bus.Serve(host, bus.OpenSubject(), bus.HostQueue, func(r *bus.Request[schemas.Open, schemas.Opened]) {
		_ = r.Respond(&schemas.Opened{Host: id, Run: run})
	})
	if err != nil {
		t.Fatal(err)
	}
	replied := make(chan struct{})
	if _, err := bus.Replies(host, id, func(*bus.Reply) { close(replied) }); err != nil {
		t.Fatal(err)
	}
	_, err = bus.Serve(host, bus.ExecSubject(id, run), "", func(r *bus.Request[schemas.Exec, schemas.Result]) {
		f := bus.NewFeed(host)
		f.Publish(&schemas.CallSent{At: 7, Address: at, Call: "1", Source: schemas.SourceNative, Owner: "core", Tool: "read"})
		go func() {
			if err := f.Close(t.Context()); err != nil {
				t.Error(err)
			}
			_ = host.Publish(bus.ToolSubject(schemas.SourceNative, "core", "read"), bus.ReplySubject(id, cell, "1"), &schemas.Call{
				ID: "1", Address: at, Source: schemas.SourceNative, Owner: "core", Tool: "read", Args: schemas.JSON(`{"path":"a"}`), ParentID: r.Body.CallID})
			<-replied
			_ = r.Respond(&schemas.Result{Status: schemas.StatusWaiting, RunID: cell, Pending: []schemas.PendingCall{{ID: "1", Kind: "call", State: "sent"}}})
		}()
	})
	if err != nil {
		t.Fatal(err)
	}
	c := bus.NewClient(client)
	open, err := c.Open(t.Context(), schemas.Open{Identity: schemas.Identity{Agent: "default", SessionID: "s", SessionKey: "main", Run: "turn-1"}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := open.Exec(t.Context(), schemas.Exec{CallID: "toolu_1", Input: schemas.JSON(`{"title":"t"}`)}); err != nil {
		t.Fatal(err)
	}
	_, _ = bus.Ask[schemas.Pong](t.Context(), client, bus.ExecutorSubject(bus.NewExecutorID()), &schemas.Ping{Calls: []string{cell + ".1"}})
	if err := client.NATS().Publish("codecell.v1.nonsense", []byte("abc")); err != nil {
		t.Fatal(err)
	}
	if err := client.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
}
