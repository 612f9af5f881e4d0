package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/codecell/codecell/actors/catalog"
	"github.com/codecell/codecell/schemas"
)

// publicServers is a configuration of five public MCP servers with many tools. The browser of the last is Debian's, where it is.
func publicServers(t *testing.T) (config string, browser bool) {
	t.Helper()
	data := t.TempDir()
	web := []string{"--headless", "--isolated"}
	if path, err := exec.LookPath("chromium"); err == nil {
		web, browser = append(web, "--executable-path", path, "--no-sandbox"), true
	}
	return writeJSON(t, filepath.Join(t.TempDir(), "codecell.json5"), map[string]any{
		"mcpServers": servers{
			"everything": stdio(t, everythingServer),
			"files":      stdio(t, filesystemServer, data),
			"memory": with(stdio(t, memoryServer), map[string]any{
				"env": map[string]string{"MEMORY_FILE_PATH": filepath.Join(data, "memory.jsonl")},
			}),
			"thinking": stdio(t, thinkingServer),
			"web":      stdio(t, playwrightServer, web...),
		},
		"tools":     map[string]any{"codeMode": map[string]any{"enabled": true, "maxOutputBytes": 10 << 20}},
		"workspace": map[string]any{"root": data, "tools": map[string]bool{"write": true, "edit": true, "exec": true}},
	}), browser
}

// TestReal_M_FiveServersAtOnce lists, searches and calls five public servers in one catalog.
func TestReal_M_FiveServersAtOnce(t *testing.T) {
	t.Parallel()
	config, browser := publicServers(t)
	host := startHost(t, config)
	awaitServers(t, host)
	run := func(source string) string {
		t.Helper()
		got, code := execute(t, source, "--bus", host.url, "--wait") // a browser may take long to start
		if code != 0 {
			t.Errorf("exit code %d: %s", code, got.Error)
		}
		return string(got.Value)
	}
	// M1, M4: every server has its file, and each of its tools a member that the file declares.
	if got := run(`
		const odd = [];
		for (const server of ["everything", "files", "memory", "thinking", "web"]) {
			const { content } = API.read("mcp/" + server + ".d.ts");
			const tools = Object.keys(MCP[server]).filter((name) => typeof MCP[server][name] === "function" && !name.startsWith("$"));
			if (tools.length < (server === "thinking" ? 1 : 9)) odd.push(server + " has " + tools.length);
			for (const name of tools) if (!content.includes(" " + name + "(")) odd.push(server + "." + name);
		}
		return odd`); got != `[]` {
		t.Errorf("not declared: %s", got)
	}
	// C5: one ranking for all.
	if got := run(`
		const first = async (query) => (await catalog.search(query, { limit: 1 }))[0]?.callableName;
		return [await first("take a screenshot of the page"), await first("think step by step in a sequence of thoughts"),
			await first("create entities in the knowledge graph"), await first("move or rename a file"), await first("echo back a message"),
			await first("xylophone zeppelin quux")]`); got != `["MCP.web.browserTakeScreenshot","MCP.thinking.sequentialthinking",`+
		`"MCP.memory.createEntities","MCP.files.moveFile","MCP.everything.echo",null]` {
		t.Errorf("searches give %s", got)
	}
	// M2: a call each, at once.
	if got := run(`
		const [echo, dirs, graph, thought] = await Promise.all([
			MCP.everything.echo({ message: "hi" }), MCP.files.listAllowedDirectories({}), MCP.memory.readGraph({}),
			MCP.thinking.sequentialthinking({ thought: "one", thoughtNumber: 1, totalThoughts: 2, nextThoughtNeeded: true }),
		]);
		return [echo.content[0].text, dirs.content[0].type, graph.structuredContent.entities.length, thought.structuredContent.thoughtHistoryLength]`,
	); got != `["Echo: hi","text",0,1]` {
		t.Errorf("calls give %s", got)
	}
	// The browser is the machine's: where it has none, the server says so, and that is an answer like any other.
	got := run(`
		const { isError, content } = await MCP.web.browserNavigate({ url: "data:text/html,<title>Here</title>" });
		return [isError ?? false, content[0].text.includes("Here")]`)
	if want := fmt.Sprintf("[%v,%v]", !browser, browser); got != want {
		t.Errorf("with a browser %v: %s, want %s", browser, got, want)
	}
}

// awaitServers waits until new programs see all five.
func awaitServers(t *testing.T, host hostProcess) {
	t.Helper()
	if !eventually(patience, func() bool {
		got, _ := execute(t, `return ["everything", "files", "memory", "thinking", "web"].every((name) => name in MCP)`, "--bus", host.url)
		return string(got.Value) == "true"
	}) {
		t.Fatal("the servers don't come up")
	}
}

