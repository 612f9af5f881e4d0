package host_test

import (
	"strings"
	"testing"

	"github.com/codecell/codecell/actors/host"
	"github.com/codecell/codecell/schemas"
)

// config reads a configuration as a user would write it.
func config(t *testing.T, text string) *schemas.Config {
	t.Helper()
	c, err := schemas.ParseConfig([]byte(text), "test.json5")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// short gives a call a second: what is held parks soon, and what isn't has far more time than it takes.
const short = `{tools: {codeMode: {enabled: true, timeoutMs: 1000}}}`

func wait(t *testing.T, n *host.Node, who, callID, runID string) *schemas.Result {
	t.Helper()
	result, err := n.Client().Wait(t.Context(), schemas.Wait{CallID: callID, Identity: someone(who), RunID: runID})
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// parked starts a cell that waits for the gate.
func parked(t *testing.T, n *host.Node, who string) *schemas.Result {
	t.Helper()
	result := exec(t, open(t, n, who), `const r = await gated({n: 4}); text("after"); return r.n`)
	if result.Status != schemas.StatusWaiting || result.Reason != schemas.ReasonPendingTools || result.RunID == "" {
		t.Fatalf("result = %+v", result)
	}
	return result
}

func mustFail(t *testing.T, r *schemas.Result, code schemas.Code, says string) {
	t.Helper()
	if r.Status != schemas.StatusFailed || r.Code != code || !strings.Contains(r.Error, says) {
		t.Errorf("result = %+v, want %s saying %q", r, code, says)
	}
}

func TestSpec_W1_WaitContinuesTheCell(t *testing.T) {
	g := make(gate)
	n := node(t, config(t, short), g.tool("gated"))
	first := parked(t, n, "a")
	if len(first.Pending) != 1 || first.Pending[0].Tool != "gated" || first.Pending[0].Kind != "call" {
		t.Errorf("pending = %+v", first.Pending)
	}
	// W6: nothing has settled, and the answer says what is pending.
	second := wait(t, n, "a", "w1", first.RunID)
	if second.Status != schemas.StatusWaiting || second.RunID != first.RunID || len(second.Pending) != 1 {
		t.Errorf("second = %+v", second)
	}
	close(g)
	last := wait(t, n, "a", "w2", first.RunID)
	if last.Status != schemas.StatusCompleted || string(last.Value) != "4" || len(last.Output) != 1 {
		t.Errorf("last = %+v", last)
	}
	// W5: the same wait again has the same answer; another one finds nothing.
	again := wait(t, n, "a", "w2", first.RunID)
	if again.Status != schemas.StatusCompleted || string(again.Value) != "4" || len(again.Output) != 1 {
		t.Errorf("again = %+v", again)
	}
	mustFail(t, wait(t, n, "a", "w3", first.RunID), schemas.InvalidInput, "unavailable or expired")
}

func TestSpec_W2_StrangersAreRefusedAndHarmNothing(t *testing.T) {
	g := make(gate)
	n := node(t, config(t, short), g.tool("gated"))
	first := parked(t, n, "a")

	own := someone("a")
	for name, change := range map[string]func(*schemas.Identity){
		"other session id":   func(i *schemas.Identity) { i.SessionID = "x" },
		"other session key":  func(i *schemas.Identity) { i.SessionKey = "x" },
		"no session id":      func(i *schemas.Identity) { i.SessionID = "" },
		"no session key":     func(i *schemas.Identity) { i.SessionKey = "" },
		"other run":          func(i *schemas.Identity) { i.Run = "x" },
		"no run":             func(i *schemas.Identity) { i.Run = "" },
		"other agent":        func(i *schemas.Identity) { i.Agent = "x" },
		"no agent":           func(i *schemas.Identity) { i.Agent = "" },
		"no identity at all": func(i *schemas.Identity) { *i = schemas.Identity{} },
	} {
		id := own
		change(&id)
		result, err := n.Client().Wait(t.Context(), schemas.Wait{CallID: "w", Identity: id, RunID: first.RunID})
		if err != nil {
			t.Fatal(err)
		}
		says := "different session"
		if id.SessionID == own.SessionID && id.SessionKey == own.SessionKey {
			says = "different agent run"
		}
		t.Run(name, func(t *testing.T) { mustFail(t, result, schemas.InvalidInput, says) })
		if err := n.Client().Cancel(t.Context(), first.RunID, schemas.Cancel{Identity: id}); err == nil {
			t.Errorf("%s: a stranger could cancel the cell", name)
		}
	}
	for name, runID := range map[string]string{
		"unknown":   first.RunID[:len(first.RunID)-4] + "aaaa",
		"malformed": "../x",
		"empty":     "",
		"too long":  strings.Repeat("a", 1000),
	} {
		result := wait(t, n, "a", "w", runID)
		t.Run(name, func(t *testing.T) { mustFail(t, result, schemas.InvalidInput, "runId") })
	}
	elsewhere := wait(t, n, "a", "w", "aaaaaaaaaa-"+first.RunID[11:])
	mustFail(t, elsewhere, schemas.RuntimeUnavailable, "gone")

	close(g)
	if last := wait(t, n, "a", "w2", first.RunID); last.Status != schemas.StatusCompleted {
		t.Errorf("the owner's wait = %+v", last)
	}
}

func TestSpec_S8_CancelAndCloseEndCells(t *testing.T) {
	g := make(gate)
	n := node(t, config(t, short), g.tool("gated"))
	first := parked(t, n, "a")
	if err := n.Client().Cancel(t.Context(), first.RunID, schemas.Cancel{Identity: someone("a"), Reason: "test"}); err != nil {
		t.Fatal(err)
	}
	mustFail(t, wait(t, n, "a", "w", first.RunID), schemas.InvalidInput, "unavailable")

	second := parked(t, n, "a")
	run := open(t, n, "a") // attaches
	if err := run.Close(t.Context(), "test"); err != nil {
		t.Fatal(err)
	}
	mustFail(t, wait(t, n, "a", "w", second.RunID), schemas.InvalidInput, "unavailable")
	// For a moment the run is there to say that it is closed; then there is none.
	if r := exec(t, run, `return 1`); r.Status != schemas.StatusFailed || !strings.Contains(r.Error, "open a new one") {
		t.Errorf("result = %+v", r)
	}
	if slots, cells := held(t, n); slots+cells != 0 {
		t.Errorf("%d slots and %d cells are held", slots, cells)
	}
}

func TestSpec_X2_X3_X5_RefusedBeforeDispatch(t *testing.T) {
	n := node(t, config(t, short))
	run := open(t, n, "a")
	for code, says := range map[string]string{
		`await echo({n: 1}); let q = ;`:                       "SyntaxError",
		`await echo({n: 1}); const x: number = 3; return x`:   "TypeScript",
		`await echo({n: 1}); return require("fs")`:            "module access is off",
		`await echo({n: 1}); const f = await import("fs")`:    "module access is off",
		"await echo({n: 1});\nimport x from 'y'\n":            "module access is off",
		`await echo({n: 1}) }); echo({n: 2}); (async () => {`: "SyntaxError",
	} {
		result := exec(t, run, code)
		mustFail(t, result, schemas.InvalidInput, says)
		if result.Telemetry.CallCount != 0 {
			t.Errorf("%s: %d calls", code, result.Telemetry.CallCount)
		}
	}
	result, err := run.Exec(t.Context(), schemas.Exec{CallID: "c", Input: schemas.JSON(`{"title":"t","code":"return 1","language":"typescript"}`)})
	if err != nil {
		t.Fatal(err)
	}
	mustFail(t, result, schemas.InvalidInput, "language")
}
