package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/codecell/codecell/actors/host"
	"github.com/codecell/codecell/bus"
	"github.com/codecell/codecell/schemas"
)

// TestReal_DocsPrograms runs each program of the documents over the data of examples and two public servers, and holds it
// to what its last lines say of it:
//
//	// value: 3              what it returns, as compact JSON
//	// output: half way      a text or a JSON value that it emits; all of them, in order
//	// failed: timeout       the code of its failure
func TestReal_DocsPrograms(t *testing.T) {
	t.Parallel()
	node, withNodes, withAgents := docsNode(t, nil, ""), docsNode(t, pairForDocs, ""), docsNode(t, nil, startModel(t, docsAgents...).url)
	var all strings.Builder
	for _, name := range documents(t) {
		for i, f := range fences(t, name, "js") {
			all.WriteString(f.text())
			t.Run(fmt.Sprintf("%s:%d", f.file, f.line), func(t *testing.T) {
				on := node
				switch text := f.text(); {
				case usesNodes.MatchString(text):
					on = withNodes
				case usesAgents.MatchString(text):
					on = withAgents
				}
				mode := schemas.Mode("")
				if usesToolSearch.MatchString(f.text()) {
					mode = schemas.ModeSearch
				}
				got := runToEnd(t, docsSession(t, on, fmt.Sprintf("%s-%d", filepath.Base(name), i), mode), f.text())
				want := said(&f)
				if len(want) == 0 && !slices.Contains(got, "failed: internal_error") {
					return
				}
				if !slices.Equal(got, want) {
					t.Errorf("it came to\n\t%s\nand says\n\t%s", strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
				}
			})
		}
	}
	t.Run("every global is shown", func(t *testing.T) {
		// What isn't ECMAScript's can't be assigned.
		got := runToEnd(t, docsSession(t, node, "globals", ""), `for (const name of Object.getOwnPropertyNames(globalThis)) {
			if (!Object.getOwnPropertyDescriptor(globalThis, name).writable) text(name);
		}`)
		for _, line := range got {
			global, ok := strings.CutPrefix(line, "output: ")
			if !ok || slices.Contains([]string{"Infinity", "NaN", "undefined"}, global) {
				continue
			}
			if !strings.Contains(all.String(), global+"(") && !strings.Contains(all.String(), global+".") {
				t.Errorf("no program of the documents uses %s", global)
			}
		}
	})
}

// usesNodes and usesAgents tell which programs need globals that are there only where they are configured.
var (
	usesNodes  = regexp.MustCompile(`\bnodes\.(list|get)\(`)
	usesAgents = regexp.MustCompile(`\bagents\.run\(`)
	// usesToolSearch tells which programs are those of Tool Search.
	usesToolSearch = regexp.MustCompile(`\bopenclaw\.tools\b`)
)

// docsNode starts a host with what the documents' programs use. more, unless nil, adds to it; where there is a model, agents ask it.
func docsNode(t *testing.T, more func(*testing.T, *host.Node, string), model string) *host.Node {
	t.Helper()
	dir := t.TempDir()
	config, err := schemas.LoadConfig(docsConfig(t, dir))
	if err != nil {
		t.Fatal(err)
	}
	config.Nodes.Enabled = more != nil
	if model != "" {
		config.Provider.URL, config.Provider.Model = model, "gpt-5"
		config.Tools.Swarm = &schemas.SwarmConfig{Enabled: schemas.SwitchOn}
	}
	node, err := host.Up(t.Context(), host.NodeOptions{Config: config, CacheDir: filepath.Join(scratch, "cache"), Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := node.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := node.Ready(ctx); err != nil || len(node.Problems()) > 0 {
		t.Fatalf("%v %v", err, node.Problems())
	}
	if more != nil {
		more(t, node, dir)
	}
	return node
}

// docsSession opens a run that is bound to a session of its own.
func docsSession(t *testing.T, node *host.Node, name string, mode schemas.Mode) *bus.Run {
	t.Helper()
	run, err := node.Client().Open(t.Context(), schemas.Open{Bind: true, Mode: mode, Identity: schemas.Identity{
		Agent: schemas.DefaultAgent, SessionID: name, SessionKey: name, Run: name,
	}})
	if err != nil {
		t.Fatal(err)
	}
	return run
}

// docsConfig writes codecell.json5 and its data into a folder, and returns its path.
func docsConfig(t *testing.T, dir string) string {
	t.Helper()
	data := filepath.Join(dir, "data")
	if err := os.CopyFS(data, os.DirFS(filepath.Join("..", "examples", "data"))); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(filepath.Join(dir, "skills"), os.DirFS(filepath.Join("..", "examples", "skills"))); err != nil {
		t.Fatal(err)
	}
	return writeJSON(t, filepath.Join(dir, "codecell.json5"), map[string]any{
		"mcpServers": servers{
			"files":      stdio(t, filesystemServer, data),
			"everything": stdio(t, everythingServer),
		},
		"workspace": map[string]any{"root": "data"},
		"skills":    map[string]any{"folders": []string{"skills"}, "search": true},
	})
}

// runToEnd runs a program, waits for it as often as it says waiting, and returns what it came to in the words of [said].
func runToEnd(t *testing.T, session *bus.Run, source string) (came []string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for result, err := beginProgram(ctx, t, session, source); ; result, err = session.Wait(ctx, result.RunID) {
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range result.Output {
			if o.Type == "json" {
				o.Text = string(o.Value)
			}
			came = append(came, strings.Split("output: "+o.Text, "\n")...)
		}
		switch result.Status {
		case schemas.StatusWaiting:
			if result.Reason == schemas.ReasonYield {
				came = append(came, "waiting: yield")
			}
		case schemas.StatusCompleted:
			return append(came, "value: "+string(result.Value))
		default:
			return append(append(came, "failed: "+string(result.Code)), strings.Split(result.Error, "\n")...)
		}
	}
}

// beginProgram runs a program in the way of its run's mode.
func beginProgram(ctx context.Context, t *testing.T, session *bus.Run, source string) (*schemas.Result, error) {
	t.Helper()
	if session.Surface.Search != schemas.ToolSearchCode {
		return session.Do(ctx, "A program of the documents", source)
	}
	input, err := json.Marshal(map[string]string{"code": source})
	if err != nil {
		t.Fatal(err)
	}
	return session.Exec(ctx, schemas.Exec{CallID: "program", Input: input})
}

// said returns what the comment at the end of a program says of it.
func said(f *fence) (lines []string) {
	at := len(f.lines)
	for at > 0 && strings.HasPrefix(f.lines[at-1], "// ") {
		at--
	}
	for _, line := range f.lines[at:] {
		lines = append(lines, strings.TrimPrefix(line, "// "))
	}
	return lines
}
