package catalog

import (
	"fmt"
	"strings"
	"testing"

	"github.com/codecell/codecell/schemas"
)

// crm is a namespace of the plugin shop, with changes.
func crm(change ...func(*Namespace)) Namespace {
	n := Namespace{
		Namespace: schemas.Namespace{ID: "crm", Global: "crm", Description: "Customers.", RequiredTools: []string{"find"}},
		Owner:     "shop", Scope: schemas.JSON(`{"region":"eu","find":{"$tool":"find"}}`),
	}
	for _, c := range change {
		c(&n)
	}
	return n
}

func called(global string) func(*Namespace) {
	return func(n *Namespace) { n.ID, n.Global = global, global }
}

func holding(scope string) func(*Namespace) {
	return func(n *Namespace) { n.Scope = schemas.JSON(scope) }
}

// with builds a catalog with namespaces, and gives the problems as texts.
func with(namespaces []Namespace, tools ...schemas.Tool) (*Catalog, []string) {
	c, problems := Build(tools, Options{Namespaces: namespaces, Features: Features{Namespaces: true}})
	texts := make([]string, len(problems))
	for i, p := range problems {
		texts[i] = p.String()
	}
	return c, texts
}

// The appendix of the cases: each registration that nobody could use is refused with a message of its own.
func TestSpec_K2_RegistrationsAreRefused(t *testing.T) {
	seen := map[string]string{}
	for name, tt := range map[string]struct {
		change      func(*schemas.Namespace)
		field, says string
	}{
		"no tools":        {func(n *schemas.Namespace) { n.RequiredTools = nil }, "requiredToolNames", "requires no tools"},
		"a blank tool":    {func(n *schemas.Namespace) { n.RequiredTools = []string{" "} }, "requiredToolNames", "name is blank"},
		"too many tools":  {func(n *schemas.Namespace) { n.RequiredTools = make([]string, 65) }, "requiredToolNames", "requires 65 tools"},
		"no id":           {func(n *schemas.Namespace) { n.ID = "" }, "id", "id is blank"},
		"no global":       {func(n *schemas.Namespace) { n.Global = "" }, "globalName", "isn't a JavaScript identifier"},
		"not a name":      {func(n *schemas.Namespace) { n.Global = "my-crm" }, "globalName", "isn't a JavaScript identifier"},
		"a path":          {func(n *schemas.Namespace) { n.Global = "../x" }, "globalName", "isn't a JavaScript identifier"},
		"astral":          {func(n *schemas.Namespace) { n.Global = "𝒳" }, "globalName", "isn't a JavaScript identifier"},
		"reserved":        {func(n *schemas.Namespace) { n.Global = "class" }, "globalName", "is a reserved word"},
		"private":         {func(n *schemas.Namespace) { n.Global = "__codecell_x" }, "globalName", "is private"},
		"a helper":        {func(n *schemas.Namespace) { n.Global = "catalog" }, "globalName", "is taken by a global of the guest API"},
		"of the contract": {func(n *schemas.Namespace) { n.Global = "ALL_TOOLS" }, "globalName", "is taken by a global of the guest API"},
		"itself":          {func(n *schemas.Namespace) { n.Global = "namespaces" }, "globalName", "is taken by a global of the guest API"},
		"the language":    {func(n *schemas.Namespace) { n.Global = "Map" }, "globalName", "is taken by a global of ECMAScript"},
		"prototype-like":  {func(n *schemas.Namespace) { n.Global = "toString" }, "globalName", "is a name that every object has"},
		"__proto__":       {func(n *schemas.Namespace) { n.Global = "__proto__" }, "globalName", "is a name that every object has"},
		"long global":     {func(n *schemas.Namespace) { n.Global = strings.Repeat("x", 200) }, "globalName", "has 200 bytes"},
		"long prompt":     {func(n *schemas.Namespace) { n.Prompt = strings.Repeat("x", 5000) }, "prompt", "has 5000 bytes"},
		"bad description": {func(n *schemas.Namespace) { n.Description = "\xff" }, "description", "isn't valid UTF-8"},
	} {
		n := crm().Namespace
		tt.change(&n)
		err := CheckNamespace(&n)
		if err == nil || err.Code != schemas.InvalidInput || err.Field != tt.field || !strings.Contains(err.Message, tt.says) {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if other, twice := seen[err.Message]; twice {
			t.Errorf("%s and %s have one message: %s", name, other, err.Message)
		}
		seen[err.Message] = name
		// What a foreign process registers all the same is only diagnosed.
		c, problems := with([]Namespace{{Namespace: n, Owner: "shop"}}, native("shop", "find"))
		if len(problems) != 1 || len(c.namespaces) != 0 {
			t.Errorf("%s: problems %q", name, problems)
		}
	}
	for name, all := range map[string][]schemas.Namespace{
		"the namespace id \"crm\" is there twice": {crm().Namespace, crm(func(n *Namespace) { n.Global = "other" }).Namespace},
		"namespace collision":                     {crm().Namespace, crm(func(n *Namespace) { n.ID = "other" }).Namespace},
		"there are 33 namespaces":                 make([]schemas.Namespace, 33),
	} {
		if err := CheckNamespaces(all); err == nil || err.Code != schemas.InvalidInput || !strings.Contains(err.Message, name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := CheckNamespaces([]schemas.Namespace{crm().Namespace, crm(called("shop2")).Namespace}); err != nil {
		t.Error(err)
	}
}

func TestSpec_K1_VisibleOnlyWithItsOwnersTools(t *testing.T) {
	for name, tt := range map[string]struct {
		tools   []schemas.Tool
		visible bool
	}{
		"its own":           {[]schemas.Tool{native("shop", "find")}, true},
		"and others":        {[]schemas.Tool{native("shop", "find"), native("zoo", "feed")}, true},
		"none":              {nil, false},
		"another plugin's":  {[]schemas.Tool{native("zoo", "find")}, false},
		"shadowed":          {[]schemas.Tool{native("shop", "find"), native("core", "find")}, false},
		"hidden by a guest": {[]schemas.Tool{native("shop", "find"), client("find")}, false},
		"a server's":        {[]schemas.Tool{mcp("shop", "find")}, false},
		"direct-only":       {[]schemas.Tool{native("shop", "find", func(t *schemas.Tool) { t.DirectOnly = true })}, false},
	} {
		c, _ := with([]Namespace{crm()}, tt.tools...)
		text, install := c.ExecDescription(schemas.DefaultLimits(), 0), string(c.Install())
		_, _, declared := c.files().read("namespaces/crm.d.ts")
		for where, there := range map[string]bool{
			"the prompt": strings.Contains(text, "crm"), "the guest": strings.Contains(install, `"crm"`), "the files": declared,
		} {
			if there != tt.visible {
				t.Errorf("%s: in %s: %v, want %v", name, where, there, tt.visible)
			}
		}
	}
}

// Case "injected namespace and tool with one global name": the namespace keeps the name.
func TestSpec_K1_C4_NamespaceKeepsItsName(t *testing.T) {
	tools := []schemas.Tool{native("shop", "find"), native("zoo", "crm"), native("zoo", "c.r.m"), client("crm2")}
	c, problems := with([]Namespace{crm()}, tools...)
	names := callable(c)
	if len(problems) != 0 || names["zoo/crm"] == "crm" || !strings.HasPrefix(names["zoo/crm"], "crm_") || names["shop/find"] != "find" {
		t.Errorf("%v %v", names, problems)
	}
	for range 3 {
		again, _ := with([]Namespace{crm()}, tools[2], tools[1], tools[3], tools[0])
		if callable(again)["zoo/crm"] != names["zoo/crm"] || again.Version() != c.Version() {
			t.Error("the name isn't stable")
		}
	}
	plain, _ := with(nil, tools...)
	if callable(plain)["zoo/crm"] != "crm" {
		t.Error("without the namespace the tool has its own name")
	}
	hits, err := c.Search("crm", 5)
	if err != nil || len(hits) == 0 {
		t.Fatalf("%v %v", hits, err)
	}
	if e, _ := c.Tool(hits[0]); e.CallableName != names["zoo/crm"] {
		t.Errorf("search says %s", e.CallableName)
	}
}

// Case "two injected namespaces with one name": the later one is diagnosed, by both names.
func TestSpec_K2_TwoPluginsWithOneGlobal(t *testing.T) {
	later := crm(func(n *Namespace) {
		n.Owner, n.ID, n.RequiredTools = "zoo", "customers", []string{"feed"}
		n.Scope = schemas.JSON(`{}`)
	})
	for _, order := range [][]Namespace{{crm(), later}, {later, crm()}} {
		c, problems := with(order, native("shop", "find"), native("zoo", "feed"))
		if len(c.namespaces) != 1 || c.namespaces[0].Owner != "shop" {
			t.Errorf("%+v", c.namespaces)
		}
		const want = `namespace "customers" of plugin "zoo" isn't available: namespace collision: the global name crm is taken by the namespace "crm" of plugin "shop"`
		if len(problems) != 1 || problems[0] != want {
			t.Errorf("problems %q", problems)
		}
	}
	// One that isn't visible takes no name.
	c, problems := with([]Namespace{crm(), later}, native("zoo", "feed"))
	if len(problems) != 0 || len(c.namespaces) != 1 || c.namespaces[0].Owner != "zoo" {
		t.Errorf("%+v %q", c.namespaces, problems)
	}
	// Replicas say the same twice.
	if c, problems := with([]Namespace{crm(), crm()}, native("shop", "find")); len(problems) != 0 || len(c.namespaces) != 1 {
		t.Errorf("%+v %q", c.namespaces, problems)
	}
}

func TestSpec_A5_NamespacesInThePromptAreBounded(t *testing.T) {
	var many []Namespace
	for i := range 70 {
		many = append(many, crm(called(fmt.Sprintf("n%02d", i)), func(n *Namespace) {
			n.Description, n.Prompt = strings.Repeat("d", 4000), "Use it.\n*/ \u202e\u0000evil\n"+strings.Repeat("p", 4000)
		}))
	}
	c, problems := with(many, native("shop", "find"))
	if len(c.namespaces) != 64 || len(problems) != 6 || !strings.Contains(problems[0], "64 namespaces already") {
		t.Errorf("%d namespaces, problems %q", len(c.namespaces), problems)
	}
	text := c.ExecDescription(schemas.DefaultLimits(), 0)
	plain, _ := with(nil, native("shop", "find"))
	if extra := units(text) - units(plain.ExecDescription(schemas.DefaultLimits(), 0)); extra > namespaceBudget+200 {
		t.Errorf("namespaces add %d units", extra)
	}
	if strings.ContainsAny(text, "\u202e\x00") || !strings.Contains(text, "62 namespaces more") {
		t.Error(text)
	}
	again, _ := with(many, native("shop", "find"))
	if again.ExecDescription(schemas.DefaultLimits(), 0) != text || again.Version() != c.Version() {
		t.Error("the description isn't stable")
	}
	changed, _ := with([]Namespace{crm(func(n *Namespace) { n.Prompt = "Other." })}, native("shop", "find"))
	first, _ := with([]Namespace{crm()}, native("shop", "find"))
	if changed.Version() == first.Version() {
		t.Error("a prompt doesn't change the version")
	}
	big := `{"a":"` + strings.Repeat("x", 60_000) + `"}`
	for i := range many {
		many[i].Scope = schemas.JSON(big)
	}
	c, problems = with(many[:30], native("shop", "find"))
	if len(c.namespaces) != 17 || len(problems) != 13 || !strings.Contains(problems[0], "together may have 1048576 bytes") {
		t.Errorf("%d namespaces, problems %q", len(c.namespaces), problems)
	}
}

func TestSpec_K1_NamespaceDeclarations(t *testing.T) {
	find := native("shop", "find", describedAs("Finds */ customers.\nReally."), giving(`{"type":"array","items":{"type":"string"}}`), taking(
		`{"type":"object","properties":{"query":{"type":"string"},"limit":{"type":"integer"},"class":{"enum":["a","b"]},"at":{"$ref":"#/$defs/D"}},
		  "required":["query","class"],"$defs":{"D":{"type":"object","properties":{"day":{"type":"string"}}}}}`))
	c, problems := with([]Namespace{crm(holding(`{
		"region":"eu", "page":50, "odd key":null, "long":"`+strings.Repeat("x", 200)+`", "big":1e400, "yes":true, "kinds":["a",1,[]],
		"find":{"$tool":"find"}, "new":{"$tool":"find","input":{"$arg":0}}, "second":{"$tool":"find","input":{"$arg":1}},
		"by":{"$tool":"find","input":{"limit":{"$arg":0},"query":{"$arg":1},"class":{"$arg":2},"at":{"$arg":3},"deep":[{"$arg":5}]}},
		"fixed":{"$tool":"find","input":{"query":"x"}}, "list":[{"$tool":"find"}], "deep":{"er":{"find":{"$tool":"find"}}, "none":{}}}`), func(n *Namespace) {
		n.Description, n.Prompt = "Customers */ evil()", "Line one\nLine two \u2028 x"
	})}, find)
	if len(problems) != 0 {
		t.Fatal(problems)
	}
	file := read(t, c, "namespaces/crm.d.ts")
	mustBeTypeScript(t, file)
	for _, want := range []string{
		`readonly region: "eu";`, `readonly page: 50;`, `readonly "odd key": null;`, `readonly long: string;`, `readonly big: number;`, `readonly yes: true;`,
		`readonly kinds: readonly ["a", 1, readonly []];`, `fixed(): Promise<string[]>;`, `"new"(input: {`, `second(arg0?: unknown, arg1?: unknown): Promise<string[]>;`,
		`by(limit: number | undefined, query: string, arg2: "a" | "b", at?: {`, `arg4?: unknown, arg5?: unknown): Promise<string[]>;`, `readonly none: {};`,
		"declare const crm: Namespace_crm;", `Customers *\/ evil()`,
	} {
		if !strings.Contains(file, want) {
			t.Errorf("no %s in\n%s", want, file)
		}
	}
	if rows, _ := c.files().list("namespaces"); len(rows) != 1 || rows[0].Path != "namespaces/crm.d.ts" || *rows[0].Bytes != len(file) {
		t.Errorf("%+v", rows)
	}
}
