package catalog

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/codecell/codecell/schemas"
)

func TestSpec_C4_CallableNames(t *testing.T) {
	// CASES 45.
	names := []string{
		"llm-task", "llm_task", "a.b", "9lives", "class", "catalog", "toString", "__proto__", "constructor", "hasOwnProperty", "then",
		"text", "Promise", "$api", "café", "process", "🚀", "…", "__codecell_hook", "tool___codecell_hook", "exec", "await",
	}
	var tools []schemas.Tool
	for _, name := range names {
		tools = append(tools, native("core", name))
	}
	got := callable(build(t, tools...))
	suffixed := func(start string) *regexp.Regexp { return regexp.MustCompile("^" + start + "_[0-9a-f]{8}$") }
	for name, want := range map[string]any{
		"llm_task": "llm_task", "llm-task": suffixed("llm_task"),
		"a.b": "a_b", "9lives": "tool_9lives", "$api": "$api", "café": "café", "process": "process", "exec": "exec",
		"class": suffixed("class"), "catalog": suffixed("catalog"), "toString": suffixed("toString"), "__proto__": suffixed("__proto__"),
		"constructor": suffixed("constructor"), "hasOwnProperty": suffixed("hasOwnProperty"), "then": suffixed("then"),
		"text": suffixed("text"), "Promise": suffixed("Promise"), "await": suffixed("await"),
		"🚀": suffixed("tool"), "…": suffixed("tool"),
		"tool___codecell_hook": "tool___codecell_hook", "__codecell_hook": suffixed("tool___codecell_hook"),
	} {
		switch want := want.(type) {
		case string:
			if got["core/"+name] != want {
				t.Errorf("%q is called %q, want %q", name, got["core/"+name], want)
			}
		case *regexp.Regexp:
			if !want.MatchString(got["core/"+name]) {
				t.Errorf("%q is called %q, want %v", name, got["core/"+name], want)
			}
		}
	}
}

func TestSpec_C4_NamesAlikeAreSymmetric(t *testing.T) {
	// Neither a.b nor a-b is a_b: none of them may depend on which came first.
	got := callable(build(t, native("p", "a.b"), native("p", "a-b")))
	for name, is := range got {
		if !regexp.MustCompile(`^a_b_[0-9a-f]{8}$`).MatchString(is) {
			t.Errorf("%s is called %s", name, is)
		}
	}
}

func TestSpec_C4_ChosenNameInTheWay(t *testing.T) {
	victim := native("p", "class")
	name := callable(build(t, victim))["p/class"]
	got := callable(build(t, victim, native("q", name)))
	if got["q/"+name] != name {
		t.Errorf("the exact name %s is called %s", name, got["q/"+name])
	}
	if is := got["p/class"]; !strings.HasPrefix(is, name) || len(is) != len(name)+8 {
		t.Errorf("class is called %s, want %s and eight more digits", is, name)
	}
}

func TestSpec_C4_CaseStaysDistinct(t *testing.T) {
	// CASES 47.
	c := build(t, native("p", "getUser"), native("p", "GetUser"), native("p", "getuser"), mcp("m", "getUser"), mcp("m", "GetUser"), mcp("m", "getuser"))
	for _, name := range []string{"getUser", "GetUser", "getuser", "MCP.m.getUser", "MCP.m.GetUser", "MCP.m.getuser"} {
		if e, ok := c.Lookup(name); !ok || !strings.HasSuffix(name, e.Name) {
			t.Errorf("%s leads to %+v", name, e)
		}
		if got := search(t, c, name, 10); got[0] != name {
			t.Errorf("search %s gives %v", name, got)
		}
	}
}

