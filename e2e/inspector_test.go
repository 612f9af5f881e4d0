package e2e

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// inspector is the MCP inspector's CLI with codecell as its server.
type inspector struct {
	t       *testing.T
	servers string // path of the file that tells it how to start codecell
}

// TestReal_V1_Inspector uses codecell mcp from a client that others wrote.
func TestReal_V1_Inspector(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	writeFile(t, filepath.Join(data, "hello.txt"), "hello from a file\n")
	client := newInspector(t, config(t, servers{"files": stdio(t, filesystemServer, data)}))

	t.Run("lists exactly exec and wait", func(t *testing.T) {
		var list struct {
			Tools []struct {
				Name, Description string
				InputSchema       struct{ Properties map[string]any }
			}
		}
		client.ask(t, &list, "--method", "tools/list")
		var names []string
		for _, tool := range list.Tools {
			names = append(names, tool.Name)
			if tool.Description == "" || len(tool.InputSchema.Properties) == 0 {
				t.Errorf("%s has no description or no input schema", tool.Name)
			}
		}
		slices.Sort(names)
		if !slices.Equal(names, []string{"exec", "wait"}) {
			t.Fatalf("tools: %v", names)
		}
	})

	t.Run("exec runs a program over the hidden servers", func(t *testing.T) {
		got := client.call(t, "exec", map[string]any{
			"title": "Read a file",
			"code":  `return (await MCP.files.readTextFile({ path: "hello.txt" })).structuredContent.content`,
		})
		if got.IsError || !contains(got.text(), `"status":"completed"`, `hello from a file`) {
			t.Fatalf("exec: %+v", got)
		}
	})

	t.Run("exec says waiting for a yield, and names the cell", func(t *testing.T) {
		got := client.call(t, "exec", map[string]any{"title": "Yield", "code": `await yield_control("later"); return 1`})
		if got.IsError || !contains(got.text(), `"status":"waiting"`, `"reason":"yield"`, `"runId":"`) {
			t.Fatalf("exec: %+v", got)
		}
	})

	t.Run("wait refuses a cell that it doesn't know", func(t *testing.T) {
		got := client.call(t, "wait", map[string]any{"runId": "aaaaaaaaaa-aaaaaaaaaaaaaaaaaaaaaaaaaa"})
		if cell := got.cell(t); !got.IsError || cell.Status != "failed" || cell.Code != "runtime_unavailable" {
			t.Fatalf("wait: %+v", got)
		}
	})

	t.Run("a bad title is said to be one", func(t *testing.T) {
		got := client.call(t, "exec", map[string]any{"title": " ", "code": "return 1"})
		if !got.IsError || !contains(got.text(), "title") {
			t.Fatalf("exec: %+v", got)
		}
	})
}

// inMode are a mode's tools before a client of others, and a call in it that records 7.
var inMode = map[string]struct {
	config map[string]any
	flags  []string
	tools  []string
	call   string
	args   map[string]any
}{
	"direct": {
		flags: []string{"--mode", "direct"}, tools: []string{"find", "grep", "ls", "read", "record"},
		call: "record", args: map[string]any{"n": 7},
	},
	"tools": {
		config: map[string]any{"codeMode": false, "toolSearch": map[string]any{"mode": "tools"}},
		tools:  []string{"tool_call", "tool_describe", "tool_search"},
		call:   "tool_call", args: map[string]any{"id": "mcp:fixture:record", "args": map[string]any{"n": 7}},
	},
	"directory": {
		config: map[string]any{"toolSearch": map[string]any{"mode": "directory"}, "direct": []string{"ls"}}, flags: []string{"--model", "nobody/knows"},
		tools: []string{"ls", "tool_call", "tool_describe", "tool_search"},
		call:  "tool_call", args: map[string]any{"name": "record", "args": map[string]any{"n": 7}},
	},
	"code of Tool Search": {
		flags: []string{"--mode", "search"}, tools: []string{"tool_search_code"},
		call: "tool_search_code", args: map[string]any{"code": `return (await openclaw.tools.call("mcp:fixture:record", { n: 7 })).content`},
	},
	"code": {
		config: map[string]any{"codeMode": true, "toolSearch": true}, tools: []string{"exec", "wait"},
		call: "exec", args: map[string]any{"title": "Record", "code": `return (await MCP.fixture.record({ n: 7 })).content`},
	},
}

