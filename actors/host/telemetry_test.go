package host_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/codecell/codecell/bus"
	"github.com/codecell/codecell/schemas"
)

// TestSpec_E4_RefusedInputsCarryTheRunsTelemetry: what never came to a cell is counted and shown like what did.
func TestSpec_E4_RefusedInputsCarryTheRunsTelemetry(t *testing.T) {
	n := node(t, config(t, `{tools: {direct: ["boom"]}}`))
	run := open(t, n, "a")
	want := func(r *schemas.Result, calls int) {
		t.Helper()
		got := r.Telemetry
		if r.Status != schemas.StatusFailed || got.CatalogSize != 1 || got.Sources.Native != 1 || got.CallCount != calls || len(got.CounterScope) != 24 ||
			strings.Join(got.VisibleTools, " ") != "exec wait boom" {
			t.Errorf("%s: telemetry = %+v", r.Error, got)
		}
	}
	want(exec(t, run, `import "fs"`), 0) // before anything was admitted for it
	want(exec(t, run, `ls -la`), 0)
	want(exec(t, run, `return (`), 0)
	if r := exec(t, run, `return (await echo({n: 1})).n`); strings.Join(r.Telemetry.VisibleTools, " ") != "exec wait boom" {
		t.Errorf("telemetry = %+v", r.Telemetry)
	}
	want(exec(t, run, `require("fs")`), 1)
	want(wait(t, n, "a", "w", bus.NewRunID(n.Host().ID())), 1)
}

// TestSpec_E4_A6_StrangersLearnNothingOfARun: whoever asks for another's cell isn't told what that one has done.
func TestSpec_E4_A6_StrangersLearnNothingOfARun(t *testing.T) {
	n := node(t, config(t, short))
	run := open(t, n, "a")
	parked := exec(t, run, `await echo({n: 1}); await yield_control(); return 2`)
	open(t, n, "stranger")
	got := wait(t, n, "stranger", "w", parked.RunID)
	mustFail(t, got, schemas.InvalidInput, "belongs to a different session")
	if s := got.Telemetry; s.CallCount != 0 || s.CatalogSize != 0 || s.CounterScope == parked.Telemetry.CounterScope || len(s.CounterScope) != 24 {
		t.Errorf("telemetry = %+v", s)
	}
	if last := wait(t, n, "a", "w", parked.RunID); string(last.Value) != "2" || last.Telemetry.CounterScope != parked.Telemetry.CounterScope {
		t.Errorf("result = %+v", last)
	}
}

// TestSpec_E4_Case81_CountersAreExact over searches, descriptions and calls of several programs, in one scope for the life of the
// run; a call that settles after its cell has ended moves none of them.
func TestSpec_E4_Case81_CountersAreExact(t *testing.T) {
	g := make(gate)
	n := node(t, config(t, short), g.tool("gated"))
	run := open(t, n, "a")
	count := func(r *schemas.Result) string {
		return fmt.Sprint(r.Telemetry.SearchCount, r.Telemetry.DescribeCount, r.Telemetry.CallCount)
	}
	r := exec(t, run, `
		const [found] = await catalog.search("gives back");
		await found.describe(); await catalog.search("nothing of the kind"); await found({n: 1});
		await Promise.allSettled([boom({}), echo({n: "x"}), echo({n: 2})]); return 1`)
	scope := r.Telemetry.CounterScope
	if got := count(r); got != "2 1 4" || !regexp.MustCompile(`^[0-9a-f]{24}$`).MatchString(scope) {
		t.Errorf("counts %s, scope %q: %s", got, scope, r.Error)
	}
	parked := exec(t, run, `await gated({n: 1}); return 1`)
	if got := count(parked); got != "2 1 5" {
		t.Errorf("counts %s while a call is out", got)
	}
	if err := n.Client().Cancel(t.Context(), parked.RunID, schemas.Cancel{Identity: someone("a")}); err != nil {
		t.Fatal(err)
	}
	close(g) // the call settles late
	last := exec(t, run, `return 1`)
	if got := count(last); got != "2 1 5" || last.Telemetry.CounterScope != scope {
		t.Errorf("counts %s, scope %s, want %s", got, last.Telemetry.CounterScope, scope)
	}
	// The copies that others got don't follow.
	if got := count(r); got != "2 1 4" || !slices.Equal(last.Telemetry.VisibleTools, []string{"exec", "wait"}) {
		t.Errorf("counts %s, visible %v", got, last.Telemetry.VisibleTools)
	}
	if other := exec(t, open(t, n, "b"), `return 1`); other.Telemetry.CounterScope == scope || count(other) != "0 0 0" {
		t.Errorf("another run: %+v", other.Telemetry)
	}
}

// TestSpec_E4_Case81_TheScopeOutlivesTheCatalog: tools that come later extend what a run has, and its counters go on.
func TestSpec_E4_Case81_TheScopeOutlivesTheCatalog(t *testing.T) {
	var f floor
	n := node(t, config(t, `{bus: {listen: "127.0.0.1:0"}}`))
	before := exec(t, open(t, n, "a"), `await echo({n: 1}); return 1`)
	run := replicas(t, n, 1, f.tool("late"))
	after := exec(t, run, `await late({n: 2}); return 1`)
	if b, a := before.Telemetry, after.Telemetry; a.CatalogSize != b.CatalogSize+1 || a.CounterScope != b.CounterScope || a.CallCount != 2 {
		t.Errorf("before %+v\nafter %+v", b, a)
	}
}
