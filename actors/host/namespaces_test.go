package host_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/codecell/codecell/actors/host"
	"github.com/codecell/codecell/actors/tool"
	"github.com/codecell/codecell/bus"
	"github.com/codecell/codecell/schemas"
)

type findIn struct {
	Query string `json:"query"`
	Limit int    `json:"limit,omitempty"`
}

// shop is a plugin with two tools and a namespace.
func shop(t *testing.T) (tool.Provider, tool.Namespace) {
	t.Helper()
	funcs, err := tool.Funcs("shop",
		tool.New("find", "Finds customers.", func(_ context.Context, in findIn) (findIn, error) { return in, nil }, tool.ReplaySafe()),
		tool.New("delete customer", "Deletes one.", func(_ context.Context, in echoIn) (echoOut, error) { return echoOut(in), nil }),
	)
	if err != nil {
		t.Fatal(err)
	}
	return funcs, tool.Namespace{
		Owner: "shop", ID: "crm", Global: "crm", Description: "Customers of the shop.", Prompt: "Ask crm.find first.",
		RequiredTools: []string{"find", "delete customer"},
		Scope: func(_ context.Context, run schemas.Identity) (any, error) {
			return map[string]any{
				"who":    run.Agent + "/" + run.Run,
				"find":   tool.Callable{Tool: "find", Input: map[string]any{"query": tool.Arg(0), "limit": tool.Arg(1)}},
				"remove": tool.Callable{Tool: "delete customer"},
			}, nil
		},
	}
}

// execText is what a model reads about exec.
func execText(s schemas.Surface) string { return s.Tools[0].Description }

func TestSpec_K1_NamespaceOfAPlugin(t *testing.T) {
	provider, crm := shop(t)
	n := nodeWith(t, host.NodeOptions{Providers: []tool.Provider{provider}, Namespaces: []tool.Namespace{crm}})
	run := open(t, n, "a")
	mustGive(t, exec(t, run, `
		const found = await crm.find("ada", 3);
		const files = API.list("namespaces/").files.map(f => f.path);
		return [crm === namespaces.crm, crm.who, found, await crm.find("bob"), await crm.remove({ n: 7 }), files]`),
		`[true,"default/run-a",{"query":"ada","limit":3},{"query":"bob"},{"n":7},["namespaces/crm.d.ts"]]`)

	text := execText(run.Surface)
	for _, want := range []string{"- `crm`: Customers of the shop.\n", "Ask crm.find first.\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("exec's description lacks %q:\n%s", want, text)
		}
	}
	// Another run has a scope of its own (A6).
	mustGive(t, exec(t, open(t, n, "b"), `return crm.who`), `"default/run-b"`)
}

// K3: a call through a namespace is a call of the catalog in every respect.
func TestSpec_K3_CallsAreCatalogCalls(t *testing.T) {
	provider, crm := shop(t)
	var mu sync.Mutex
	var seen []string
	hook := tool.Hook{Name: "watch", Phase: schemas.BeforeToolCall, Ask: func(_ context.Context, e *schemas.HookEvent) (*schemas.Verdict, error) {
		mu.Lock()
		defer mu.Unlock()
		if e.Tool == "find" && strings.Contains(string(e.Input), "secret") {
			return &schemas.Verdict{Block: true, Reason: "not that"}, nil
		}
		seen = append(seen, e.Owner+"/"+e.Tool+" "+string(e.Input))
		return nil, nil //nolint:nilnil // lets the call pass
	}}
	n := nodeWith(t, host.NodeOptions{Providers: []tool.Provider{provider}, Namespaces: []tool.Namespace{crm}, Hooks: []tool.Hook{hook}})
	r := exec(t, open(t, n, "a"), `
		const of = async (call) => { try { return await call() } catch (e) { return e.code + ": " + e.message } };
		return [await of(() => crm.find("secret")), await of(() => crm.find(7)), await of(() => crm.find("ok")), await of(() => crm.remove({ m: 1 }))]`)
	if r.Status != schemas.StatusCompleted || r.Telemetry.CallCount != 4 {
		t.Fatalf("%+v", r)
	}
	for _, want := range []string{"not that", "query: expected a string", `{"query":"ok"}`, "input_contract: "} {
		if !strings.Contains(string(r.Value), want) {
			t.Errorf("%s lacks %s", r.Value, want)
		}
	}
	if !slices.Contains(seen, `shop/find {"query":"ok"}`) {
		t.Errorf("the hook saw %v", seen)
	}

	// While such a call is pending it is listed by the tool's name; a cell that says it may run again refuses what isn't
	// replay-safe (R1).
	input := schemas.JSON(`{"title":"again","restartSafe":true,"code":"const a = await crm.find('x'); try { await crm.remove({n:1}) } catch (e) { return [a, e.message] }"}`)
	again, err := open(t, n, "b").Exec(t.Context(), schemas.Exec{CallID: "c", Input: input})
	if err != nil || again.Status != schemas.StatusCompleted || !strings.Contains(string(again.Value), "is not marked replay-safe") {
		t.Errorf("%v %+v", err, again)
	}
}

