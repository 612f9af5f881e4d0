package catalog

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/codecell/codecell/schemas"
)

func TestSpec_C7_InputHints(t *testing.T) {
	for _, tt := range []struct{ schema, want string }{
		{``, `Record<string, unknown>`},
		{`{}`, `Record<string, unknown>`},
		{`true`, `Record<string, unknown>`},
		{`{"type":"object"}`, `Record<string, unknown>`},
		{`{"type":"object","properties":{}}`, `{}`},
		{`{"type":"object","additionalProperties":false}`, `{}`},
		{`{"type":"object","properties":{"path":{"type":"string"},"limit":{"type":"integer"}},"required":["path"]}`, `{ path: string; limit?: number }`},
		// The author's order stays; a default makes optional; what is required is shown.
		{`{"properties":{"z":{"type":"boolean"},"a":{"type":"number","default":1}},"required":["a","z","more"]}`, `{ z: boolean; a?: number; more: unknown }`},
		{`{"properties":{"a-b":{"const":1},"__proto__":{"enum":["x","y"]},"q\"":{}}}`, `{ "a-b"?: 1; __proto__?: "x" | "y"; "q\""?: unknown }`},
		{`{"properties":{"d":{"type":"object","additionalProperties":{"type":"number"}}}}`, `{ d?: Record<string, number> }`},
		{`{"properties":{"d":{"type":"object","properties":{"a":{"type":"null"}},"additionalProperties":true}}}`, `{ d?: { a?: null; [key: string]: unknown } }`},
		{`{"properties":{"d":{"type":["string","null"]},"e":{"type":"string","nullable":true}}}`, `{ d?: string | null; e?: string | null }`},
		{`{"properties":{"d":{"anyOf":[{"type":"string"},{"type":"number"}]},"e":{"oneOf":[{"type":"string"},{}]}}}`, `{ d?: string | number; e?: unknown }`},
		{`{"properties":{"d":{"allOf":[{"type":"object","properties":{"a":{}}},{"anyOf":[{"required":["a"]},{"required":["b"]}]}]}}}`, `{ d?: { a?: unknown } }`},
		{`{"properties":{"d":{"allOf":[{"$ref":"#/$defs/A"},{"anyOf":[{"type":"null"},{"type":"string"}]}]}},"$defs":{"A":{"type":"number"}}}`, `{ d?: number & (null | string) }`},
		{`{"properties":{"d":{"$ref":"#/$defs/a~1b"}},"$defs":{"a/b":{"enum":["x"]}}}`, `{ d?: "x" }`},
		{`{"properties":{"d":{"$ref":"https://example.com/x"},"e":{"$ref":"#/nowhere"},"f":false,"g":true}}`, `{ d?: unknown; e?: unknown; f?: never; g?: unknown }`},
		{`{"properties":{"t":{"prefixItems":[{"type":"string"},{"type":"number"}]},"u":{"items":[{"type":"string"},{"enum":[1,2]}],"minItems":1}}}`, `{ t?: [string, number]; u?: [string, (1 | 2)?] }`},
		{`{"properties":{"t":{"prefixItems":[{"type":"string"}],"items":{"type":"number"}}}}`, `{ t?: [string, ...number[]] }`},
		{monsters()["recursive"], `{ children: unknown[]; v?: string }`},
		{monsters()["self reference"], `Record<string, unknown>`},
		{`{"type":"object","anyOf":[{"properties":{"a":{"type":"string"}},"required":["a"]},{"properties":{"b":{"type":"string"}},"required":["b"]}]}`, `{ a: string } | { b: string }`},
	} {
		c := build(t, native("p", "tool", taking(tt.schema)))
		if got := c.entries[0].InputHint; got != tt.want {
			t.Errorf("%s\n got %s\nwant %s", tt.schema, got, tt.want)
		}
		mustBeTypeScript(t, "type T = "+c.entries[0].InputHint)
		mustBeTypeScript(t, read(t, c, "tools/tool.d.ts"))
	}
}

