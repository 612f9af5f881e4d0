package e2e

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// recovery is what `codecell session recover --json` prints.
type recovery struct {
	Recovered []struct {
		CallID, NewCallID, Title string
		Result                   struct {
			Status string
			Value  json.RawMessage
		}
	}
	Left []struct{ Title, Why string }
}

// TestReal_R2_R3_Case41_RecoverAfterKill kills a host while programs run and others are parked, and starts it again: what was
// stored is there, restart-safe programs are run again from their beginning, and no other is.
func TestReal_R2_R3_Case41_RecoverAfterKill(t *testing.T) {
	t.Parallel()
	calls := newFixture(t)
	root := t.TempDir()
	gate := writeFile(t, filepath.Join(root, "gate.txt"), "closed")
	settings := writeJSON(t, filepath.Join(t.TempDir(), "codecell.json5"), map[string]any{
		"mcpServers": servers{"fixture": calls.server(t)},
		"workspace":  map[string]any{"root": root},
		"bus":        map[string]any{"storeDir": filepath.Join(t.TempDir(), "store")},
	})
	host := startHost(t, settings)
	on := func(args ...string) []string { return append(args, "--bus", host.url, "--session", "desk") }

	kept, code := execute(t, `await store("kept", [1, 2]); return 1`, on()...)
	if code != 0 {
		t.Fatalf("exit code %d: %+v", code, kept)
	}
	parked, code := execute(t, `const { content } = await read({ path: "gate.txt" });
		if (content === "closed") await yield_control("the gate is closed");
		return "parked, " + content`, on("--restart-safe")...)
	if parked.Status != "waiting" || code != 3 {
		t.Fatalf("exit code %d: %+v", code, parked)
	}
	wrote, code := execute(t, `await MCP.fixture.record({ n: 1 }); await yield_control("look"); return "never again"`, on()...)
	if wrote.Status != "waiting" || code != 3 {
		t.Fatalf("exit code %d: %+v", code, wrote)
	}
	running := start(t, codecell(t, on("exec", "--json", "--restart-safe", "--await-results", "--title", "Running", program(t, `
		const { content } = await read({ path: "gate.txt" });
		while (content === "closed") {}
		return "running, " + content`))...))
	if !eventually(patience, func() bool {
		shown := do(t, codecell(t, "session", "show", "desk", "--bus", host.url), "")
		return strings.Contains(shown.stdout, `"Running"`)
	}) {
		t.Fatal("the transcript never has the program")
	}
	// While its cells are there, nothing is interrupted.
	early := decode[recovery](t, do(t, codecell(t, "session", "recover", "desk", "--json", "--bus", host.url), "").stdout)
	if len(early.Recovered) != 0 || len(early.Left) != 3 || !strings.Contains(early.Left[0].Why, "codecell wait") {
		t.Fatalf("on the living host: %+v", early)
	}

	host.stop(syscall.SIGKILL)
	running.stop(syscall.SIGTERM)
	writeFile(t, gate, "open")
	host = startHost(t, settings)
	// The parked program itself was in memory only.
	gone := do(t, codecell(t, on("wait", "--json", parked.RunID)...), "")
	if lost := decode[cellResult](t, gone.stdout); lost.Status != "failed" || lost.Code != "runtime_unavailable" {
		t.Errorf("a wait for a cell of the killed host: %+v", lost)
	}
	got := do(t, codecell(t, "session", "recover", "desk", "--json", "--bus", host.url), "")
	if got.code != 1 { // one is left
		t.Errorf("exit code %d: %s", got.code, got.stderr)
	}
	again := decode[recovery](t, got.stdout)
	var values []string
	for _, r := range again.Recovered {
		values = append(values, r.Result.Status+" "+string(r.Result.Value))
	}
	if strings.Join(values, "; ") != `completed "parked, open"; completed "running, open"` {
		t.Errorf("recovered: %v", values)
	}
	if len(again.Left) != 1 || !strings.Contains(again.Left[0].Why, "restartSafe") {
		t.Errorf("left: %+v", again.Left)
	}
	if n := len(calls.calls()); n != 1 {
		t.Errorf("the call with an effect was made %d times", n)
	}
	loaded, code := execute(t, `return await load("kept")`, on()...)
	if code != 0 || string(loaded.Value) != "[1,2]" {
		t.Errorf("exit code %d: %+v", code, loaded)
	}
	// What has been recovered isn't interrupted any more.
	twice := decode[recovery](t, do(t, codecell(t, "session", "recover", "desk", "--json", "--bus", host.url), "").stdout)
	if len(twice.Recovered) != 0 || len(twice.Left) != 1 {
		t.Errorf("the second time: %+v", twice)
	}
}
