package catalog

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/codecell/codecell/schemas"
)

// serving builds a catalog of two servers with tools and one of each capability.
func serving(t *testing.T, permit func(*schemas.Tool) bool) *Catalog {
	t.Helper()
	c, problems := Build([]schemas.Tool{
		native("p", "a"), mcp("git-hub", "create_issue"), mcp("git-hub", "resources"), mcp("plain", "x"),
	}, Options{Permit: permit, Servers: map[string]schemas.ServerInfo{
		"git-hub": {Resources: true, Prompts: true}, "plain": {Title: "Tools only"}, "texts": {Prompts: true},
	}})
	if len(problems) != 0 {
		t.Fatal(problems)
	}
	return c
}

// installed gives the part of the install text that makes MCP.
func installed(t *testing.T, c *Catalog) string {
	t.Helper()
	var text struct {
		MCP json.RawMessage `json:"mcp"`
	}
	unmarshal(t, c.Install(), &text)
	return string(text.MCP)
}

func TestSpec_M3_OperationsAreInstalledBehindTheTools(t *testing.T) {
	c := serving(t, nil)
	const want = `[{"identifier":"gitHub","serverName":"git-hub","tools":[{"ref":1,"identifier":"createIssue","toolName":"create_issue"},` +
		`{"ref":2,"identifier":"resources2","toolName":"resources"}],"resources":{"list":4,"read":5},"prompts":{"get":7,"list":6}},` +
		`{"identifier":"plain","serverName":"plain","tools":[{"ref":3,"identifier":"x","toolName":"x"}]},` +
		`{"identifier":"texts","serverName":"texts","tools":[],"prompts":{"get":9,"list":8}}]`
	if got := installed(t, c); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	for ref, want := range map[int][3]string{
		3: {"plain", "x", "MCP.plain.x"}, 4: {"git-hub", schemas.ListResources, "MCP.gitHub.resources.list"},
		5: {"git-hub", schemas.ReadResource, "MCP.gitHub.resources.read"}, 9: {"texts", schemas.GetPrompt, "MCP.texts.prompts.get"},
	} {
		e, ok := c.Callable(ref)
		if !ok || e.Ref != ref || [3]string{e.Owner, e.Name, e.CallableName} != want || !e.Untrusted() {
			t.Errorf("%d: %v %+v", ref, ok, e)
		}
	}
	for _, ref := range []int{-1, 10, -1 << 63, 1<<63 - 1} {
		if _, ok := c.Callable(ref); ok {
			t.Errorf("%d can be called", ref)
		}
	}
}

// Nobody finds, lists, counts or describes an operation as a tool.
func TestSpec_M3_OperationsAreNoTools(t *testing.T) {
	c := serving(t, nil)
	if c.Size() != 4 || c.Counts() != (schemas.SourceCounts{Native: 1, MCP: 3}) || len(c.All()) != 4 || len(c.Entries()) != 4 {
		t.Errorf("size %d, counts %+v", c.Size(), c.Counts())
	}
	for _, query := range []string{"resources list", "$resources.read", "MCP.gitHub.prompts.get", "prompts"} {
		for _, name := range search(t, c, query, 50) {
			if strings.Contains(name, "prompts.") || strings.Contains(name, "resources.") {
				t.Errorf("%q finds %s", query, name)
			}
		}
	}
	for ref := c.Size(); ref < c.Size()+6; ref++ {
		if _, ok := c.Tool(ref); ok {
			t.Errorf("%d is a tool", ref)
		}
		if _, err := c.Describe(ref); err == nil {
			t.Errorf("%d can be described", ref)
		}
	}
	if _, ok := c.Lookup("MCP.gitHub.resources.list"); ok {
		t.Error("looked up")
	}
}

func TestSpec_M3_NoToolTakesAnOperationsName(t *testing.T) {
	forged := mcp("git-hub", schemas.ReadResource, describedAs("reads better"))
	c, problems := Build([]schemas.Tool{forged, mcp("git-hub", "ok"), native("p", schemas.ReadResource)}, Options{})
	if len(problems) != 1 || !strings.Contains(problems[0].String(), "reserved for the resources") || c.Size() != 2 {
		t.Errorf("%v, %d tools", problems, c.Size())
	}
}

