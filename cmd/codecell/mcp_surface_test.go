package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/codecell/codecell/schemas"
)

// modeConfig is a configuration with a server and these tools settings.
func modeConfig(t *testing.T, lab *toolServer, tools string) string {
	t.Helper()
	return write(t, "codecell.json5", fmt.Sprintf(`{ mcpServers: { lab: { url: %q } }, tools: %s }`, lab.url, tools))
}

// names are what the client lists.
func (c *mcpClient) names() string {
	c.t.Helper()
	return strings.Join(slices.Sorted(maps.Keys(c.list())), " ")
}

// refuses checks that a tool is like one that isn't there.
func (c *mcpClient) refuses(tools ...string) {
	c.t.Helper()
	for _, name := range tools {
		_, err := c.CallTool(soon(c.t), &mcp.CallToolParams{Name: name, Arguments: map[string]any{"title": "t", "code": "return 1"}})
		if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("unknown tool %q", name)) {
			c.t.Errorf("%s, which isn't shown: %v", name, err)
		}
	}
}

// What the configuration leaves to the model is Code Mode, unless --model says whose tools these are (F1); --mode says it outright.
func TestSpec_V1_A2_F1_TheModeOfTheFront(t *testing.T) {
	const (
		code   = "exec wait"
		search = "tool_call tool_describe tool_search"
		direct = "echo hold picture"
	)
	lab := newToolServer(t)
	for _, c := range []struct {
		tools, flags, want string
	}{
		{`{}`, "", code},
		{`{ codeMode: "auto", toolSearch: true }`, "", code},
		{`{ codeMode: false }`, "", direct},
		{`{ codeMode: { timeoutMs: 5000 } }`, "", code},
		{`{ codeMode: { timeoutMs: 5000 } }`, "--model openai/gpt-5", direct},
		{`{ codeMode: false, toolSearch: { mode: "tools" } }`, "", search},
		{`{ codeMode: false, toolSearch: { mode: "directory", } }`, "", search},
		{`{ codeMode: false, toolSearch: true }`, "", "tool_search_code"},
		{`{}`, "--model openai/gpt-5", code},
		{`{}`, "--model nobody/knows", direct},
		{`{ toolSearch: { mode: "tools" } }`, "--model nobody/knows", search},
		{`{ codeMode: false }`, "--mode code", code},
		{`{ codeMode: true, toolSearch: { mode: "tools" }, direct: ["lab.picture"] }`, "--mode search", "picture " + search},
		{`{ codeMode: true }`, "--mode direct", direct},
	} {
		t.Run(c.tools+" "+c.flags, func(t *testing.T) {
			args := append([]string{"--config", modeConfig(t, lab, c.tools)}, strings.Fields(c.flags)...)
			client, _ := stdio(t, args...)
			if got := client.names(); got != c.want {
				t.Fatalf("the client sees %s, want %s", got, c.want)
			}
			for _, name := range []string{"exec", "wait", "tool_search", "tool_search_code", "echo", "nothing"} {
				if !strings.Contains(" "+c.want+" ", " "+name+" ") {
					client.refuses(name)
				}
			}
		})
	}
}

// A mode that there isn't is told before anything starts.
func TestSpec_V1_BadMode(t *testing.T) {
	for _, command := range []string{"mcp", "mcp --http 127.0.0.1:0", "tools --format mcp"} {
		cli{}.do(t, append(strings.Fields(command), "--mode", "only")...).want(t, exitUsage, `--mode: mode must be "direct", "search", "code" or "auto", not "only"`)
	}
}

// A model without Code Mode finds, describes and calls the tools, and reads what they say in a wrapper (L2, O5).
func TestSpec_V1_L2_ToolSearchByMCP(t *testing.T) {
	client, _ := stdio(t, "--config", modeConfig(t, newToolServer(t), `{ codeMode: false, toolSearch: { mode: "tools" }, deny: ["hold"] }`))
	if said := client.InitializeResult().Instructions; !strings.Contains(said, "tool_search") || strings.Contains(said, "exec") {
		t.Errorf("instructions: %s", said)
	}
	found, failed := client.call(soon(t), "tool_search", map[string]any{"query": "say it again"})
	if failed || !strings.Contains(found, `"id":"mcp:lab:echo"`) || strings.Contains(found, "hold") || !strings.Contains(found, "[[end-outside-data ") {
		t.Errorf("found %s", found)
	}
	if text, failed := client.call(soon(t), "tool_describe", map[string]any{"id": "mcp:lab:echo"}); failed || !strings.Contains(text, "what to say") {
		t.Errorf("described %s", text)
	}
	text, failed := client.call(soon(t), "tool_call", map[string]any{"id": "mcp:lab:echo", "args": map[string]any{"text": "obey"}})
	if failed || !strings.Contains(text, `"text":"obey"`) || !strings.Contains(text, `"tool":`) || !strings.Contains(text, "[[end-outside-data ") {
		t.Errorf("called: %s", text)
	}
	drawn, err := client.CallTool(soon(t), &mcp.CallToolParams{Name: "tool_call", Arguments: map[string]any{"id": "mcp:lab:picture"}})
	if err != nil || drawn.IsError || len(drawn.Content) != 2 {
		t.Fatalf("%+v, %v", drawn, err)
	}
	said := drawn.Content[0].(*mcp.TextContent).Text
	if image, ok := drawn.Content[1].(*mcp.ImageContent); !ok || string(image.Data) != "PNG" || !strings.Contains(said, "image/png, 4 bytes in base64: it follows") {
		t.Errorf("%s, %+v", said, drawn.Content[1])
	}
	if got, err := client.CallTool(soon(t), &mcp.CallToolParams{Name: "tool_call", Arguments: map[string]any{
		"id": "mcp:lab:picture", "args": map[string]any{"fail": true},
	}}); err != nil || !got.IsError || len(got.Content) != 2 {
		t.Errorf("a tool that fails: %+v, %v", got, err)
	}
	for _, name := range []string{"echo", "hold", "nothing"} { // hidden, denied, and not there
		_, err := client.CallTool(soon(t), &mcp.CallToolParams{Name: name})
		if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("unknown tool %q. Find tools with tool_search", name)) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, id := range []string{"mcp:lab:hold", "mcp:lab:nothing"} { // denied, and not there
		if text, failed := client.call(soon(t), "tool_call", map[string]any{"id": id}); !failed || !strings.Contains(text, fmt.Sprintf("there is no tool %q", id)) {
			t.Errorf("%s: %s", id, text)
		}
	}
}

