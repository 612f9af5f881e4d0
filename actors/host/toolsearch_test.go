package host_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/codecell/codecell/actors/tool"
	"github.com/codecell/codecell/bus"
	"github.com/codecell/codecell/schemas"
)

// What tool_call calls goes through hooks, policy and approval, and what stops it is told as what it is.
func TestSpec_L4_P1_ToolCallsPassThePipeline(t *testing.T) {
	guard := spy{decide: func(_ context.Context, e *schemas.HookEvent) (*schemas.Verdict, error) {
		if strings.Contains(string(e.Input), "13") {
			return &schemas.Verdict{Block: true, Reason: "unlucky"}, nil
		}
		return &schemas.Verdict{Input: schemas.JSON(`{"n":42}`)}, nil
	}}
	same := func(_ context.Context, in echoIn) (echoOut, error) { return echoOut(in), nil }
	asked := tool.New("asked", "", same)
	n := hookedNode(t, searchConfig(t, "tools", `, approve: ["asked"]`, ""), []tool.Hook{guard.hook("guard", schemas.BeforeToolCall, "guarded")},
		tool.New("guarded", "", same), asked, tool.New("fails", "", func(context.Context, struct{}) (int, error) { return 0, errors.New("it broke") }),
		tool.Raw(schemas.Tool{Name: "liar", Output: schemas.JSON(`{"type":"number"}`)}, func(context.Context, schemas.JSON) (schemas.JSON, error) { return schemas.JSON(`"text"`), nil }))
	run := openSearch(t, n, "a")
	opened, err := n.Client().Watch(t.Context(), bus.Facts("approval", "opened"))
	if err != nil {
		t.Fatal(err)
	}
	go func() { // says no to whoever asks
		for e := range opened {
			if fact, ok := e.Fact.(*schemas.ApprovalOpened); ok {
				_ = n.Client().Decide(context.Background(), schemas.Decision{Approval: fact.Approval, By: "ada"})
			}
		}
	}()
	mustAnswer(t, run, "tool_call", `{"name":"guarded","n":1}`, `{"tool":{"id":"openclaw:lab:guarded","name":"guarded","source":"openclaw"},"result":{"n":42}}`)
	for name, want := range map[string]schemas.CallError{
		"guarded": {Code: schemas.CallInvalidInput, Location: "hook", Effect: schemas.NotStarted, Message: "unlucky"},
		"asked":   {Code: schemas.CallInvalidInput, Location: "approval", Effect: schemas.NotStarted, Message: "denied"},
		"fails":   {Code: schemas.CallToolError, Location: "tool", Effect: schemas.Failed, Message: "it broke"},
		"liar":    {Code: schemas.CallOutputContract, Location: "output", Effect: schemas.Done},
	} {
		args := `{"n":13}`
		if name == "fails" || name == "liar" {
			args = `{}`
		}
		d := control(t, run, "tool_call", `{"name":"`+name+`","args":`+args+`}`)
		if d.Call == nil || d.Call.Code != want.Code || d.Call.Location != want.Location || d.Call.Effect != want.Effect ||
			!strings.Contains(d.Call.Message, want.Message) || len(d.Value) > 0 {
			t.Errorf("%s: %s, %+v", name, d.Value, d.Call)
		}
	}
	if events := guard.seen(schemas.BeforeToolCall); len(events) != 2 || events[0].Tool != "guarded" || events[0].Identity != someone("a") {
		t.Errorf("the hook was asked %+v", events)
	}
}

// The transcript has what was called, inside the model's call, and the totals say what it was.
func TestSpec_L5_P6_ToolCallsAreToldAsTheirTargets(t *testing.T) {
	n := node(t, searchConfig(t, "tools", "", ""))
	run := openIn(t, n.Client(), "a", schemas.Open{Mode: schemas.ModeSearch, Bind: true})
	control(t, run, "tool_search", `{"queries":["echo","boom"]}`)
	control(t, run, "tool_describe", `{"name":"echo"}`)
	control(t, run, "tool_call", `{"name":"echo","n":1}`)
	control(t, run, "tool_call", `{"name":"boom"}`)
	mustRefuse(t, run, "tool_call", `{"name":"nothing"}`)
	entries, lines := transcript(t, n, "a", "failed 2 in d1")
	mustRead(t, lines, "call 1 echo in d1", "done 1 in d1", "call 2 boom in d1", "failed 2 in d1")
	if c, o := entries[0].Call, entries[1].Outcome; string(c.Args) != `{"n":1}` || c.Source != schemas.SourceNative || string(o.Value) != `{"n":1}` {
		t.Errorf("call %+v, outcome %+v", c, o)
	}
	totals, err := run.Finish(t.Context(), "test")
	if err != nil || totals.Searches != 2 || totals.Describes != 1 || totals.Calls != 2 ||
		fmt.Sprint(totals.Called) != "[{openclaw:lab:boom openclaw 1} {openclaw:lab:echo openclaw 1}]" {
		t.Errorf("totals = %+v, %v", totals, err)
	}
}