func TestSpec_C3_OneWinner(t *testing.T) {
	// Case 46: everybody sees the client's tool; whose callable name is asked for comes before one that is called so by its owner.
	c := build(t, native("p", "shared", describedAs("of the plugin")), client("shared", describedAs("of the client")), mcp("m", "shared"))
	if got := search(t, c, "shared", 10); !slices.Equal(got, []string{"shared", "MCP.m.shared"}) {
		t.Errorf("search gives %v", got)
	}
	if e, _ := c.Lookup("shared"); e.Source != schemas.SourceClient {
		t.Errorf("the global is of %s", e.Source)
	}
	if strings.Contains(string(c.Install()), "of the plugin") {
		t.Error("the shadowed tool is installed")
	}
	if c.Counts() != (schemas.SourceCounts{MCP: 1, Client: 1}) {
		t.Errorf("counts %+v", c.Counts())
	}

	_, problems := Build([]schemas.Tool{native("core", "ls"), native("p", "ls")}, Options{})
	if len(problems) != 1 || problems[0].Owner != "p" {
		t.Errorf("problems %v, want one for the plugin's tool: core comes first", problems)
	}
}

func TestSpec_C4_BadToolsAreQuarantined(t *testing.T) {
	// CASES 49d: a bad tool is left out with a reason, the others stay.
	bad := map[string]schemas.Tool{
		"name is blank": native("p", " "),
		"blank":         native("p", ""),
		"200 char":      native("p", strings.Repeat("x", 200)),
		"UTF-8":         native("p", "a\xff"),
		"source":        {Source: "other", Owner: "p", Name: "x"},
		"owner":         mcp("", "x"),
		"input schema":  native("p", "x", taking(`{"type":`)),
		"output":        native("p", "x", giving("\"\xff\"")),
		"bytes":         native("p", "x", taking(`"`+strings.Repeat("x", MaxSchemaBytes)+`"`)),
	}
	for reason, tool := range bad {
		tools := []schemas.Tool{tool}
		for i := range 10 {
			tools = append(tools, mcp("good", string(rune('a'+i))))
		}
		c, problems := Build(tools, Options{})
		if c.Size() != 10 || len(problems) != 1 || !strings.Contains(problems[0].String(), reason) {
			t.Errorf("%s: %d tools, problems %v", reason, c.Size(), problems)
		}
		if len(problems) == 1 && len(problems[0].String()) > 600 {
			t.Errorf("%s: the problem has %d bytes", reason, len(problems[0].String()))
		}
	}
}

func TestSpec_C3_RepeatsAreDropped(t *testing.T) {
	// CASES 49b: executors that offer the same tool are no problem; different contents are.
	c, problems := Build([]schemas.Tool{mcp("m", "a"), mcp("m", "a"), mcp("m", "b"), mcp("n", "a")}, Options{})
	if c.Size() != 3 || len(problems) != 0 {
		t.Errorf("%d tools, problems %v", c.Size(), problems)
	}
	c, problems = Build([]schemas.Tool{mcp("m", "a", describedAs("2")), mcp("m", "a", describedAs("1"))}, Options{})
	if c.Size() != 1 || len(problems) != 1 || !strings.Contains(problems[0].Reason, "registered twice") {
		t.Errorf("%d tools, problems %v", c.Size(), problems)
	}
}

func TestSpec_C1_OrderAndAbsentTools(t *testing.T) {
	direct := native("core", "computer")
	direct.DirectOnly = true
	bundled := native("zz", "b")
	bundled.Tier = schemas.TierBundled
	liar := client("l") // a client that calls itself core
	liar.Tier = schemas.TierCore
	c := build(t, liar, mcp("m", "m"), native("aa", "e"), bundled, native("core", "z"), direct, native("core", "wait"),
		native("core", "tool_search"), native("core", "tool_call"), native("core", "exec"))
	var order []string
	for _, e := range c.Entries() {
		order = append(order, e.CallableName)
	}
	if want := []string{"exec", "z", "b", "e", "MCP.m.m", "l"}; !slices.Equal(order, want) {
		t.Errorf("order %v, want %v", order, want)
	}
}

