package bus_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/codecell/codecell/bus"
	"github.com/codecell/codecell/bus/bustest"
	"github.com/codecell/codecell/schemas"
)

// serve answers calls of the node as the test says, sealed with a key.
func (n *aNode) serve(conn *bus.Conn, key *bus.NodeKey, answer func(*schemas.NodeCall) *schemas.NodeOutcome) {
	n.t.Helper()
	sub, err := bus.Serve(conn, bus.NodeSubject(n.key.ID()), "", func(r *bus.Request[schemas.NodeCall, schemas.Sealed]) {
		outcome := answer(&r.Body)
		if outcome == nil {
			return
		}
		sealed, err := key.Answer(outcome)
		if err != nil {
			n.t.Error(err)
			return
		}
		if err := r.Respond(sealed); err != nil {
			n.t.Error(err)
		}
	})
	if err != nil {
		n.t.Fatal(err)
	}
	n.t.Cleanup(sub.Close)
}

func echoes(call *schemas.NodeCall) *schemas.NodeOutcome {
	return &schemas.NodeOutcome{Call: call.ID, Value: call.Params}
}

// wantCallError wants a failure with an effect.
func wantCallError(t *testing.T, err error, effect schemas.Outcome, text string) {
	t.Helper()
	e, ok := errors.AsType[*schemas.CallError](err)
	if !ok || e.Effect != effect || !strings.Contains(e.Message, text) {
		t.Errorf("%+v, want an effect of %s and %q", err, effect, text)
	}
}

// invoked starts a call that a node holds, and gives how it ends.
func invoked(t *testing.T, ctx context.Context, book *bus.NodeBook, theirs *bus.Conn, n *aNode) (held chan *schemas.NodeCall, end chan error) {
	t.Helper()
	held, end = make(chan *schemas.NodeCall, 10), make(chan error, 1)
	n.serve(theirs, n.key, func(call *schemas.NodeCall) *schemas.NodeOutcome { held <- call; return nil })
	go func() {
		_, err := book.Invoke(ctx, n.key.ID(), "a.b", nil, time.Minute)
		end <- err
	}()
	return held, end
}

func next[T any](t *testing.T, from <-chan T) (v T) {
	t.Helper()
	select {
	case v = <-from:
	case <-time.After(20 * time.Second): // real: only a failing test waits so long
		t.Fatal("nothing comes")
	}
	return v
}

func TestSpec_N2_OnlyPairedNodesAreCalled(t *testing.T) {
	conn := bustest.Conn(t)
	book := bus.NewNodeBook(conn)
	n := announce(t, conn, newNodeKey(t), "mac")
	n.serve(conn, n.key, echoes)
	invoke := func() (schemas.JSON, error) {
		return book.Invoke(t.Context(), n.key.ID(), "a.b", schemas.JSON(`{"n":12345678901234567890}`), time.Minute)
	}
	_, err := invoke()
	wantCallError(t, err, schemas.NotStarted, "is paired")
	n.pair(book)
	if v, err := invoke(); err != nil || string(v) != `{"n":12345678901234567890}` {
		t.Errorf("%s %v", v, err)
	}
	if _, err := book.Invoke(t.Context(), "../x", "a.b", nil, time.Minute); err == nil {
		t.Error("a call of a node that is none")
	}
	large := schemas.JSON(`{"text":"` + strings.Repeat("x", 2<<20) + `"}`) // above the payload limit
	if v, err := book.Invoke(t.Context(), n.key.ID(), "a.b", large, time.Minute); err != nil || len(v) != len(large) {
		t.Errorf("%d bytes, %v", len(v), err)
	}
	if err := book.Revoke(t.Context(), n.key.ID(), ""); err != nil {
		t.Fatal(err)
	}
	_, err = invoke()
	wantCallError(t, err, schemas.NotStarted, "is paired")
}

// A node that isn't there is told at once, and so is one that dies or is revoked in the middle.
func TestSpec_N2_LostNodes(t *testing.T) {
	server := bustest.Server(t)
	conn, theirs := bustest.Connect(t, server), bustest.Connect(t, server)
	book := bus.NewNodeBook(conn)
	n := announce(t, theirs, newNodeKey(t), "mac")
	n.pair(book)
	_, err := book.Invoke(t.Context(), n.key.ID(), "a.b", nil, time.Hour)
	wantCallError(t, err, schemas.NotStarted, "isn't connected")

	held, end := invoked(t, t.Context(), book, theirs, n)
	next(t, held)
	if err := book.Revoke(t.Context(), n.key.ID(), ""); err != nil {
		t.Fatal(err)
	}
	wantCallError(t, next(t, end), schemas.Unknown, "isn't paired any more")
	if call := next(t, held); !call.Withdrawn {
		t.Errorf("%+v, want a withdrawal", call)
	}

	other := announce(t, theirs, newNodeKey(t), "pc")
	other.pair(book)
	held, end = invoked(t, t.Context(), book, theirs, other)
	next(t, held)
	theirs.Close()
	wantCallError(t, next(t, end), schemas.Unknown, "it is gone")
	other.lost, n.lost = true, true
}

