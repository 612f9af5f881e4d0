package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/codecell/codecell/bus"
	"github.com/codecell/codecell/schemas"
)

// hookBus names the variable that turns the test binary into a process that is the hook "guard", on the bus with this URL.
const hookBus = "E2E_HOOK_BUS"

// serveHook serves the hook until stdin ends. Asked about 4 it dies in the middle.
func serveHook() int {
	fail := func(err error) int {
		fmt.Fprintln(os.Stderr, "hook:", err)
		return 1
	}
	conn, err := bus.Dial(context.Background(), bus.Options{URLs: []string{os.Getenv(hookBus)}})
	if err != nil {
		return fail(err)
	}
	defer conn.Close()
	_, err = bus.ServeHook(conn, schemas.BeforeToolCall, "guard", func(_ context.Context, e *schemas.HookEvent) (*schemas.Verdict, error) {
		var in recordParams
		if err := json.Unmarshal(e.Input, &in); err != nil {
			return nil, err
		}
		switch in.N {
		case 2:
			return &schemas.Verdict{Block: true, Reason: e.Identity.Agent + " may not"}, nil
		case 3:
			return &schemas.Verdict{Input: schemas.JSON(`{"n":33}`)}, nil
		case 4:
			os.Exit(4)
		}
		return nil, nil //nolint:nilnil // lets the call pass
	})
	if err != nil {
		return fail(err)
	}
	fmt.Fprintln(os.Stdout, "serving")
	_, _ = io.Copy(io.Discard, os.Stdin)
	return 0
}

// TestReal_P1_ExecutorsAskTheHooksOfTheirOwnConfig: the host has none configured, the executor has one, and the hook is a third
// process, which dies in the middle of a question.
func TestReal_P1_ExecutorsAskTheHooksOfTheirOwnConfig(t *testing.T) {
	t.Parallel()
	calls := newFixture(t)
	host := startHost(t, config(t, servers{}))
	executor := start(t, codecell(t, "executor", "--bus", host.url, "--config", writeJSON(t, filepath.Join(t.TempDir(), "codecell.json5"), map[string]any{
		"mcpServers": servers{"fixture": calls.server(t)},
		"hooks":      []map[string]any{{"name": "guard", "phase": "before_tool_call", "tools": []string{"fixture"}, "timeoutMs": 2000}},
	})))
	executor.line("ready")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	hook := start(t, command{path: self, env: []string{hookBus + "=" + host.url}})
	hook.line("serving")

	begun := time.Now()
	got, code := execute(t, `
		const said = [];
		for (const n of [1, 2, 3, 4, 5]) {
			try { said.push((await MCP.fixture.record({ n })).content[0].text) } catch (e) { said.push(e.message + " | " + e.effectStatus) }
		}
		return said`, "--bus", host.url, "--wait")
	if code != 0 {
		t.Fatalf("exit code %d: %+v", code, got)
	}
	want := []string{
		"1",
		"record was not called: hook guard blocks it: default may not | not_started",
		"33",
		"record was not called: hook guard didn't answer within 2s | not_started",
		"record was not called: nobody answers for hook guard: start what serves it, or take it out of the configuration's hooks | not_started",
	}
	if said := decode[[]string](t, string(got.Value)); strings.Join(said, "\n") != strings.Join(want, "\n") {
		t.Errorf("after %v:\n%s\nwant\n%s", time.Since(begun), strings.Join(said, "\n"), strings.Join(want, "\n"))
	}
	var ran []int
	for _, c := range calls.calls() {
		ran = append(ran, c.n)
	}
	if fmt.Sprint(ran) != "[1 33]" {
		t.Errorf("the server was called with %v", ran)
	}
	if hook.exitCode() != 4 {
		t.Errorf("the hook ended with %d", hook.exitCode())
	}
}
