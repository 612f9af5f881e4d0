package approval_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/codecell/codecell/actors/approval"
	"github.com/codecell/codecell/bus"
	"github.com/codecell/codecell/bus/bustest"
	"github.com/codecell/codecell/schemas"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m, bustest.Clock()) }

// bed is a bus with gates of executors, and somebody who decides.
type bed struct {
	t      *testing.T
	server *bus.Server
	conn   *bus.Conn
	client *bus.Client
	facts  chan any
}

func newBed(t *testing.T) *bed {
	t.Helper()
	server := bustest.Server(t)
	conn := bustest.Connect(t, server)
	return &bed{t: t, server: server, conn: conn, client: bus.NewClient(conn), facts: make(chan any, 10_000)}
}

// gate makes the gate of an executor, which is alive until the test ends.
func (b *bed) gate(executor string, timeout time.Duration) *approval.Gate {
	b.t.Helper()
	feed := bus.NewFeed(b.conn)
	g := approval.New(b.conn, approval.Options{
		Executor: executor, Timeout: timeout, Logger: slog.New(slog.DiscardHandler),
		Tell: func(fact any) { b.facts <- fact; feed.Publish(fact) },
	})
	ping, err := bus.Serve(b.conn, bus.ExecutorSubject(executor), "", func(r *bus.Request[schemas.Ping, schemas.Pong]) {
		_ = r.Respond(&schemas.Pong{Executor: executor})
	})
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() {
		g.Close(context.Background())
		ping.Close()
		_ = feed.Close(context.Background()) // its connection may be gone on purpose
	})
	return g
}

// asked is a call that has asked.
type asked struct {
	id      string
	verdict chan error
	stop    context.CancelFunc
}

// ask has a call ask, and returns once it waits for a decision, or has its verdict.
func (b *bed) ask(g *approval.Gate, call *schemas.Call) *asked {
	b.t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	b.t.Cleanup(stop)
	a := &asked{verdict: make(chan error, 1), stop: stop}
	waits := make(chan string, 1)
	go func() {
		a.verdict <- g.Approve(ctx, call, &schemas.Tool{Name: call.Tool}, "the tool asks", func(id string) { waits <- id })
	}()
	select {
	case a.id = <-waits:
	case err := <-a.verdict:
		a.verdict <- err
	}
	return a
}

// told waits for the next facts about approvals.
func (b *bed) told(n int) (kinds []string) {
	for range n {
		switch f := (<-b.facts).(type) {
		case *schemas.ApprovalOpened:
			kinds = append(kinds, "opened "+f.Tool)
		case *schemas.ApprovalClosed:
			kinds = append(kinds, "closed "+string(f.State)+" "+f.By)
		}
	}
	return kinds
}

func (b *bed) decide(d schemas.Decision) error {
	if d.By == "" {
		d.By = "ada"
	}
	return b.client.Decide(b.t.Context(), d)
}

func (b *bed) find(id string) *schemas.Approval {
	b.t.Helper()
	a, err := b.client.Approval(b.t.Context(), id)
	if err != nil {
		b.t.Fatal(err)
	}
	return a
}

var calls int

// write is a call of one tool with some input.
func write(input string, change ...func(*schemas.Call)) *schemas.Call {
	calls++
	c := &schemas.Call{
		ID: "c" + string(rune('a'+calls%26)) + time.Now().Format("150405.000000000")[7:], Source: schemas.SourceNative, Owner: "files", Tool: "write",
		Args: schemas.JSON(input), ParentID: "toolu_1", Address: schemas.Address{Host: "h", Run: "r", Cell: "c"},
		Identity: schemas.Identity{Agent: "main", SessionKey: "k", SessionID: "s"},
	}
	for _, f := range change {
		f(c)
	}
	return c
}