func TestSpec_M1_Identifiers(t *testing.T) {
	// CASES 57.
	c := build(t,
		mcp("a_b", "delete"), mcp("a_b", "enum"), mcp("a_b", "list-invoices"), mcp("a_b", "create_issue"), mcp("a_b", "a.b"), mcp("a_b", "a_b"),
		mcp("a_b", "then"), mcp("a_b", "toJSON"), mcp("a_b", "$api"), mcp("a_b", "resources"), mcp("a_b", "9lives"), mcp("a_b", "🚀"),
		mcp("a_b", "__proto__"), mcp("a_b", "delete2"), mcp("constructor", "prototype"), mcp("index", "x"))
	want := map[string]string{
		"a_b/delete": "MCP.aB.delete3", "a_b/delete2": "MCP.aB.delete2", "a_b/enum": "MCP.aB.enum2", "a_b/list-invoices": "MCP.aB.listInvoices",
		"a_b/create_issue": "MCP.aB.createIssue", "a_b/a_b": "MCP.aB.aB", "a_b/a.b": "MCP.aB.aB2", "a_b/then": "MCP.aB.then2",
		"a_b/toJSON": "MCP.aB.toJSON2", "a_b/$api": "MCP.aB.$api2", "a_b/resources": "MCP.aB.resources2", "a_b/9lives": "MCP.aB.tool_9lives",
		"a_b/🚀": "MCP.aB.tool", "a_b/__proto__": "MCP.aB.proto", "constructor/prototype": "MCP.constructor2.prototype2", "index/x": "MCP.index2.x",
	}
	if got := callable(c); !maps.Equal(got, want) {
		for name := range want {
			if got[name] != want[name] {
				t.Errorf("%s is called %s, want %s", name, got[name], want[name])
			}
		}
	}
}

func TestSpec_M1_DisabledServersDontRename(t *testing.T) {
	alone := callable(build(t, mcp("a_b", "x")))
	both, _ := Build([]schemas.Tool{mcp("a_b", "x")}, Options{Servers: map[string]schemas.ServerInfo{"a-b": {Title: "disabled"}}})
	if got := callable(both); !maps.Equal(got, alone) {
		t.Errorf("%v became %v", alone, got)
	}
	// CASES 49a, c: enabled, both are reachable, also with names that contain delimiters.
	got := callable(build(t, mcp("a-b", "x"), mcp("a_b", "x"), mcp("a", "b__x"), mcp("a__b", "x")))
	if distinct := slices.Compact(slices.Sorted(maps.Values(got))); len(distinct) != 4 {
		t.Errorf("names %v", got)
	}
}

// nasty draws names that collide, are reserved or aren't identifiers.
func nasty() *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.SampledFrom([]string{"a.b", "a_b", "a-b", "aB", "delete", "delete2", "then", "__proto__", "9", "🚀", "$api", "index", "MCP", "class"}),
		rapid.StringMatching(`[a-c_.\-]{1,4}`),
		rapid.StringN(1, 8, -1),
	)
}

func drawTools(rt *rapid.T) []schemas.Tool {
	return rapid.SliceOfN(rapid.Custom(func(rt *rapid.T) schemas.Tool {
		return schemas.Tool{
			Source:      rapid.SampledFrom([]schemas.Source{schemas.SourceNative, schemas.SourceMCP, schemas.SourceClient}).Draw(rt, "source"),
			Tier:        schemas.Tier(rapid.IntRange(0, 5).Draw(rt, "tier")),
			Owner:       rapid.SampledFrom([]string{"core", "a_b", "a-b", "aB", "then", "index"}).Draw(rt, "owner"),
			Name:        nasty().Draw(rt, "name"),
			Description: rapid.SampledFrom([]string{"", "one", "two"}).Draw(rt, "description"),
		}
	}), 0, 40).Draw(rt, "tools")
}

func TestSpec_C2_EqualSetsGiveEqualBytes(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		tools := drawTools(rt)
		a, problemsA := Build(tools, Options{})
		shuffled := rapid.Permutation(tools).Draw(rt, "order")
		b, problemsB := Build(shuffled, Options{})
		if string(a.Install()) != string(b.Install()) || a.Version() != b.Version() {
			rt.Fatalf("order matters:\n%s\n%s", a.Install(), b.Install())
		}
		if a.ExecDescription(schemas.DefaultLimits(), 0) != b.ExecDescription(schemas.DefaultLimits(), 0) {
			rt.Fatal("order matters in the prompt")
		}
		if !slices.Equal(problemsA, problemsB) {
			rt.Fatalf("order matters: %v, %v", problemsA, problemsB)
		}
	})
}

