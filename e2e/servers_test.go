package e2e

import (
	"path/filepath"
	"testing"
)

// TestReal_M_PublicServers runs programs over public MCP servers, each by a host of its own inside `codecell exec`.
func TestReal_M_PublicServers(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	all := config(t, servers{
		"everything": stdio(t, everythingServer),
		"files":      stdio(t, filesystemServer, data),
		"memory": with(stdio(t, memoryServer), map[string]any{
			"env": map[string]string{"MEMORY_FILE_PATH": filepath.Join(data, "memory.jsonl")},
		}),
	})
	for _, c := range []struct{ name, source, want string }{
		{
			"M1 tools are below MCP, by identifiers",
			`return [typeof MCP.everything.getSum, typeof MCP.files.readTextFile, typeof MCP.memory.readGraph,
				typeof globalThis.getSum, catalog.all().filter(({ source }) => source === "mcp").length]`,
			`["function","function","function","undefined",0]`,
		},
		{
			"M2 results are native",
			`return await MCP.everything.echo({ message: "hé" })`,
			`{"content":[{"type":"text","text":"Echo: hé"}]}`,
		},
		{
			"M2 structured content comes as well",
			`const { structuredContent } = await MCP.everything.getStructuredContent({ location: "Chicago" });
			return structuredContent`,
			`{"temperature":36,"conditions":"Light rain / drizzle","humidity":82}`,
		},
		{
			"M2 annotations of blocks stay",
			`const { content } = await MCP.everything.getAnnotatedMessage({ messageType: "error" });
			const { priority, audience } = content[0].annotations;
			return [priority, audience]`,
			`[1,["user","assistant"]]`,
		},
		{
			"M2 an image is data",
			`const { content } = await MCP.everything.getTinyImage({});
			return content.filter(({ type }) => type === "image").map(({ mimeType, data }) => [mimeType, data.length > 100])`,
			`[["image/png",true]]`,
		},
		{
			"M2 a tool's own failure resolves",
			`const { isError, content } = await MCP.files.readTextFile({ path: "/etc/passwd" });
			return [isError, content[0].text.includes("Access denied")]`,
			`[true,true]`,
		},
		{
			"M5 defaults are filled in",
			`const { content } = await MCP.everything.getResourceLinks({});
			return content.filter(({ type }) => type === "resource_link").length`,
			`3`,
		},
		{
			"M5 a missing argument is refused before the call",
			`try { await MCP.everything.getSum({ a: 1 }) } catch (error) { return [error.code, error.message.includes("b")] }`,
			`["input_contract",true]`,
		},
		{
			"X10 many calls, one turn",
			`let sum = 0;
			for (let n = 1; n <= 20; n++) {
				const { content } = await MCP.everything.getSum({ a: sum, b: n });
				sum = Number(content[0].text.match(/is (\d+)/)[1]);
			}
			return sum`,
			`210`,
		},
		{
			"files can be written and read",
			`await MCP.files.writeFile({ path: "a.txt", content: "one\ntwo\n" });
			await MCP.files.editFile({ path: "a.txt", edits: [{ oldText: "two", newText: "zwei ✓" }] });
			return (await MCP.files.readTextFile({ path: "a.txt" })).structuredContent.content`,
			`"one\nzwei ✓\n"`,
		},
		{
			"a graph can be kept and searched",
			`await MCP.memory.createEntities({ entities: [
				{ name: "Ada", entityType: "person", observations: ["writes programs"] },
				{ name: "Engine", entityType: "machine", observations: [] },
			] });
			await MCP.memory.createRelations({ relations: [{ from: "Ada", to: "Engine", relationType: "programs" }] });
			const { structuredContent: { entities, relations } } = await MCP.memory.readGraph({});
			return [entities.map(({ name }) => name), relations[0].relationType]`,
			`[["Ada","Engine"],"programs"]`,
		},
		{
			"M4 declarations are there without a call",
			`const { content } = await API.read("mcp/files.d.ts");
			return [content.includes("readTextFile"), content.includes("path: string")]`,
			`[true,true]`,
		},
		{
			"C5 search finds tools of all servers, and its handles can be called",
			`const [best] = await catalog.search("add two numbers", { limit: 1 });
			return [best.callableName, best.source, (await best({ a: 1, b: 2 })).content[0].text]`,
			`["MCP.everything.getSum","mcp","The sum of 1 and 2 is 3."]`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, code := execute(t, c.source, "--config", all)
			if got.Status != "completed" || code != 0 || string(got.Value) != c.want {
				t.Errorf("exit code %d, %s %s %s\nwant value %s", code, got.Status, got.Error, got.Value, c.want)
			}
		})
	}
}
