package tool

import (
	"context"
	"strconv"
	"testing"

	"github.com/codecell/codecell/bus"
	"github.com/codecell/codecell/bus/bustest"
	"github.com/codecell/codecell/schemas"
)

// BenchmarkCall is one call over the bus and its answer, for one caller at a time: what an
// executor adds to BenchmarkBare.
func BenchmarkCall(b *testing.B) {
	conn := bustest.Conn(b)
	e, err := Serve(b.Context(), conn, "p", New("add", "", add))
	if err != nil {
		b.Fatal(err)
	}
	defer e.Close(context.Background())
	call := callOf("add", "", `{"a":1,"b":2}`)
	call.Source, call.Owner = schemas.SourceNative, "p"
	roundTrips(b, conn, bus.ToolSubject(schemas.SourceNative, "p", "add"), call)
}

// BenchmarkBare is the same call and answer without an executor between them.
func BenchmarkBare(b *testing.B) {
	conn := bustest.Conn(b)
	sub, err := bus.Serve(conn, "codecell.v1.tool.p.bare", "q", func(r *callRequest) {
		_ = r.Respond(&schemas.Answer{ID: r.Body.ID, Executor: "e", State: schemas.AnswerDone, Value: schemas.JSON(`{"sum":3}`)})
	})
	if err != nil {
		b.Fatal(err)
	}
	defer sub.Close()
	roundTrips(b, conn, "codecell.v1.tool.p.bare", callOf("bare", "", `{"a":1,"b":2}`))
}

func roundTrips(b *testing.B, conn *bus.Conn, subject string, call *schemas.Call) {
	ctx := b.Context()
	b.ReportAllocs()
	for n := 0; b.Loop(); n++ {
		call.ID = strconv.Itoa(n)
		if a, err := bus.Ask[schemas.Answer](ctx, conn, subject, call); err != nil || a.State != schemas.AnswerDone {
			b.Fatal(a, err)
		}
	}
}

// BenchmarkPipeline is the pipeline alone: schemas of input and output, no hooks.
func BenchmarkPipeline(b *testing.B) {
	set, err := Funcs("p", New("add", "", add))
	if err != nil {
		b.Fatal(err)
	}
	made, _ := compileOffer(set.Offer(), nil)
	call := callOf("add", "1", `{"a":1,"b":2}`)
	var p Pipeline
	b.ReportAllocs()
	for b.Loop() {
		if _, err := p.run(b.Context(), call, made["add"], func(ctx context.Context, call *schemas.Call) (schemas.JSON, error) {
			return set.Call(ctx, call, nil)
		}, nil, quiet); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkMCP is one call of a tool of a child process.
func BenchmarkMCP(b *testing.B) {
	s := connected(b, serverConfig("good"))
	call := callOf("echo", "1", `{"a":1}`)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.Call(b.Context(), call, nil); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkRead is one small file through the core tool.
func BenchmarkRead(b *testing.B) {
	p := coreOf(b, folder(b, map[string]string{"f": "hello\n"}))
	call := callOf("read", "1", `{"path":"f"}`)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := p.Call(b.Context(), call, nil); err != nil {
			b.Fatal(err)
		}
	}
}
