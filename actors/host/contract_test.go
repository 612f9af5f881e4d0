package host_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"

	"github.com/codecell/codecell/actors/tool"
	"github.com/codecell/codecell/bus"
	"github.com/codecell/codecell/bus/bustest"
	"github.com/codecell/codecell/schemas"
)

func TestSpec_X6_EveryExecIsAFreshContext(t *testing.T) {
	n := node(t, nil)
	run := open(t, n, "a")
	exec(t, run, `globalThis.left = 1; Array.prototype.push = () => 7; Object.prototype.evil = 1; return 1`)
	result := exec(t, run, `const a = []; a.push(1); return [typeof left, a.length, ({}).evil ?? null]`)
	if string(result.Value) != `["undefined",1,null]` {
		t.Errorf("value = %s", result.Value)
	}
}

func TestSpec_A6_CatalogsBelongToRuns(t *testing.T) {
	n := node(t, config(t, `{agents: {entries: {
		narrow: {tools: {allow: ["echo"]}},
		none: {tools: {disableTools: true}},
	}}}`))
	for agent, want := range map[string]string{"default": `["boom","echo"]`, "narrow": `["echo"]`, "none": `[]`} {
		id := someone("a6")
		id.Agent = agent
		run, err := n.Client().Open(t.Context(), schemas.Open{Identity: id})
		if err != nil {
			t.Fatal(err)
		}
		result := exec(t, run, `
			const names = catalog.all().map(t => t.toolName).sort();
			const found = (await catalog.search("boom")).length + (await catalog.search("fails")).length;
			const files = API.list("tools").files.map(f => f.path).sort();
			return {names, boom: typeof boom, found, files}`)
		var got struct {
			Names json.RawMessage
			Boom  string
			Found int
			Files []string
		}
		if err := json.Unmarshal(result.Value, &got); err != nil {
			t.Fatalf("%+v: %v", result, err)
		}
		visible := agent == "default"
		if string(got.Names) != want || (got.Boom == "function") != visible || (got.Found > 0) != visible ||
			strings.Contains(strings.Join(got.Files, " "), "boom") != visible {
			t.Errorf("%s: %s", agent, result.Value)
		}
	}
}

func TestSpec_W3_AnUnavailableIDSaysWhatToDo(t *testing.T) {
	n := node(t, nil)
	open(t, n, "a")
	result := wait(t, n, "a", "w", bus.NewRunID(n.Host().ID()))
	mustFail(t, result, schemas.InvalidInput, "look at the earlier results")
	if strings.Contains(result.Error, "poll") {
		t.Errorf("the message names a tool that isn't callable here: %s", result.Error)
	}
}

func TestSpec_P2_P6_NestedCallsCarryIdentityAndAreTold(t *testing.T) {
	var seen *schemas.Call
	spy := tool.New("spy", "Looks at its call.", func(ctx context.Context, _ struct{}) (struct{}, error) {
		seen = tool.CallOf(ctx)
		return struct{}{}, nil
	})
	n := node(t, nil, spy)
	events, err := n.Client().Watch(t.Context(), bus.Facts("call"), bus.Facts("cell"))
	if err != nil {
		t.Fatal(err)
	}
	id := someone("p2")
	id.Sender, id.Channel, id.Sandbox = "ada", "cli", ""
	run, err := n.Client().Open(t.Context(), schemas.Open{Identity: id})
	if err != nil {
		t.Fatal(err)
	}
	const trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	result, err := run.Exec(t.Context(), schemas.Exec{
		CallID: "toolu_7", TraceParent: trace,
		Input: schemas.JSON(`{"title":"t","code":"await spy({}); try { await boom({}) } catch {} return 1"}`),
	})
	if err != nil || result.Status != schemas.StatusCompleted {
		t.Fatal(result, err)
	}
	if seen == nil || seen.Identity != id || seen.ParentID != "toolu_7" || seen.TraceParent != trace || seen.Address.Run != run.ID {
		t.Errorf("call = %+v", seen)
	}
	told := make(map[string]int)
	var cell string
	for e := range events {
		if e.Err != nil {
			t.Fatal(e.Err)
		}
		switch f := e.Fact.(type) {
		case *schemas.CellStarted:
			cell = f.Address.Cell
		case *schemas.CallSent:
			told["sent "+f.Tool]++
		case *schemas.CallStarted:
			told["started"]++
		case *schemas.CallEnded:
			told["ended "+string(f.Outcome)]++
			if f.Address.Cell != cell {
				t.Errorf("call of cell %q, want %q", f.Address.Cell, cell)
			}
		case *schemas.CellEnded:
			told["cell ended"]++
		}
		if told["cell ended"] == 1 && told["started"] == 2 {
			break
		}
	}
	for fact, want := range map[string]int{"sent spy": 1, "sent boom": 1, "ended done": 1, "ended failed": 1} {
		if told[fact] != want {
			t.Errorf("%s: told %d times, want %d", fact, told[fact], want)
		}
	}
}

// TestSpec_B4_RandomBytesOnEverySubject: whatever is thrown at a node's subjects, the next program runs.
func TestSpec_B4_RandomBytesOnEverySubject(t *testing.T) {
	n := node(t, config(t, short))
	run := open(t, n, "a")
	first := exec(t, run, `await yield_control(); return 1`)
	host := n.Host().ID()
	bustest.RandomBytes(t, n.Conn(),
		bus.OpenSubject(), bus.ExecSubject(host, run.ID), bus.WaitSubject(host, first.RunID), bus.CancelSubject(host, first.RunID),
		bus.BringSubject(host, run.ID), bus.ClientSubject(host, run.ID, "c"), bus.AliveSubject(host, run.ID, "c"), bus.CloseSubject(host, run.ID), bus.DescribeSubject(host, run.ID), bus.SearchSubject(host, run.ID), bus.HostsSubject(),
		bus.StatusSubject(host), bus.ToolSubject(schemas.SourceNative, "lab", "echo"),
		bus.StopSubject("lab", host, first.RunID, "1"), bus.ReplySubject(host, first.RunID, "1"), bus.ReplySubject(host, "x", "y"),
		bus.HookSubject("before", "x"), bus.DecideSubject("x", "y"), bus.SessionSubject("a"), bus.ExecSubject(host, "none"), bus.WaitSubject(host, "none"),
	)
	if last := wait(t, n, "a", "w", first.RunID); last.Status != schemas.StatusCompleted {
		t.Errorf("the parked cell was harmed: %+v", last)
	}
	if r := exec(t, run, `return (await echo({n: 3})).n`); string(r.Value) != "3" {
		t.Errorf("the next program: %+v", r)
	}
}

// TestEphemeralRunsLoseNoMessage: many callers of one ephemeral run, which ends and is opened again all
// the time, are all answered.
func TestEphemeralRunsLoseNoMessage(t *testing.T) {
	n := node(t, nil)
	var callers sync.WaitGroup
	for range 4 {
		callers.Go(func() {
			for range 50 {
				run, err := n.Client().Open(t.Context(), schemas.Open{Identity: someone("e"), Ephemeral: true})
				if err != nil {
					t.Error(err)
					return
				}
				result, err := run.Exec(t.Context(), schemas.Exec{CallID: "c", Input: schemas.JSON(`{"title":"t","code":"return 1"}`)})
				if err != nil {
					t.Error(err)
					return
				}
				// A caller that attached while another's program ended may be told that the run is gone: an
				// answer, at once, that says what to do.
				if result.Status != schemas.StatusCompleted && !strings.Contains(result.Error, "open a new one") {
					t.Errorf("result = %+v", result)
				}
			}
		})
	}
	callers.Wait()
}
