package e2e

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"testing"
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

func newInspector(t *testing.T, config string) inspector {
	t.Helper()
	return inspector{t: t, servers: writeJSON(t, filepath.Join(t.TempDir(), "servers.json"), map[string]any{
		"mcpServers": map[string]any{
			"codecell": map[string]any{"command": binary(t), "args": []string{"mcp", "--config", config}},
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