// A dry run searches and describes, and calls only what changes nothing.
func TestSpec_L4_DryRunsRehearseToolCalls(t *testing.T) {
	var s stageOf
	n := node(t, searchConfig(t, "tools", "", ""), s.tools()...)
	run := openIn(t, n.Client(), "a", schemas.Open{Mode: schemas.ModeSearch, DryRun: true})
	mustAnswer(t, run, "tool_call", `{"name":"look"}`, `{"tool":{"id":"openclaw:lab:look","name":"look","source":"openclaw"},"result":{"paths":["a","b"]}}`)
	d := control(t, run, "tool_call", `{"name":"mail","args":{"to":"ada"}}`)
	if d.Call != nil || !strings.HasPrefix(string(d.Value), `{"tool":{"id":"openclaw:lab:mail"`) || s.looks.Load() != 1 || s.mails.Load() != 0 {
		t.Errorf("%s, %+v; %d looks, %d mails", d.Value, d.Call, s.looks.Load(), s.mails.Load())
	}
}

// A call that nobody waits for any more ends at once, whether it has its tool or still waits for its turn.
func TestSpec_L4_Case74_AbortedToolCallsEndAtOnce(t *testing.T) {
	g := make(gate)
	var f floor
	n := node(t, searchConfig(t, "tools", "", ""), g.tool("gated"), f.tool("alone", tool.Sequential()))
	run := openSearch(t, n, "a")
	events, err := n.Client().Watch(t.Context(), bus.Facts("call", "started"))
	if err != nil {
		t.Fatal(err)
	}
	call := func(id, name string) <-chan error {
		ended := make(chan error, 1)
		go func() {
			_, err := run.Direct(t.Context(), schemas.Direct{CallID: id, Name: "tool_call", Args: schemas.JSON(`{"name":"` + name + `","n":1}`)})
			ended <- err
		}()
		return ended
	}
	first := call("c1", "gated")
	for range events {
		break // it runs
	}
	second := call("c2", "alone")
	third := call("c3", "alone")
	for control(t, run, "tool_search", `{"query":""}`).Telemetry.CallCount < 3 { // until they are all there
	}
	for _, of := range []struct {
		id    string
		ended <-chan error
	}{{"c2", second}, {"c1", first}} {
		if err := run.Abort(t.Context(), of.id, "test"); err != nil {
			t.Error(err)
		}
		if err := within(t, of.ended); !errors.Is(err, schemas.Aborted) {
			t.Errorf("%s ended with %v", of.id, err)
		}
	}
	if err := within(t, third); err != nil { // its turn has come
		t.Error(err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.order) != 1 {
		t.Errorf("the sequential tool ran %d times", len(f.order))
	}
}

// Sequential tools run alone among a model's calls, through tool_call and directly, across executors.
func TestSpec_P4_SequentialToolsRunAloneAmongDirectCalls(t *testing.T) {
	for mode, name := range map[schemas.Mode]string{schemas.ModeSearch: "tool_call", schemas.ModeDirect: ""} {
		n := node(t, config(t, `{bus: {listen: "127.0.0.1:0"}, tools: {toolSearch: {mode: "tools"}}}`))
		var f floor
		replicas(t, n, 3, f.tool("par"), f.tool("seq", tool.Sequential()))
		run := openIn(t, n.Client(), "model", schemas.Open{Mode: mode})
		var all sync.WaitGroup
		for i := range 40 {
			target := [...]string{"par", "seq", "par"}[i%3]
			called, args := name, fmt.Sprintf(`{"name":%q,"args":{"n":%d}}`, target, i)
			if called == "" {
				called, args = target, fmt.Sprintf(`{"n":%d}`, i)
			}
			all.Go(func() {
				d, err := run.Direct(t.Context(), schemas.Direct{CallID: fmt.Sprint("c", i), Name: called, Args: schemas.JSON(args)})
				if err != nil || d.Call != nil {
					t.Errorf("%s: %+v, %v", args, d, err)
				}
			})
		}
		all.Wait()
		f.mu.Lock()
		if len(f.faults) > 0 || len(f.order) != 40 || f.most < 2 {
			t.Errorf("%s: %d calls, at most %d at once: %s", mode, len(f.order), f.most, strings.Join(f.faults, "; "))
		}
		f.mu.Unlock()
	}
}
