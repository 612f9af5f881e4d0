package e2e

import (
	"fmt"
	"regexp"
	"syscall"
	"testing"
	"time"
)

// TestReal_M7_ServerThatCannotStart: the other servers work, and each error names its server and the reason.
func TestReal_M7_ServerThatCannotStart(t *testing.T) {
	t.Parallel()
	path := config(t, servers{
		"good":    stdio(t, everythingServer),
		"missing": {"command": "codecell-no-such-program"},
		"dying":   {"command": node(t), "args": []string{"-e", `console.error("the licence has expired"); process.exit(7)`}},
	})
	got, code := execute(t, `return [(await MCP.good.getSum({ a: 1, b: 2 })).content[0].text, typeof MCP.missing, typeof MCP.dying]`,
		"--config", path)
	if code != 0 || string(got.Value) != `["The sum of 1 and 2 is 3.","undefined","undefined"]` {
		t.Errorf("exit code %d: %s %s", code, got.Value, got.Error)
	}
	tools := do(t, codecell(t, "tools", "--config", path), "")
	if all := tools.stdout + tools.stderr; !contains(all, "missing", "codecell-no-such-program", "dying", "the licence has expired") {
		t.Errorf("codecell tools doesn't say what is wrong with which server:\n%s", all)
	}
}

// TestReal_M7_ServerKilledMidCall: the call fails at once and catchably, its effect is said to be unknown, nothing runs
// twice, and the server is started again for the next call.
func TestReal_M7_ServerKilledMidCall(t *testing.T) {
	t.Parallel()
	calls := newFixture(t)
	host := startHost(t, config(t, servers{"fixture": calls.server(t)}))

	cell := start(t, codecell(t, "exec", "--json", "--wait", "--bus", host.url, "--title", "Killed", program(t, `
		const from = Date.now();
		let caught;
		try { await MCP.fixture.record({ n: 1, ms: 60000 }) } catch (error) { caught = error }
		let last;
		for (let attempt = 0; attempt < 100 && !last; attempt++) {
			try { last = await MCP.fixture.record({ n: 2 + attempt }) } catch { await new Promise((go) => setTimeout(go, 100)) }
		}
		return [caught instanceof Error, caught?.code, caught?.effectStatus, Date.now() - from < 30000, last?.content[0].type];
	`)))
	victim := calls.awaitCalls(t, 1)[0]
	if err := syscall.Kill(victim.server, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	got := decode[cellResult](t, cell.line("status"))
	if want := `[true,"tool_error","unknown",true,"text"]`; got.Status != "completed" || string(got.Value) != want {
		t.Errorf("%s %s %s\nwant value %s", got.Status, got.Value, got.Error, want)
	}
	once(t, calls.calls())
}

// TestReal_U2_ExecutorKilled: of three executors one is killed with calls in flight. Its calls end as unknown, the others'
// are done, and no call runs twice or hangs.
func TestReal_U2_ExecutorKilled(t *testing.T) {
	t.Parallel()
	const n = 12
	calls := newFixture(t)
	host := startHost(t, config(t, servers{}))
	executors := map[int]*process{}
	for range 3 {
		p := start(t, codecell(t, "executor", "--bus", host.url, "--config", config(t, servers{"fixture": calls.server(t)})))
		p.line("") // it is ready
		executors[p.cmd.Process.Pid] = p
	}

	cell := start(t, codecell(t, "exec", "--json", "--wait", "--bus", host.url, "--title", "Trio", program(t, fmt.Sprintf(`
		const calls = Array.from({ length: %d }, (_, n) => MCP.fixture.record({ n, ms: 5000 }));
		const settled = await Promise.allSettled(calls);
		return settled.map(({ status, reason }) => status === "fulfilled" ? "done" : reason.effectStatus);
	`, n))))
	received := calls.awaitCalls(t, n)
	victim := received[0].parent
	executor, ok := executors[victim]
	if !ok {
		t.Fatalf("call by process %d, which is none of the executors", victim)
	}
	if err := executor.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	killed := time.Now()

	got := decode[cellResult](t, cell.line("status"))
	if took := time.Since(killed); took > patience/2 {
		t.Errorf("the loss was noticed after %v", took)
	}
	if got.Status != "completed" {
		t.Fatalf("%+v", got)
	}
	outcomes := decode[[]string](t, string(got.Value))
	for _, call := range received {
		want := "done"
		if call.parent == victim {
			want = "unknown"
		}
		if outcomes[call.n] != want {
			t.Errorf("call %d by executor %d ended as %q, want %q", call.n, call.parent, outcomes[call.n], want)
		}
	}
	once(t, calls.calls())
}

// once fails the test for calls that ran more than once.
func once(t *testing.T, calls []recorded) {
	t.Helper()
	times := map[int]int{}
	for _, call := range calls {
		times[call.n]++
	}
	for n, count := range times {
		if count != 1 {
			t.Errorf("call %d ran %d times", n, count)
		}
	}
}

// hostProcess is a running `codecell up`.
type hostProcess struct {
	*process
	url string
}

// runIDs finds ids of cells.
var runIDs = regexp.MustCompile(`[a-z2-7]{10}-[a-z2-7]{26}`)

// startHost starts a host that other processes can reach, and waits until it is ready.
func startHost(t *testing.T, config string) hostProcess {
	t.Helper()
	p := start(t, codecell(t, "up", "--config", config, "--listen", "127.0.0.1:0", "--json"))
	url := regexp.MustCompile(`nats://[^" ]+`).FindString(p.line("nats://"))
	return hostProcess{process: p, url: url}
}
