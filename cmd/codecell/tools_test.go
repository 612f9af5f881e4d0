package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// looker is a provider that keeps the tools of the last request, and a configuration with tools for it.
type looker struct {
	url, config string
	tools       atomic.Pointer[string]
}

func newLooker(t *testing.T, tools string) *looker {
	t.Helper()
	l := &looker{}
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var sent struct {
			Tools  json.RawMessage
			Stream bool
		}
		if err := json.NewDecoder(r.Body).Decode(&sent); err != nil {
			t.Error(err)
		}
		text := string(sent.Tools)
		l.tools.Store(&text)
		words{text: "Looked."}.write(w, r, sent.Stream)
	}))
	t.Cleanup(web.Close)
	l.url = web.URL + "/v1"
	l.config = write(t, "codecell.json5", fmt.Sprintf(`{
		workspace: { root: %q }, mcpServers: { lab: { url: %q } }, tools: %s, provider: { url: %q, model: "gpt-5" } }`, t.TempDir(), newToolServer(t).url, tools, l.url))
	return l
}

// modesOfTest are tools settings, and the flags with which a command asks for each mode.
var modesOfTest = []struct{ tools, flags string }{
	{`{}`, ""},
	{`{ direct: ["lab.picture"] }`, "--mode code"},
	{`{}`, "--mode direct"},
	{`{ toolSearch: { mode: "tools" }, direct: ["lab.picture"] }`, "--mode search"},
	{`{ codeMode: false, toolSearch: { mode: "directory" } }`, ""},
	{`{ codeMode: false, toolSearch: true }`, ""},
	{`{ codeMode: "auto" }`, "--model nobody/knows"},
}

// What --format prints is what a provider gets in a real turn, to the byte.
func TestSpec_V2_A7_FormatIsWhatTheProviderGets(t *testing.T) {
	for _, c := range modesOfTest {
		t.Run(c.tools+" "+c.flags, func(t *testing.T) {
			l := newLooker(t, c.tools)
			flags := append(strings.Fields(c.flags), "--config", l.config)
			cli{}.do(t, append([]string{"agent", "Look"}, flags...)...).want(t, exitCompleted, "Looked.")
			got := cli{}.do(t, append([]string{"tools", "--format", "openai"}, flags...)...).want(t, exitCompleted)
			if sent := *l.tools.Load() + "\n"; got.out != sent || len(sent) < 100 {
				t.Errorf("printed\n%s\nsent were\n%s", got.out, sent)
			}
			if asks := strings.Contains(got.err, "--prompt"); asks != strings.Contains(c.tools, "directory") {
				t.Errorf("told: %s", got.err)
			}
			var openai []struct {
				Function struct {
					Name, Description string
					Parameters        json.RawMessage
				}
			}
			var anthropic []struct {
				Name, Description string
				InputSchema       json.RawMessage `json:"input_schema"`
			}
			decodeInto(t, got.out, &openai)
			decodeInto(t, cli{}.do(t, append([]string{"tools", "--format", "anthropic"}, flags...)...).want(t, exitCompleted).out, &anthropic)
			if len(openai) != len(anthropic) {
				t.Fatalf("%d tools for one, %d for the other", len(openai), len(anthropic))
			}
			for i, a := range anthropic {
				if o := openai[i].Function; o.Name != a.Name || o.Description != a.Description || !bytes.Equal(o.Parameters, a.InputSchema) {
					t.Errorf("%+v and %+v", o, a)
				}
			}
		})
	}
}

// What --format mcp prints are the tools of what `codecell mcp` answers to tools/list, to the byte.
func TestSpec_V1_V2_FormatIsWhatMCPClientsList(t *testing.T) {
	for _, c := range modesOfTest {
		t.Run(c.tools+" "+c.flags, func(t *testing.T) {
			l := newLooker(t, c.tools)
			flags := append(strings.Fields(c.flags), "--config", l.config)
			got := cli{}.do(t, append([]string{"tools", "--format", "mcp"}, flags...)...).want(t, exitCompleted).out
			if diff := cmp.Diff(`{"tools":`+listedBy(t, flags...)+"}\n", got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// listedBy are the tools that tools/list answers on the wire.
func listedBy(t *testing.T, flags ...string) string {
	t.Helper()
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		a := &app{in: in, out: out, err: io.Discard, env: func(string) string { return "" }}
		a.run(context.WithoutCancel(t.Context()), append([]string{"mcp"}, flags...))
		_ = out.Close()
	}()
	lines := bufio.NewScanner(fromServer)
	lines.Buffer(nil, 1<<20)
	ask := func(id int, method, params string) json.RawMessage {
		fmt.Fprintf(toServer, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`+"\n", id, method, params)
		for lines.Scan() {
			var answer struct {
				ID     int
				Result json.RawMessage
			}
			if decodeInto(t, lines.Text(), &answer); answer.ID == id {
				return answer.Result
			}
		}
		t.Fatalf("%s got no answer", method)
		return nil
	}
	ask(1, "initialize", `{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"raw","version":"1"}}`)
	fmt.Fprintln(toServer, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	var list struct{ Tools json.RawMessage }
	decodeInto(t, string(ask(2, "tools/list", `{}`)), &list)
	_ = toServer.Close()
	go func() { _, _ = io.Copy(io.Discard, fromServer) }()
	next(t, ended)
	return string(list.Tools)
}

func TestCLI_ToolsFormats(t *testing.T) {
	config := write(t, "codecell.json5", `{ tools: { codeMode: true } }`)
	for line, want := range map[string]string{
		"--format yaml":       `--format must be one of text, openai, anthropic, mcp, not "yaml"`,
		"--mode search":       "give --format openai, anthropic or mcp, or --prompt, too",
		"--model openai/m":    "give --format",
		"--prompt --mode all": "--mode: mode must be",
	} {
		cli{}.do(t, append([]string{"tools", "--config", config}, strings.Fields(line)...)...).want(t, exitUsage, want)
	}
	for line, want := range map[string]string{ // without a single tool, a turn shows none, and a front what it has already
		"--format openai":    "[]\n",
		"--format anthropic": "[]\n",
		"--prompt":           "",
		"--prompt --json":    `{"prompt":""}` + "\n",
		"":                   "no tools: configure mcpServers or workspace.root\n",
	} {
		got := cli{}.do(t, append([]string{"tools", "--config", config}, strings.Fields(line)...)...).want(t, exitCompleted)
		if got.out != want {
			t.Errorf("%s printed %s", line, got.out)
		}
	}
	cli{}.do(t, "tools", "--config", config, "--format", "mcp").want(t, exitCompleted, `"name":"exec"`, `"name":"wait"`)
	cli{}.do(t, "__complete", "tools", "--format", "").want(t, exitCompleted, "openai", "anthropic", "mcp", "text")
}

func decodeInto(t *testing.T, text string, into any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), into); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
}