func TestSpec_M4_Case56_ArraysOfUnions(t *testing.T) {
	// CASES 56: the whole union is the element, and both ways to a declaration give the same text.
	for items, want := range map[string]string{
		`{"enum":["a","b"]}`:                                    `Array<"a" | "b">`,
		`{"anyOf":[{"type":"string"},{"type":"number"}]}`:       `Array<string | number>`,
		`{"oneOf":[{"type":"boolean"},{"type":"null"}]}`:        `Array<boolean | null>`,
		`{"type":["string","null"]}`:                            `Array<string | null>`,
		`{"type":"array","items":{"enum":["a","b"]}}`:           `Array<Array<"a" | "b">>`,
		`{"type":"string"}`:                                     `string[]`,
		`{"type":"array","items":{"type":"string"}}`:            `string[][]`,
		`{"enum":["only"]}`:                                     `Array<"only">`,
		`{"type":"object","properties":{"a":{"type":"null"}}}`:  "Array<{\n  a?: null;\n}>",
		`{"allOf":[{"$ref":"#/x"},{"type":"string"}]}`:          `string[]`,
		`{"prefixItems":[{"type":"string"},{"type":"number"}]}`: `Array<[string, number]>`,
	} {
		schema := `{"type":"object","properties":{"list":{"type":"array","items":` + items + `}}}`
		c := build(t, mcp("srv", "tool", taking(schema)))
		file := read(t, c, "mcp/srv.d.ts")
		if !strings.Contains(file, "list?: "+indent(indent(indent(want)))[6:]+";") {
			t.Errorf("%s: no %s in\n%s", items, want, file)
		}
		mustBeTypeScript(t, file)
		var got struct{ OK mcpDescription }
		unmarshal(t, c.Sync("mcp.api", []byte(`{"server":"srv","schema":true}`)), &got)
		if got.OK.Header != file {
			t.Errorf("$api says\n%s\nAPI.read says\n%s", got.OK.Header, file)
		}
		if string(got.OK.Schemas[0].Parameters) != schema {
			t.Errorf("the schema became %s", got.OK.Schemas[0].Parameters)
		}
	}
}

func TestSpec_C7_OutputHintsOnlyWhenDeclared(t *testing.T) {
	for _, tt := range []struct{ schema, want string }{
		{``, ``}, {`{}`, ``}, {`true`, ``}, {`{"type":"object"}`, ``}, {`{"type":"array"}`, ``}, {`{"type":"array","items":{"type":"object"}}`, ``},
		{`{"type":"string"}`, `string`},
		// What comes out may have its default or not: required says so.
		{`{"properties":{"a":{"type":"string","default":"x"}},"required":["a"]}`, `{ a: string }`},
	} {
		c := build(t, native("p", "tool", giving(tt.schema)), client("other", giving(`{"type":"string"}`)), mcp("m", "third", giving(`{"type":"string"}`)))
		if got := c.entries[0].OutputHint; got != tt.want {
			t.Errorf("%s gives %q, want %q", tt.schema, got, tt.want)
		}
		for _, e := range c.entries[1:] {
			if e.OutputHint != "" {
				t.Errorf("untrusted %s has the hint %q", e.CallableName, e.OutputHint)
			}
		}
		if c.entries[1].InputHint != "" || c.entries[2].InputHint != "unknown" {
			t.Errorf("untrusted inputs %q and %q", c.entries[1].InputHint, c.entries[2].InputHint)
		}
	}
}

