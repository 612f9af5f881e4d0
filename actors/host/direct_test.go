package host_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/codecell/codecell/actors/run"
	"github.com/codecell/codecell/bus"
	"github.com/codecell/codecell/schemas"
)

func callDirect(t *testing.T, r *bus.Run, name, args string) (*schemas.Directed, error) {
	t.Helper()
	return r.Direct(t.Context(), schemas.Direct{CallID: "d1", Name: name, Args: schemas.JSON(args)})
}

func TestSpec_A2_DirectToolsAreShownAndNotCatalogued(t *testing.T) {
	g := make(gate)
	n := node(t, config(t, `{tools: {direct: ["echo", "gated", "boom"]}}`), g.tool("gated"))
	run := open(t, n, "a")
	var names []string
	for _, tool := range run.Surface.Tools {
		names = append(names, tool.Name)
	}
	if got := strings.Join(names, " "); got != "exec wait boom echo gated" {
		t.Errorf("surface = %s", got)
	}
	result := exec(t, run, `return [typeof echo, catalog.all().length, (await catalog.search("gives back")).length]`)
	if string(result.Value) != `["undefined",0,0]` {
		t.Errorf("a program sees %s", result.Value)
	}
	d, err := callDirect(t, run, "echo", `{"n":7}`)
	if err != nil || string(d.Value) != `{"n":7}` || d.Source != schemas.SourceNative {
		t.Errorf("echo: %+v, %v", d, err)
	}
	d, err = callDirect(t, run, "echo", `{"m":7}`)
	if err != nil || d.Call == nil || d.Call.Code != schemas.CallInputContract {
		t.Errorf("echo with bad input: %+v, %v", d, err)
	}
	d, err = callDirect(t, run, "boom", `{}`)
	if err != nil || d.Call == nil || !strings.Contains(d.Call.Message, "it broke") {
		t.Errorf("boom: %+v, %v", d, err)
	}
	for _, name := range []string{"exec", "nothing", "", "lab__echo"} {
		if _, err := callDirect(t, run, name, `{}`); !errors.Is(err, schemas.InvalidInput) {
			t.Errorf("%q: %v", name, err)
		}
	}
	// Hidden tools aren't reached this way either.
	other := open(t, node(t, nil), "b")
	if _, err := callDirect(t, other, "echo", `{"n":1}`); !errors.Is(err, schemas.InvalidInput) {
		t.Errorf("a catalogued tool was called directly: %v", err)
	}
}

func TestSpec_A2_DirectCallsEndWithTheirCallOrRun(t *testing.T) {
	g := make(gate)
	n := node(t, config(t, `{tools: {direct: ["gated"]}}`), g.tool("gated"))
	for name, end := range map[string]func(*bus.Run, context.Context) error{
		"abort": func(r *bus.Run, ctx context.Context) error { return r.Abort(ctx, "d1", "test") },
		"close": func(r *bus.Run, ctx context.Context) error { return r.Close(ctx, "test") },
	} {
		run := open(t, n, name)
		events, err := n.Client().Watch(t.Context(), bus.Facts("call", "started"))
		if err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() {
			_, err := run.Direct(t.Context(), schemas.Direct{CallID: "d1", Name: "gated", Args: schemas.JSON(`{"n":1}`)})
			ended <- err
		}()
		for range events {
			break // the tool runs
		}
		if err := end(run, t.Context()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := <-ended; !errors.Is(err, schemas.Aborted) {
			t.Errorf("%s: the call ended with %v", name, err)
		}
	}
}

// TestSpec_B4_DirectCallsOfARunAreBounded: who floods a run is refused, and nothing of what waits is lost.
func TestSpec_B4_DirectCallsOfARunAreBounded(t *testing.T) {
	const over = 100
	g := make(gate)
	n := node(t, config(t, `{tools: {direct: ["gated"]}}`), g.tool("gated"))
	r := open(t, n, "a")
	ended := make(chan error, run.MaxDirects+over)
	for range cap(ended) {
		go func() {
			d, err := r.Direct(t.Context(), schemas.Direct{CallID: "d", Name: "gated", Args: schemas.JSON(`{"n":1}`)})
			if err == nil && d.Call != nil {
				err = d.Call
			}
			ended <- err
		}()
	}
	for range over {
		if err := <-ended; !errors.Is(err, schemas.CallInvalidInput) || !strings.Contains(err.Error(), "256 calls of this run wait") {
			t.Fatal(err)
		}
	}
	close(g)
	for range run.MaxDirects {
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
	}
	if d, err := callDirect(t, r, "gated", `{"n":2}`); err != nil || string(d.Value) != `{"n":2}` {
		t.Errorf("%+v, %v", d, err)
	}
}
