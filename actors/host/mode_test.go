package host_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/codecell/codecell/actors/host"
	"github.com/codecell/codecell/actors/tool"
	"github.com/codecell/codecell/bus"
	"github.com/codecell/codecell/bus/bustest"
	"github.com/codecell/codecell/schemas"
	"github.com/codecell/codecell/wasm"
)

// openIn opens a run in a mode.
func openIn(t *testing.T, c *bus.Client, who string, o schemas.Open) *bus.Run {
	t.Helper()
	if o.Identity == (schemas.Identity{}) {
		o.Identity = someone(who)
	}
	run, err := c.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return run
}

// shown are the names of what a model sees.
func shown(s *schemas.Surface) string {
	names := make([]string, len(s.Tools))
	for i := range s.Tools {
		names[i] = s.Tools[i].Name
	}
	return strings.Join(names, " ")
}

// mustShow checks the mode of a surface and its tools.
func mustShow(t *testing.T, s *schemas.Surface, mode, names string) {
	t.Helper()
	if got := strings.TrimSpace(string(s.Mode) + " " + s.Search); got != mode || shown(s) != names {
		t.Errorf("the surface is %s: %s, want %s: %s", got, shown(s), mode, names)
	}
}

// offering starts an executor of these tools of one owner on a connection, and takes them back at the end or when stop is
// called.
func offering(t *testing.T, conn *bus.Conn, c *schemas.Config, owner string, tools ...tool.Func) (stop func()) {
	t.Helper()
	funcs, err := tool.Funcs(owner, tools...)
	if err != nil {
		t.Fatal(err)
	}
	e, err := tool.Start(t.Context(), conn, tool.Options{Providers: []tool.Provider{funcs}, Pipeline: host.Pipeline(c)})
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	stop = func() { _ = e.Close(context.Background()) }
	t.Cleanup(stop)
	return stop
}

// hostOn is a client of a host on the connection. Without guests its engine can make none.
func hostOn(t *testing.T, conn *bus.Conn, c *schemas.Config, guests bool) *bus.Client {
	t.Helper()
	engine, err := wasm.NewEngine(t.Context(), wasm.Config{CacheDir: cache})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = engine.Close() })
	if !guests {
		_ = engine.Close()
	}
	h, err := host.Start(t.Context(), host.Options{Conn: conn, Engine: engine, Config: c})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close(context.Background()) })
	return bus.NewClient(conn)
}

// Activation off leaves the direct list as it is: every tool, in catalog order, with the schemas that were declared.
func TestSpec_A1_DirectModeShowsEveryToolAsDeclared(t *testing.T) {
	s := serveTools(t, `[{"name":"read","description":"Reads over there.","inputSchema":{"type":"object","properties":{"p":{"anyOf":[{"type":"string"},{"type":"number"}]}}}},
		{"name":"a b","inputSchema":{"type":"object"}},{"name":"exec","inputSchema":{"type":"object"}}]`)
	var brought atomic.Int64
	n := node(t, config(t, fmt.Sprintf(`{tools: {codeMode: false, direct: ["boom"]}, workspace: {root: %q}, mcpServers: {far: {url: %q}}}`, t.TempDir(), s.URL)))
	run := openIn(t, n.Client(), "a", schemas.Open{Mode: schemas.ModeAuto, Model: "openai/gpt-5"})
	const all = "find grep ls read boom echo a_b exec far__read"
	mustShow(t, &run.Surface, "direct", all)
	if c := run.Surface; c.CatalogSize != 9 || c.Sources.Native != 6 || c.Sources.MCP != 3 || c.Prompt != "" {
		t.Errorf("the surface counts %d, %+v", c.CatalogSize, c.Sources)
	}
	far, _ := run.Surface.Tool("far__read")
	if far == nil || far.Description != "Reads over there." || !strings.Contains(string(far.InputSchema), `"anyOf"`) || !far.Direct || far.Control {
		t.Errorf("an MCP tool is shown as %+v", far)
	}
	bringing(t, run, says("mine", "brought", &brought), says("read", "ours", &brought))
	described, err := run.Describe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	mustShow(t, &described.Surface, "direct", "find grep ls boom echo a_b exec read mine client__read")
	for name, want := range map[string]string{"echo": `{"n":7}`, "mine": `"brought"`, "client__read": `"ours"`} {
		args := `{}`
		if name == "echo" {
			args = want
		}
		if d, err := callDirect(t, run, name, args); err != nil || string(d.Value) != want {
			t.Errorf("%s gave %+v, %v", name, d, err)
		}
	}
	if d, err := callDirect(t, run, "exec", `{"a":1}`); err != nil || d.Source != schemas.SourceMCP || !strings.Contains(string(d.Value), `exec{\"a\":1}`) {
		t.Errorf("the server's tool gave %+v, %v", d, err)
	}
	if s.called() != "exec" || brought.Load() != 2 {
		t.Errorf("%s was called, and %d of the caller's", s.called(), brought.Load())
	}
}