// monsters are schemas that broke generators (CASES 66).
func monsters() map[string]string {
	deep := strings.Repeat(`{"type":"object","properties":{"a":`, 200) + `{}` + strings.Repeat(`}}`, 200)
	deepItems := strings.Repeat(`{"items":`, 3000) + `{}` + strings.Repeat(`}`, 3000)
	deepAll := strings.Repeat(`{"allOf":[{"type":"string"},`, 200) + `{}` + strings.Repeat(`]}`, 200)
	var wide, needed, doubling strings.Builder
	for i := range 10_000 {
		fmt.Fprintf(&wide, `%s"property_%d":{"type":"string","description":"d%d"}`, comma(i), i, i)
		fmt.Fprintf(&needed, `%s"property_%d"`, comma(i), i)
	}
	for i := range 60 {
		fmt.Fprintf(&doubling, `,"d%d":{"properties":{"x":{"$ref":"#/$defs/d%d"},"y":{"$ref":"#/$defs/d%d"}}}`, i, i+1, i+1)
	}
	var many strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&many, `%s{"const":"%d"}`, comma(i), i)
	}
	return map[string]string{
		"self reference":   `{"$ref":"#"}`,
		"recursive":        `{"properties":{"children":{"type":"array","items":{"$ref":"#"}},"v":{"type":"string"}},"required":["children"]}`,
		"mutual":           `{"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/b"},"b":{"anyOf":[{"$ref":"#/$defs/a"},{"type":"string"}]}}}`,
		"200 levels":       deep,
		"3000 items":       deepItems,
		"200 compositions": deepAll,
		"10,000":           `{"type":"object","properties":{` + wide.String() + `}}`,
		"10,000 required":  `{"type":"object","required":[` + needed.String() + `]}`,
		"20,000 options":   `{"properties":{"x":{"oneOf":[` + many.String() + `]}}}`,
		"doubling":         `{"$ref":"#/$defs/d0","$defs":{"z":1` + doubling.String() + `}}`,
		"wide and doubled": `{"$ref":"#/$defs/d0","$defs":{"d60":{"properties":{` + wide.String() + `}}` + doubling.String() + `}}`,
		"not a schema":     `42`,
		"malformed":        `{"type":{"a":1},"properties":[1],"required":"x","enum":{},"items":"x","anyOf":{"a":1},"$ref":7,"additionalProperties":3}`,
		"null parts":       `{"type":[null,7],"properties":{"a":null,"b":[]},"required":[null],"anyOf":[null],"enum":[]}`,
		"root array":       `{"type":"array","items":{"type":"string"}}`,
		"root string":      `{"type":"string"}`,
		"names":            `{"properties":{"":{},"a b":{},"\"":{},"'":{},"\\":{},"*/":{},"🚀":{},"\u2028":{},"\n":{},"\u0000":{},"\ud800":{},"ünï":{},"constructor":{},"a":{},"a":{}}}`,
		"comments":         `{"description":"*/ evil(); /*","properties":{"a":{"description":"*/ } evil() /* \u2028 \u202e */","default":"*/ evil() /*","pattern":"*/","format":"*/\n"}}}`,
		"enums":            `{"properties":{"a":{"enum":["*/","\"","\\","\n","` + "`" + `","${x}",null,true,1.5,-0,1e400]},"b":{"enum":[{"a":1},[1]]}}}`,
		"big words":        `{"properties":{"a":{"enum":["` + strings.Repeat("x", 100_000) + `"]},"` + strings.Repeat("y", 100_000) + `":{}}}`,
		"numbers":          `{"properties":{"a":{"type":"array","prefixItems":[{},{}],"minItems":99999999999999999999}}}`,
	}
}

func comma(i int) string {
	if i == 0 {
		return ""
	}
	return ","
}

func TestSpec_M4_MonstersEndInValidText(t *testing.T) {
	for name, schema := range monsters() {
		t.Run(name, func(t *testing.T) {
			c := build(t, native("p", "tool", taking(schema), giving(schema)), mcp("srv", "tool", taking(schema), giving(schema)))
			for _, hint := range []string{c.entries[0].InputHint, c.entries[0].OutputHint} {
				if len(hint) > hintLimit {
					t.Errorf("the hint has %d bytes", len(hint))
				}
				if hint != "" {
					mustBeTypeScript(t, "type T = "+hint)
				}
			}
			for _, path := range []string{"tools/tool.d.ts", "mcp/srv.d.ts"} {
				file := read(t, c, path)
				if len(file) > 4*declareBytes || !utf8.ValidString(file) {
					t.Errorf("%s has %d bytes, valid: %v", path, len(file), utf8.ValidString(file))
				}
				mustBeTypeScript(t, file)
				if strings.Contains(withoutComments(file), "evil") {
					t.Errorf("%s: text left its comment:\n%s", path, file)
				}
			}
			for ref := range c.Size() {
				d, err := c.Describe(ref)
				if err != nil || !json.Valid(d) {
					t.Errorf("describe: %v", err)
				}
			}
		})
	}
}

func TestSpec_M4_AFileIsBounded(t *testing.T) {
	// A server of many tools that each expand to the limit of one.
	schema := monsters()["doubling"]
	var tools []schemas.Tool
	for i := range 300 {
		tools = append(tools, mcp("srv", fmt.Sprintf("tool_%d", i), taking(schema), giving(schema)))
	}
	c := build(t, tools...)
	s := c.servers[0]
	d := newDeclarer()
	for _, e := range s.tools {
		d.member(e)
	}
	if d.nodes > 0 || d.nodes < -declareNodes {
		t.Errorf("%d nodes are left: the budget isn't what ends it", d.nodes)
	}
	file := read(t, c, "mcp/srv.d.ts")
	if !strings.Contains(file, "tool299(input: "+anyRecord+"): Promise<McpResult<unknown>>;") {
		t.Errorf("the last tool isn't declared in short:\n%s", file[len(file)-500:])
	}
	mustBeTypeScript(t, file)
}

// withoutComments takes the block comments out of TypeScript without comment signs in its strings.
func withoutComments(source string) string {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(source, "/*")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		_, source, _ = strings.Cut(rest, "*/")
	}
}

