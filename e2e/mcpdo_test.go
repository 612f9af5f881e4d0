package e2e

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
)

// TestReal_V1_InspectorSession keeps one session of the inspector open, as an agent does: a cell that one call parks is
// resumed by a later one.
func TestReal_V1_InspectorSession(t *testing.T) {
	t.Parallel()
	session := openSession(t, config(t, servers{"everything": stdio(t, everythingServer)}))

	first := session.call(t, "exec", map[string]any{
		"title": "Park and go on",
		"code": `
			const sum = await MCP.everything.getSum({ a: 2, b: 40 });
			text("before");
			await yield_control("look at it");
			text("after");
			return sum.content[0].text;`,
	})
	parked := first.cell(t)
	if parked.Status != "waiting" || parked.Reason != "yield" || parked.outputs() != "before" {
		t.Fatalf("exec: %s", first.text())
	}
	second := session.call(t, "wait", map[string]any{"runId": parked.RunID})
	done := second.cell(t)
	if done.Status != "completed" || string(done.Value) != `"The sum of 2 and 40 is 42."` || done.outputs() != "after" {
		t.Fatalf("wait: %s", second.text())
	}
	third := session.call(t, "wait", map[string]any{"runId": parked.RunID})
	if gone := third.cell(t); gone.Status != "failed" || gone.Code != "invalid_input" {
		t.Fatalf("wait for a cell that has ended: %s", third.text())
	}
}

// session is a connection of the inspector that outlives its commands, in a daemon of its own.
type session struct {
	servers string
	env     []string
}

func openSession(t *testing.T, config string) session {
	t.Helper()
	s := session{servers: newInspector(t, config).servers, env: []string{
		"MCP_INSPECTOR_DAEMON_DIR=" + t.TempDir(),
		"MCP_INSPECTOR_DAEMON_TOKEN=" + strings.Repeat("0123456789abcdef", 4),
		"MCP_INSPECTOR_SECRET_STORE=memory",
	}}
	s.do(t, "--config", s.servers, "connect", "codecell")
	t.Cleanup(func() { s.do(t, "daemon", "stop") })
	return s
}

// do runs one command against the daemon.
func (s session) do(t *testing.T, args ...string) string {
	t.Helper()
	entry := filepath.Join(filepath.Dir(filepath.Dir(filepath.Dir(inspectorClient))), "mcpdo", "build", "mcp-bin.js")
	got := do(t, command{path: node(t), args: append([]string{npm(t, entry), "--format", "json"}, args...), env: s.env}, "")
	if got.code != 0 && got.stdout == "" {
		t.Fatalf("mcpdo %v: exit code %d\n%s", args, got.code, got.stderr)
	}
	return got.stdout
}

func (s session) call(t *testing.T, tool string, args map[string]any) callResult {
	t.Helper()
	text, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	return decode[callResult](t, s.do(t, "--connection", "codecell", "tools/call", tool, "--tool-args-json", string(text)))
}
