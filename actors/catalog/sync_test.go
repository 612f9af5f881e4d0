package catalog

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/codecell/codecell/schemas"
)

// paths gives what API.list says.
func paths(t testing.TB, c *Catalog, payload string) []string {
	t.Helper()
	var got struct {
		OK    struct{ Files []listed }
		Error *fault
	}
	unmarshal(t, c.Sync("api.list", []byte(payload)), &got)
	if got.Error != nil {
		return []string{"error: " + got.Error.Message}
	}
	list := []string{}
	for _, file := range got.OK.Files {
		if content := read(t, c, file.Path); *file.Bytes != len(content) {
			t.Errorf("%s: listed with %d bytes, has %d", file.Path, *file.Bytes, len(content))
		}
		list = append(list, file.Path)
	}
	return list
}

func TestSpec_G3_List(t *testing.T) {
	c := library(t)
	servers := []string{"mcp/gitHub.d.ts", "mcp/index.d.ts"}
	all := append(slices.Clone(servers), "tools/pick_color.d.ts", "tools/read.d.ts", "tools/send_email.d.ts",
		"tools/send_email_template_to_list.d.ts", "tools/write.d.ts")
	for payload, want := range map[string][]string{
		``: all, `{}`: all, `{"prefix":""}`: all, `{"prefix":null}`: all,
		// CASES 66.
		`{"prefix":"mcp"}`: servers, `{"prefix":"mcp/"}`: servers,
		`{"prefix":"tools/send_email."}`: {"tools/send_email.d.ts"},
		`{"prefix":"nothing"}`:           {},
	} {
		if got := paths(t, c, payload); !slices.Equal(got, want) {
			t.Errorf("%s gives %v, want %v", payload, got, want)
		}
	}
	// No MCP tools: no MCP surface.
	if got := paths(t, build(t, native("p", "a")), ``); !slices.Equal(got, []string{"tools/a.d.ts"}) {
		t.Errorf("without MCP: %v", got)
	}
	if got := string(build(t).Sync("api.list", nil)); got != `{"ok":{"files":[]}}` {
		t.Errorf("without tools: %s", got)
	}
}