func TestSpec_N2_CallsEnd(t *testing.T) {
	conn := bustest.Conn(t)
	book := bus.NewNodeBook(conn)
	n := announce(t, conn, newNodeKey(t), "mac")
	n.pair(book)
	ctx, cancel := context.WithCancel(t.Context())
	held, end := invoked(t, ctx, book, conn, n)
	call := next(t, held)
	cancel()
	wantCallError(t, next(t, end), schemas.Unknown, "was cancelled")
	if gone := next(t, held); !gone.Withdrawn || gone.ID != call.ID {
		t.Errorf("%+v, want the withdrawal of %s", gone, call.ID)
	}
	_, err := book.Invoke(t.Context(), n.key.ID(), "a.b", nil, time.Second)
	wantCallError(t, err, schemas.Unknown, "has not answered within 1s")
	if call := next(t, held); call.TimeoutMs != 1000 {
		t.Errorf("%+v", call)
	}
}

// An answer counts only with the node's signature, and only for its call.
func TestSpec_N2_ForgedAnswers(t *testing.T) {
	conn := bustest.Conn(t)
	book := bus.NewNodeBook(conn)
	for name, forge := range map[string]func(key *bus.NodeKey) (*bus.NodeKey, func(*schemas.NodeCall) *schemas.NodeOutcome){
		"another key": func(*bus.NodeKey) (*bus.NodeKey, func(*schemas.NodeCall) *schemas.NodeOutcome) {
			return newNodeKey(t), echoes
		},
		"another call": func(key *bus.NodeKey) (*bus.NodeKey, func(*schemas.NodeCall) *schemas.NodeOutcome) {
			return key, func(*schemas.NodeCall) *schemas.NodeOutcome { return &schemas.NodeOutcome{Call: "earlier"} }
		},
	} {
		t.Run(name, func(t *testing.T) {
			n := announce(t, conn, newNodeKey(t), "mac")
			n.pair(book)
			key, answer := forge(n.key)
			n.serve(conn, key, answer)
			_, err := book.Invoke(t.Context(), n.key.ID(), "a.b", nil, time.Minute)
			wantCallError(t, err, schemas.Unknown, "isn't the node's")
		})
	}
}

// Programs read why there is no answer, and no subject of the bus (E2).
func TestSpec_N2_UnreadableAnswers(t *testing.T) {
	conn := bustest.Conn(t)
	book := bus.NewNodeBook(conn)
	n := announce(t, conn, newNodeKey(t), "mac")
	n.pair(book)
	sub, err := conn.NATS().Subscribe(bus.NodeSubject(n.key.ID()), func(m *nats.Msg) { _ = m.Respond([]byte("\xdd\xff\xff\xff\xff")) })
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = sub.Unsubscribe() }()
	_, err = book.Invoke(t.Context(), n.key.ID(), "a.b", nil, time.Minute)
	wantCallError(t, err, schemas.Unknown, "a.b: malformed message; it may have run")
}

// TestSpec_N2_ManyCallsAtOnce: heartbeats and calls side by side never make a node look gone.
func TestSpec_N2_ManyCallsAtOnce(t *testing.T) {
	conn := bustest.Conn(t)
	book := bus.NewNodeBook(conn)
	n := announce(t, conn, newNodeKey(t), "mac")
	n.pair(book)
	n.serve(conn, n.key, echoes)
	kv, err := conn.JetStream().KeyValue(t.Context(), "codecell_nodes")
	if err != nil {
		t.Fatal(err)
	}
	said, err := kv.Get(t.Context(), n.key.ID())
	if err != nil {
		t.Fatal(err)
	}
	n.close() // what it would say would be newer
	put := func() {
		if _, err := kv.Put(t.Context(), n.key.ID(), said.Value()); err != nil {
			t.Error(err)
		}
	}
	put()
	var calls, beats sync.WaitGroup
	beating, stop := context.WithCancel(t.Context())
	beats.Go(func() {
		for beating.Err() == nil {
			put()
		}
	})
	for range 4 {
		calls.Go(func() {
			for range 10 {
				if list, err := book.Paired(t.Context()); err != nil || len(list) != 1 || !list[0].Connected {
					t.Errorf("%+v %v", list, err)
				}
				if v, err := book.Invoke(t.Context(), n.key.ID(), "a.b", schemas.JSON(`1`), time.Minute); err != nil || string(v) != "1" {
					t.Errorf("%s %v", v, err)
				}
			}
		})
	}
	calls.Wait()
	stop()
	beats.Wait()
}
