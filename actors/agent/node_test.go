package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/codecell/codecell/actors/agent"
	"github.com/codecell/codecell/actors/host"
	"github.com/codecell/codecell/actors/tool"
	"github.com/codecell/codecell/schemas"
)

type number struct {
	N int `json:"n"`
}

// node starts a real host with a few tools.
func node(t *testing.T, config string, more ...tool.Func) *host.Node {
	t.Helper()
	c, err := schemas.ParseConfig([]byte(config), "test.json5")
	if err != nil {
		t.Fatal(err)
	}
	funcs, err := tool.Funcs("lab", append(more,
		tool.New("double", "Doubles a number.", func(_ context.Context, in number) (number, error) { return number{2 * in.N}, nil }),
		tool.New("boom", "Always fails.", func(context.Context, struct{}) (number, error) { return number{}, errors.New("it broke") }),
	)...)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	n, err := host.Up(ctx, host.NodeOptions{Config: c, Providers: []tool.Provider{funcs}, CacheDir: cache})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		_ = n.Close(ctx) // a test that ends it by itself closes it twice
	})
	if err := n.Ready(ctx); err != nil {
		t.Fatal(err)
	}
	return n
}

// turn is one of its own on the node, with everything watched.
func turn(t *testing.T, n *host.Node, p *provider) (*agent.Turn, *record, *watcher) {
	t.Helper()
	rec, w := &record{}, &watcher{}
	name := strings.Map(func(r rune) rune {
		if r == '/' || r == ' ' || r == ',' {
			return '-'
		}
		return r
	}, t.Name())
	return &agent.Turn{
		Client: n.Client(), Provider: p.at(t), Mode: schemas.ModeCode, Transcript: rec, Observe: w.observe, Fact: w.fact,
		Identity: schemas.Identity{Agent: "default", SessionID: "s-" + name, SessionKey: "k-" + name, Run: fmt.Sprintf("r-%s-%d", name, time.Now().UnixNano())},
		Price:    schemas.Price{Input: 1, Output: 10},
	}, rec, w
}

func program(code string) string {
	return fmt.Sprintf(`{"title": "Try", "code": %q}`, code)
}

func TestSpec_V4_ATurnInCodeMode(t *testing.T) {
	n := node(t, `{tools: {codeMode: true}}`)
	for name, whole := range map[string]bool{"streamed": false, "whole": true} {
		t.Run(name, func(t *testing.T) {
			p := newProvider(t,
				answers("I double it.", "tool_calls", asks{"c1", "exec", program("return (await double({n: 21})).n")}),
				says("It is 42, naturally."))
			turn, rec, seen := turn(t, n, p)
			turn.Provider.NoStream = whole
			report, err := turn.Run(t.Context(), "What is twice 21?")
			if err != nil {
				t.Fatal(err)
			}
			e := report.Entry
			if report.Text != "It is 42, naturally." || e.Stop != schemas.StopAnswered || e.Error != "" || e.Requests != 2 || e.Model != "test/m" {
				t.Errorf("report = %+v", report)
			}
			if e.Usage != (schemas.Usage{InputTokens: 200, CachedTokens: 80, OutputTokens: 20}) || e.CostUSD != 0.0004 || report.Uncounted != 0 {
				t.Errorf("usage = %+v, $%v", e.Usage, e.CostUSD)
			}
			requests := p.requests()
			first, second := requests[0], requests[1]
			if first.Stream == whole || first.Key != secret || first.Model != "m" || first.roles() != "system user" {
				t.Errorf("first request: %s", first.Body)
			}
			if len(first.Tools) != 2 || first.Tools[0].Function.Name != "exec" || first.Tools[1].Function.Name != "wait" {
				t.Errorf("tools = %+v", first.Tools)
			}
			if second.roles() != "system user assistant tool" || second.Messages[3].ToolCallID != "c1" || !strings.Contains(second.text(3), `"value":42`) {
				t.Errorf("second request: %s", second.Body)
			}
			want := "user: What is twice 21?\nassistant: I double it.[exec " + program("return (await double({n: 21})).n") + "]\ntool: " + second.text(3) +
				"\nassistant: It is 42, naturally."
			if got := rec.speech(); got != want {
				t.Errorf("transcript = %s", got)
			}
			var text strings.Builder
			for _, d := range only[agent.Delta](seen) {
				text.WriteString(d.Text)
			}
			if text.String() != "I double it.It is 42, naturally." {
				t.Errorf("heard %q", text.String())
			}
			if len(rec.entries) != 1 || rec.entries[0].Stop != schemas.StopAnswered || rec.entries[0].RequestBytes != int64(len(first.Body)+len(second.Body)) {
				t.Errorf("entries = %+v", rec.entries)
			}
			facts := only[*schemas.TurnRequested](seen)
			if len(facts) != 2 || facts[0].Status != 200 || facts[0].ToolCalls != 1 || facts[0].Bytes != len(first.Body) || facts[1].Request != 2 {
				t.Errorf("facts = %+v", facts)
			}
			if len(only[*schemas.TurnStarted](seen)) != 1 || len(only[*schemas.TurnEnded](seen)) != 1 {
				t.Errorf("%d started, %d ended", len(only[*schemas.TurnStarted](seen)), len(only[*schemas.TurnEnded](seen)))
			}
		})
	}
}

