package catalog

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/codecell/codecell/schemas"
)

var shopTools = schemas.Namespace{ID: "crm", Global: "crm", RequiredTools: []string{"find", "a b"}}

func TestSpec_K2_K3_ScopesAreRefused(t *testing.T) {
	nested := func(levels int) string {
		return strings.Repeat(`{"a":`, levels) + `1` + strings.Repeat(`}`, levels)
	}
	for text, says := range map[string]string{
		``:                                       "it isn't JSON",
		`{"a":}`:                                 "it isn't JSON",
		"{\"a\":\"\xff\"}":                       "it isn't JSON",
		`[1]`:                                    "expected an object",
		`null`:                                   "expected an object",
		`{"$tool":"find"}`:                       "the namespace itself can't be called",
		`{"__proto__":1}`:                        "at its top: the key __proto__ isn't allowed",
		`{"a":{"constructor":1}}`:                "at a: the key constructor isn't allowed",
		`{"a":[{"prototype":1}]}`:                "at a.0: the key prototype isn't allowed",
		`{"":1}`:                                 "a key is empty",
		`{"a.b":1}`:                              `the key "a.b" contains a path separator`,
		`{"a\u0000b":1}`:                         "contains a path separator",
		`{"a":1,"b":2,"a":3}`:                    `the key "a" is there twice`,
		`{"\u0061":1,"a":3}`:                     `the key "a" is there twice`,
		`{"a":{"$tool":"other"}}`:                `must name one of the namespace's required tools, not "other"`,
		`{"b":{"$tool":7}}`:                      "required tools, not 7",
		`{"c":{"$tool":{"a":1}}}`:                "required tools, not {",
		`{"d":{"$tool":null}}`:                   "required tools, not null",
		`{"a":{"$tool":"find","x":1}}`:           `a callable has $tool and input only, not "x"`,
		`{"a":{"$tool":"find","$tool":"other"}}`: `at a: the key "$tool" is there twice`,
		`{"then":{"$tool":"find"}}`:              "can't be called then",
		`{"x":{"toJSON":{"$tool":"find"}}}`:      "can't be called toJSON",
		`{"toString":{"$tool":"find"}}`:          "can't be called toString",
		`{"valueOf":{"$tool":"find"}}`:           "can't be called valueOf",
		`{"a":{"$arg":0}}`:                       "$arg stands only in the input of a callable",
		`{"a":{"$tool":"find","input":7}}`:       "input must be an object",
		`{"a":{"$tool":"find","input":[{"$arg":0}]}}`:                   "input must be an object, or",
		`{"e":{"$tool":"find","input":{"$arg":-1}}}`:                    "at e: expected",
		`{"f":{"$tool":"find","input":{"$arg":16}}}`:                    "at f: expected",
		`{"g":{"$tool":"find","input":{"$arg":1.5}}}`:                   "at g: expected",
		`{"h":{"$tool":"find","input":{"$arg":"0"}}}`:                   "at h: expected",
		`{"i":{"$tool":"find","input":{"$arg":1e1}}}`:                   "at i: expected",
		`{"j":{"$tool":"find","input":{"x":{"$arg":0,"y":1}}}}`:         "at j.x: expected",
		`{"k":{"$tool":"find","input":{"x":{"$tool":"find"}}}}`:         "at k.x: $tool can't stand in the input",
		`{"l":{"$tool":"find","input":{"x":{"__proto__":{"$arg":0}}}}}`: "at l.x: the key __proto__ isn't allowed",
		nested(17): "nested deeper than 16 levels",
		`{"a":"` + strings.Repeat("x", 70_000) + `"}`: "at most 65536 are allowed",
	} {
		err := CheckScope(&shopTools, schemas.JSON(text))
		if err == nil || err.Code != schemas.InvalidInput || err.Field != "scope" || !strings.Contains(err.Message, says) || !strings.Contains(err.Message, `namespace "crm"`) {
			t.Errorf("%.100s: %v\nwant %s", text, err, says)
			continue
		}
	}
	for _, text := range []string{
		`{}`, `{"then":1,"toJSON":"data","toString":2}`, nested(16), `{"a":{"b":1},"c":{"b":1}}`, `{"x":[{"$tool":"a b","input":{"$arg":15}}]}`, `{"😀":"\ud800","k":-1.5e3}`,
	} {
		if err := CheckScope(&shopTools, schemas.JSON(text)); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// K3: the guest gets refs of the plugin's own tools, whatever else is in the catalog, and constants as they are.
func TestSpec_K3_InstalledScope(t *testing.T) {
	c, problems := with([]Namespace{crm(holding(`{"n":1.50,"s":"</script>\u2028","find":{"$tool":"find","input":{"q":{"$arg":0},"k":[null,true]}}}`))},
		native("core", "read"), native("shop", "find"), native("zoo", "feed"))
	if len(problems) != 0 {
		t.Fatal(problems)
	}
	var install struct {
		Namespaces []struct {
			Name  string
			Scope json.RawMessage
		}
	}
	unmarshal(t, c.Install(), &install)
	const want = `{"n":1.50,"s":"</script>\u2028","find":{"$tool":1,"tool":"find","input":{"q":{"$arg":0},"k":[null,true]}}}`
	if len(install.Namespaces) != 1 || string(install.Namespaces[0].Scope) != want {
		t.Errorf("%s", c.Install())
	}
}

// pool has keys and names, some of which are refused.
var pool = []string{"a", "b", "find", "ünï", "$x", "then", "0", "", "__proto__", "constructor", "prototype", "a.b", "a\x00", "$arg"}

// scopeValue draws a value of a scope, and says whether it must be refused.
func scopeValue(t *rapid.T, depth int) (value any, bad bool) {
	kind := rapid.IntRange(0, 6).Draw(t, "kind")
	if depth > 4 && kind > 3 {
		kind -= 4
	}
	switch kind {
	case 0:
		return nil, false
	case 1:
		return rapid.String().Draw(t, "text"), false
	case 2:
		return float64(rapid.IntRange(-1000, 1000).Draw(t, "number")), false
	case 3:
		tool := rapid.SampledFrom([]string{"find", "a b", "find", "a b", "find", "hidden"}).Draw(t, "tool")
		return map[string]any{"$tool": tool}, tool == "hidden"
	case 4:
		list := []any{}
		for range rapid.IntRange(0, 3).Draw(t, "length") {
			v, worse := scopeValue(t, depth+1)
			list, bad = append(list, v), bad || worse
		}
		return list, bad
	}
	return scopeObject(t, depth)
}

func scopeObject(t *rapid.T, depth int) (object map[string]any, bad bool) {
	object = map[string]any{}
	for range rapid.IntRange(0, 3).Draw(t, "size") {
		key := rapid.SampledFrom(pool).Draw(t, "key")
		if rapid.IntRange(0, 3).Draw(t, "spare") > 0 {
			key = pool[len(key)%5]
		}
		object[key], _ = scopeValue(t, depth+1)
	}
	return object, refusable(object)
}

// refusable is an oracle of its own: it looks at Go values, and knows nothing of paths.
func refusable(v any) bool {
	switch v := v.(type) {
	case []any:
		return slices.ContainsFunc(v, refusable)
	case map[string]any:
		if tool, ok := v["$tool"]; ok {
			return tool == "hidden"
		}
		for key, child := range v {
			if strings.Contains(" __proto__ constructor prototype $arg  a.b a\x00 ", " "+key+" ") || refusable(child) {
				return true
			}
			if call, ok := child.(map[string]any); ok && call["$tool"] != nil && key == "then" {
				return true
			}
		}
	}
	return false
}

func TestSpec_K2_AnyScopeIsRefusedOrInstalledWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		scope, bad := scopeObject(t, 0)
		text, err := json.Marshal(scope)
		if err != nil {
			t.Fatal(err)
		}
		parsed, refused := parseScope(&shopTools, text)
		if (refused != nil) != bad {
			t.Fatalf("%s: %v, want refused: %v", text, refused, bad)
		}
		if bad {
			return
		}
		refs := map[string]int{"find": 3, "a b": 4}
		for _, call := range parsed.calls {
			call.entry = &Entry{Ref: refs[call.tool], CallableName: call.tool}
		}
		var got any
		if err := json.Unmarshal(parsed.install(), &got); err != nil {
			t.Fatalf("%s became %s: %v", text, parsed.install(), err)
		}
		var want any
		_ = json.Unmarshal(text, &want) // it was made by Marshal
		if want = asInstalled(want, refs); !reflect.DeepEqual(got, want) {
			t.Fatalf("%s became %s", text, parsed.install())
		}
	})
}

// asInstalled replaces callables by what guests get.
func asInstalled(v any, refs map[string]int) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = asInstalled(v[i], refs)
		}
	case map[string]any:
		if tool, ok := v["$tool"].(string); ok {
			return map[string]any{"$tool": float64(refs[tool]), "tool": tool}
		}
		for key := range v {
			v[key] = asInstalled(v[key], refs)
		}
	}
	return v
}

func FuzzScope(f *testing.F) {
	for _, seed := range []string{`{"a":{"$tool":"find","input":{"x":{"$arg":0}}}}`, `{"a":[1,"\ud800",null]}`, `{"__proto__":{}}`} {
		f.Add([]byte(seed))
	}
	find := native("shop", "find", taking(`{"properties":{"x":{"type":"string"}},"required":["x"]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		c, problems := with([]Namespace{crm(holding(string(text)))}, find)
		if len(problems) == 1 {
			return
		}
		if !json.Valid(c.Install()) {
			t.Errorf("%q became %s", text, c.Install())
		}
		if problem := notTypeScript(read(t, c, "namespaces/crm.d.ts")); problem != "" {
			t.Errorf("%q: %s", text, problem)
		}
		_ = fmt.Sprint(c.ExecDescription(schemas.DefaultLimits(), 0))
	})
}
