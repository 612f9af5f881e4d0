package host_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/codecell/codecell/actors/tool"
	"github.com/codecell/codecell/bus"
	"github.com/codecell/codecell/schemas"
)

// twin serves a tool on a connection of its own; its first call of all twins never answers.
func twin(t *testing.T, url string, calls *atomic.Int64, held chan<- *bus.Conn, opts ...tool.Option) {
	t.Helper()
	conn, err := bus.Dial(t.Context(), bus.Options{URLs: []string{url}, Name: "twin"})
	if err != nil {
		t.Fatal(err)
	}
	executor, err := tool.Serve(t.Context(), conn, "twins", tool.New("once", "Answers the second time.",
		func(ctx context.Context, in echoIn) (echoOut, error) {
			if calls.Add(1) == 1 {
				held <- conn
				<-ctx.Done()
				return echoOut{}, ctx.Err()
			}
			return echoOut(in), nil
		}, opts...))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		gone, cancel := context.WithCancel(context.Background())
		cancel()
		_ = executor.Close(gone) // its connection may be dead
		conn.Close()
	})
}

// lost runs a program whose call is held by an executor that loses its connection.
func lost(t *testing.T, opts ...tool.Option) (result *schemas.Result, calls int64) {
	t.Helper()
	n := node(t, config(t, `{bus: {listen: "127.0.0.1:0"}, tools: {codeMode: {enabled: true, timeoutMs: 60000}}}`))
	var count atomic.Int64
	held := make(chan *bus.Conn, 1)
	twin(t, n.URL(), &count, held, opts...)
	twin(t, n.URL(), &count, held, opts...)
	run := open(t, n, "a")
	for { // until the host has heard of the executors
		found, err := run.Search(t.Context(), schemas.Search{Query: "once"})
		if err != nil {
			t.Fatal(err)
		}
		if len(found.Hits) > 0 {
			break
		}
	}
	go func() { (<-held).NATS().Close() }()
	result = exec(t, run, `try { return (await once({n: 8})).n } catch (e) { return [e.code, e.effectStatus, e.message] }`)
	return result, count.Load()
}

func TestSpec_U2_ALostCallIsNotSentAgain(t *testing.T) {
	result, calls := lost(t)
	if value := string(result.Value); calls != 1 || !strings.HasPrefix(value, `["tool_error","unknown",`) {
		t.Errorf("%d calls, %+v", calls, result)
	}
}

func TestSpec_U2_ALostCallOfAnIdempotentToolIsSentOnceMore(t *testing.T) {
	result, calls := lost(t, tool.Idempotent())
	if value := string(result.Value); calls != 2 || value != "8" {
		t.Errorf("%d calls, %+v", calls, result)
	}
}