// TestReal_V1_V2_InspectorInEachMode: a client that others wrote lists what `codecell tools --format mcp` prints, and reaches the
// same tool in each mode.
func TestReal_V1_V2_InspectorInEachMode(t *testing.T) {
	t.Parallel()
	for name, mode := range inMode {
		t.Run(name, func(t *testing.T) {
			fixture := newFixture(t)
			config := writeJSON(t, filepath.Join(t.TempDir(), "codecell.json5"), with(map[string]any{
				"mcpServers": servers{"fixture": fixture.server(t)}, "workspace": map[string]any{"root": t.TempDir()},
			}, map[string]any{"tools": with(map[string]any{}, mode.config)}))
			client := newInspector(t, config, mode.flags...)

			type toolsOf struct{ Tools []map[string]any }
			var listed toolsOf
			client.ask(t, &listed, "--method", "tools/list")
			var names []string
			for _, tool := range listed.Tools {
				names = append(names, fmt.Sprint(tool["name"]))
			}
			if slices.Sort(names); !slices.Equal(names, mode.tools) {
				t.Fatalf("tools: %v, want %v", names, mode.tools)
			}
			printed := do(t, codecell(t, append([]string{"tools", "--format", "mcp", "--config", config}, mode.flags...)...), "")
			if diff := cmp.Diff(decode[toolsOf](t, printed.stdout), listed); diff != "" {
				t.Errorf("tools (- printed, + listed):\n%s", diff)
			}

			got := client.call(t, mode.call, mode.args)
			if said := got.text(); got.IsError || !contains(said, `"text":"7"`) && !contains(said, "\n7\n") {
				t.Errorf("%s: %+v", mode.call, got)
			}
			if calls := fixture.calls(); len(calls) != 1 || calls[0].n != 7 {
				t.Errorf("it ran as %+v", calls)
			}
		})
	}
}

// newInspector is an inspector of `codecell mcp` with these flags.
func newInspector(t *testing.T, config string, flags ...string) inspector {
	t.Helper()
	return inspector{t: t, servers: writeJSON(t, filepath.Join(t.TempDir(), "servers.json"), map[string]any{
		"mcpServers": map[string]any{
			"codecell": map[string]any{"command": binary(t), "args": append([]string{"mcp", "--config", config}, flags...)},
		},
	})}
}

// ask runs one method in a session of its own and decodes its result.
func (c inspector) ask(t *testing.T, into any, args ...string) {
	t.Helper()
	args = append([]string{npm(t, inspectorClient), "--cli", "--quiet", "--format", "json",
		"--config", c.servers, "--server", "codecell"}, args...)
	got := do(t, command{path: node(t), args: args}, "")
	var envelope struct{ Result json.RawMessage }
	if err := json.Unmarshal([]byte(got.stdout), &envelope); err != nil || envelope.Result == nil {
		t.Fatalf("inspector exited with %d and printed no result: %v\nstdout: %s\nstderr: %s", got.code, err, got.stdout, got.stderr)
	}
	if err := json.Unmarshal(envelope.Result, into); err != nil {
		t.Fatal(err)
	}
}

// callResult is an MCP tool's result as the inspector prints it.
type callResult struct {
	Content []struct{ Type, Text string }
	IsError bool
}

func (c inspector) call(t *testing.T, tool string, args map[string]any) callResult {
	t.Helper()
	text, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	var got callResult
	c.ask(t, &got, "--method", "tools/call", "--tool-name", tool, "--tool-args-json", string(text))
	return got
}

// cell returns the result of exec or wait, out of the envelope that it has when it carries data from outside.
func (r callResult) cell(t *testing.T) cellResult {
	t.Helper()
	return decode[cellResult](t, unwrap(r.text()))
}

// text returns the first block, which is the one that models read.
func (r callResult) text() string {
	if len(r.Content) == 0 {
		return ""
	}
	return r.Content[0].Text
}