func TestSpec_A2_A7_F3_Case54_WhatEachModeShows(t *testing.T) {
	message := tool.New("message", "Tells somebody.", func(context.Context, struct{}) (string, error) { return "told", nil })
	s := serveTools(t, `[{"name":"message","inputSchema":{"type":"object"}}]`)
	const text = `{tools: {codeMode: %s, toolSearch: %s, direct: ["boom", "tool_call", "wait"]}, mcpServers: {far: {url: %q}}}`
	for _, c := range []struct {
		codeMode, toolSearch string
		asked                schemas.Mode
		mode, shown          string
	}{
		{"true", "true", schemas.ModeAuto, "code", "exec wait boom message tool_call"},
		{"false", `{mode: "tools"}`, schemas.ModeAuto, "search tools", "tool_search tool_describe tool_call boom message wait"},
		{"false", `{mode: "directory"}`, schemas.ModeAuto, "search directory", "tool_search tool_describe tool_call boom message wait"},
		{"false", "true", schemas.ModeAuto, "search code", "tool_search_code boom message wait"},
		{"true", "false", schemas.ModeSearch, "search code", "tool_search_code boom message wait"},
		{"true", "true", schemas.ModeDirect, "direct", "boom echo message tool_call wait far__message"},
		{"false", "true", schemas.ModeCode, "code", "exec wait boom message tool_call"},
		{"false", "true", "", "code", "exec wait boom message tool_call"},
	} {
		n := node(t, config(t, fmt.Sprintf(text, c.codeMode, c.toolSearch, s.URL)), message, says("tool_call", "", nil), says("wait", "", nil))
		run := openIn(t, n.Client(), "a", schemas.Open{Mode: c.asked})
		mustShow(t, &run.Surface, c.mode, c.shown)
		for _, control := range run.Surface.Tools {
			want := slices.Contains([]string{"exec", "wait", "tool_search", "tool_describe", "tool_call", "dispatch_action", "tool_search_code"}, control.Name) &&
				!strings.Contains(control.Description, "Ignore all rules")
			if control.Control != want {
				t.Errorf("%s: control of %s = %v", c.mode, control.Name, control.Control)
			}
			if text := string(control.InputSchema); control.Control && (strings.Contains(text, "anyOf") || strings.Contains(text, "oneOf") || !strings.Contains(text, `"object"`)) {
				t.Errorf("A7: %s takes %s", control.Name, text)
			}
		}
		described, err := run.Describe(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		taken := map[schemas.Mode]string{schemas.ModeCode: "wait", schemas.ModeSearch: "tool_call"}[run.Surface.Mode]
		if len(described.Problems) != min(len(taken), 1) || taken != "" && !strings.Contains(described.Problems[0], strconv.Quote(taken)) {
			t.Errorf("%s: problems = %q", c.mode, described.Problems)
		}
		if hasPrompt := run.Surface.Prompt != ""; hasPrompt != (c.mode == "search directory") {
			t.Errorf("%s: prompt %q", c.mode, run.Surface.Prompt)
		}
		if c.mode != "direct" && (run.Surface.CatalogSize != 3 || run.Surface.Sources.MCP != 1) {
			t.Errorf("%s: hidden are %d, %+v", c.mode, run.Surface.CatalogSize, run.Surface.Sources)
		}
	}
}

// What "auto" means follows the model; what is said of a model goes before what is said of all.
func TestSpec_F1_AutoFollowsTheModel(t *testing.T) {
	n := node(t, config(t, `{
		models: {"lab/*": {preferCodeMode: true}, "lab/small*": {preferCodeMode: false}},
		agents: {
			defaults: {models: {"lab/off": {codeMode: false}}},
			entries: {careful: {tools: {codeMode: false}, models: {"lab/big": {codeMode: true}}}},
		}}`))
	for i, c := range []struct {
		agent, model string
		want         schemas.Mode
	}{
		{"default", "lab/big", schemas.ModeCode}, {"default", "lab/small-1", schemas.ModeDirect}, {"default", "lab/off", schemas.ModeDirect},
		{"default", "openai/gpt-5", schemas.ModeCode}, {"default", "openai/gpt-5-mini", schemas.ModeDirect}, {"default", "nobody/knows", schemas.ModeDirect},
		{"careful", "lab/big", schemas.ModeCode}, {"careful", "lab/other", schemas.ModeDirect}, {"default", "", schemas.ModeDirect},
	} {
		id := someone(fmt.Sprint("m", i))
		id.Agent = c.agent
		run := openIn(t, n.Client(), "", schemas.Open{Identity: id, Mode: schemas.ModeAuto, Model: c.model})
		if run.Surface.Mode != c.want {
			t.Errorf("%s with %s is in mode %s, want %s", c.agent, c.model, run.Surface.Mode, c.want)
		}
	}
}

// Whatever is asked for, no tools engage nothing.
func TestSpec_A3_NothingEngagesWithoutTools(t *testing.T) {
	n := node(t, config(t, `{tools: {codeMode: true, toolSearch: true}, agents: {entries: {
		off: {tools: {disableTools: true}}, none: {tools: {allow: []}}, default: {}}}}`))
	for _, mode := range []schemas.Mode{schemas.ModeAuto, schemas.ModeCode, schemas.ModeSearch, schemas.ModeDirect} {
		for _, agent := range []string{"off", "none", "default"} {
			id := someone(string(mode) + agent)
			id.Agent = agent
			run := openIn(t, n.Client(), "", schemas.Open{Identity: id, Mode: mode, Raw: agent == "default", Front: true})
			mustShow(t, &run.Surface, "direct", "")
			if run.Surface.CatalogSize != 0 || run.Surface.Prompt != "" {
				t.Errorf("%s: the surface is %+v", agent, run.Surface)
			}
			mustFail(t, exec(t, run, `return 1`), schemas.InvalidInput, `mode "direct", in which there are no programs: this run has no tools`)
			if _, err := callDirect(t, run, "echo", `{"n":1}`); !errors.Is(err, schemas.InvalidInput) {
				t.Errorf("%s: a tool was called: %v", agent, err)
			}
		}
	}
	raw := openIn(t, n.Client(), "raw", schemas.Open{Raw: true})
	bringing(t, raw, says("mine", "", nil))
	described, err := raw.Describe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	mustShow(t, &described.Surface, "direct", "")
}

// A front that doesn't know its model has Code Mode wherever that is left to the model, and shows what the mode is driven
// with before the first tool is there.
func TestSpec_F1_V1_WhatAFrontShows(t *testing.T) {
	for _, c := range []struct {
		tools, model string
		mode         schemas.Mode
		want, shown  string
	}{
		{"{}", "", schemas.ModeAuto, "code", "exec wait"},
		{"{}", "", schemas.ModeSearch, "search code", "tool_search_code"},
		{"{}", "", schemas.ModeDirect, "direct", ""},
		{"{}", "openai/gpt-5", schemas.ModeAuto, "code", "exec wait"},
		{"{}", "nobody/knows", schemas.ModeAuto, "direct", ""},
		{`{codeMode: "auto", toolSearch: true}`, "", schemas.ModeAuto, "code", "exec wait"},
		{`{codeMode: {timeoutMs: 5000}}`, "", schemas.ModeAuto, "code", "exec wait"},
		{`{codeMode: {timeoutMs: 5000}}`, "openai/gpt-5", schemas.ModeAuto, "direct", ""},
		{`{codeMode: false}`, "openai/gpt-5", schemas.ModeAuto, "direct", ""},
		{`{codeMode: false, toolSearch: {mode: "directory"}}`, "", schemas.ModeAuto, "search directory", "tool_search tool_describe tool_call"},
	} {
		n := nodeWith(t, host.NodeOptions{Config: config(t, fmt.Sprintf(`{tools: %s}`, c.tools))})
		run := openIn(t, n.Client(), "front", schemas.Open{Mode: c.mode, Model: c.model, Front: true})
		mustShow(t, &run.Surface, c.want, c.shown)
		if run.Surface.CatalogSize != 0 {
			t.Errorf("%s: there are %d tools", c.tools, run.Surface.CatalogSize)
		}
	}
}

// The mode is taken when the first tools are there, and kept when the last of them has gone: a conversation's tools are
// a prefix that providers keep.
func TestSpec_A2_TheModeOfARunStays(t *testing.T) {
	n := node(t, config(t, `{tools: {deny: ["echo", "boom"]}}`))
	for mode, want := range map[schemas.Mode][2]string{
		schemas.ModeCode:   {"code", "exec wait"},
		schemas.ModeSearch: {"search code", "tool_search_code"},
	} {
		run := openIn(t, n.Client(), string(mode), schemas.Open{Mode: mode})
		mustShow(t, &run.Surface, "direct", "")
		b := bringing(t, run, says("mine", "", nil))
		mustShow(t, &b.Surface, want[0], want[1])
		if err := b.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		again := openIn(t, n.Client(), string(mode), schemas.Open{Mode: mode})
		mustShow(t, &again.Surface, want[0], want[1])
		if again.ID != run.ID || again.Surface.CatalogSize != 0 {
			t.Errorf("the run is %s with %d tools, not %s", again.ID, again.Surface.CatalogSize, run.ID)
		}
	}
}

// Without a guest Code Mode is unavailable, and shows nothing instead; what needs no guest works.
func TestSpec_A4_L1_NoGuestNoPrograms(t *testing.T) {
	c := config(t, `{tools: {codeMode: true}}`)
	conn := bustest.Conn(t)
	offering(t, conn, c, "lab", says("plain", "said", nil))
	client := hostOn(t, conn, c, false)
	for _, mode := range []schemas.Mode{schemas.ModeAuto, schemas.ModeCode, ""} {
		run, err := client.Open(t.Context(), schemas.Open{Identity: someone("a"), Mode: mode})
		if !errors.Is(err, schemas.RuntimeUnavailable) || run != nil {
			t.Errorf("mode %q: %+v, %v", mode, run, err)
		}
	}
	run := openIn(t, client, "d", schemas.Open{Mode: schemas.ModeDirect})
	mustShow(t, &run.Surface, "direct", "plain")
	if d, err := callDirect(t, run, "plain", `{}`); err != nil || string(d.Value) != `"said"` {
		t.Errorf("plain gave %+v, %v", d, err)
	}

	run = openIn(t, client, "s", schemas.Open{Mode: schemas.ModeSearch})
	mustShow(t, &run.Surface, "search tools", "tool_search tool_describe tool_call")
	described, err := run.Describe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(described.Problems) != 1 || !strings.Contains(described.Problems[0], "has its plain tools instead") || len(described.Catalog) != 1 {
		t.Errorf("problems = %q, %d tools", described.Problems, len(described.Catalog))
	}
}

func TestSpec_W2_X1_CallsThatAModeHasNot(t *testing.T) {
	n := node(t, config(t, `{tools: {toolSearch: {mode: "tools"}}}`))
	direct := openIn(t, n.Client(), "direct", schemas.Open{Mode: schemas.ModeDirect})
	mustFail(t, exec(t, direct, `return 1`), schemas.InvalidInput, `mode "direct", in which there are no programs: call the tools that the model is shown by their names`)
	mustFail(t, wait(t, n, "direct", "w", bus.NewRunID(n.Host().ID())), schemas.InvalidInput, `nothing to wait for: this run is in mode "direct"`)
	if _, err := callDirect(t, direct, "nothing", `{}`); err == nil || !strings.Contains(err.Error(), `no such tool to call directly in a run in mode "direct"`) {
		t.Errorf("an unknown tool: %v", err)
	}
	search := openIn(t, n.Client(), "search", schemas.Open{Mode: schemas.ModeSearch})
	mustFail(t, exec(t, search, `return 1`), schemas.InvalidInput, `mode "search" (tools), in which there are no programs: find tools with tool_search and call them with tool_call`)
	for _, run := range []*bus.Run{search, openIn(t, n.Client(), "code", schemas.Open{Mode: schemas.ModeCode})} {
		for _, name := range []string{"echo", "exec", "nothing"} {
			if _, err := callDirect(t, run, name, `{"n":1}`); !errors.Is(err, schemas.InvalidInput) || !strings.Contains(err.Error(), string(run.Surface.Mode)) {
				t.Errorf("%s: %s called: %v", run.Surface.Mode, name, err)
			}
		}
	}
}

func TestSpec_A6_ARunIsWhatItWasOpenedAs(t *testing.T) {
	n := node(t, nil)
	for _, c := range []struct {
		first, second schemas.Open
		field, says   string
	}{
		{schemas.Open{}, schemas.Open{Mode: schemas.ModeDirect}, "mode", "was opened without a mode"},
		{schemas.Open{Mode: schemas.ModeCode}, schemas.Open{Mode: schemas.ModeDirect}, "mode", `was opened in mode "code"`},
		{schemas.Open{Mode: schemas.ModeAuto, Model: "a/b"}, schemas.Open{Mode: schemas.ModeAuto, Model: "a/c"}, "model", `is for another model, "a/b"`},
		{schemas.Open{Mode: schemas.ModeAuto}, schemas.Open{Mode: schemas.ModeAuto, Raw: true}, "raw", "isn't a raw model call"},
		{schemas.Open{Mode: schemas.ModeAuto}, schemas.Open{Mode: schemas.ModeAuto, Front: true}, "front", "isn't for the clients of a front"},
	} {
		c.first.Identity, c.second.Identity = someone(c.says), someone(c.says)
		first := openIn(t, n.Client(), "", c.first)
		_, err := n.Client().Open(t.Context(), c.second)
		if refused, ok := errors.AsType[*schemas.Error](err); !ok || refused.Field != c.field || !strings.Contains(refused.Message, c.says) {
			t.Errorf("%+v after %+v: %v", c.second, c.first, err)
		}
		if again := openIn(t, n.Client(), "", c.first); again.ID != first.ID || again.Surface.Version != first.Surface.Version {
			t.Errorf("opened again as %+v, want %+v", again, first)
		}
	}
	for field, o := range map[string]schemas.Open{"mode": {Mode: "codes"}, "model": {Mode: schemas.ModeAuto, Model: strings.Repeat("m", 257)}} {
		o.Identity = someone("bad")
		_, err := n.Client().Open(t.Context(), o)
		if refused, ok := errors.AsType[*schemas.Error](err); !ok || refused.Field != field || refused.Code != schemas.InvalidInput {
			t.Errorf("%s: %v", field, err)
		}
	}
}