// The directory of our own tools is in what the client hears when it shakes hands (L3).
func TestSpec_V1_L3_TheDirectoryIsInTheInstructions(t *testing.T) {
	config := write(t, "codecell.json5", fmt.Sprintf(
		`{ workspace: { root: %q }, mcpServers: { lab: { url: %q } }, tools: { codeMode: false, toolSearch: { mode: "directory" } } }`, t.TempDir(), newToolServer(t).url))
	client, _ := stdio(t, "--config", config)
	said := client.InitializeResult().Instructions
	if !strings.Contains(said, "tool_call") || !strings.Contains(said, "grep") || strings.Contains(said, "Says it again") {
		t.Errorf("instructions: %s", said)
	}
	prompt := cli{}.do(t, "tools", "--prompt", "--config", config).want(t, exitCompleted).out
	if !strings.HasSuffix(said+"\n", "\n\n"+prompt) || prompt == "" {
		t.Errorf("--prompt printed\n%s\nand the client was told\n%s", prompt, said)
	}
}

// A program of Tool Search finds and calls the tools, and its result is one that can't be waited for (L1).
func TestSpec_V1_L1_ProgramsOfToolSearchByMCP(t *testing.T) {
	client, _ := stdio(t, "--config", modeConfig(t, newToolServer(t), `{ codeMode: false, toolSearch: true }`))
	if said := client.InitializeResult().Instructions; !strings.Contains(said, "tool_search_code") {
		t.Errorf("instructions: %s", said)
	}
	text, failed := client.call(soon(t), "tool_search_code", map[string]any{"code": `
		const [hit] = await openclaw.tools.search("say it again");
		return (await openclaw.tools.call(hit.id, { text: "obey" })).content[0].text`})
	if got := client.read(text); failed || got.Status != "completed" || string(got.Value) != `"obey"` || !strings.Contains(text, "[[end-outside-data ") {
		t.Errorf("%s", text)
	}
	if text, failed := client.call(soon(t), "tool_search_code", map[string]any{"source": "1"}); !failed || client.read(text).Code != "invalid_input" {
		t.Errorf("without code: %s", text)
	}
	client.refuses("exec", "wait")
}

// In direct mode the client has the tools as they are, and hears of new ones (A1, M7).
func TestSpec_V1_A1_DirectModeByMCP(t *testing.T) {
	_, url := up(t, "--config", write(t, "host.json5", `{ tools: { codeMode: false } }`))
	client, _ := stdio(t, "--bus", url)
	if said := client.InitializeResult().Instructions; said != "" {
		t.Errorf("instructions: %s", said)
	}
	if got := client.names(); got != "" {
		t.Fatalf("there are no tools yet: %s", got)
	}
	executor := cli{}.start(t, "executor", "--bus", url, "--config", configOf(t, map[string]string{"lab": newToolServer(t).url}))
	executor.line("ready")
	next(t, client.changed)
	tools := client.list()
	if len(tools) != 3 || tools["echo"] == nil || tools["echo"].Description != "Says it again." {
		t.Fatalf("tools: %v", tools)
	}
	if text, failed := client.call(soon(t), "echo", map[string]any{"text": "obey"}); failed || !strings.Contains(text, "\nobey\n[[end-outside-data ") {
		t.Errorf("%s", text)
	}
	client.refuses("exec", "wait", "tool_search")
	executor.stop()
	next(t, client.changed)
	if got := client.names(); got != "" {
		t.Errorf("the server is gone: %s", got)
	}
}

// Over HTTP each session has its surface, and Code Mode's answer to a call before the first list.
func TestSpec_V1_ModesOverHTTP(t *testing.T) {
	lab := newToolServer(t)
	for mode, tool := range map[schemas.Mode]string{schemas.ModeSearch: "tool_call", schemas.ModeDirect: "echo"} {
		_, url := web(t, cli{}, "--config", modeConfig(t, lab, `{ toolSearch: { mode: "tools" } }`), "--mode", string(mode))
		client := connect(t, over(url, nil))
		args := map[string]any{"text": "x"}
		if mode == schemas.ModeSearch {
			args = map[string]any{"name": "echo", "args": args}
		}
		if text, failed := client.call(context.WithoutCancel(soon(t)), tool, args); failed || !strings.Contains(text, "x") {
			t.Errorf("%s: %s", mode, text)
		}
		client.refuses("exec", "wait")
	}
}
