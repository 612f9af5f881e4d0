package host_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/codecell/codecell/actors/host"
	"github.com/codecell/codecell/actors/tool"
	"github.com/codecell/codecell/bus"
	"github.com/codecell/codecell/schemas"
)

// floor watches who works at once, on whatever executor.
type floor struct {
	mu           sync.Mutex
	alone, other int
	most         int // parallel calls at once
	order        []int
	faults       []string
}

func (f *floor) enter(n int, sequential bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.order = append(f.order, n)
	if f.alone > 0 || sequential && f.other > 0 {
		f.faults = append(f.faults, fmt.Sprintf("call %d began beside %d sequential and %d parallel ones", n, f.alone, f.other))
	}
	if sequential {
		f.alone++
		return
	}
	f.other++
	f.most = max(f.most, f.other)
}

func (f *floor) leave(sequential bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if sequential {
		f.alone--
		return
	}
	f.other--
}

func (f *floor) tool(name string, opts ...tool.Option) tool.Func {
	sequential := len(opts) > 0
	return tool.New(name, "Works for a moment.", func(ctx context.Context, in echoIn) (echoOut, error) {
		f.enter(in.N, sequential)
		defer f.leave(sequential)
		select {
		case <-time.After(2 * time.Millisecond): // real: calls on two executors could overlap now
		case <-ctx.Done():
		}
		return echoOut(in), nil
	}, opts...)
}

// replicas serves the same tools from several executors, and opens a run that has them.
func replicas(t *testing.T, n *host.Node, count int, tools ...tool.Func) *bus.Run {
	t.Helper()
	for range count {
		conn, err := bus.Dial(t.Context(), bus.Options{URLs: []string{n.URL()}, Name: "replica"})
		if err != nil {
			t.Fatal(err)
		}
		executor, err := tool.Serve(t.Context(), conn, "replicas", tools...)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
			defer cancel()
			if err := executor.Close(ctx); err != nil {
				t.Error(err)
			}
			conn.Close()
		})
	}
	run := open(t, n, "a")
	for described, err := run.Describe(t.Context()); ; described, err = run.Changed(t.Context(), described.Surface.Version) {
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range described.Catalog {
			if e.Owner == "replicas" {
				return run
			}
		}
	}
}

// TestSpec_P4_SequentialToolsRunAloneAcrossExecutors: however calls are mixed, a sequential one runs alone, and the parallel ones
// still overlap.
func TestSpec_P4_SequentialToolsRunAloneAcrossExecutors(t *testing.T) {
	n := node(t, config(t, `{bus: {listen: "127.0.0.1:0"}, tools: {codeMode: {enabled: true, maxPendingToolCalls: 32}}}`))
	var f floor
	run := replicas(t, n, 3, f.tool("par"), f.tool("seq", tool.Sequential()))
	var others sync.WaitGroup
	programs := func(calls int) string {
		var b strings.Builder
		for i := range calls {
			name := "par"
			if rand.IntN(3) == 0 {
				name = "seq"
			}
			fmt.Fprintf(&b, "%s({n: %d}),", name, i)
		}
		return "const all = await Promise.all([" + b.String() + "]); return all.map(x => x.n).join()"
	}
	for range 3 { // cells of one run
		others.Go(func() {
			if r := exec(t, run, programs(40)); r.Status != schemas.StatusCompleted || strings.Count(string(r.Value), ",") != 39 {
				t.Errorf("result = %+v", r)
			}
		})
	}
	others.Wait()
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.faults) > 0 || len(f.order) != 120 || f.most < 2 {
		t.Errorf("%d calls, at most %d at once: %s", len(f.order), f.most, strings.Join(f.faults, "; "))
	}
}

// TestSpec_P4_ParallelCallsOverlapBeforeASequentialOne, in order of issue: nothing overtakes.
func TestSpec_P4_ParallelCallsOverlapBeforeASequentialOne(t *testing.T) {
	open1 := make(gate)
	var f floor
	par := open1.tool("par")
	n := node(t, config(t, `{bus: {listen: "127.0.0.1:0"}}`))
	run := replicas(t, n, 2, par, f.tool("seq", tool.Sequential()), f.tool("after"))
	events, err := n.Client().Watch(t.Context(), bus.Facts("call", "sent"), bus.Facts("call", "started"))
	if err != nil {
		t.Fatal(err)
	}
	results := make(chan *schemas.Result, 1)
	go func() {
		results <- exec(t, run, `return await Promise.all([par({n: 1}), par({n: 2}), seq({n: 3}), after({n: 4})])`)
	}()
	started, sent := 0, []string{}
	for e := range events {
		switch fact := e.Fact.(type) {
		case *schemas.CallSent:
			sent = append(sent, fact.Tool)
		case *schemas.CallStarted:
			started++
		}
		if started == 2 && len(sent) == 2 { // both run at once, and nothing else was sent
			close(open1)
		}
		if len(sent) == 4 {
			break
		}
	}
	if got := strings.Join(sent, " "); got != "par par seq after" {
		t.Errorf("sent %s", got)
	}
	if r := <-results; r.Status != schemas.StatusCompleted || string(r.Value) != `[{"n":1},{"n":2},{"n":3},{"n":4}]` {
		t.Errorf("result = %+v", r)
	}
}

