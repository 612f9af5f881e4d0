package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/codecell/codecell/actors/host"
	"github.com/codecell/codecell/actors/tool"
	"github.com/codecell/codecell/bus"
	"github.com/codecell/codecell/schemas"
)

// execRequired runs a program whose call stays open.
func execRequired(ctx context.Context, run *bus.Run, callID, code string) (*schemas.Result, error) {
	text, err := json.Marshal(map[string]any{"title": "required", "code": code, "awaitResults": true})
	if err != nil {
		return nil, err
	}
	return run.Exec(ctx, schemas.Exec{CallID: callID, Input: text})
}

// Q1–Q3: a tool takes far longer than the budget. There is one answer, and every effect
// happened once.
func TestSpec_Q1_Q2_Q3_OneCallOneAnswer(t *testing.T) {
	const takes = 2 * time.Second // real: the tool's own time
	var orders atomic.Int32
	order := tool.New("order", "Takes its time, and counts.", func(ctx context.Context, in echoIn) (echoOut, error) {
		orders.Add(1)
		select {
		case <-time.After(takes):
			return echoOut(in), nil
		case <-ctx.Done():
			return echoOut{}, ctx.Err()
		}
	})
	n := node(t, config(t, short), order)
	run := open(t, n, "a")
	begin := time.Now()
	result, err := execRequired(t.Context(), run, "call-1", `
		text("before"); const before = Math.random();
		const held = order({n: 4}); await yield_control("busy");
		const r = await held; text("after");
		return [r.n, (await echo({n: 5})).n, typeof before]`)
	if err != nil {
		t.Fatal(err)
	}
	if result.Status != schemas.StatusCompleted || string(result.Value) != `[4,5,"number"]` || len(result.Output) != 2 {
		t.Errorf("result = %+v", result)
	}
	if d := time.Since(begin); d < takes {
		t.Errorf("answered after %v", d)
	}
	if orders.Load() != 1 || result.Telemetry.CallCount != 2 {
		t.Errorf("the tool ran %d times, %d calls were counted", orders.Load(), result.Telemetry.CallCount)
	}
}

// Q3: the run's end, an abort of the call and a drain of the host end it, and its tools hear of it.
func TestSpec_Q3_WhatElseEndsIt(t *testing.T) {
	for _, e := range []struct {
		name string
		do   func(n *host.Node, run *bus.Run) error
		says string
	}{
		{"close", func(_ *host.Node, run *bus.Run) error { return run.Close(t.Context(), "over") }, "run closed: over"},
		{"abort", func(_ *host.Node, run *bus.Run) error { return run.Abort(t.Context(), "call-1", "not wanted") }, "not wanted"},
		{"drain", func(n *host.Node, _ *bus.Run) error {
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			return n.Host().Close(ctx)
		}, "the host is shutting down"},
	} {
		t.Run(e.name, func(t *testing.T) {
			begun, stopped := make(chan struct{}), make(chan error, 1)
			n := node(t, config(t, short), tool.New("stuck", "Never answers.", func(ctx context.Context, _ struct{}) (struct{}, error) {
				close(begun)
				<-ctx.Done()
				stopped <- ctx.Err()
				return struct{}{}, ctx.Err()
			}))
			run := open(t, n, "a")
			answer := make(chan *schemas.Result, 1)
			go func() {
				result, err := execRequired(t.Context(), run, "call-1", `await stuck({})`)
				if err != nil {
					result = &schemas.Result{Error: err.Error()}
				}
				answer <- result
			}()
			<-begun
			if err := e.do(n, run); err != nil {
				t.Fatal(err)
			}
			mustFail(t, <-answer, schemas.Aborted, e.says)
			if err := <-stopped; !errors.Is(err, context.Canceled) {
				t.Errorf("the tool was stopped by %v", err)
			}
		})
	}
}

// S10: parking is configured, an agent's own setting comes first, and a live-parked cell obeys the same
// wait contract without a limit on its snapshot.
func TestSpec_S10_ParkingIsConfigured(t *testing.T) {
	n := node(t, config(t, `{
		tools: {codeMode: {enabled: true, timeoutMs: 5000, parking: "live", maxSnapshotBytes: 1024}},
		agents: {entries: {small: {tools: {codeMode: {parking: "snapshot"}}}}},
	}`))
	parked, err := n.Client().Watch(t.Context(), bus.Facts("cell", "parked"))
	if err != nil {
		t.Fatal(err)
	}
	const program = `const s = Array.from({length: 5000}, Math.random); await yield_control(); return s.length`
	run := open(t, n, "a")
	first := exec(t, run, program)
	if first.Status != schemas.StatusWaiting {
		t.Fatalf("result = %+v", first)
	}
	for e := range parked {
		if e.Err != nil {
			t.Fatal(e.Err)
		}
		if f := e.Fact.(*schemas.CellParked); f.GuestBytes < 1<<16 || f.SnapshotBytes != 0 {
			t.Errorf("fact = %+v", f)
		}
		break
	}
	if s := n.Host().Status(); s.Slots.Held != 1 || s.Workers.Held != 0 || len(s.Cells) != 1 || s.Cells[0].State != "parked" || s.Cells[0].MemoryBytes < 1<<16 {
		t.Errorf("status = %+v", s)
	}
	if last := wait(t, n, "a", "w", first.RunID); string(last.Value) != "5000" {
		t.Errorf("last = %+v", last)
	}

	id := someone("b")
	id.Agent = "small"
	run, err = n.Client().Open(t.Context(), schemas.Open{Identity: id})
	if err != nil {
		t.Fatal(err)
	}
	mustFail(t, exec(t, run, program), schemas.SnapshotLimitExceeded, "snapshot limit")
}
