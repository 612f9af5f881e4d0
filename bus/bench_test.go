package bus_test

import (
	"context"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/codecell/codecell/bus"
	"github.com/codecell/codecell/bus/bustest"
	"github.com/codecell/codecell/schemas"
)

var benchCall = schemas.Call{
	ID: "1", Address: schemas.Address{Host: "abcdefghij", Run: "abcdefghij-abcdefghijklmnopqrstuvwxyz", Cell: "abcdefghij-abcdefghijklmnopqrstuvwxyz"},
	Source: schemas.SourceMCP, Owner: "fs", Tool: "read_file", Args: schemas.JSON(`{"path":"src/main.go","limit":100}`),
	Identity: schemas.Identity{Agent: "default", SessionID: "s-1", SessionKey: "main", Run: "turn-7"}, ParentID: "toolu_1",
}

// BenchmarkRoundTrip compares a call and its answer with the same bytes over plain NATS.
func BenchmarkRoundTrip(b *testing.B) {
	args, err := schemas.Encode(&benchCall)
	if err != nil {
		b.Fatal(err)
	}
	subject := bus.ToolSubject(schemas.SourceMCP, "fs", "read_file")
	reply := bus.ReplySubject(benchCall.Address.Host, benchCall.Address.Cell, "1")
	b.Run("nats", func(b *testing.B) {
		s := bustest.Server(b)
		host, executor := bustest.Connect(b, s).NATS(), bustest.Connect(b, s).NATS()
		_, err := executor.QueueSubscribe(subject, "q", func(m *nats.Msg) { _ = executor.Publish(m.Reply, m.Data[:60]) })
		if err != nil {
			b.Fatal(err)
		}
		back := make(chan struct{}, 1)
		if _, err := host.Subscribe(bus.RepliesTo(benchCall.Address.Host), func(*nats.Msg) { back <- struct{}{} }); err != nil {
			b.Fatal(err)
		}
		flush(b, host, executor)
		b.ReportAllocs()
		for b.Loop() {
			if err := host.PublishRequest(subject, reply, args); err != nil {
				b.Fatal(err)
			}
			<-back
		}
	})
	b.Run("typed", func(b *testing.B) {
		host := answered(b, subject)
		back := make(chan *bus.Reply, 1)
		if _, err := bus.Replies(host, benchCall.Address.Host, func(r *bus.Reply) { back <- r }); err != nil {
			b.Fatal(err)
		}
		b.ReportAllocs()
		for b.Loop() {
			if err := host.Publish(subject, reply, &benchCall); err != nil {
				b.Fatal(err)
			}
			if r := <-back; r.Err != nil {
				b.Fatal(r.Err)
			}
		}
	})
	b.Run("ask", func(b *testing.B) {
		host := answered(b, subject)
		b.ReportAllocs()
		for b.Loop() {
			if _, err := bus.Ask[schemas.Answer](b.Context(), host, subject, &benchCall); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// answered gives a connection to a bus on which calls with this subject are answered at once.
func answered(b *testing.B, subject string) *bus.Conn {
	b.Helper()
	s := bustest.Server(b)
	_, err := bus.Serve(bustest.Connect(b, s), subject, "q", func(r *bus.Request[schemas.Call, schemas.Answer]) {
		_ = r.Respond(&schemas.Answer{ID: r.Body.ID, Executor: "e", State: schemas.AnswerDone, Value: schemas.JSON(`{"ok":true}`)})
	})
	if err != nil {
		b.Fatal(err)
	}
	return bustest.Connect(b, s)
}

func flush(b *testing.B, conns ...*nats.Conn) {
	ctx, cancel := context.WithTimeout(b.Context(), 5*time.Second)
	defer cancel()
	for _, c := range conns {
		if err := c.FlushWithContext(ctx); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkStart is a server with its buckets and one client.
func BenchmarkStart(b *testing.B) {
	for b.Loop() {
		s, err := bus.Start(b.Context(), bus.ServerOptions{})
		if err != nil {
			b.Fatal(err)
		}
		c, err := s.Connect("x")
		if err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		c.Close()
		s.Close()
		b.StartTimer()
	}
}

// BenchmarkFeed is what a cell pays for a fact.
func BenchmarkFeed(b *testing.B) {
	f := bus.NewFeed(bustest.Conn(b))
	b.ReportAllocs()
	for b.Loop() {
		f.Publish(&schemas.CallSent{At: 1, Address: benchCall.Address, Call: "1", Source: schemas.SourceMCP, Owner: "fs", Tool: "read_file"})
	}
	b.ReportMetric(float64(f.Dropped())/float64(b.N), "dropped/op")
	if err := f.Close(b.Context()); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkLargeValue is a request with an answer of 2 MiB.
func BenchmarkLargeValue(b *testing.B) {
	c := bustest.Conn(b)
	echo(b, c, "echo")
	args := `"` + string(make([]byte, 2<<20)) + `"`
	for b.Loop() {
		if _, err := callEcho(b, c, args); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkParse(b *testing.B) {
	subject := bus.StopSubject("mcp-fs", benchCall.Address.Host, benchCall.Address.Cell, "12")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := bus.Parse(subject); err != nil {
			b.Fatal(err)
		}
	}
}
