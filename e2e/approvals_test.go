package e2e

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// guardedBudget is the time of a guarded program: more than its calls need on a busy machine.
const guardedBudget = 3 * time.Second

// guarded is a host, and an executor of another process whose one tool needs an approval for every call.
type guarded struct {
	host     hostProcess
	executor *process
	calls    fixture
}

// guard starts them. more is added to the executor's configuration.
func guard(t *testing.T, more map[string]any) guarded {
	t.Helper()
	dir := t.TempDir()
	g := guarded{calls: newFixture(t)}
	g.host = startHost(t, writeJSON(t, filepath.Join(dir, "host.json5"), map[string]any{
		"tools": map[string]any{"codeMode": map[string]any{"timeoutMs": guardedBudget.Milliseconds()}},
	}))
	g.executor = start(t, codecell(t, "executor", "--bus", g.host.url, "--config", writeJSON(t, filepath.Join(dir, "executor.json5"), with(map[string]any{
		"mcpServers": servers{"fixture": g.calls.server(t)},
		"tools":      map[string]any{"approve": []string{"fixture.record"}},
	}, more))))
	g.executor.line("ready")
	return g
}

// exec starts a program.
func (g guarded) exec(t *testing.T, source string) *process {
	t.Helper()
	return start(t, codecell(t, "exec", "--json", "--bus", g.host.url, "--title", "Guarded", program(t, source)))
}

// pending returns the approvals that can be decided, once there are so many, oldest first.
func (g guarded) pending(t *testing.T, n int) (ids []string) {
	t.Helper()
	if !eventually(patience, func() bool {
		got := do(t, codecell(t, "approvals", "ls", "--json", "--bus", g.host.url), "")
		list := decode[struct{ Approvals []struct{ ID string } }](t, got.stdout)
		ids = ids[:0]
		for _, a := range list.Approvals {
			ids = append(ids, a.ID)
		}
		return len(ids) == n
	}) {
		t.Fatalf("approvals %v, want %d of them", ids, n)
	}
	return ids
}

// decide runs `codecell approvals`, and checks its exit code.
func (g guarded) decide(t *testing.T, code int, args ...string) string {
	t.Helper()
	got := do(t, codecell(t, append([]string{"approvals", "--bus", g.host.url}, args...)...), "")
	if got.code != code {
		t.Errorf("approvals %s: exit code %d, want %d\n%s%s", strings.Join(args, " "), got.code, code, got.stdout, got.stderr)
	}
	return got.stdout + got.stderr
}

func (g guarded) ran() (all []int) {
	for _, call := range g.calls.calls() {
		all = append(all, call.n)
	}
	slices.Sort(all)
	return all
}

// TestReal_P3_Case67_ALoopIsApprovedOnce: the first of twenty calls asks; a person approves it when the program's budget
// would have been used up long ago, and with it the nineteen that follow. None asks, and the twenty-first would.
func TestReal_P3_Case67_ALoopIsApprovedOnce(t *testing.T) {
	t.Parallel()
	g := guard(t, nil)
	cell := g.exec(t, `
		let sum = 0;
		for (let n = 1; n <= 20; n++) sum += Number((await MCP.fixture.record({ n })).content[0].text);
		return sum;
	`)
	id := g.pending(t, 1)[0]
	time.Sleep(guardedBudget + 500*time.Millisecond) // real: longer than the budget of the program
	if ran := g.ran(); len(ran) > 0 {
		t.Errorf("%v ran before anybody approved", ran)
	}
	g.decide(t, 0, "approve", id, "--calls", "19", "--scope", "run", "--match", `{"properties":{"n":{"type":"integer","maximum":20}},"required":["n"]}`)
	got := decode[cellResult](t, cell.line("status"))
	if got.Status != "completed" || string(got.Value) != "210" {
		t.Errorf("%s %s %s", got.Status, got.Value, got.Error)
	}
	once(t, g.calls.calls())
	if ran := g.ran(); len(ran) != 20 {
		t.Errorf("%v ran", ran)
	}
	if said := g.decide(t, 1, "deny", id); !strings.Contains(said, "was approved by") {
		t.Error(said)
	}
	cell = g.exec(t, `return (await MCP.fixture.record({ n: 21 })).content[0].text`)
	g.decide(t, 0, "deny", g.pending(t, 1)[0], "--note", "enough", "--by", "ada")
	if got := decode[cellResult](t, cell.line("status")); got.Status != "failed" || !strings.Contains(got.Error, "record: denied by ada: enough") {
		t.Errorf("%+v", got)
	}
}

