package host_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/codecell/codecell/actors/tool"
	"github.com/codecell/codecell/bus"
	"github.com/codecell/codecell/schemas"
)

const typesOf = `return [typeof agents, typeof phase, typeof log, API.list("agents").files.length].join()`

func nothing(_ context.Context, _ struct{}) (struct{}, error) { return struct{}{}, nil }

// describeExec is what the model reads about exec.
func describeExec(t *testing.T, r *bus.Run) string {
	t.Helper()
	exec, ok := r.Surface.Tool("exec")
	if !ok {
		t.Fatal("there is no exec")
	}
	return exec.Description
}

// The globals stand for codecell's own tools: others of their names are just tools.
func TestSpec_G10_ALookalikeIsNoSwarm(t *testing.T) {
	fake := []tool.Func{
		tool.New("sessions_spawn", "Not that one.", nothing), tool.New("agents_wait", "Not that one.", nothing),
		tool.New("log", "Logs.", nothing), tool.New("phase", "Phases.", nothing), tool.New("agents", "Lists.", nothing),
	}
	for name, settings := range map[string]string{"off": `{}`, "on, without a provider": `{tools: {swarm: true}}`} {
		t.Run(name, func(t *testing.T) {
			n := node(t, config(t, settings), fake...)
			run := open(t, n, "a")
			if got := value[string](t, exec(t, run, typesOf)); got != "function,function,function,0" {
				t.Errorf("the tools have other names: %s", got)
			}
			if strings.Contains(describeExec(t, run), "agents.run") {
				t.Error("the model is told of agents")
			}
			missing := strings.Contains(fmt.Sprint(n.Problems()), "provider.url")
			if missing != (name != "off") {
				t.Errorf("problems: %q", n.Problems())
			}
		})
	}
}

func TestSpec_G10_WhatIsMissingIsSaid(t *testing.T) {
	n := node(t, config(t, `{tools: {swarm: true}, provider: {url: "http://127.0.0.1:1/v1"}}`))
	if got := fmt.Sprint(n.Problems()); !strings.Contains(got, "provider.model") {
		t.Errorf("problems: %q", got)
	}
	n = node(t, config(t, `{tools: {swarm: true}, provider: {url: "http://127.0.0.1:1/v1"}, agents: {entries: {x: {model: "m"}}}}`))
	got := value[string](t, exec(t, open(t, n, "a"), `try { await agents.run("x") } catch (e) { return e.message }`))
	if !strings.Contains(got, `agent "default" has none`) {
		t.Errorf("%q", got)
	}
}

// Names are taken while the globals are there, and no longer (C4).
func TestSpec_G10_C4_TakenNames(t *testing.T) {
	n := swarmNode(t, newModel(t, echoes), "", "", tool.New("log", "Logs.", nothing))
	run := open(t, n, "a")
	got := value[string](t, exec(t, run, `const [t] = catalog.all().filter(t => t.toolName === "log"); return [/^log_[0-9a-f]{8}$/.test(t.callableName), typeof t, log === t].join()`))
	if got != "true,function,false" {
		t.Errorf("%s", got)
	}
	if text := describeExec(t, run); strings.Count(text, "agents.run") != 1 {
		t.Errorf("the description: %s", text)
	}
	if got := value[string](t, exec(t, run, `return API.read("agents.d.ts").content`)); !strings.Contains(got, "run(task: string | AgentTask): Promise<AgentAnswer>") {
		t.Errorf("%s", got)
	}
}

// A restricted run sees what others see, and its programs have none of it.
func TestSpec_G10_A6_RestrictedRuns(t *testing.T) {
	n := swarmNode(t, newModel(t, echoes), "", "")
	id := someone("a")
	id.Restricted = true
	restricted, err := n.Client().Open(t.Context(), schemas.Open{Identity: id})
	if err != nil {
		t.Fatal(err)
	}
	free := open(t, n, "b")
	if describeExec(t, restricted) != describeExec(t, free) || restricted.Surface.Version != free.Surface.Version {
		t.Error("its model sees something else")
	}
	if got := value[string](t, exec(t, restricted, `return [typeof agents, typeof phase, typeof log].join()`)); got != "undefined,undefined,undefined" {
		t.Errorf("its programs have %s", got)
	}
	if got := value[string](t, exec(t, free, `return [typeof agents, typeof phase, typeof log].join()`)); got != "object,function,function" {
		t.Errorf("others have %s", got)
	}
}

