package host_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/codecell/codecell/actors/tool"
	"github.com/codecell/codecell/bus"
	"github.com/codecell/codecell/bus/bustest"
	"github.com/codecell/codecell/schemas"
)

// surfaceBytes are those of all that a model sees.
func surfaceBytes(t *testing.T, s *schemas.Surface) []byte {
	t.Helper()
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

var everyMode = []schemas.Mode{schemas.ModeDirect, schemas.ModeSearch, schemas.ModeCode}

// A run for background work is shown what any other is, to the byte, and each of its calls is decided: on the host's side
// and on that of the executor.
func TestSpec_A6_RestrictedRunsSeeAllAndMayLess(t *testing.T) {
	c := config(t, `{tools: {toolSearch: {mode: "directory"}, restricted: {deny: ["sends"]}}, agents: {entries: {
		narrow: {tools: {restricted: {allow: ["echo"]}}}}}}`)
	var sent atomic.Int64
	n := node(t, c, says("sends", "sent", &sent))
	for _, mode := range everyMode {
		id := someone("free" + string(mode))
		free := openIn(t, n.Client(), "", schemas.Open{Identity: id, Mode: mode})
		id = someone("bound" + string(mode))
		id.Restricted = true
		bound := openIn(t, n.Client(), "", schemas.Open{Identity: id, Mode: mode})
		if !bytes.Equal(surfaceBytes(t, &free.Surface), surfaceBytes(t, &bound.Surface)) {
			t.Errorf("%s: restricted it shows %+v, else %+v", mode, bound.Surface, free.Surface)
		}
		if mode != schemas.ModeDirect {
			continue
		}
		if d, err := callDirect(t, free, "sends", `{}`); err != nil || string(d.Value) != `"sent"` {
			t.Errorf("unrestricted: %+v, %v", d, err)
		}
		d, err := callDirect(t, bound, "sends", `{}`)
		if err != nil || d.Call == nil || d.Call.Location != "policy" || !strings.Contains(d.Call.Message, "blocked by policy: tools.restricted.deny excludes it") {
			t.Errorf("restricted: %+v, %v", d, err)
		}
	}
	const all = `return [typeof sends, (await catalog.search("sends")).length, (await echo({n: 1})).n,
		await sends({}).catch(e => [e.code, e.location, e.effectStatus, e.message]), await boom({}).catch(e => e.location)]`
	for agent, want := range map[string]string{
		"default": `["function",1,1,["invalid_input","policy","not_started","sends is blocked by policy: tools.restricted.deny excludes it"],"tool"]`,
		"narrow":  `["function",1,1,["invalid_input","policy","not_started","sends is blocked by policy: tools.restricted.deny excludes it"],"policy"]`,
	} {
		id := someone("cell")
		id.Agent, id.Restricted = agent, true
		mustGive(t, exec(t, openIn(t, n.Client(), "", schemas.Open{Identity: id}), all), want)
	}
	if sent.Load() != 1 {
		t.Errorf("the tool ran %d times", sent.Load())
	}
}

// The executor decides for itself: a host whose configuration says nothing sends the call, and it is refused.
func TestSpec_A6_ExecutorsRefuseRestrictedCalls(t *testing.T) {
	strict := config(t, `{tools: {restricted: {allow: []}}}`)
	var sent atomic.Int64
	conn := bustest.Conn(t)
	client := hostOn(t, conn, config(t, `{}`), true)
	offering(t, conn, strict, "lab", says("sends", "sent", &sent))
	for restricted, blocked := range map[bool]bool{true: true, false: false} {
		id := someone("e")
		id.Restricted = restricted
		d, err := callDirect(t, waitShown(t, client, schemas.Open{Identity: id, Mode: schemas.ModeDirect}, "sends"), "sends", `{}`)
		if err != nil || (d.Call != nil) != blocked || blocked && d.Call.Location != "policy" {
			t.Errorf("restricted %v: %+v, %v", restricted, d, err)
		}
	}
	if sent.Load() != 1 {
		t.Errorf("the tool ran %d times", sent.Load())
	}
}

// Equal sets of tools give equal bytes, whoever registered first and however often it is asked: caches of providers
// depend on it.
func TestSpec_A5_C2_EqualToolsGiveEqualBytes(t *testing.T) {
	c := config(t, `{tools: {toolSearch: {mode: "directory"}}}`)
	var tools []tool.Func
	for i := range 30 {
		tools = append(tools, tool.New(fmt.Sprintf("tool_%d", i), fmt.Sprintf("Does thing %d.", i),
			func(context.Context, echoIn) (echoOut, error) { return echoOut{}, nil }))
	}
	got := make(map[string]string)
	for round, owners := range [][]string{{"a", "b"}, {"b", "a"}} {
		conn := bustest.Conn(t)
		for _, owner := range owners {
			mine := tools[:15]
			if owner == "b" {
				mine = tools[10:]
			}
			offering(t, conn, c, owner, mine...)
		}
		client := hostOn(t, conn, c, true)
		for _, mode := range everyMode {
			for i, who := range []string{"x", "y"} {
				run := openIn(t, client, fmt.Sprint(who, mode), schemas.Open{Mode: mode})
				bytes := string(surfaceBytes(t, &run.Surface))
				if first, known := got[string(mode)]; known && first != bytes {
					t.Errorf("%s, round %d.%d:\n%s\nat first\n%s", mode, round, i, bytes, first)
				}
				got[string(mode)] = bytes
			}
		}
	}
	if len(got) != 3 || got["direct"] == got["code"] {
		t.Errorf("surfaces = %q", got)
	}
}

// The version changes with each part of what the model reads.
func TestSpec_L3_TheVersionCoversModeAndPrompt(t *testing.T) {
	n := node(t, config(t, `{tools: {toolSearch: {mode: "directory"}}, models: {"lab/small": {contextTokens: 400}}, agents: {entries: {
		tools: {tools: {toolSearch: {mode: "tools"}}}}}}`))
	versions := make(map[string]string)
	for i, o := range []schemas.Open{
		{Mode: schemas.ModeDirect}, {Mode: schemas.ModeCode}, {Mode: schemas.ModeSearch},
		{Mode: schemas.ModeSearch, Model: "lab/small"}, {Mode: schemas.ModeSearch, Identity: schemas.Identity{Agent: "tools"}},
	} {
		agent := o.Identity.Agent
		o.Identity = someone(fmt.Sprint("v", i))
		if agent != "" {
			o.Identity.Agent = agent
		}
		run := openIn(t, n.Client(), "", o)
		if before, known := versions[run.Surface.Version]; known {
			t.Errorf("%+v and %s have one version", o, before)
		}
		versions[run.Surface.Version] = fmt.Sprintf("%+v", o)
	}
}

// Case 52 in direct mode: what is denied isn't shown, isn't called, and isn't told of.
func TestSpec_A1_F4_Case52_DeniedToolsAreInNoMode(t *testing.T) {
	var calls atomic.Int64
	for _, text := range []string{
		`{tools: {deny: ["secret"], toolSearch: true}}`, `{tools: {deny: ["sec*"], toolSearch: true}}`, `{tools: {deny: ["group:plugins"], toolSearch: true}}`,
		`{tools: {toolSearch: true}, agents: {entries: {default: {tools: {allow: ["echo"]}}}}}`,
	} {
		n := node(t, config(t, text), says("secret", "it", &calls))
		for _, mode := range everyMode {
			run := openIn(t, n.Client(), string(mode), schemas.Open{Mode: mode})
			if strings.Contains(string(surfaceBytes(t, &run.Surface)), "secret") {
				t.Errorf("%s: %s shows it", text, mode)
			}
			_, hidden := callDirect(t, run, "secret", `{}`)
			_, unknown := callDirect(t, run, "secre", `{}`)
			if !errors.Is(hidden, schemas.InvalidInput) || hidden.Error() != unknown.Error() {
				t.Errorf("%s: %s: %v, but of a tool that isn't there %v", text, mode, hidden, unknown)
			}
		}
	}
	if calls.Load() != 0 {
		t.Errorf("the tool ran %d times", calls.Load())
	}
}

// Case 53 in direct mode: runs see their own tools, and the executor that is there is the one that is called.
func TestSpec_A6_Case53_RunsSeeTheirOwnToolsInEveryMode(t *testing.T) {
	c := config(t, `{agents: {entries: {one: {tools: {allow: ["one"]}}, two: {tools: {allow: ["two"]}}}}}`)
	conn := bustest.Conn(t)
	var old, renewed atomic.Int64
	stop := offering(t, conn, c, "lab", says("one", "old", &old), says("two", "", nil))
	client := hostOn(t, conn, c, true)
	of := func(agent string) schemas.Open {
		id := someone("53" + agent)
		id.Agent = agent
		return schemas.Open{Identity: id, Mode: schemas.ModeDirect}
	}
	one, two := openIn(t, client, "", of("one")), openIn(t, client, "", of("two"))
	mustShow(t, &one.Surface, "direct", "one")
	mustShow(t, &two.Surface, "direct", "two")
	if _, err := callDirect(t, two, "one", `{}`); !errors.Is(err, schemas.InvalidInput) {
		t.Errorf("another's tool: %v", err)
	}
	stop()
	offering(t, conn, c, "lab", says("one", "new", &renewed))
	if d, err := callDirect(t, waitShown(t, client, of("one"), "one"), "one", `{}`); err != nil || string(d.Value) != `"new"` {
		t.Errorf("one gave %+v, %v", d, err)
	}
	if old.Load() != 0 || renewed.Load() != 1 {
		t.Errorf("the old executor had %d calls, the new one %d", old.Load(), renewed.Load())
	}
}

// waitShown opens a run, and waits until it shows the tools.
func waitShown(t *testing.T, c *bus.Client, o schemas.Open, names string) *bus.Run {
	t.Helper()
	run := openIn(t, c, "", o)
	for known := run.Surface; shown(&known) != names; {
		d, err := run.Changed(t.Context(), known.Version)
		if err != nil {
			t.Fatal(err)
		}
		known = d.Surface
	}
	return run
}