// TestReal_S6_P3_Case69_OverlappingApprovals: each of three calls made at once asks; they are decided in another order and
// one is denied, which is that call's alone. The program's time stands still until all are decided.
func TestReal_S6_P3_Case69_OverlappingApprovals(t *testing.T) {
	t.Parallel()
	g := guard(t, nil)
	cell := g.exec(t, `
		const all = await Promise.allSettled([1, 2, 3].map((n) => MCP.fixture.record({ n })));
		return all.map(({ value, reason }) => value ? value.content[0].text : [reason.message, reason.location ?? "", reason.effectStatus ?? ""].join("; "));
	`)
	ids := g.pending(t, 3)
	time.Sleep(guardedBudget * 7 / 10) // real: a part of the program's budget
	g.decide(t, 0, "approve", ids[2])
	time.Sleep(guardedBudget * 7 / 10) // real: together more than the budget
	g.decide(t, 0, "deny", ids[1], "--by", "ada", "--note", "not this one")
	g.pending(t, 1)
	g.decide(t, 0, "approve", ids[0])
	got := decode[cellResult](t, cell.line("status"))
	values := decode[[]string](t, string(got.Value))
	denied := slices.IndexFunc(values, func(v string) bool { return strings.HasPrefix(v, "record: denied by ada: not this one") })
	if got.Status != "completed" || denied < 0 || len(values) != 3 {
		t.Fatalf("%s %s %s", got.Status, got.Value, got.Error)
	}
	want := slices.Delete([]int{1, 2, 3}, denied, denied+1)
	if diff := cmp.Diff(want, g.ran()); diff != "" {
		t.Errorf("(- approved, + ran)\n%s", diff)
	}
}

// TestReal_S6_P3_Case67_AfterAResume: calls ask in a program that goes on, and one that hands the turn back while somebody
// decides goes on with what was decided.
func TestReal_S6_P3_Case67_AfterAResume(t *testing.T) {
	t.Parallel()
	g := guard(t, nil)
	cell := g.exec(t, `
		const early = MCP.fixture.record({ n: 1 });
		await yield_control("somebody is asked");
		const late = await MCP.fixture.record({ n: 2 });
		return [(await early).content[0].text, late.content[0].text].join();
	`)
	parked := decode[cellResult](t, cell.line("status"))
	if parked.Status != "waiting" || parked.RunID == "" {
		t.Fatalf("%+v", parked)
	}
	early := g.pending(t, 1)[0]
	resumed := start(t, codecell(t, "wait", "--json", "--bus", g.host.url, parked.RunID))
	late := ""
	for _, id := range g.pending(t, 2) {
		if id != early {
			late = id
		}
	}
	time.Sleep(guardedBudget + 500*time.Millisecond) // real: longer than the budget of the program
	g.decide(t, 0, "approve", late)
	g.decide(t, 0, "approve", early)
	got := decode[cellResult](t, resumed.line("status"))
	if got.Status != "completed" || string(got.Value) != `"1,2"` {
		t.Errorf("%s %s %s", got.Status, got.Value, got.Error)
	}
	once(t, g.calls.calls())
}

// TestReal_P3_Case68_NobodyDecides: the program is told that the approval timed out, and goes on.
func TestReal_P3_Case68_NobodyDecides(t *testing.T) {
	t.Parallel()
	g := guard(t, map[string]any{"approvals": map[string]any{"timeoutSeconds": 6}})
	cell := g.exec(t, `
		try { await MCP.fixture.record({ n: 1 }) } catch (error) { return error.message }
	`)
	id := g.pending(t, 1)[0]
	got := decode[cellResult](t, cell.line("status"))
	if want := `"record: the approval timed out: nobody decided within 6s, and it was not run"`; got.Status != "completed" || string(got.Value) != want {
		t.Errorf("%s %s %s", got.Status, got.Value, got.Error)
	}
	if said := g.decide(t, 1, "approve", id); !strings.Contains(said, "expired, since nobody decided in time") {
		t.Error(said)
	}
	g.pending(t, 0)
	if ran := g.ran(); len(ran) > 0 {
		t.Errorf("%v ran", ran)
	}
}

// TestReal_P3_ExecutorKilledWhileSomebodyDecides: its call ends, and what it has left can't be decided.
func TestReal_P3_ExecutorKilledWhileSomebodyDecides(t *testing.T) {
	t.Parallel()
	g := guard(t, nil)
	cell := g.exec(t, `
		try { await MCP.fixture.record({ n: 1 }) } catch (error) { return error.message }
	`)
	id := g.pending(t, 1)[0]
	if err := g.executor.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	got := decode[cellResult](t, cell.line("status"))
	if got.Status != "completed" || !strings.Contains(string(got.Value), "executor that held the call is gone") {
		t.Errorf("%s %s %s", got.Status, got.Value, got.Error)
	}
	g.pending(t, 0)
	if said := g.decide(t, 1, "approve", id); !strings.Contains(said, "nobody waits for the call any more") {
		t.Error(said)
	}
}