func TestSpec_M4_HostileNames(t *testing.T) {
	evil := "x*/ }; evil(); /*\n\u2028*/"
	tools := []schemas.Tool{
		mcp(evil, evil, describedAs(evil)), mcp("index", "a", describedAs(evil)), mcp("index.d.ts", "a"), mcp("../index", "b"), mcp("INDEX", "c"),
		native("p", evil, describedAs(evil)), client(evil+"2", describedAs(evil)),
	}
	c, problems := Build(tools, Options{Servers: map[string]schemas.ServerInfo{evil: {Title: evil, Version: evil, Instructions: evil}}})
	if len(problems) != 0 {
		t.Fatal(problems)
	}
	var got struct {
		OK struct{ Files []struct{ Path string } }
	}
	unmarshal(t, c.Sync("api.list", nil), &got)
	seen := make(map[string]bool)
	for _, file := range got.OK.Files {
		if seen[file.Path] {
			t.Errorf("%s is listed twice", file.Path)
		}
		seen[file.Path] = true
		content := read(t, c, file.Path)
		mustBeTypeScript(t, content)
		if strings.Contains(withoutComments(strings.ReplaceAll(content, quoteJS(evil), "")), "evil()") {
			t.Errorf("%s: text left its comment:\n%s", file.Path, content)
		}
	}
	if index := read(t, c, "mcp/index.d.ts"); !strings.Contains(index, "The MCP servers of this run") {
		t.Errorf("mcp/index.d.ts was replaced:\n%s", index)
	}
	if len(seen) != 1+5+2 {
		t.Errorf("files %v", seen)
	}
}

// drawSchema draws JSON values that look more or less like schemas.
func drawSchema(depth int) *rapid.Generator[any] {
	word := rapid.SampledFrom([]string{"a", "b-c", "*/", "\"", "\\", "\u2028", "🚀", "__proto__", "default", ""})
	leaf := rapid.OneOf(
		rapid.Just[any](nil), rapid.Just[any](true), rapid.Just[any](false), rapid.Just[any](1.5), rapid.Just[any](-3),
		rapid.Map(word, func(s string) any { return s }),
		rapid.Map(rapid.SampledFrom([]string{"#", "#/properties/a", "#/$defs/a", "#/anyOf/0", "x"}), func(s string) any { return map[string]any{"$ref": s} }),
		rapid.Map(rapid.SampledFrom([]string{"string", "array", "object", "null", "number", "bogus"}), func(s string) any { return map[string]any{"type": s} }),
	)
	if depth == 0 {
		return leaf
	}
	below := drawSchema(depth - 1)
	list := rapid.Map(rapid.SliceOfN(below, 0, 3), func(v []any) any { return v })
	object := rapid.Map(rapid.MapOfN(word, below, 0, 3), func(v map[string]any) any { return v })
	keyword := rapid.SampledFrom([]string{
		"type", "properties", "items", "prefixItems", "anyOf", "oneOf", "allOf", "enum", "const", "required", "additionalProperties",
		"patternProperties", "default", "description", "nullable", "$defs", "format", "minItems", "not",
	})
	return rapid.OneOf(leaf, list, object, rapid.Map(rapid.MapOfN(keyword, rapid.OneOf(below, list, object), 0, 5), func(v map[string]any) any { return v }))
}

func TestSpec_M4_AnySchemaGivesValidTypeScript(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		schema, err := json.Marshal(drawSchema(3).Draw(rt, "schema"))
		if err != nil {
			rt.Fatal(err)
		}
		checkSchema(rt, schema)
	})
}

// checkSchema fails unless every text about a tool with this schema is valid TypeScript.
func checkSchema(t interface{ Fatalf(string, ...any) }, schema []byte) {
	c, problems := Build([]schemas.Tool{native("p", "tool", taking(string(schema)), giving(string(schema))), mcp("srv", "tool", taking(string(schema)), giving(string(schema)))}, Options{})
	if len(problems) > 0 {
		return
	}
	sources := []string{"type T = " + c.entries[0].InputHint, declareGlobal(c.entries[0]), declareServer(c.servers[0])}
	if hint := c.entries[0].OutputHint; hint != "" {
		sources = append(sources, "type T = "+hint)
	}
	for _, source := range sources {
		if problem := notTypeScript(source); problem != "" {
			t.Fatalf("not TypeScript: %s\n%s\nof %s", problem, source, schema)
		}
	}
}

func FuzzSpec_M4_Schema(f *testing.F) {
	for _, schema := range monsters() {
		if len(schema) < 2000 {
			f.Add([]byte(schema))
		}
	}
	f.Fuzz(func(t *testing.T, schema []byte) { checkSchema(t, schema) })
}
