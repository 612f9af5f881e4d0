package e2e

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/codecell/codecell/actors/host"
	"github.com/codecell/codecell/actors/tool"
	"github.com/codecell/codecell/bus"
	"github.com/codecell/codecell/schemas"
)

// paired is a host that has the nodes tool, and a paired node of another process.
type paired struct {
	host    hostProcess
	node    *process
	id      string
	marks   string // a folder in which the node's commands leave files
	command command
}

// pair starts them. more is added to the host's configuration.
func pair(t *testing.T, more map[string]any) *paired {
	t.Helper()
	dir := t.TempDir()
	p := &paired{marks: filepath.Join(dir, "marks")}
	for _, name := range []string{"marks", "shared/reports"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	p.host = startHost(t, writeJSON(t, filepath.Join(dir, "host.json5"), with(map[string]any{"nodes": map[string]any{"enabled": true}}, more)))
	word := map[string]any{"type": "object", "properties": map[string]any{"mark": map[string]any{"type": "string"}}, "required": []string{"mark"}}
	p.command = codecell(t, "node", "--json", "--bus", p.host.url, "--config", writeJSON(t, filepath.Join(dir, "node.json5"), map[string]any{
		"node": map[string]any{
			"name": "office-mac", "key": "keys/node.key", "folders": map[string]string{"docs": "shared"},
			"commands": map[string]any{
				"brief": map[string]any{"command": "touch", "args": []string{"--", "{{mark}}"}, "cwd": "marks", "params": word},
				"long": map[string]any{"command": "sh", "args": []string{"-c", `echo $$ > "$0.tmp"; mv "$0.tmp" "$0"; exec sleep 8`, "{{mark}}"},
					"cwd": "marks", "params": word, "description": "Takes its time."},
				"endless": map[string]any{"command": "sh", "args": []string{"-c", `echo $$ > "$0.tmp"; mv "$0.tmp" "$0"; exec sleep 600`, "{{mark}}"},
					"cwd": "marks", "params": word},
			},
		},
	}))
	p.node = start(t, p.command)
	ready := decode[struct{ Node, PairingCode string }](t, p.node.line("ready"))
	p.id = ready.Node
	if got := do(t, codecell(t, "nodes", "approve", ready.PairingCode, "--bus", p.host.url), ""); got.code != 0 {
		t.Fatalf("%d: %s%s", got.code, got.stdout, got.stderr)
	}
	return p
}

// exec starts a program.
func (p *paired) exec(t *testing.T, source string, flags ...string) *process {
	t.Helper()
	return start(t, codecell(t, append(append([]string{"exec", "--json", "--bus", p.host.url}, flags...), program(t, source))...))
}

// value runs a program to its end and returns its value.
func (p *paired) value(t *testing.T, source string) string {
	t.Helper()
	got := decode[cellResult](t, p.exec(t, source).line("status"))
	if got.Status != "completed" {
		t.Errorf("%s: %s", got.Status, got.Error)
	}
	return string(got.Value)
}

// pid waits until a command has begun, and returns its process.
func (p *paired) pid(t *testing.T, mark string) int {
	t.Helper()
	var text []byte
	if !eventually(patience, func() (ok bool) {
		text, _ = os.ReadFile(filepath.Join(p.marks, mark))
		return len(text) > 0
	}) {
		t.Fatal("the command didn't begin")
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

// lost is a program that tells how a call of the endless command ends.
const lost = `
	const node = await nodes.get("office-mac");
	try { return await node.invoke("endless", { mark: "MARK" }) } catch (e) { return [e.message, e.code, e.effectStatus] }`

// TestReal_N1_NodesOfAnotherProcess: what a program sees of a node, and what it can have it do.
func TestReal_N1_NodesOfAnotherProcess(t *testing.T) {
	t.Parallel()
	p := pair(t, map[string]any{"tools": map[string]any{"codeMode": map[string]any{"timeoutMs": 4000}}})
	got := decode[[]any](t, p.value(t, `const [n] = await nodes.list();
		return [n.id, n.name, n.connected, n.commands, n.platform.includes("/")]`))
	if diff := cmp.Diff([]any{p.id, "office-mac", true, []any{"brief", "device.status", "endless", "fs.listDir", "long"}, true}, got); diff != "" {
		t.Error(diff)
	}
	if got := p.value(t, `
		const n = await nodes.get((await nodes.list())[0].id);
		const brief = await n.invoke("brief", { mark: "made" });
		return [Object.keys(n), brief.exitCode, brief.output, (await n.listDir("docs")).entries, (await n.invoke("device.status")).cpus > 0]`,
	); got != `[["id","name","commands","invoke","listDir"],0,"",[{"name":"reports","type":"folder"}],true]` {
		t.Error(got)
	}
	if _, err := os.Stat(filepath.Join(p.marks, "made")); err != nil {
		t.Error(err)
	}
	refusals := decode[[]string](t, p.value(t, `
		const n = await nodes.get("office-mac"), all = [];
		for (const ask of [() => nodes.get("nobody"), () => n.invoke("system.run", { command: ["id"] }), () => n.invoke("brief"), () => n.listDir("docs/../.."), () => n.listDir("/etc")]) {
			try { await ask(); all.push("done") } catch (e) { all.push(e.message) }
		}
		return all`))
	for i, want := range []string{`there is no node "nobody"`, `has no command "system.run"`, "mark", "leads out", "in no folder"} {
		if len(refusals) != 5 || !strings.Contains(refusals[i], want) {
			t.Errorf("%q, want %q", refusals, want)
		}
	}
	// A call that takes longer than the program's time is pending like any other, and its program goes on.
	waiting := decode[cellResult](t, p.exec(t, `const n = await nodes.get("office-mac"); return (await n.invoke("long", { mark: "slow" })).exitCode`).line("status"))
	if waiting.Status != "waiting" || waiting.RunID == "" || len(waiting.PendingToolCalls) != 1 || !strings.Contains(string(waiting.PendingToolCalls[0]), "nodes") {
		t.Fatalf("%+v", waiting)
	}
	for over := time.Now().Add(patience); waiting.Status == "waiting" && time.Now().Before(over); {
		waiting = decode[cellResult](t, do(t, codecell(t, "wait", "--json", "--bus", p.host.url, waiting.RunID), "").stdout)
	}
	if waiting.Status != "completed" || string(waiting.Value) != "0" {
		t.Errorf("%+v", waiting)
	}
}

// TestReal_N2_NodeKilledMidInvoke: the call of a node that is killed rejects soon, as one that may have run. Started again
// with its key, the node is still paired.
func TestReal_N2_NodeKilledMidInvoke(t *testing.T) {
	t.Parallel()
	p := pair(t, nil)
	cell := p.exec(t, strings.Replace(lost, "MARK", "killed", 1))
	pid := p.pid(t, "killed")
	if err := p.node.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	got := decode[cellResult](t, cell.line("status"))
	value := decode[[]string](t, string(got.Value))
	if len(value) != 3 || !strings.Contains(value[0], "it is gone") || value[1] != "tool_error" || value[2] != "unknown" {
		t.Errorf("%s %s", got.Value, got.Error)
	}
	_ = syscall.Kill(pid, syscall.SIGKILL) // nobody else can
	<-p.node.ended
	if got := p.value(t, `const n = await nodes.get("office-mac"); try { await n.invoke("device.status") } catch (e) { return e.effectStatus }`); got != `"not_started"` {
		t.Errorf("a node that is gone: %s", got)
	}
	p.node = start(t, p.command)
	if ready := p.node.line("ready"); !strings.Contains(ready, `"state":"paired"`) || !strings.Contains(ready, p.id) {
		t.Error(ready)
	}
	if got := p.value(t, `return (await (await nodes.get("office-mac")).invoke("brief", { mark: "again" })).exitCode`); got != "0" {
		t.Error(got)
	}
}

// TestReal_N2_RevokedMidInvoke: revoking a node ends what it does for programs at once, and the node.
func TestReal_N2_RevokedMidInvoke(t *testing.T) {
	t.Parallel()
	p := pair(t, nil)
	cell := p.exec(t, strings.Replace(lost, "MARK", "revoked", 1))
	pid := p.pid(t, "revoked")
	if got := do(t, codecell(t, "nodes", "revoke", p.id, "--bus", p.host.url), ""); got.code != 0 {
		t.Fatal(got.stderr)
	}
	got := decode[cellResult](t, cell.line("status"))
	value := decode[[]string](t, string(got.Value))
	if len(value) != 3 || !strings.Contains(value[0], "isn't paired any more") {
		t.Errorf("%s %s", got.Value, got.Error)
	}
	p.node.line("this node was revoked")
	if code := p.node.exitCode(); code != 1 {
		t.Errorf("exit code %d", code)
	}
	if !eventually(patience, func() bool { _, _, alive := readStat(fmt.Sprintf("/proc/%d/stat", pid)); return !alive }) {
		t.Error("the command goes on")
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	if got := p.value(t, `return await nodes.list()`); got != "[]" {
		t.Error(got)
	}
	if got := do(t, p.command, ""); got.code != 2 || !strings.Contains(got.stdout, "was revoked") {
		t.Errorf("%d %s", got.code, got.stdout)
	}
}

// TestReal_N2_NodesAreApproved: what a program does with nodes waits for an approval where the configuration says so, and
// isn't done in a dry run.
func TestReal_N2_NodesAreApproved(t *testing.T) {
	t.Parallel()
	p := pair(t, map[string]any{"tools": map[string]any{"approve": []string{"nodes"}}})
	const source = `return (await nodes.list()).length`
	cell := p.exec(t, source)
	g := guarded{host: p.host}
	id := g.pending(t, 1)[0]
	if got := do(t, codecell(t, "approvals", "show", id, "--bus", p.host.url), ""); !strings.Contains(got.stdout, `"action": "list"`) || !strings.Contains(got.stdout, "nodes.nodes") {
		t.Error(got.stdout)
	}
	g.decide(t, 0, "approve", id)
	if got := decode[cellResult](t, cell.line("status")); string(got.Value) != "1" {
		t.Errorf("%s %s", got.Value, got.Error)
	}
	dry := p.exec(t, `return [await nodes.list(), (await nodes.get("office-mac")).name, typeof (await (await nodes.get("x")).invoke("brief", { mark: "dry" }))]`, "--dry-run").line("status")
	got := decode[cellResult](t, dry)
	if got.Status != "completed" || !strings.Contains(dry, `"command":"brief"`) {
		t.Error(dry)
	}
	if _, err := os.Stat(filepath.Join(p.marks, "dry")); err == nil {
		t.Error("a dry run ran the command")
	}
}

// pairForDocs pairs the node of the documents with a host.
func pairForDocs(t *testing.T, on *host.Node, dir string) {
	t.Helper()
	key, err := bus.LoadNodeKey(filepath.Join(dir, "node.key"))
	if err != nil {
		t.Fatal(err)
	}
	standing := make(chan bus.NodeStanding, 10)
	node, err := tool.StartNode(t.Context(), on.Conn(), tool.NodeOptions{
		Key: key, Logger: slog.New(slog.DiscardHandler), Standing: func(s bus.NodeStanding) { standing <- s },
		Config: schemas.NodeConfig{
			Name: "office-mac", Folders: map[string]string{"docs": filepath.Join(dir, "data")},
			Commands: map[string]schemas.NodeCommandConfig{"backup.start": {
				Command: "echo", Args: []string{"backing up", "{{what}}"}, Params: schemas.JSON(`{"type":"object","properties":{"what":{"type":"string"}}}`),
			}},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := node.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	if _, err := bus.NewNodeBook(on.Conn()).Approve(t.Context(), (<-standing).Code, "docs"); err != nil {
		t.Fatal(err)
	}
	<-standing
}