// TestSpec_P4_CancelledCallsLeaveTheGate: a cell that is cancelled while its calls run and wait holds nobody up, and what waited never runs.
func TestSpec_P4_CancelledCallsLeaveTheGate(t *testing.T) {
	held := make(gate)
	var f floor
	n := node(t, config(t, `{bus: {listen: "127.0.0.1:0"}, `+short[1:]))
	run := replicas(t, n, 2, held.tool("par"), f.tool("seq", tool.Sequential()))
	first := exec(t, run, `await Promise.all([par({n: 1}), seq({n: 2}), seq({n: 3})]); return 1`)
	if first.Status != schemas.StatusWaiting || len(first.Pending) != 3 {
		t.Fatalf("result = %+v", first)
	}
	for i, want := range []string{"started", "queued", "queued"} {
		if got := first.Pending[i].State; got != want {
			t.Errorf("call %d is %s, want %s", i, got, want)
		}
	}
	second := exec(t, run, `return (await seq({n: 4})).n`) // waits for the first cell's call
	if second.Status != schemas.StatusWaiting {
		t.Fatalf("result = %+v", second)
	}
	if err := n.Client().Cancel(t.Context(), first.RunID, schemas.Cancel{Identity: someone("a"), Reason: "enough"}); err != nil {
		t.Fatal(err)
	}
	if last := wait(t, n, "a", "w", second.RunID); string(last.Value) != "4" {
		t.Errorf("result = %+v", last)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if fmt.Sprint(f.order) != "[4]" {
		t.Errorf("sequential calls ran: %v, want only 4", f.order)
	}
}

// TestSpec_P4_ARefusedCallLeavesTheGate: what never reaches a tool doesn't hold up what follows.
func TestSpec_P4_ARefusedCallLeavesTheGate(t *testing.T) {
	var f floor
	n := node(t, config(t, `{bus: {listen: "127.0.0.1:0"}}`))
	run := replicas(t, n, 2, f.tool("seq", tool.Sequential()))
	r := exec(t, run, `
		const all = await Promise.allSettled([seq({n: "x"}), boom({}), seq({n: 1}), seq({m: 2}), seq({n: 3})]);
		return all.map(r => r.status === "fulfilled" ? r.value.n : r.reason.code)`)
	if string(r.Value) != `["input_contract","tool_error",1,"input_contract",3]` || len(f.faults) > 0 {
		t.Errorf("result = %+v, faults %v", r, f.faults)
	}
}

// TestSpec_P4_ADirectSequentialToolRunsAlone, also beside what cells call, which have no such tool in their own catalog.
func TestSpec_P4_ADirectSequentialToolRunsAlone(t *testing.T) {
	var f floor
	n := node(t, config(t, `{bus: {listen: "127.0.0.1:0"}, tools: {direct: ["seq"]}}`))
	run := replicas(t, n, 2, f.tool("par"), f.tool("seq", tool.Sequential()))
	var calls sync.WaitGroup
	for range 20 {
		calls.Go(func() {
			if d, err := callDirect(t, run, "seq", `{"n":1}`); err != nil || d.Call != nil {
				t.Errorf("%+v, %v", d, err)
			}
		})
	}
	r := exec(t, run, `
		for (let i = 0; i < 10; i++) await Promise.all(Array.from({length: 6}, (_, n) => par({n})))
		return "done"`)
	calls.Wait()
	for r.Status == schemas.StatusWaiting {
		r = wait(t, n, "a", "w", r.RunID)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if string(r.Value) != `"done"` || len(f.faults) > 0 || len(f.order) != 80 {
		t.Errorf("result %+v, %d calls: %s", r, len(f.order), strings.Join(f.faults, "; "))
	}
}
