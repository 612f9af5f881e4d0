package e2e

import (
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/codecell/codecell/e2e/provider/chat"
	"github.com/codecell/codecell/e2e/provider/script"
	"github.com/codecell/codecell/schemas"
)

// TestReal_V4_P3_ASessionOfTurns: a call that must be approved waits for that, one that is denied is told so, the second turn
// knows the first, and tokens and costs are counted, and bounded.
func TestReal_V4_P3_ASessionOfTurns(t *testing.T) {
	t.Parallel()
	settings := writeJSON(t, filepath.Join(t.TempDir(), "codecell.json5"), map[string]any{
		"tools":  map[string]any{"codeMode": false},
		"models": map[string]any{"e2e/*": map[string]any{"price": map[string]any{"input": 3, "cachedInput": 1, "output": 15}}},
	})
	host := startHost(t, settings)
	shop := servePlugin(t, host, "shop", schemas.Tool{Name: "order", Description: "Orders an item.", Approval: true})
	g := guarded{host: host}
	counted := func(s script.Step) script.Step {
		s.Usage = chat.Usage{Prompt: 1000, Completion: 100}
		s.Usage.Details.Cached = 400
		return s
	}
	const perRequest = (600*3 + 400*1 + 100*15) / 1e6
	flags := []string{"--session", "desk", "--config", settings}

	m := startModel(t, counted(calls("order", map[string]any{"item": "bolt"}, script.Expect{Messages: 1})), counted(says("Ordered.", "1200")))
	turn := start(t, agentCommand(t, host, m, "Order bolts", flags...))
	id := g.pending(t, 1)[0]
	if ran := shop.ran(); len(ran) > 0 {
		t.Errorf("%q ran before it was approved", ran)
	}
	g.decide(t, 0, "approve", id)
	got := decode[turnResult](t, turn.line("{"))
	answered(t, got, turn.exitCode(), "Ordered.")
	if u := got.Turn.Usage; u.InputTokens != 2000 || u.CachedTokens != 800 || u.OutputTokens != 200 || math.Abs(got.Turn.CostUSD-2*perRequest) > 1e-9 {
		t.Errorf("%+v costs %v, want %v", u, got.Turn.CostUSD, 2*perRequest)
	}

	m = startModel(t,
		calls("order", map[string]any{"item": "nut"}, script.Expect{Messages: 5, Role: "user", Last: []string{"^And nuts$"}}),
		says("Somebody said no.", `denied by ada: not today`))
	turn = start(t, agentCommand(t, host, m, "And nuts", flags...))
	g.decide(t, 0, "deny", g.pending(t, 1)[0], "--by", "ada", "--note", "not today")
	answered(t, decode[turnResult](t, turn.line("{")), turn.exitCode(), "Somebody said no.")
	if ran := shop.ran(); !slices.Equal(ran, []string{`order {"item":"bolt"}`}) {
		t.Errorf("%q ran", ran)
	}

	m = startModel(t, counted(script.Step{Forever: true, Calls: []script.Call{{Name: "oder"}}}))
	bounded, code := takeTurn(t, host, m, "Go on", append(flags, "--max-cost", "0.01")...)
	if code != 1 || bounded.Stop != "limit" || !strings.Contains(bounded.Error, "maxCostUsd") || bounded.Turn.Requests != 3 {
		t.Errorf("exit code %d: %+v", code, bounded)
	}
	var turns []string
	for _, e := range exportOf(t, host, "desk") {
		if e.Turn != nil {
			turns = append(turns, e.Turn.Stop)
		}
	}
	if !slices.Equal(turns, []string{"answered", "answered", "limit"}) {
		t.Errorf("the session has %q", turns)
	}
}

