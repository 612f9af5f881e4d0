package catalog

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/evanw/esbuild/pkg/api"
	"pgregory.net/rapid"

	"github.com/codecell/codecell/schemas"
)

// buildOlder is a catalog of the contract of 2026-07.
func buildOlder(tools ...schemas.Tool) *Catalog {
	c, _ := Build(tools, Options{Contract: schemas.Contract202607, Languages: []string{schemas.LanguageJavaScript}})
	return c
}

var publicID = regexp.MustCompile(`^tool_[0-9a-f]{16}$`)

// J2, C2: whatever tools are called, each has an id of its own that says nothing, and at most one is called by a member of
// tools; which one doesn't depend on the order of the tools.
func TestSpec_J2_MembersAreUnambiguous(t *testing.T) {
	names := rapid.SliceOfDistinct(rapid.SampledFrom([]string{
		"a-b", "a_b", "a.b", "A_B", "exec", "search", "describe", "call", "then", "constructor", "__proto__", "toJSON", "delete", "1st", "_", "---", "é", "\U0001F680",
		strings.Repeat("x", 128), "tools", "ALL_TOOLS", "tool_1st",
	}), rapid.ID[string])
	rapid.Check(t, func(t *rapid.T) {
		var tools []schemas.Tool
		for _, name := range names.Draw(t, "names") {
			tools = append(tools, native("secretplugin", name))
		}
		tools = append(tools, mcp("server", "a_b"), client("call2"))
		c := buildOlder(tools...)
		slices.Reverse(tools)
		if string(c.Install()) != string(buildOlder(tools...).Install()) {
			t.Fatal("the order of the tools shows")
		}
		ids, members := map[string]bool{}, map[string]string{}
		for _, e := range c.All() {
			if ids[e.publicID] || !publicID.MatchString(e.publicID) {
				t.Fatalf("id %s of %q", e.publicID, e.Name)
			}
			ids[e.publicID] = true
			if e.member == "" {
				continue
			}
			if before, taken := members[e.member]; taken || e.Source == schemas.SourceMCP || helpers[e.member] || prototypeNames[e.member] {
				t.Fatalf("member %s of %q and %q", e.member, e.Name, before)
			}
			members[e.member] = e.Name
		}
		if strings.Contains(string(c.Install()), "secretplugin") {
			t.Fatal("a plugin's id can be seen")
		}
	})
	c := buildOlder(native("p", "a-b"), native("p", "a_b"), native("p", "exec"), native("p", "search"), native("p", "delete"))
	var got []string
	for _, e := range c.All() {
		got = append(got, e.member)
	}
	if !slices.Equal(got, []string{"", "", "delete", "exec", ""}) {
		t.Errorf("members %q", got)
	}
}

// J2: what programs get of a tool, whichever way, is the same record.
func TestSpec_J2_Records(t *testing.T) {
	c := buildOlder(native("p", "find_things", describedAs("Finds things."), taking(`{"type":"object","properties":{"q":{"type":"string"}},"required":["q"]}`)),
		mcp("git hub", "create_issue", describedAs("Creates an issue.")), client("ask"))
	records, untrusted, err := c.SearchRequest([]byte(`{"query":"create issue things ask","limit":9}`))
	if err != nil || !untrusted {
		t.Fatal(untrusted, err)
	}
	var found []map[string]any
	if err := json.Unmarshal(records, &found); err != nil || len(found) != 3 {
		t.Fatalf("%s %v", records, err)
	}
	for _, r := range found {
		if r["source"] == "mcp" && (r["sourceName"] != "git hub" || r["member"] != nil || r["name"] != "create_issue") {
			t.Errorf("%v", r)
		}
		for _, field := range []string{"callableName", "toolName", "input", "output", "apiPath"} {
			if r[field] != nil {
				t.Errorf("%s in %v", field, r)
			}
		}
	}
	for name, want := range map[string]string{
		"find_things":  `"parameters":{"type":"object","properties":{"q":{"type":"string"}},"required":["q"]}`,
		"create_issue": `"sourceName":"git hub","callableName":"MCP.gitHub.createIssue","parameters":`,
	} {
		for _, e := range c.All() {
			if e.Name != name {
				continue
			}
			text, err := c.Describe(e.Ref)
			if err != nil || !strings.Contains(string(text), want) || !strings.HasPrefix(string(text), `{"id":"`+e.publicID+`","name":"`+name) {
				t.Errorf("%s %v", text, err)
			}
		}
	}
	for _, e := range c.All() {
		content := read(t, c, e.APIPath)
		if r := api.Transform(content, api.TransformOptions{Loader: api.LoaderTS}); len(r.Errors) > 0 {
			t.Errorf("%s isn't TypeScript: %v", content, r.Errors)
		}
		if e.Source != schemas.SourceMCP && !strings.Contains(content, `call(id: "`+e.publicID+`", input`) {
			t.Errorf("%s", content)
		}
	}
	if text := c.ExecDescription(schemas.DefaultLimits(), 0); !strings.Contains(text, "\ntools.find_things({ q: string }) -> ?") || strings.Contains(text, "create_issue") {
		t.Errorf("%s", text)
	}
	var many []schemas.Tool
	for range 3 {
		many = append(many, native("p", strings.Repeat("n", len(many)+100)))
	}
	if index := buildOlder(many...).QuickIndex(150); !strings.Contains(index, "use tools.search") {
		t.Errorf("%q", index)
	}
}