// TestReal_M4_G3_DeclarationsPassTheCompiler has the TypeScript compiler check every virtual file of the catalog of five public
// servers and the core tools, and a program that is written against them.
func TestReal_M4_G3_DeclarationsPassTheCompiler(t *testing.T) {
	t.Parallel()
	config, _ := publicServers(t)
	host := startHost(t, config)
	awaitServers(t, host)
	got, code := execute(t, `
		for (const { path, bytes } of API.list().files) {
			const { content } = API.read(path);
			if (new TextEncoder().encode(content).length !== bytes) throw new Error(path + " isn't of " + bytes + " bytes");
			text(path + "\n" + content);
		}`, "--bus", host.url)
	if code != 0 {
		t.Fatalf("exit code %d: %s", code, got.Error)
	}
	files := map[string]string{}
	for _, o := range got.Output {
		path, content, _ := strings.Cut(o.Text, "\n")
		files[path] = content
	}
	if len(files) < 10 {
		t.Fatalf("the files are %v", slices.Sorted(maps.Keys(files)))
	}
	files["use.ts"] = `
		async function use() {
			const { content, isError } = await MCP.everything.echo({ message: "hi" });
			const thought = await MCP.thinking.sequentialthinking({ thought: "", thoughtNumber: 1, totalThoughts: 1, nextThoughtNeeded: false });
			const length: number | undefined = thought.structuredContent?.thoughtHistoryLength;
			// @ts-expect-error
			await MCP.everything.echo({ massage: "hi" });
			// @ts-expect-error
			await read({ path: 1 });
			return [content[0].text, isError, length, (await read({ path: "a" })).content];
		}`
	compile(t, files)
}

// compile has the TypeScript compiler check files.
func compile(t *testing.T, files map[string]string) {
	t.Helper()
	dir := t.TempDir()
	for path, content := range files {
		if !filepath.IsLocal(path) {
			t.Fatalf("a file is called %q", path)
		}
		full := filepath.Join(dir, filepath.FromSlash(path))
		if err := os.MkdirAll(filepath.Dir(full), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	args := append([]string{npm(t, "typescript/bin/tsc"), "--noEmit", "--strict", "--target", "esnext", "--lib", "esnext"},
		slices.Sorted(maps.Keys(files))...)
	cmd := exec.CommandContext(t.Context(), node(t), args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("tsc: %v\n%.4000s", err, out)
	}
}

// TestReal_M4_Case66_HostileDeclarationsPassTheCompiler does the same with schemas that were made to be trouble.
func TestReal_M4_Case66_HostileDeclarationsPassTheCompiler(t *testing.T) {
	t.Parallel()
	deep, wide := strings.Repeat(`{"properties":{"a":`, 200)+`true`+strings.Repeat(`}}`, 200), strings.Builder{}
	for i := range 10_000 {
		fmt.Fprintf(&wide, `"p%d":{"type":"string","description":"Property */ %d"},`, i, i)
	}
	var tools []schemas.Tool
	for i, schema := range []string{
		`{"$ref":"#"}`, `{"$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}},"properties":{"x":{"$ref":"#/$defs/a"}}}`, deep, `true`, `false`, `7`, `[]`,
		`{"properties":{"t":{"type":"array","prefixItems":[{"type":"string"},{"type":"number"}]}}}`, `{"type":"string"}`, `{"type":["null","x"]}`,
		`{"properties":{"\"":{},"'":{},"a b":{},"🚀":{},"*/":{},"__proto__":{"type":"string"},"constructor":{},"\u2028":{},"\\":{},"":{},"#":{},"1a":{}}}`,
		`{"properties":{"e":{"enum":["*/","\"","\\","\n",null,1.5,true,{"a":[1]}]},"c":{"const":"` + "`${x}`" + `"},"d":{"default":"*/"}}}`,
		`{"properties":{` + strings.TrimSuffix(wide.String(), ",") + `}}`,
		`{"additionalProperties":{"type":"integer"},"properties":{"n":{"type":"string"}},"patternProperties":{"^x":{"type":"boolean"}}}`,
		`{"allOf":[{"properties":{"a":{}}},false],"oneOf":[],"anyOf":[true]}`,
	} {
		for _, source := range []schemas.Source{schemas.SourceNative, schemas.SourceMCP} {
			for _, name := range []string{fmt.Sprintf("class%d", i), fmt.Sprintf("*/ } const x%d: any = `", i)} {
				tools = append(tools, schemas.Tool{
					Source: source, Owner: "a */ b", Name: name, Description: "*/ declare const evil: number; /*\u2028" + name,
					Parameters: schemas.JSON(schema), Output: schemas.JSON(schema),
				})
			}
		}
	}
	built, problems := catalog.Build(tools, catalog.Options{})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	var list struct {
		OK struct{ Files []struct{ Path string } }
	}
	if err := json.Unmarshal(built.Sync("api.list", []byte(`{}`)), &list); err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for _, f := range list.OK.Files {
		var file struct{ OK struct{ Content string } }
		if err := json.Unmarshal(built.Sync("api.read", fmt.Appendf(nil, `{"path":%q}`, f.Path)), &file); err != nil {
			t.Fatal(err)
		}
		files[f.Path] = file.OK.Content
	}
	if len(files) < len(tools)/2 {
		t.Fatalf("there are %d files", len(files))
	}
	files["use.ts"] = "const names: string = class0.name;\n// @ts-expect-error\nevil;\n"
	compile(t, files)
}