// A child gets nothing that its parent hasn't.
func TestSpec_G10_ChildrenInherit(t *testing.T) {
	n := swarmNode(t, newModel(t, echoes), `agents: ["wide"]`, `agents: {entries: {wide: {}}}`)
	events, err := n.Client().Watch(t.Context(), bus.Facts("turn"))
	if err != nil {
		t.Fatal(err)
	}
	id := someone("a")
	id.Sender, id.Channel, id.Sandbox, id.Restricted = "ann", "mail", "box", true
	run, err := n.Client().Open(t.Context(), schemas.Open{Identity: id})
	if err != nil {
		t.Fatal(err)
	}
	exec(t, run, `const s = await sessions_spawn({task: "x", agent: "wide"}); await agents_wait({ids: [s.id], awaitResults: true})`)
	for e := range events {
		if started, ok := e.Fact.(*schemas.TurnStarted); ok {
			got := started.Identity
			if got.Agent != "wide" || got.Sender != "ann" || got.Channel != "mail" || got.Sandbox != "box" || !got.Restricted || got.Depth != 1 {
				t.Errorf("%+v", got)
			}
			return
		}
	}
}

// What a program tells of its progress is output and facts, both bounded.
func TestSpec_G10_Notes(t *testing.T) {
	n := swarmNode(t, newModel(t, echoes), "", "")
	events, err := n.Client().Watch(t.Context(), bus.Facts("cell"))
	if err != nil {
		t.Fatal(err)
	}
	run := open(t, n, "a")
	r := exec(t, run, `log("first"); phase("é".repeat(200)); log("x".repeat(600), {a: 1}); for (let i = 0; i < 300; i++) phase("p" + i); return 1`)
	if len(r.Output) != 2 || r.Output[0].Text != "first" || !strings.HasSuffix(r.Output[1].Text, ` {"a":1}`) {
		t.Errorf("output %+v", r.Output)
	}
	var notes []*schemas.CellNoted
	for e := range events {
		if note, ok := e.Fact.(*schemas.CellNoted); ok {
			notes = append(notes, note)
		}
		if _, ended := e.Fact.(*schemas.CellEnded); ended {
			break
		}
	}
	if len(notes) != schemas.MaxNotes {
		t.Fatalf("%d notes", len(notes))
	}
	for i, want := range []struct{ phase, text string }{{"", "first"}, {strings.Repeat("é", 120), ""}, {strings.Repeat("é", 120), strings.Repeat("x", 512)}, {"p0", ""}} {
		if notes[i].Phase != want.phase || notes[i].Text != want.text || notes[i].Address.Run != run.ID {
			t.Errorf("note %d: %+v", i, notes[i])
		}
	}
	if r := exec(t, run, `phase("again"); return 1`); r.Status != schemas.StatusCompleted {
		t.Errorf("%s", told(r))
	}
}

// Words of an agent whose tools are an MCP server's are data, as the server's are; so are those of agents above it (O5).
func TestSpec_G10_O5_WordsOfAgents(t *testing.T) {
	m := newModel(t, func(c *chat) replied {
		if c.task() == "ask another" && c.turns() == 0 {
			return replied{tool: "exec", args: `{"title":"t","code":"return (await agents.run({task: 'x', agent: 'wide'})).text"}`}
		}
		return echoes(c)
	})
	s := serveTools(t, `[{"name":"say","inputSchema":{}}]`)
	n := swarmNode(t, m, `maxDepth: 2, agents: ["*"]`, fmt.Sprintf(
		`mcpServers: {far: {url: %q}}, agents: {entries: {own: {tools: {allow: ["echo", "sessions_spawn", "agents_wait"]}}, wide: {}}}`, s.URL))
	for code, untrusted := range map[string]bool{
		`(await agents.run({task: "x", agent: "own"})).text`:                         false,
		`(await agents.run({task: "x", agent: "wide"})).text`:                        true,
		`(await agents.run({task: "ask another", agent: "own", mode: "code"})).text`: true,
	} {
		r := exec(t, open(t, n, code), "return "+code)
		if r.Status != schemas.StatusCompleted || r.Untrusted != untrusted {
			t.Errorf("%s: untrusted %v: %s", code, r.Untrusted, told(r))
		}
	}
}
