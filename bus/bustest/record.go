package bustest

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/codecell/codecell/bus"
	"github.com/codecell/codecell/schemas"
)

// Recorder writes down every message of the bus as a readable line, for golden transcripts:
//
//	exec.host1.run1 ? Exec {call_id:"toolu_1" input:{"title":"t"}}
//	tool.core.read ? Call {id:"1" address:{host:"host1" run:"run1" cell:"cell1"} … }
//	reply.host1.cell1.1 Answer {id:"1" executor:"executor1" state:"done" value:1}
//	= exec.host1.run1 Result {status:"completed" …}
//
// "?" marks a request, "=" the answer to one that named an inbox. Ids are numbered in the
// order of their appearance, fields that differ from run to run are shown as "*", and empty
// fields are left out.
//
// The recorder itself listens on every subject, which would keep word that nobody listens from
// those who ask; it sends that word in the server's place.
type Recorder struct {
	server *bus.Server
	conn   *bus.Conn
	done   chan struct{}
	msgs   chan *nats.Msg

	mu      sync.Mutex
	lines   []string
	names   names
	waiting map[string]request // by inbox
}

// request is a message that wants an answer in an inbox.
type request struct {
	subject string
	row     *bus.Row
}

// Record begins to record what passes through a server, until the test ends.
func Record(t testing.TB, s *bus.Server) *Recorder {
	t.Helper()
	r := &Recorder{server: s, conn: Connect(t, s), done: make(chan struct{}), msgs: make(chan *nats.Msg, 65536), names: newNames(), waiting: map[string]request{}}
	// One channel for both, so that requests and answers stay in the order of the server.
	var subs []*nats.Subscription
	for _, subject := range []string{bus.Everything(), "_INBOX.>"} {
		sub, err := r.conn.NATS().ChanSubscribe(subject, r.msgs)
		if err != nil {
			t.Fatal(err)
		}
		subs = append(subs, sub)
	}
	if err := r.conn.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	go r.run()
	t.Cleanup(func() {
		for _, sub := range subs {
			_ = sub.Unsubscribe() // fails only if the connection is closed
		}
		close(r.msgs)
		<-r.done
	})
	return r
}

func (r *Recorder) run() {
	defer close(r.done)
	for m := range r.msgs {
		r.take(m)
	}
}

func (r *Recorder) take(m *nats.Msg) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if m.Subject == barrier {
		close(r.names.barriers[m.Reply])
		delete(r.names.barriers, m.Reply)
		return
	}
	if asked, ok := r.waiting[m.Subject]; ok {
		r.lines = append(r.lines, "= "+asked.subject+" "+r.body(m, asked.row.NewReply))
		return
	}
	p, err := bus.Parse(m.Subject)
	if err != nil {
		if strings.HasPrefix(m.Subject, bus.Prefix) {
			r.lines = append(r.lines, fmt.Sprintf("%s not in the table: %d bytes", m.Subject, len(m.Data)))
		}
		return
	}
	tokens := []string{p.Row.Verb}
	for i, name := range p.Row.Address {
		tokens = append(tokens, r.names.token(name, p.Address(i)))
	}
	subject := strings.Join(tokens, ".")
	mark := " "
	if m.Reply != "" {
		mark = " ? "
		if !strings.HasPrefix(m.Reply, bus.Prefix) {
			r.waiting[m.Reply] = request{subject, p.Row}
		}
	}
	r.lines = append(r.lines, subject+mark+r.body(m, p.Row.New))
	if m.Reply != "" && r.server.Interest(m.Subject) <= 1 {
		_ = r.conn.NATS().PublishMsg(&nats.Msg{Subject: m.Reply, Header: nats.Header{"Status": {"503"}}}) // fails only at the end of the test
	}
}

func (r *Recorder) body(m *nats.Msg, zero func() any) string {
	switch {
	case m.Header.Get("Status") == "503":
		return "nobody listens"
	case len(m.Header) > 0:
		return fmt.Sprintf("by object store %v", keys(m.Header))
	case zero == nil:
		return fmt.Sprintf("%d bytes", len(m.Data))
	}
	v := zero()
	if err := schemas.Decode(m.Data, v); err != nil {
		return "malformed " + typeName(v)
	}
	return typeName(v) + " " + r.names.render(v)
}

// Lines gives what has passed so far. Messages that a connection has flushed are among them.
func (r *Recorder) Lines(t testing.TB) []string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := r.conn.Flush(ctx); err != nil {
		t.Fatal(err)
	}
	passed := make(chan struct{})
	key := r.conn.NATS().NewInbox()
	r.mu.Lock()
	r.names.barriers[key] = passed
	r.mu.Unlock()
	r.msgs <- &nats.Msg{Subject: barrier, Reply: key}
	select {
	case <-passed:
	case <-ctx.Done():
		t.Fatal("the recorder is stuck")
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]string(nil), r.lines...)
}

// Transcript gives the lines as one text.
func (r *Recorder) Transcript(t testing.TB) string {
	t.Helper()
	return strings.Join(r.Lines(t), "\n") + "\n"
}

// barrier marks a message that [Recorder.Lines] puts behind those that have arrived.
const barrier = "recorder.barrier"