// TestReal_F1_A3_AutoDecidesByModel: in mode auto, models that are good at programs get Code Mode, others see their tools, and
// a configuration knows more models than we do. A turn without tools, or without any asked for, is a plain one.
func TestReal_F1_A3_AutoDecidesByModel(t *testing.T) {
	t.Parallel()
	settings := writeJSON(t, filepath.Join(t.TempDir(), "codecell.json5"), map[string]any{
		"models": map[string]any{"e2e/ours-*": map[string]any{"preferCodeMode": true}},
		"agents": map[string]any{"entries": map[string]any{"bare": map[string]any{"tools": map[string]any{"deny": []string{"*"}}}}},
	})
	host := startHost(t, settings)
	servePlugin(t, host, "shop", schemas.Tool{Name: "order", Description: "Orders an item."})
	for _, c := range []struct {
		model string
		flags []string
		want  []string
	}{
		{"gpt-5.1", nil, []string{"exec", "wait"}},
		{"gpt-5.1-mini", nil, []string{"order"}},
		{"ours-7b", nil, []string{"exec", "wait"}},
		{"unheard-of", nil, []string{"order"}},
		{"gpt-5.1", []string{"--mode", "direct"}, []string{"order"}},
		{"unheard-of", []string{"--mode", "search"}, []string{"tool_search_code"}},
		{"gpt-5.1", []string{"--no-tools"}, nil},
		{"gpt-5.1", []string{"--agent", "bare"}, nil},
	} {
		t.Run(strings.Join(append([]string{c.model}, c.flags...), " "), func(t *testing.T) {
			m := startModel(t, says("Hello."))
			got, code := takeTurn(t, host, m, "Hello", append([]string{"--model", c.model}, c.flags...)...)
			answered(t, got, code, "Hello.")
			if shown := m.requests(t)[0].Tools; !slices.Equal(slices.Sorted(slices.Values(shown)), c.want) {
				t.Errorf("the model sees %q, want %q", shown, c.want)
			}
		})
	}
}

// TestReal_G10_Q4_AgentsOfAProgram: a program starts agents, each of which takes a turn with the model and calls a tool, and
// collects what they came to inside its call. They can't start agents of their own.
func TestReal_G10_Q4_AgentsOfAProgram(t *testing.T) {
	t.Parallel()
	child := func(item string) []script.Step {
		first, last := calls("stock_level", map[string]any{"item": item}, script.Expect{Absent: []string{"exec", "sessions_spawn"}}), says(`{{last "pieces"}} of `+item)
		first.For, last.For = "^Count "+item, "^Count "+item
		return []script.Step{first, last}
	}
	steps := slices.Concat(child("bolts"), child("nuts"), []script.Step{
		{For: "^Count all", Calls: []script.Call{{Name: "exec", Args: map[string]any{"title": "Count", "awaitResults": true, "code": `
			phase("count");
			const all = await Promise.all(["bolts", "nuts"].map((item) => agents.run({ task: "Count " + item, mode: "direct" })));
			log("counted");
			return all.map(({ text }) => text)`}}}},
		{For: "^Count all", Text: `{{last "value"}}`, Expect: script.Expect{Last: []string{`counted`}}},
	})
	m := startModel(t, steps...)
	host := startHost(t, writeJSON(t, filepath.Join(t.TempDir(), "codecell.json5"), map[string]any{
		"provider": map[string]any{"url": m.url, "name": "e2e", "model": "scripted"},
		"tools":    map[string]any{"swarm": true},
	}))
	depot := servePlugin(t, host, "depot", schemas.Tool{Name: "stock_level"})
	got, code := takeTurn(t, host, m, "Count all", "--mode", "code", "--session", "boss")
	answered(t, got, code, `["1200 of bolts","1200 of nuts"]`)
	if ran := depot.ran(); !slices.Equal(ran, []string{`stock_level {"item":"bolts"}`, `stock_level {"item":"nuts"}`}) {
		t.Errorf("%q ran", ran)
	}
	if n := len(m.requests(t)); n != 6 {
		t.Errorf("the model was asked %d times", n)
	}
}

// TestReal_V4_B5_TheKeyIsForTheProvider: the key comes from the environment, reaches the provider, and nobody else, whatever is
// to be shown.
func TestReal_V4_B5_TheKeyIsForTheProvider(t *testing.T) {
	t.Parallel()
	const key = "sk-e2e-4b1c7f0d9a"
	host := startHost(t, writeJSON(t, filepath.Join(t.TempDir(), "codecell.json5"), map[string]any{"workspace": map[string]any{"root": t.TempDir()}}))
	m := startLockedModel(t, key,
		calls("exec", programOf(`console.log("`+key+`"); return 1`), script.Expect{}), says("Done."))
	c := agentCommand(t, host, m, "Say it", "--mode", "code", "--api-key-env", "E2E_KEY", "--session", "open")
	c.env = []string{
		"E2E_KEY=" + key, "CODECELL_DEBUG_CODE_MODE=1", "CODECELL_DEBUG_MODEL_TRANSPORT=1", "CODECELL_DEBUG_MODEL_PAYLOAD=full-redacted", "CODECELL_DEBUG_SSE=peek",
	}
	got := do(t, c, "")
	if got.code != 0 || !strings.Contains(got.stderr, "exec") {
		t.Errorf("exit code %d: %s\n%s", got.code, got.stdout, got.stderr)
	}
	if strings.Contains(got.stderr, key) {
		t.Errorf("the key is shown:\n%s", got.stderr)
	}
}