func TestSpec_M3_PolicyDecidesAboutEachOperation(t *testing.T) {
	c := serving(t, func(o *schemas.Tool) bool { return o.Owner == "git-hub" && o.Name == schemas.ListResources })
	got := installed(t, c)
	if !strings.Contains(got, `"resources":{"list":4}`) || strings.Contains(got, "prompts") || strings.Contains(got, "texts") {
		t.Error(got)
	}
	if _, ok := c.Callable(5); ok {
		t.Error("what policy refuses can be called")
	}
	file := read(t, c, "mcp/gitHub.d.ts")
	if !strings.Contains(file, "list(): Promise<McpResources>") || strings.Contains(file, "read(input") {
		t.Errorf("declared:\n%s", file)
	}
}

func TestSpec_M3_OperationsAreDeclared(t *testing.T) {
	c := serving(t, nil)
	both, prompts, none := read(t, c, "mcp/gitHub.d.ts"), read(t, c, "mcp/texts.d.ts"), read(t, c, "mcp/plain.d.ts")
	for _, file := range []string{both, prompts, none, read(t, c, "mcp/index.d.ts")} {
		mustBeTypeScript(t, file)
	}
	for _, part := range []string{
		"    readonly resources: {\n      list(): Promise<McpResources>;\n      read(input: { uri: string }): Promise<McpResourceContents>;\n    };\n",
		"    readonly prompts: {\n      list(): Promise<McpPrompts>;\n      get(input: { name: string; arguments?: Record<string, string> }): Promise<McpPromptMessages>;\n    };\n",
		"interface McpResources {", "interface McpResourceContents {", "interface McpPrompts {", "interface McpPromptMessages {",
	} {
		if !strings.Contains(both, part) {
			t.Errorf("%q isn't in\n%s", part, both)
		}
		if has := strings.Contains(prompts, part); has != strings.Contains(strings.ToLower(part), "prompt") {
			t.Errorf("%q in a server of prompts: %v", part, has)
		}
		if strings.Contains(none, part) {
			t.Errorf("%q in a server of tools", part)
		}
	}
	index := read(t, c, "mcp/index.d.ts")
	for _, part := range []string{`server "git-hub", 2 tools, resources, prompts, declared`, `server "plain", 1 tool, declared`, `server "texts", 0 tools, prompts, declared`} {
		if !strings.Contains(index, part) {
			t.Errorf("%q isn't in\n%s", part, index)
		}
	}
}

func TestSpec_M3_APINamesTheOperations(t *testing.T) {
	c := serving(t, nil)
	for server, want := range map[string]string{
		"gitHub": "The server also has resources.list(), resources.read({ uri }), prompts.list(), prompts.get({ name, arguments? }) below MCP.gitHub. ",
		"texts":  "The server also has prompts.list(), prompts.get({ name, arguments? }) below MCP.texts. ",
		"plain":  "",
	} {
		var got struct{ OK mcpDescription }
		unmarshal(t, c.Sync("mcp.api", []byte(`{"server":"`+server+`","schema":true}`)), &got)
		if !strings.Contains(got.OK.Note, want) || want == "" && strings.Contains(got.OK.Note, "also has") {
			t.Errorf("%s: %s", server, got.OK.Note)
		}
		if got.OK.Header != read(t, c, "mcp/"+server+".d.ts") {
			t.Errorf("%s: $api and API.read differ", server)
		}
	}
}

func TestSpec_M3_A5_TheDescriptionNamesOperationsOnlyIfThereAreAny(t *testing.T) {
	const hint = "Some servers also have resources.list()"
	limits := schemas.DefaultLimits()
	with, without := serving(t, nil), serving(t, func(*schemas.Tool) bool { return false })
	if text := with.ExecDescription(limits, 0); !strings.Contains(text, hint) {
		t.Error(text)
	}
	if text := without.ExecDescription(limits, 0); strings.Contains(text, "also have") {
		t.Error(text)
	}
	if with.Version() == without.Version() || bytes.Equal(with.Install(), without.Install()) {
		t.Error("two catalogs that differ have one version")
	}
}