func TestSpec_G3_Read(t *testing.T) {
	c := build(t, native("p", "größe", describedAs("Grüße 🚀"), taking(`{"properties":{"a":{"type":"string"}},"required":["a"]}`), giving(`{"type":"string"}`)))
	want := `{"ok":{"path":"tools/größe.d.ts","content":"/** Grüße 🚀 */\ndeclare function größe(input: {\n  a: string;\n}): Promise<string>;\n","bytes":88}}`
	if got := string(c.Sync("api.read", []byte(`{"path":"tools/größe.d.ts"}`))); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestSpec_G3_RefusedPaths(t *testing.T) {
	c := library(t)
	for _, path := range []string{
		"", ".", "..", "/", "./tools/read.d.ts", "tools/../tools/read.d.ts", "tools/./read.d.ts", "../tools/read.d.ts", "tools//read.d.ts",
		"/tools/read.d.ts", "tools/read.d.ts/", "tools/READ.d.ts", "tools\\read.d.ts", "tools/read.d.ts\x00", "tools", "mcp/", "results.d.ts",
		"__proto__", strings.Repeat("x", 100_000),
	} {
		payload, _ := json.Marshal(map[string]string{"path": path})
		var got struct {
			OK    any
			Error *fault
		}
		answer := c.Sync("api.read", payload)
		unmarshal(t, answer, &got)
		if got.OK != nil || got.Error == nil || got.Error.Message == "" || len(answer) > 1000 {
			t.Errorf("%q gives %.200s", path, answer)
		}
	}
	for _, prefix := range []string{"..", "../x", "./", "/", "tools/..", "tools/../mcp"} {
		if got := paths(t, c, `{"prefix":"`+prefix+`"}`); len(got) != 1 || !strings.HasPrefix(got[0], "error: Invalid API path") {
			t.Errorf("%q gives %v", prefix, got)
		}
	}
}

func TestSpec_M3_API(t *testing.T) {
	c := build(t, mcp("git-hub", "create_issue", describedAs("Opens a ticket"), taking(`{"properties":{"t":{"type":"string"}}}`)), mcp("git-hub", "get.it"))
	get := func(payload string) (mcpDescription, string) {
		var got struct {
			OK    mcpDescription
			Error struct{ Message string }
		}
		unmarshal(t, c.Sync("mcp.api", []byte(payload)), &got)
		return got.OK, got.Error.Message
	}
	whole, _ := get(`{"server":"gitHub"}`)
	if whole.Kind != "mcp_api" || whole.Scope != "server" || whole.Server != (mcpServer{"gitHub", "git-hub"}) || len(whole.Tools) != 2 || whole.Schemas != nil {
		t.Errorf("server: %+v", whole)
	}
	for _, name := range []string{"createIssue", "create_issue", "MCP.gitHub.createIssue"} {
		one, _ := get(`{"server":"gitHub","tool":"` + name + `","schema":true}`)
		if one.Scope != "tool" || len(one.Tools) != 1 || one.Tools[0].CallableName != "MCP.gitHub.createIssue" || len(one.Schemas) != 1 || one.Note == "" {
			t.Errorf("%s: %+v", name, one)
		}
		if !strings.Contains(whole.Header, indent(indent(one.Header))) {
			t.Errorf("the server's declaration doesn't have the tool's:\n%s", one.Header)
		}
	}
	for payload, want := range map[string]string{
		`{"server":"git-hub"}`: "Unknown MCP server", `{"server":"__proto__"}`: "Unknown MCP server", `{}`: "Unknown MCP server",
		`{"server":"gitHub","tool":"constructor"}`: "has no tool", `{"server":7}`: "wrong type",
	} {
		if _, message := get(payload); !strings.Contains(message, want) {
			t.Errorf("%s says %q", payload, message)
		}
	}
	d, err := c.Describe(0)
	want, _ := get(`{"server":"gitHub","tool":"createIssue","schema":true}`)
	if err != nil || string(d) != string(encode(want)) {
		t.Errorf("describe and $api differ:\n%s\n%s", d, encode(want))
	}
}

func TestSpec_C8_Describe(t *testing.T) {
	c := build(t,
		native("p", "a", describedAs("An a"), taking(`{"properties":{"n":{"type":"integer","maximum":9007199254740993}}}`), giving(`{"type":"string"}`)),
		native("p", "b"), client("c", taking(`{"properties":{"x":{}}}`), giving(`{"type":"string"}`)))
	for ref, want := range []string{
		`{"callableName":"a","name":"a","description":"An a","source":"openclaw","input":"{ n?: number }","output":"string","parameters":{"properties":{"n":{"type":"integer","maximum":9007199254740993}}},"outputSchema":{"type":"string"}}`,
		`{"callableName":"b","name":"b","description":"","source":"openclaw","input":"Record<string, unknown>","parameters":{"type":"object"}}`,
		`{"callableName":"c","name":"c","description":"","source":"client","input":"unknown","parameters":{"properties":{"x":{}}},"outputSchema":{"type":"string"}}`,
	} {
		if got, err := c.Describe(ref); err != nil || string(got) != want {
			t.Errorf("got  %s, %v\nwant %s", got, err, want)
		}
	}
	for _, ref := range []int{-1, 3, 1 << 40} {
		if _, err := c.Describe(ref); err == nil {
			t.Errorf("there is a tool %d", ref)
		}
	}
}

func TestSpec_O5_SyncSaysWhatIsUntrusted(t *testing.T) {
	c := library(t)
	for call, want := range map[string]bool{
		`api.list {"prefix":"tools/r"}`:                 false,
		`api.list {}`:                                   true,
		`api.read {"path":"tools/read.d.ts"}`:           false,
		`api.read {"path":"tools/pick_color.d.ts"}`:     true,
		`api.read {"path":"mcp/gitHub.d.ts"}`:           true,
		`api.read {"path":"mcp/index.d.ts"}`:            true,
		`mcp.api {"server":"gitHub"}`:                   true,
		`mcp.api {"server":"nobody"}`:                   false,
		`tool.meta {"ref":0}`:                           false,
		`tool.meta {"ref":99}`:                          false,
		fmt.Sprintf(`tool.meta {"ref":%d}`, c.Size()-1): true,
		`nothing {}`:                                    false,
	} {
		method, payload, _ := strings.Cut(call, " ")
		if _, untrusted := c.SyncTrust(method, []byte(payload)); untrusted != want {
			t.Errorf("%s: untrusted %v", call, untrusted)
		}
	}
}

func TestSpec_M1_ServersWithoutTools(t *testing.T) {
	infos := map[string]schemas.ServerInfo{"docs": {Resources: true}, "dead": {Title: "has nothing"}}
	c, problems := Build([]schemas.Tool{native("p", "a")}, Options{Servers: infos})
	if len(problems) != 0 || !bytes.Contains(c.Install(), []byte(`"mcp":[{"identifier":"docs","serverName":"docs","tools":[],"resources":{"list":1,"read":2}}]`)) {
		t.Errorf("%v\n%s", problems, c.Install())
	}
	mustBeTypeScript(t, read(t, c, "mcp/docs.d.ts"))
}

func FuzzSpec_B4_Sync(f *testing.F) {
	c := library(f)
	for method := range lookups {
		for _, payload := range []string{
			`{}`, ``, `null`, `[]`, `{"path":"tools/read.d.ts","prefix":"mcp","server":"gitHub","tool":"createIssue","ref":1,"schema":true}`,
			`{"ref":-1}`, `{"ref":1e99}`, `{"path":"\ud800","server":{},"schema":"x"}`, strings.Repeat(`[`, 100_000),
		} {
			f.Add(method, []byte(payload))
		}
	}
	f.Fuzz(func(t *testing.T, method string, payload []byte) {
		var got map[string]json.RawMessage
		unmarshal(t, c.Sync(method, payload), &got)
		if len(got) != 1 || got["ok"] == nil && got["error"] == nil {
			t.Fatalf("%s %s gives %v", method, payload, got)
		}
	})
}
