package host_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/codecell/codecell/actors/session"
	"github.com/codecell/codecell/bus"
	"github.com/codecell/codecell/schemas"
)

func TestSpec_G10_SpawnAndWait(t *testing.T) {
	m := newModel(t, echoes)
	n := swarmNode(t, m, `agents: ["scribe"]`, `agents: {entries: {scribe: {model: "writer", instructions: "Write well."}}}`)
	run := open(t, n, "a")
	got := value[struct {
		Spawned []schemas.Spawned
		All     awaited
	}](t, exec(t, run, `
		const spawned = [await sessions_spawn({task: "one", label: "first"}), await sessions_spawn({task: "two", agent: "scribe", phase: "write"})];
		const all = await agents_wait({ids: spawned.map(s => s.id), awaitResults: true});
		return {spawned, all}`))
	for i, want := range []schemas.AgentResult{
		{Label: "first", Status: schemas.AgentCompleted, Text: "done: one"}, {Phase: "write", Status: schemas.AgentCompleted, Text: "done: two"},
	} {
		want.ID, want.Usage = got.Spawned[i].ID, schemas.Usage{InputTokens: 100, OutputTokens: 10}
		if got.All.Results[i] != want {
			t.Errorf("result %d is %+v, want %+v", i, got.All.Results[i], want)
		}
		if s := got.Spawned[i]; s.SessionKey != "k-a/"+s.ID || s.Status != "accepted" {
			t.Errorf("spawned %+v", s)
		}
	}
	if len(got.All.Pending) != 0 {
		t.Errorf("pending %q", got.All.Pending)
	}
	for _, c := range m.requests() {
		system := c.said("system")
		if c.task() == "one" && (c.Model != "m" || !strings.Contains(system, "Another agent has started you")) ||
			c.task() == "two" && (c.Model != "writer" || !strings.HasPrefix(system, "Write well.")) {
			t.Errorf("model %s is told %q for task %q", c.Model, system, c.task())
		}
	}
}

// A child has tools like any agent, and works in a session and a run of its own.
func TestSpec_G10_AChildIsAnAgent(t *testing.T) {
	m := newModel(t, func(c *chat) replied {
		if c.turns() == 0 {
			return replied{tool: "exec", args: `{"title":"t","code":"return (await echo({n: 7})).n"}`}
		}
		return replied{text: "it says " + c.said("tool")}
	})
	n := swarmNode(t, m, "", "")
	events, err := n.Client().Watch(t.Context(), bus.Facts("turn"))
	if err != nil {
		t.Fatal(err)
	}
	run := open(t, n, "a")
	r := exec(t, run, `phase("read"); return (await agents.run({task: "count", label: "counter", mode: "code"})).text`)
	if text := value[string](t, r); !strings.Contains(text, `"value":7`) {
		t.Errorf("the child said %q", text)
	}
	for e := range events {
		if started, ok := e.Fact.(*schemas.TurnStarted); ok {
			id := started.Identity
			if id.Agent != "default" || id.Depth != 1 || !strings.HasPrefix(id.SessionKey, "k-a/") || !strings.HasPrefix(id.Run, "run-a/") ||
				started.Label != "counter" || started.Phase != "read" {
				t.Errorf("the turn is %+v", started)
			}
			break
		}
	}
}

