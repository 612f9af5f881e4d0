package tool

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/codecell/codecell/bus"
	"github.com/codecell/codecell/schemas"
)

const testHost = "hosthost22"

// caller plays the host's part: it publishes calls and collects what comes back.
type caller struct {
	t    testing.TB
	conn *bus.Conn
	next atomic.Int64

	mu      sync.Mutex
	waiting map[string]chan *bus.Reply
}

func newCaller(t testing.TB, conn *bus.Conn) *caller {
	t.Helper()
	c := &caller{t: t, conn: conn, waiting: map[string]chan *bus.Reply{}}
	sub, err := bus.Replies(conn, testHost, func(r *bus.Reply) {
		c.mu.Lock()
		defer c.mu.Unlock()
		if ch := c.waiting[r.Cell+"."+r.Call]; ch != nil {
			select {
			case ch <- r:
			default: // nobody looks at that many
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(sub.Close)
	return c
}

// flight is one call on its way.
type flight struct {
	c    *caller
	call *schemas.Call
	got  chan *bus.Reply
}

// send publishes a call of a native tool.
func (c *caller) send(owner, tool, args string, change ...func(*schemas.Call)) *flight {
	c.t.Helper()
	call := callOf(tool, fmt.Sprint(c.next.Add(1)), args)
	call.Source, call.Owner = schemas.SourceNative, owner
	call.Address = schemas.Address{Host: testHost, Run: "run", Cell: "cell"}
	for _, f := range change {
		f(call)
	}
	f := &flight{c: c, call: call, got: make(chan *bus.Reply, 8)}
	c.mu.Lock()
	c.waiting[call.Address.Cell+"."+call.ID] = f.got
	c.mu.Unlock()
	f.again()
	return f
}

// again delivers the same call once more.
func (f *flight) again() {
	f.c.t.Helper()
	a := f.call.Address
	err := f.c.conn.Publish(bus.ToolSubject(f.call.Source, f.call.Owner, f.call.Tool), bus.ReplySubject(a.Host, a.Cell, f.call.ID), f.call)
	if err != nil {
		f.c.t.Fatal(err)
	}
}

func (f *flight) stop() {
	f.c.t.Helper()
	a := f.call.Address
	token := bus.OwnerToken(f.call.Source, f.call.Owner)
	if err := f.c.conn.Publish(bus.StopSubject(token, a.Host, a.Cell, f.call.ID), "", &schemas.Stop{Reason: "test"}); err != nil {
		f.c.t.Fatal(err)
	}
}

// next gives the next thing that comes back.
func (f *flight) next() *bus.Reply {
	f.c.t.Helper()
	select {
	case r := <-f.got:
		return r
	case <-time.After(time.Minute):
		f.c.t.Fatalf("no answer to %s", f.call.Tool)
		return nil
	}
}

// end gives the last answer, after any number of accepted ones.
func (f *flight) end() schemas.Answer {
	f.c.t.Helper()
	for {
		r := f.next()
		if r.Err != nil {
			f.c.t.Fatalf("%s: %v", f.call.Tool, r.Err)
		}
		if r.Answer.State != schemas.AnswerAccepted {
			return r.Answer
		}
	}
}

// over waits until the executor doesn't hold the call any more, which it does for a moment after its answer is out.
func (f *flight) over(e *Executor) {
	f.c.t.Helper()
	for ctx := soon(f.c.t); ; {
		ping := &schemas.Ping{Calls: []string{f.call.Address.Cell + "." + f.call.ID}}
		pong, err := bus.Ask[schemas.Pong](ctx, f.c.conn, bus.ExecutorSubject(e.ID()), ping)
		if err != nil {
			f.c.t.Fatal(err)
		}
		if len(pong.Gone) == 1 {
			return
		}
	}
}

// silent proves that nothing more has come, by a call that everything before it has overtaken.
func (f *flight) silent() {
	f.c.t.Helper()
	if err := f.c.conn.Flush(soon(f.c.t)); err != nil {
		f.c.t.Fatal(err)
	}
	select {
	case r := <-f.got:
		f.c.t.Errorf("%s was answered: %+v", f.call.Tool, r.Answer)
	default:
	}
}

// gate is a tool that waits until it is let go or cancelled.
type gate struct {
	entered, cancelled chan *schemas.Call
	leave              chan struct{}
	ran                atomic.Int64
}

func newGate() *gate {
	return &gate{entered: make(chan *schemas.Call, 100), cancelled: make(chan *schemas.Call, 100), leave: make(chan struct{})}
}

func (g *gate) run(ctx context.Context, _ schemas.JSON) (schemas.JSON, error) {
	g.ran.Add(1)
	g.entered <- CallOf(ctx)
	select {
	case <-g.leave:
		return schemas.JSON(`"left"`), nil
	case <-ctx.Done():
		g.cancelled <- CallOf(ctx)
		return nil, ctx.Err()
	}
}