func TestSpec_K1_OnlyWithItsOwnTools(t *testing.T) {
	provider, crm := shop(t)
	other, err := tool.Funcs("aaa", tool.New("find", "Another one.", func(context.Context, struct{}) (string, error) { return "other", nil }))
	if err != nil {
		t.Fatal(err)
	}
	const program = `return [typeof crm, Object.keys(namespaces), API.list("namespaces").files.length]`
	for name, o := range map[string]host.NodeOptions{
		"a tool is denied":        {Providers: []tool.Provider{provider}, Config: config(t, `{tools: {deny: ["find"]}}`)},
		"another plugin's tool":   {Providers: []tool.Provider{provider, other}},
		"a tool that isn't there": {Providers: []tool.Provider{provider}},
	} {
		o.Namespaces = []tool.Namespace{crm}
		if name == "a tool that isn't there" {
			o.Namespaces[0].RequiredTools = []string{"find", "lost"}
		}
		n := nodeWith(t, o)
		run := open(t, n, "a")
		mustGive(t, exec(t, run, program), `["undefined",[],0]`)
		if text := execText(run.Surface); strings.Contains(text, "crm") {
			t.Errorf("%s: the model reads %s", name, text)
		}
	}
}

// A tool that a caller brings hides the plugin's of that name, and with it the namespace.
func TestSpec_K1_BroughtToolsHideANamespace(t *testing.T) {
	provider, crm := shop(t)
	n := nodeWith(t, host.NodeOptions{Providers: []tool.Provider{provider}, Namespaces: []tool.Namespace{crm}})
	run := open(t, n, "a")
	mustGive(t, exec(t, run, `return typeof crm.find`), `"function"`)
	bringing(t, run, says("other", "mine", nil))
	mustGive(t, exec(t, run, `return [crm.who, await other(), await crm.find("x")]`), `["default/run-a","mine",{"query":"x"}]`)
	bringing(t, run, says("find", "mine", nil))
	mustGive(t, exec(t, run, `return [typeof crm, await find()]`), `["undefined","mine"]`)
	mustGive(t, exec(t, open(t, n, "b"), `return crm.who`), `"default/run-b"`)
}