// Where a run is recorded, so are the agents that it starts, each in its own session; elsewhere they leave nothing.
func TestSpec_G10_P6_Transcripts(t *testing.T) {
	n := swarmNode(t, newModel(t, echoes), "", "")
	store, err := session.Open(t.Context(), n.Conn(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close(t.Context())
	for _, bind := range []bool{true, false} {
		run, err := n.Client().Open(t.Context(), schemas.Open{Identity: someone(fmt.Sprint("bound-", bind)), Bind: bind})
		if err != nil {
			t.Fatal(err)
		}
		id := value[string](t, exec(t, run, `return (await agents.run("remember")).id`))
		said, err := store.History(t.Context(), run.Identity.SessionKey+"/"+id)
		if err != nil {
			t.Fatal(err)
		}
		if !bind {
			if len(said) != 0 {
				t.Errorf("a run without a session leaves %+v", said)
			}
			continue
		}
		if len(said) != 2 || said[0].Said().Text != "remember" || said[1].Said().Text != "done: remember" {
			t.Errorf("%+v", said)
		}
		branch, err := store.Branch(t.Context(), run.Identity.SessionKey+"/"+id, "")
		if err != nil {
			t.Fatal(err)
		}
		if last := branch.Entries[len(branch.Entries)-1]; last.Turn == nil || last.Turn.Stop != schemas.StopAnswered {
			t.Errorf("%+v", last)
		}
	}
}

// The tools are called like any others: children in direct mode, and parents that are in it.
func TestSpec_G10_InDirectMode(t *testing.T) {
	n := swarmNode(t, newModel(t, echoes), "", "")
	run, err := n.Client().Open(t.Context(), schemas.Open{Identity: someone("direct"), Mode: schemas.ModeDirect})
	if err != nil {
		t.Fatal(err)
	}
	direct := func(name, args string) (v json.RawMessage) {
		t.Helper()
		d, err := run.Direct(t.Context(), schemas.Direct{CallID: name, Name: name, Args: schemas.JSON(args)})
		if err != nil || d.Call != nil {
			t.Fatalf("%s: %v %+v", name, err, d)
		}
		return json.RawMessage(d.Value)
	}
	var s schemas.Spawned
	if err := json.Unmarshal(direct("sessions_spawn", `{"task": "one", "mode": "direct"}`), &s); err != nil {
		t.Fatal(err)
	}
	var all awaited
	if err := json.Unmarshal(direct("agents_wait", fmt.Sprintf(`{"ids": [%q], "awaitResults": true}`, s.ID)), &all); err != nil {
		t.Fatal(err)
	}
	if len(all.Results) != 1 || all.Results[0].Text != "done: one" {
		t.Errorf("%+v", all)
	}
}

func TestSpec_G10_RunInPromiseAll(t *testing.T) {
	m := newModel(t, func(c *chat) replied {
		if c.task() == "bad" {
			return replied{status: 400}
		}
		return echoes(c)
	})
	n := swarmNode(t, m, "", "")
	got := value[[]string](t, exec(t, open(t, n, "a"), `
		const all = await Promise.allSettled(["a", "bad", "c"].map(task => agents.run({task, label: task})));
		return all.map(s => s.status === "fulfilled" ? s.value.text : s.reason.code + " " + s.reason.message)`))
	if got[0] != "done: a" || got[2] != "done: c" || !strings.HasPrefix(got[1], "tool_error agents.run: agent bad failed: ") ||
		!strings.Contains(got[1], "out of order") {
		t.Errorf("%q", got)
	}
}

// Q4: a wait with awaitResults makes an ordinary cell a required one, agents.run doesn't, and in a required cell each is
// collected inside the call.
func TestSpec_G10_Q4_Children(t *testing.T) {
	gate := make(chan struct{})
	m := newModel(t, holding(gate))
	n := node(t, config(t, fmt.Sprintf(`{provider: {url: %q, model: "m"}, tools: {codeMode: {timeoutMs: 1000}, swarm: true}}`, m.URL)))
	run := open(t, n, "a")

	parked := execNamed(t, run, "c1", `const a = await agents.run("hold 1"); return a.text`)
	if parked.Status != schemas.StatusWaiting || parked.Reason != "pending_tools" {
		t.Fatalf("an ordinary cell: %s", told(parked))
	}
	if got := value[awaited](t, execNamed(t, run, "c2", `const s = await sessions_spawn({task: "hold 2"}); return await agents_wait({ids: [s.id], timeoutMs: 10})`)); len(got.Pending) != 1 ||
		got.Results[0].Status != schemas.AgentRunning {
		t.Errorf("a bounded wait: %+v", got)
	}
	results := make(chan *schemas.Result, 2)
	go func() {
		results <- execNamed(t, run, "c3", `const s = await sessions_spawn({task: "hold 3"}); return (await agents_wait({ids: [s.id], awaitResults: true})).results[0].text`)
	}()
	go func() {
		r, err := execRequired(t.Context(), run, "c4", `return (await Promise.all(["hold 4", "hold 5"].map(agents.run))).map(a => a.text).join()`)
		if err != nil {
			t.Error(err)
		}
		results <- r
	}()
	until(t, "five agents are at work", func() bool { return m.holds() == 5 })
	select {
	case r := <-results:
		t.Fatalf("a required cell was answered before its agents: %s", told(r))
	default:
	}
	close(gate)
	texts := map[string]bool{}
	for range 2 {
		texts[value[string](t, <-results)] = true
	}
	if !texts["done: hold 3"] || !texts["done: hold 4,done: hold 5"] {
		t.Errorf("required cells: %v", texts)
	}
	for i := 0; parked.Status == schemas.StatusWaiting; i++ {
		parked = wait(t, n, "a", fmt.Sprint("w", i), parked.RunID)
	}
	if text := value[string](t, parked); text != "done: hold 1" {
		t.Errorf("the parked cell: %q", text)
	}
}

func TestSpec_G10_Bounds(t *testing.T) {
	gate := make(chan struct{})
	m := newModel(t, func(c *chat) replied {
		switch {
		case c.task() == "deeper" && c.turns() == 0:
			return replied{tool: "exec", args: `{"title":"t","code":"return [typeof sessions_spawn, typeof agents_wait, typeof agents, API.list().files.map(f => f.path).filter(p => p.startsWith('agents'))]"}`}
		case c.task() == "deeper":
			return replied{text: c.said("tool")}
		case c.task() == "loop":
			return replied{tool: "exec", args: `{"title":"t","code":"return 1"}`}
		}
		return holding(gate)(c)
	})
	n := swarmNode(t, m, "maxAgents: 2, maxTotal: 7, maxRequests: 3", "")
	run := open(t, n, "a")
	refusal := func(code string) string {
		t.Helper()
		return value[string](t, exec(t, run, `try { `+code+`; return "accepted" } catch (e) { return e.message }`))
	}
	t.Run("depth", func(t *testing.T) {
		got := value[string](t, exec(t, run, `return (await agents.run({task: "deeper", mode: "code"})).text`))
		if !strings.Contains(got, `["undefined","undefined","undefined",[]]`) {
			t.Errorf("an agent at the greatest depth has %s", got)
		}
		exec(t, run, `await agents.run({task: "plain", mode: "direct"})`)
		for _, c := range m.requests() {
			if c.task() == "plain" && c.tools() != "boom echo" {
				t.Errorf("an agent at the greatest depth sees %s", c.tools())
			}
		}
	})
	t.Run("requests", func(t *testing.T) {
		if got := refusal(`await agents.run({task: "loop", mode: "code"})`); !strings.Contains(got, "failed") || !strings.Contains(got, "3") {
			t.Errorf("%q", got)
		}
	})
	t.Run("time", func(t *testing.T) {
		if got := refusal(`await agents.run({task: "hold on", timeoutMs: 100})`); !strings.Contains(got, "failed: ") {
			t.Errorf("%q", got)
		}
	})
	var ids []string
	t.Run("at once", func(t *testing.T) {
		got := value[[]string](t, exec(t, run, `const out = [];
			for (const task of ["hold a", "hold b"]) out.push((await sessions_spawn({task})).id);
			try { await sessions_spawn({task: "c"}) } catch (e) { out.push(e.message) }
			return out`))
		if len(got) != 3 || !strings.Contains(got[2], "tools.swarm.maxAgents") || !strings.Contains(got[2], "agents_wait") {
			t.Fatalf("%q", got)
		}
		ids = got[:2]
	})
	t.Run("in all", func(t *testing.T) {
		close(gate)
		exec(t, run, fmt.Sprintf(`await agents_wait({ids: ["%s"], awaitResults: true})`, strings.Join(ids, `", "`)))
		got := value[[]string](t, exec(t, run, `const out = [];
			for (const task of ["d", "e"]) try { out.push((await agents.run(task)).text) } catch (e) { out.push(e.message) }
			return out`))
		if got[0] != "done: d" || !strings.Contains(got[1], "7 agents have been started in all") || !strings.Contains(got[1], "tools.swarm.maxTotal") {
			t.Errorf("%q", got)
		}
		if other := value[string](t, exec(t, open(t, n, "b"), `return (await agents.run("f")).text`)); other != "done: f" {
			t.Errorf("another run: %q", other)
		}
	})
}

// The bound on all agents is that of the run which somebody has started: grandchildren count.
func TestSpec_G10_GrandchildrenCount(t *testing.T) {
	m := newModel(t, func(c *chat) replied {
		if c.task() != "parent" {
			return echoes(c)
		}
		if c.turns() == 0 {
			return replied{tool: "exec", args: `{"title":"t","code":"const out = []; for (const task of ['x', 'y']) try { out.push((await agents.run(task)).text) } catch (e) { out.push(e.message) } return out"}`}
		}
		return replied{text: c.said("tool")}
	})
	n := swarmNode(t, m, "maxDepth: 2, maxTotal: 2", "")
	got := value[string](t, exec(t, open(t, n, "a"), `return (await agents.run({task: "parent", mode: "code"})).text`))
	if !strings.Contains(got, "done: x") || !strings.Contains(got, "2 agents have been started in all") {
		t.Errorf("%q", got)
	}
}

func TestSpec_G10_HostileInput(t *testing.T) {
	n := swarmNode(t, newModel(t, echoes), "", "")
	mine, theirs := open(t, n, "a"), open(t, n, "b")
	id := value[string](t, exec(t, mine, `return (await sessions_spawn({task: "one"})).id`))
	for code, want := range map[string]string{
		fmt.Sprintf(`agents_wait({ids: [%q]})`, id):                          "is no agent that this run has started",
		`agents_wait({ids: ["../x"]})`:                                       "is no agent that this run has started",
		`agents_wait({ids: ["abcdefgh-abcdefghij"]})`:                        "the process that ran the agent is gone",
		`agents_wait({ids: []})`:                                             "ids",
		`agents_wait({ids: Array(65).fill("x")})`:                            "ids",
		`sessions_spawn({task: "a\0b"})`:                                     "NUL",
		`sessions_spawn({task: "  "})`:                                       "only blanks",
		`sessions_spawn({})`:                                                 "task",
		`sessions_spawn({task: "x".repeat(262145)})`:                         "task",
		`sessions_spawn({task: "é".repeat(262144)})`:                         "524288 bytes",
		`sessions_spawn({task: "x", agent: "nobody"})`:                       "there is no agent",
		`sessions_spawn({task: "x", label: "a\nb"})`:                         "control characters",
		`sessions_spawn({task: "x", label: "x".repeat(121)})`:                "label",
		`sessions_spawn({task: "x", mode: "raw"})`:                           "mode",
		`sessions_spawn({task: "x", scope: "host"})`:                         "scope",
		`sessions_spawn({task: "x", identity: {}})`:                          "identity",
		`agents.run({task: "x", sandbox: "none"})`:                           "sandbox",
		`sessions_spawn({task: "x", timeoutMs: 1e300})`:                      "timeoutMs",
		`agents_wait({ids: ["abcdefgh-abcdefghij"], timeoutMs: 600001})`:     "timeoutMs",
		`agents_wait({ids: ["abcdefgh-abcdefghij", "abcdefgh-abcdefghij"]})`: "ids",
	} {
		got := value[string](t, exec(t, theirs, `try { return JSON.stringify(await `+code+`) } catch (e) { return e.message }`))
		if !strings.Contains(got, want) {
			t.Errorf("%.60s: %.300q, want %q", code, got, want)
		}
	}
}

// An agent starts its own kind with the configured model, and others only where the operator says so: a child could do
// more than its parent otherwise, or cost more.
func TestSpec_G10_OnlyListedAgentsAndModels(t *testing.T) {
	for _, tc := range []struct{ settings, args, want string }{
		{"", `{task: "x"}`, "accepted"},
		{"", `{task: "x", agent: "default"}`, "accepted"},
		{"", `{task: "x", agent: "wide"}`, "tools.swarm.agents"},
		{`agents: ["scribe"]`, `{task: "x", agent: "wide"}`, "tools.swarm.agents"},
		{`agents: ["wide"]`, `{task: "x", agent: "wide"}`, "accepted"},
		{`agents: ["*"]`, `{task: "x", agent: "wide"}`, "accepted"},
		{"", `{task: "x", model: "m"}`, "accepted"},
		{"", `{task: "x", model: "dear"}`, "tools.swarm.models"},
		{`models: ["openai/de*"]`, `{task: "x", model: "dear"}`, "accepted"},
		{`models: ["openai/de*"]`, `{task: "x", model: "dire"}`, "tools.swarm.models"},
	} {
		n := swarmNode(t, newModel(t, echoes), tc.settings, `agents: {entries: {wide: {}, scribe: {}}}`)
		got := value[string](t, exec(t, open(t, n, "a"), `try { return (await sessions_spawn(`+tc.args+`)).status } catch (e) { return e.message }`))
		if !strings.Contains(got, tc.want) {
			t.Errorf("{%s} %s: %s, want %q", tc.settings, tc.args, got, tc.want)
		}
	}
}
