package e2e

import (
	"path/filepath"
	"testing"
)

// TestReal_M3_ResourcesAndPrompts runs programs over a public server that has resources and prompts besides its tools.
func TestReal_M3_ResourcesAndPrompts(t *testing.T) {
	t.Parallel()
	file := config(t, servers{"everything": stdio(t, everythingServer), "files": stdio(t, filesystemServer, t.TempDir())})
	for _, c := range []struct{ name, source, want string }{
		{
			"M3 resources are listed and read in native shapes",
			`const { resources, incomplete } = await MCP.everything.resources.list();
			const { contents: [first] } = await MCP.everything.resources.read({ uri: resources[0].uri });
			return [resources.length > 1, incomplete ?? null, first.uri === resources[0].uri, typeof first.text, resources.every(({ name }) => name !== "")]`,
			`[true,null,true,"string",true]`,
		},
		{
			"M3 prompts are listed and filled in",
			`const { prompts } = await MCP.everything.prompts.list();
			const { arguments: wanted } = prompts.find(({ name }) => name === "args-prompt");
			const { messages: [{ role, content }] } = await MCP.everything.prompts.get({ name: "args-prompt", arguments: { city: "Lima" } });
			return [wanted[0].name, wanted[0].required, role, content.type, content.text.includes("Lima")]`,
			`["city",true,"user","text",true]`,
		},
		{
			"M3 a resource that isn't there rejects",
			`try { await MCP.everything.resources.read({ uri: "demo://no/such/thing" }) } catch (error) { return [error instanceof Error, error.code] }`,
			`[true,"tool_error"]`,
		},
		{
			"M3 M5 inputs are checked before the server is asked",
			`const refused = [];
			for (const ask of [
				() => MCP.everything.resources.read({}), () => MCP.everything.resources.list({ cursor: "2" }),
				() => MCP.everything.prompts.get({ name: "args-prompt", arguments: { city: 1 } }),
			]) await ask().catch((error) => refused.push([error.code, error.effectStatus]));
			return refused`,
			`[["input_contract","not_started"],["input_contract","not_started"],["input_contract","not_started"]]`,
		},
		{
			"M3 a server without them has none, and $api says what there is",
			`const { header, note } = MCP.everything.$api();
			return [typeof MCP.files.resources, typeof MCP.files.prompts, header.includes("readonly resources: {"), header.includes("readonly prompts: {"),
				note.includes("prompts.get({ name, arguments? })"), MCP.files.$api().header.includes("readonly resources")]`,
			`["undefined","undefined",true,true,true,false]`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, code := execute(t, c.source, "--config", file)
			if got.Status != "completed" || code != 0 || string(got.Value) != c.want {
				t.Errorf("exit code %d, %s %s %s\nwant value %s", code, got.Status, got.Error, got.Value, c.want)
			}
		})
	}
}

// TestReal_M3_PolicyTakesResourcesAway denies them by the name that programs write.
func TestReal_M3_PolicyTakesResourcesAway(t *testing.T) {
	t.Parallel()
	file := writeJSON(t, filepath.Join(t.TempDir(), "codecell.json5"), map[string]any{
		"mcpServers": servers{"everything": stdio(t, everythingServer)},
		"tools":      map[string]any{"deny": []string{"everything.resources.*"}},
	})
	const want = `["undefined","object","function",false]`
	got, code := execute(t, `return [typeof MCP.everything.resources, typeof MCP.everything.prompts, typeof MCP.everything.echo,
		API.read("mcp/everything.d.ts").content.includes("readonly resources")]`, "--config", file)
	if code != 0 || string(got.Value) != want {
		t.Errorf("exit code %d, %s %s, want %s", code, got.Value, got.Error, want)
	}
}