func TestSpec_K2_BadScopesAreRefusedBeforeCodeRuns(t *testing.T) {
	provider, crm := shop(t)
	circle := map[string]any{}
	circle["in"] = []any{circle}
	same := map[string]any{"a": 1}
	var asked atomic.Int64
	for name, tt := range map[string]struct {
		scope func() (any, error)
		says  string
	}{
		"raw function": {func() (any, error) { return map[string]any{"f": func() {}}, nil }, "at f: a Go function can't cross"},
		"circular":     {func() (any, error) { return circle, nil }, "it is circular"},
		"an error":     {func() (any, error) { return nil, errors.New("no database") }, "no database"},
		"a panic":      {func() (any, error) { panic("secret") }, "it failed inside"},
		"proto":        {func() (any, error) { return map[string]any{"a": map[string]any{"__proto__": 1}}, nil }, "at a: the key __proto__ isn't allowed"},
		"foreign tool": {func() (any, error) { return map[string]any{"x": tool.Callable{Tool: "echo"}}, nil }, "must name one of the namespace's required tools"},
		"same twice":   {func() (any, error) { return map[string]any{"x": same, "y": same}, nil }, ""},
	} {
		crm.Scope = func(context.Context, schemas.Identity) (any, error) { asked.Add(1); return tt.scope() }
		n := nodeWith(t, host.NodeOptions{Providers: []tool.Provider{provider}, Namespaces: []tool.Namespace{crm}})
		run := open(t, n, "a")
		if tt.says == "" {
			mustGive(t, exec(t, run, `return crm`), `{"x":{"a":1},"y":{"a":1}}`)
			continue
		}
		mustGive(t, exec(t, run, `return [typeof crm, typeof find]`), `["undefined","function"]`)
		described, err := run.Describe(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if len(described.Problems) != 1 || !strings.Contains(described.Problems[0], tt.says) || !strings.Contains(described.Problems[0], `namespace "crm"`) {
			t.Errorf("%s: %v", name, described.Problems)
		}
	}
	if n := asked.Load(); n != 7 {
		t.Errorf("%d scopes were made for 7 runs", n)
	}
}

// An owner that doesn't answer keeps a run waiting for two seconds, once; the run goes without.
func TestSpec_K2_OwnerThatDoesNotAnswer(t *testing.T) {
	provider, crm := shop(t)
	var asked atomic.Int64
	crm.Scope = func(ctx context.Context, _ schemas.Identity) (any, error) {
		asked.Add(1)
		<-ctx.Done()
		return nil, ctx.Err()
	}
	n := nodeWith(t, host.NodeOptions{Providers: []tool.Provider{provider}, Namespaces: []tool.Namespace{crm}})
	run := open(t, n, "a")
	mustGive(t, exec(t, run, `return typeof crm`), `"undefined"`)
	if n := asked.Load(); n != 1 {
		t.Errorf("one run asked %d times", n)
	}
}

// A scope is made once a run, and again when what there is has changed.
func TestSpec_K1_ScopeIsMadeOnceARun(t *testing.T) {
	provider, crm := shop(t)
	var asked atomic.Int64
	made := crm.Scope
	crm.Scope = func(ctx context.Context, run schemas.Identity) (any, error) { asked.Add(1); return made(ctx, run) }
	n := nodeWith(t, host.NodeOptions{Providers: []tool.Provider{provider}, Namespaces: []tool.Namespace{crm}})
	run := open(t, n, "a")
	for range 3 {
		mustGive(t, exec(t, run, `return crm.who`), `"default/run-a"`)
	}
	if n := asked.Load(); n != 1 {
		t.Errorf("one run asked %d times", n)
	}
	open(t, n, "b")
	if n := asked.Load(); n != 2 {
		t.Errorf("two runs asked %d times", n)
	}
}

// K3: when a plugin leaves, its namespaces leave with it. Another executor brings one by message alone.
func TestSpec_K3_ClearingAPluginRemovesItsNamespaces(t *testing.T) {
	n := node(t, nil)
	provider, crm := shop(t)
	e, err := tool.Start(t.Context(), n.Conn(), tool.Options{Providers: []tool.Provider{provider}, Namespaces: []tool.Namespace{crm}})
	if err != nil {
		t.Fatal(err)
	}
	run := open(t, n, "a")
	eventually(t, run, `return typeof crm`, `"object"`)
	if err := e.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	eventually(t, run, `return [typeof crm, Object.keys(namespaces)]`, `["undefined",[]]`)
	eventually(t, run, `return typeof echo`, `"function"`)
}

// eventually runs a program until new cells see what they should.
func eventually(t *testing.T, run *bus.Run, program, want string) {
	t.Helper()
	deadline := time.Now().Add(20 * time.Second) // real: only a failing test waits so long
	for {
		r := exec(t, run, program)
		if r.Status == schemas.StatusCompleted && string(r.Value) == want {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s %s %s\nwant %s", r.Status, r.Value, r.Error, want)
		}
	}
}
