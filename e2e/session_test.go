package e2e

import (
	"strings"
	"testing"
)

// TestReal_W2_Strangers: a cell belongs to the session that started it. Others are told so, and do it no harm.
func TestReal_W2_Strangers(t *testing.T) {
	t.Parallel()
	host := startHost(t, config(t, servers{}))
	parked, code := execute(t, `text("one"); await yield_control(); text("two"); return 2`, "--bus", host.url, "--session", "mine")
	if parked.Status != "waiting" || code != 3 {
		t.Fatalf("exit code %d: %+v", code, parked)
	}
	wait := func(runID string, more ...string) (cellResult, int) {
		t.Helper()
		got := do(t, codecell(t, append([]string{"wait", "--json", "--bus", host.url, runID}, more...)...), "")
		return decode[cellResult](t, got.stdout), got.code
	}
	for name, c := range map[string]struct {
		runID, session, says string
	}{
		"another session": {parked.RunID, "theirs", "different session"},
		"no such cell":    {parked.RunID[:len(parked.RunID)-4] + "aaaa", "mine", "unavailable"},
		"no such host":    {"aaaaaaaaaa" + parked.RunID[10:], "mine", "host"},
		"no id at all":    {"../../etc/passwd", "mine", "runId"},
	} {
		got, code := wait(c.runID, "--session", c.session)
		if got.Status != "failed" || code == 0 || !strings.Contains(got.Error, c.says) {
			t.Errorf("%s: exit code %d, %+v, want an error that says %q", name, code, got, c.says)
		}
	}
	done, code := wait(parked.RunID, "--session", "mine")
	if done.Status != "completed" || code != 0 || string(done.Value) != "2" || done.outputs() != "two" {
		t.Errorf("exit code %d: %+v", code, done)
	}
}

// TestReal_S8_Cancel ends a cell from another process.
func TestReal_S8_Cancel(t *testing.T) {
	t.Parallel()
	calls := newFixture(t)
	host := startHost(t, config(t, servers{"fixture": calls.server(t)}))
	cell := start(t, codecell(t, "exec", "--json", "--wait", "--bus", host.url, "--title", "Cancelled",
		program(t, `text("started"); await MCP.fixture.record({ n: 1, ms: 60000 }); return "done"`)))
	calls.awaitCalls(t, 1)
	slots := do(t, codecell(t, "slots", "--json", "--bus", host.url), "")
	runID := runIDs.FindString(slots.stdout)
	if runID == "" {
		t.Fatalf("codecell slots doesn't name the cell:\n%s%s", slots.stdout, slots.stderr)
	}
	if got := do(t, codecell(t, "cancel", "--bus", host.url, runID), ""); got.code != 0 {
		t.Errorf("cancel: exit code %d\n%s%s", got.code, got.stdout, got.stderr)
	}
	got := decode[cellResult](t, cell.line("status"))
	if got.Status != "failed" || got.Code != "aborted" || cell.exitCode() != 1 {
		t.Errorf("%+v", got)
	}
}
