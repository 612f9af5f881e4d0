package host_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/codecell/codecell/actors/host"
	"github.com/codecell/codecell/bus"
	"github.com/codecell/codecell/schemas"
)

// promptly bounds how long the end of a parent takes to reach its children; without the fact it would take 15 seconds and more.
const promptly = 10 * time.Second

// Children end with the run that started them, and grandchildren with them.
func TestSpec_G10_CancelledWithTheRun(t *testing.T) {
	m := newModel(t, func(c *chat) replied {
		if c.task() == "parent" && c.turns() == 0 {
			return replied{tool: "exec", args: `{"title":"t","code":"await sessions_spawn({task: 'hold grandchild'}); return await agents.run('hold other')"}`}
		}
		return holding(never())(c)
	})
	n := swarmNode(t, m, "maxDepth: 2", "")
	run := open(t, n, "a")
	exec(t, run, `await sessions_spawn({task: "hold child"}); await sessions_spawn({task: "parent", mode: "code"})`)
	until(t, "three agents wait for their models", func() bool { return m.holds() == 3 })
	begun := time.Now()
	if err := run.Close(t.Context(), "done"); err != nil {
		t.Fatal(err)
	}
	until(t, "nobody asks any more", func() bool { return m.holds() == 0 })
	if d := time.Since(begun); d > promptly {
		t.Errorf("it took %v", d)
	}
	until(t, "the children's runs are closed", func() bool { return len(n.Host().Status().Cells) == 0 })
}

// What a program starts with agents.run ends with it, and what it starts with sessions_spawn doesn't.
func TestSpec_G10_CancelledWithTheCell(t *testing.T) {
	m := newModel(t, holding(never()))
	n := swarmNode(t, m, "", "")
	run := open(t, n, "a")
	done := make(chan *schemas.Result, 1)
	go func() {
		done <- execNamed(t, run, "c1", `results.save((await sessions_spawn({task: "hold on"})).id); await agents.run("hold it")`)
	}()
	until(t, "two agents are at work", func() bool { return m.holds() == 2 })
	if err := run.Abort(t.Context(), "c1", "enough"); err != nil {
		t.Fatal(err)
	}
	if r := <-done; r.Code != schemas.Aborted {
		t.Errorf("the cell: %s", told(r))
	}
	until(t, "one agent is left", func() bool { return m.holds() == 1 })
	for _, c := range m.requests() {
		if c.task() == "hold on" {
			return
		}
	}
	t.Error("the wrong one is left")
}

// A cancelled agent says why.
func TestSpec_G10_CancelledSaysWhy(t *testing.T) {
	m := newModel(t, holding(never()))
	n := swarmNode(t, m, "", "")
	run := open(t, n, "a")
	id := value[string](t, exec(t, run, `const s = await sessions_spawn({task: "hold it", scope: "cell"}); return s.id`))
	got := value[awaited](t, exec(t, run, fmt.Sprintf(`return await agents_wait({ids: [%q], awaitResults: true})`, id)))
	if r := got.Results[0]; r.Status != schemas.AgentCancelled || r.Error != "cancelled: the program that started it has ended" {
		t.Errorf("%+v", r)
	}
}

// A closed host takes the agents with it.
func TestSpec_G10_CancelledWithTheHost(t *testing.T) {
	m := newModel(t, holding(never()))
	n := swarmNode(t, m, "", "")
	exec(t, open(t, n, "a"), `await sessions_spawn({task: "hold it"})`)
	until(t, "the agent is at work", func() bool { return m.holds() == 1 })
	begun := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if err := n.Close(ctx); err != nil {
		t.Error(err)
	}
	until(t, "nobody asks any more", func() bool { return m.holds() == 0 })
	if d := time.Since(begun); d > promptly {
		t.Errorf("it took %v", d)
	}
}

