package agent_test

import (
	"context"
	"errors"
	"fmt"
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
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
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