func TestSpec_C4_NamesAreDistinctAndSafe(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		c, _ := Build(drawTools(rt), Options{})
		seen := make(map[string]bool)
		for ref, e := range c.All() {
			if e.Ref != ref || seen[e.CallableName] {
				rt.Fatalf("ref %d, name %q", e.Ref, e.CallableName)
			}
			seen[e.CallableName] = true
			if found, ok := c.Lookup(e.CallableName); !ok || found != e {
				rt.Fatalf("%q leads elsewhere", e.CallableName)
			}
			parts := strings.Split(e.CallableName, ".")
			if e.Source == schemas.SourceMCP {
				if len(parts) != 3 || !identifier(parts[1]) || !identifier(parts[2]) || serverReserved(parts[1]) || toolReserved(parts[2]) {
					rt.Fatalf("%q isn't a safe MCP name", e.CallableName)
				}
				continue
			}
			if len(parts) != 1 || !safeGlobal(parts[0]) {
				rt.Fatalf("%q isn't a safe global", e.CallableName)
			}
			if e.Name != e.CallableName && safeGlobal(e.Name) {
				rt.Fatalf("the safe name %q became %q", e.Name, e.CallableName)
			}
		}
	})
}

func TestSpec_A5_VersionCoversWhatIsSeen(t *testing.T) {
	version := func(tools []schemas.Tool, options Options) string {
		c, _ := Build(tools, options)
		return c.Version()
	}
	base := []schemas.Tool{native("p", "a"), mcp("m", "b")}
	seen := map[string]string{"base": version(base, Options{})}
	for name, change := range map[string]func(*schemas.Tool){
		"name": func(t *schemas.Tool) { t.Name += "x" }, "description": describedAs("x"), "parameters": taking(`{"type":"object"}`),
		"output": giving(`true`), "label": func(t *schemas.Tool) { t.Label = "x" },
	} {
		for i := range base {
			tools := slices.Clone(base)
			change(&tools[i])
			seen[fmt.Sprintf("%s of %d", name, i)] = version(tools, Options{})
		}
	}
	seen["server"] = version(base, Options{Servers: map[string]schemas.ServerInfo{"m": {Instructions: "x"}}})
	seen["contract"] = version(base, Options{Contract: "2026-07"})
	seen["features"] = version(base, Options{Features: Features{Store: true}})
	seen["search"] = version(base, Options{SearchMax: 3})
	if distinct := slices.Compact(slices.Sorted(maps.Values(seen))); len(distinct) != len(seen) {
		t.Errorf("%d versions of %d catalogs: %v", len(distinct), len(seen), seen)
	}
	// What guests can't see doesn't matter: the same image serves both.
	hidden := slices.Clone(base)
	hidden[0].ReplaySafe = true
	if version(hidden, Options{}) != seen["base"] {
		t.Error("replay safety changes the version")
	}
}

func TestSpec_C2_IDsNeverLeave(t *testing.T) {
	c := build(t, native("secretplugin", "class"), mcp("srv", "create_issue"))
	text := string(c.Install()) + c.ExecDescription(schemas.DefaultLimits(), 0)
	for _, e := range c.All() {
		d, err := c.Describe(e.Ref)
		if err != nil {
			t.Fatal(err)
		}
		text += string(d) + string(c.HandleRecord(e.Ref)) + read(t, c, e.APIPath)
	}
	for _, e := range c.All() {
		if strings.Contains(text, e.ID()) {
			t.Errorf("the id %s can be seen", e.ID())
		}
	}
	if strings.Contains(text, "secretplugin") {
		t.Error("a plugin's id can be seen")
	}
}