// shared starts a bus and two nodes on it, both with agents.
func shared(t *testing.T, m *model) (a, b *host.Node) {
	t.Helper()
	server, err := bus.Start(t.Context(), bus.ServerOptions{Listen: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	start := func() *host.Node {
		return nodeWith(t, host.NodeOptions{Config: config(t, fmt.Sprintf(
			`{bus: {urls: [%q]}, provider: {url: %q, model: "m"}, tools: {swarm: true, codeMode: {timeoutMs: 20000}}}`, server.URL(), m.URL))})
	}
	return start(), start()
}

// Executors share the calls: whoever started an agent is asked for it.
func TestSpec_G10_SeveralExecutors(t *testing.T) {
	m := newModel(t, echoes)
	a, _ := shared(t, m)
	run := open(t, a, "a")
	// The bus chooses who starts an agent, by chance.
	got := value[[]awaited](t, exec(t, run, `
		const ids = [], processes = new Set();
		while (processes.size < 2 && ids.length < 64 || ids.length < 8) {
			const { id } = await sessions_spawn({task: "t" + ids.length});
			ids.push(id); processes.add(id.split("-")[0]);
			if (ids.length % 8 === 0) await agents_wait({ids: ids.slice(-8), awaitResults: true});
		}
		const out = [];
		for (let i = 0; i < 8; i++) out.push(await agents_wait({ids, awaitResults: true}));
		return out`))
	swarms := map[string]bool{}
	for _, all := range got {
		if len(all.Results) < 8 {
			t.Fatalf("%+v", all)
		}
		for i, r := range all.Results {
			if r.Status != schemas.AgentCompleted || r.Text != fmt.Sprint("done: t", i) {
				t.Errorf("%+v", r)
			}
			swarm, err := bus.SwarmOf(r.ID)
			if err != nil {
				t.Error(err)
			}
			swarms[swarm] = true
		}
	}
	if len(swarms) != 2 {
		t.Errorf("%d processes ran them", len(swarms))
	}
	other := open(t, a, "b")
	r := exec(t, other, fmt.Sprintf(`const out = []; for (let i = 0; i < 8; i++) try { await agents_wait({ids: [%q]}); out.push("ok") } catch (e) { out.push(e.message.slice(0, 4)) }; return [...new Set(out)].join()`, got[0].Results[0].ID))
	if all := value[string](t, r); all != "ids:" {
		t.Errorf("another run gets %q", all)
	}
}

// Children whose host dies without a word end as well: the swarm asks.
func TestSpec_G10_CancelledWhenTheHostIsGone(t *testing.T) {
	m := newModel(t, holding(never()))
	a, b := shared(t, m)
	run := open(t, a, "a")
	owner := a
	if run.Host != a.Host().ID() {
		owner = b
	}
	exec(t, run, `for (let i = 0; i < 4; i++) await sessions_spawn({task: "hold " + i})`)
	until(t, "the agents are at work", func() bool { return m.holds() == 4 })
	closing, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if err := owner.Close(closing); err != nil {
		t.Error(err)
	}
	until(t, "nobody asks any more", func() bool { return m.holds() == 0 })
}

// An agent that waits for others leaves its place in the executor to their calls.
func TestSpec_G10_WaitingTakesNoPlace(t *testing.T) {
	gate := make(chan struct{})
	m := newModel(t, holding(gate))
	n := swarmNode(t, m, "", "")
	// An executor has 64 places.
	run := open(t, n, "a")
	r := exec(t, run, `const s = await sessions_spawn({task: "hold it"}); return s.id`)
	id := value[string](t, r)
	ended := make(chan *schemas.Result, 5)
	for i := range 5 {
		go func() {
			r, err := execRequired(t.Context(), run, fmt.Sprint("w", i), fmt.Sprintf(
				`return (await Promise.all(Array.from({length: 16}, () => agents_wait({ids: [%q], awaitResults: true})))).length`, id))
			if err != nil {
				t.Error(err)
			}
			ended <- r
		}()
	}
	until(t, "80 calls wait", func() bool { return pendingCalls(n) == 80 })
	if got := value[echoOut](t, exec(t, open(t, n, "b"), `return await echo({n: 3})`)); got.N != 3 {
		t.Errorf("%+v", got)
	}
	close(gate)
	for range 5 {
		if got := value[int](t, <-ended); got != 16 {
			t.Errorf("%d calls were answered", got)
		}
	}
}

func pendingCalls(n *host.Node) (pending int) {
	for _, c := range n.Host().Status().Cells {
		pending += c.Pending
	}
	return pending
}

// never is a gate that never opens.
func never() <-chan struct{} { return make(chan struct{}) }