func TestSpec_A2_L4_AGuessedNameReachesNothing(t *testing.T) {
	n := node(t, `{tools: {codeMode: true, deny: ["boom"]}}`)
	p := newProvider(t,
		calls(asks{"a", "double", `{"n":1}`}, asks{"b", "boom", `{}`}, asks{"c", "exec", program(`return [typeof boom, (await catalog.search("fails")).length]`)}),
		says("Done."))
	turn, _, _ := turn(t, n, p)
	r := run(t, turn)
	ended(t, r, schemas.StopAnswered)
	got := told(p.requests()[1])
	for id, name := range map[string]string{"a": "double", "b": "boom"} {
		if got[id] != fmt.Sprintf("Tool %q isn't available; available: exec, wait.", name) {
			t.Errorf("told %q of %s", got[id], name)
		}
	}
	if !strings.Contains(got["c"], `"value":["undefined",0]`) {
		t.Errorf("told %q", got["c"])
	}
}

// A program that outlives its exec goes on in another request of the turn.
func TestSpec_V4_AProgramIsWaitedFor(t *testing.T) {
	open := make(chan struct{})
	slow := tool.New("slow", "Answers when it may.", func(ctx context.Context, in number) (number, error) {
		select {
		case <-open:
			return in, nil
		case <-ctx.Done():
			return in, ctx.Err()
		}
	})
	n := node(t, `{tools: {codeMode: {enabled: true, timeoutMs: 2000}}}`, slow)
	p := newProvider(t,
		calls(asks{"a", "exec", program(`const r = await slow({n: 5}); text("after"); return r.n`)}),
		func(w http.ResponseWriter, req *sent) {
			var waiting struct{ Status, RunID string }
			if err := json.Unmarshal([]byte(req.text(-1)), &waiting); err != nil || waiting.Status != "waiting" {
				t.Errorf("told %s", req.text(-1))
			}
			close(open)
			calls(asks{"b", "wait", fmt.Sprintf(`{"runId":%q}`, waiting.RunID)})(w, req)
		},
		says("Done."))
	turn, _, _ := turn(t, n, p)
	r := run(t, turn)
	ended(t, r, schemas.StopAnswered)
	if got := told(p.requests()[2])["b"]; !strings.Contains(got, `"value":5`) || !strings.Contains(got, "after") {
		t.Errorf("told %q", got)
	}
}

// When a turn is cancelled, its programs end, and the tools that they have called.
func TestSpec_V4_ACancelledTurnEndsItsTools(t *testing.T) {
	began, ended := make(chan struct{}), make(chan struct{})
	endless := tool.New("endless", "Never answers.", func(ctx context.Context, in number) (number, error) {
		close(began)
		<-ctx.Done()
		close(ended)
		return in, ctx.Err()
	})
	n := node(t, `{tools: {codeMode: true}}`, endless)
	turn, rec, _ := turn(t, n, newProvider(t, calls(asks{"a", "exec", program(`return await endless({n: 1})`)})))
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-began
		cancel()
	}()
	r, err := turn.Run(ctx, "Go.")
	if err != nil || r.Entry.Stop != schemas.StopCancelled || !strings.Contains(rec.speech(), "was stopped") {
		t.Errorf("%+v, %v, transcript: %s", r, err, rec.speech())
	}
	select {
	case <-ended:
	case <-time.After(30 * time.Second): // real: a tool on another goroutine
		t.Error("the tool goes on")
	}
	// The turn has its answer a moment before the cell is gone.
	status, err := n.Client().Status(t.Context(), r.Entry.Host)
	for over := time.Now().Add(30 * time.Second); err == nil && len(status.Cells) != 0 && time.Now().Before(over); {
		status, err = n.Client().Status(t.Context(), r.Entry.Host)
	}
	if err != nil || len(status.Cells) != 0 {
		t.Errorf("left over: %+v, %v", status, err)
	}
}

func TestSpec_A1_V4_ATurnInDirectMode(t *testing.T) {
	n := node(t, `{tools: {codeMode: true}}`)
	p := newProvider(t, calls(asks{"a", "double", `{"n":21}`}, asks{"b", "boom", `{}`}, asks{"c", "double", `{"m":1}`}), says("Done."))
	turn, _, _ := turn(t, n, p)
	turn.Mode = schemas.ModeDirect
	r := run(t, turn)
	ended(t, r, schemas.StopAnswered)
	if r.Entry.Mode != schemas.ModeDirect || r.Entry.Tools != len(p.requests()[0].Tools) || r.Entry.Tools < 2 {
		t.Errorf("entry = %+v", r.Entry)
	}
	got := told(p.requests()[1])
	if got["a"] != `{"n":42}` || !strings.Contains(got["b"], "it broke") || !strings.Contains(got["c"], "input_contract") {
		t.Errorf("told %q", got)
	}
	body := string(p.requests()[0].Body)
	if at := strings.Index(body, `"tools":`); at < 0 || r.Entry.ToolBytes >= len(body)-at || r.Entry.ToolBytes < len(body)-at-100 {
		t.Errorf("%d bytes of tools in %s", r.Entry.ToolBytes, body)
	}
}

func TestSpec_A3_ARawTurnHasNoTools(t *testing.T) {
	n := node(t, `{tools: {codeMode: true}}`)
	p := newProvider(t, calls(asks{"a", "exec", program("return 1")}), says("Done."))
	turn, _, _ := turn(t, n, p)
	turn.Raw = true
	ended(t, run(t, turn), schemas.StopAnswered)
	r := p.requests()
	if strings.Contains(string(r[0].Body), `"tools"`) || !strings.Contains(told(r[1])["a"], "available: none") {
		t.Errorf("sent %s, told %v", r[0].Body, told(r[1]))
	}
}
