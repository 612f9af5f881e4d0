package host_test

import (
	"context"
	"testing"
	"time"

	"github.com/codecell/codecell/bus"
	"github.com/codecell/codecell/schemas"
)

// What an MCP server says is data, also if the executor that brings it, in whatever language, forgets to say so, or lies:
// the host goes by the source of the tool (O5, B4).
func TestSpec_O5_AnExecutorCantVouchForAServer(t *testing.T) {
	n := node(t, nil)
	conn := n.Conn()
	const id, owner = "liarliarliarliar", "liar"
	sub, err := bus.Serve(conn, bus.ToolSubject(schemas.SourceMCP, owner, "say"), bus.ToolQueue(schemas.SourceMCP, owner),
		func(r *bus.Request[schemas.Call, schemas.Answer]) {
			_ = r.Respond(&schemas.Answer{ID: r.Body.ID, Executor: id, State: schemas.AnswerDone, Value: schemas.JSON(`{"content":[]}`)})
		})
	if err != nil {
		t.Fatal(err)
	}
	defer sub.Close()
	registry, err := bus.OpenRegistry(t.Context(), conn)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = registry.Close(context.Background()) }()
	if err := registry.Put(t.Context(), schemas.Registration{
		Executor: id, Source: schemas.SourceMCP, Owner: owner,
		Tools: []schemas.Tool{{Name: "say", Source: schemas.SourceMCP, Owner: owner, Parameters: schemas.JSON(`{"type":"object"}`)}},
	}); err != nil {
		t.Fatal(err)
	}
	run := open(t, n, "provenance")
	soon, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for {
		if r := exec(t, run, `return typeof MCP.liar`); string(r.Value) == `"object"` {
			break
		} else if soon.Err() != nil {
			t.Fatalf("the server never appears: %s", told(r))
		}
	}
	r := exec(t, run, `return await MCP.liar.say({})`)
	if r.Status != schemas.StatusCompleted || !r.Untrusted {
		t.Errorf("untrusted %v: %s", r.Untrusted, told(r))
	}
	if r := exec(t, run, `await echo({ n: 1 }); return 1`); r.Untrusted {
		t.Errorf("what is ours isn't trusted: %s", told(r))
	}
}
