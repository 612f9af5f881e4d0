package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestReal_A2_DirectToolsAreNative asks a server itself, and the same through codecell: schemas are the same to the byte,
// and results are but for the wrapper around texts.
func TestReal_A2_DirectToolsAreNative(t *testing.T) {
	t.Parallel()
	itself := shakeHands(t, suite(t))
	through := shakeHands(t, codecell(t, "mcp", "--config", suiteConfig(t)))

	// Before any list: clients that know the tools already needn't ask.
	results, err := suiteTools()
	if err != nil {
		t.Fatal(err)
	}
	for name := range results {
		call := map[string]any{"name": name, "arguments": map[string]any{}}
		want := decode[nativeResult](t, string(itself.ask("tools/call", call)))
		got := decode[nativeResult](t, string(through.ask("tools/call", call)))
		for _, block := range got.Content {
			if text, ok := block["text"].(string); ok && block["type"] == "text" {
				inside := outsideData.FindStringSubmatch(text)
				if inside == nil {
					t.Errorf("%s: a server's text isn't wrapped: %s", name, text)
					continue
				}
				block["text"] = inside[1]
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (- the server itself, + through codecell):\n%s", name, diff)
		}
	}

	want := decode[toolList](t, string(itself.ask("tools/list", map[string]any{}))).schemas()
	got := decode[toolList](t, string(through.ask("tools/list", map[string]any{}))).schemas()
	if want["json_schema_2020_12_tool"] != suiteSchema {
		t.Fatalf("the fixture itself doesn't say its schema as it is written: %s", want["json_schema_2020_12_tool"])
	}
	for _, name := range []string{"exec", "wait"} {
		if got[name] == "" {
			t.Errorf("%s isn't listed", name)
		}
		delete(got, name)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("schemas (- the server itself, + through codecell):\n%s", diff)
	}
}

// TestReal_A2_InspectorGetsTheImage: an image of a public server reaches a client that others wrote, beside a program of
// the same server's tools.
func TestReal_A2_InspectorGetsTheImage(t *testing.T) {
	t.Parallel()
	everything := stdio(t, everythingServer)
	client := newInspector(t, directConfig(t, servers{"everything": everything}, "everything.get-tiny-image"))

	var list toolList
	client.ask(t, &list, "--method", "tools/list")
	var names []string
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
	}
	slices.Sort(names)
	if !slices.Equal(names, []string{"exec", "get-tiny-image", "wait"}) {
		t.Fatalf("tools: %v", names)
	}

	var got struct {
		Content []struct {
			Type, MIMEType, Text string
			Data                 []byte
		}
		IsError bool
	}
	client.ask(t, &got, "--method", "tools/call", "--tool-name", "get-tiny-image", "--tool-args-json", "{}")
	if got.IsError || len(got.Content) != 3 || got.Content[1].Type != "image" || got.Content[1].MIMEType != "image/png" {
		t.Fatalf("get-tiny-image: %+v", got)
	}
	server := shakeHands(t, command{path: everything["command"].(string), args: everything["args"].([]string)})
	itself := decode[nativeResult](t, string(server.ask("tools/call", map[string]any{"name": "get-tiny-image", "arguments": map[string]any{}})))
	if original := decode[[]byte](t, fmt.Sprintf("%q", itself.Content[1]["data"])); !bytes.Equal(got.Content[1].Data, original) {
		t.Errorf("%d bytes arrived, the server sends %d others", len(got.Content[1].Data), len(original))
	}

	program := client.call(t, "exec", map[string]any{
		"title": "What programs see", "code": `return [typeof MCP.everything.getTinyImage, typeof MCP.everything.getSum]`,
	})
	if value := string(program.cell(t).Value); value != `["undefined","function"]` {
		t.Errorf("a direct tool is for the model alone, the others for programs: %s", program.text())
	}
}

// outsideData finds the text inside the envelope for untrusted content.
var outsideData = regexp.MustCompile(`(?s)^The text between the markers .*\n\[\[outside-data \S+\]\]\n(.*)\n\[\[end-outside-data \S+\]\]$`)

// nativeResult is an MCP tool's result with whatever its blocks have.
type nativeResult struct {
	Content           []map[string]any `json:"content"`
	StructuredContent json.RawMessage  `json:"structuredContent"`
	IsError           bool             `json:"isError"`
}

// toolList is the result of tools/list.
type toolList struct {
	Tools []struct {
		Name        string          `json:"name"`
		InputSchema json.RawMessage `json:"inputSchema"`
	} `json:"tools"`
}

// schemas returns the input schemas by tool, as they were sent.
func (l toolList) schemas() map[string]string {
	all := map[string]string{}
	for _, tool := range l.Tools {
		all[tool.Name] = string(tool.InputSchema)
	}
	return all
}

// wire is a connection to an MCP server over stdio that shows every byte of the answers, which SDKs don't.
type wire struct {
	*process
	asked int
}

func shakeHands(t *testing.T, server command) *wire {
	t.Helper()
	w := &wire{process: start(t, server)}
	w.ask("initialize", map[string]any{
		"protocolVersion": "2025-11-25", "capabilities": map[string]any{}, "clientInfo": map[string]any{"name": "wire", "version": "1"},
	})
	w.say(map[string]any{"jsonrpc": "2.0", "method": "notifications/initialized"})
	return w
}

// ask sends a request and returns its result.
func (w *wire) ask(method string, params any) json.RawMessage {
	w.t.Helper()
	w.asked++
	w.say(map[string]any{"jsonrpc": "2.0", "id": w.asked, "method": method, "params": params})
	for {
		line := w.line("{")
		answer := decode[struct {
			ID            int
			Method        string
			Result, Error json.RawMessage
		}](w.t, line)
		switch {
		case answer.Method != "" || answer.ID != w.asked: // a notification
		case answer.Result == nil:
			w.t.Fatalf("%s: %s", method, line)
		default:
			return answer.Result
		}
	}
}

func (w *wire) say(message any) {
	w.t.Helper()
	text, err := json.Marshal(message)
	if err != nil {
		w.t.Fatal(err)
	}
	if _, err := io.WriteString(w.stdin, string(text)+"\n"); err != nil {
		w.t.Fatal(err)
	}
}
