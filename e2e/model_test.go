package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/codecell/codecell/e2e/provider/chat"
	"github.com/codecell/codecell/e2e/provider/script"
)

// model is a scripted provider, a process of its own.
type model struct {
	*process
	url, log string
}

// buildModel builds the provider once.
var buildModel = sync.OnceValues(func() (string, error) {
	path := filepath.Join(scratch, "provider")
	cmd := exec.Command("go", "build", "-o", path, "./provider")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return path, nil
})

// startModel starts a provider that plays these steps. A request that isn't as its step expects, or that no step is for,
// fails the test.
func startModel(t *testing.T, steps ...script.Step) *model {
	t.Helper()
	return startLockedModel(t, "", steps...)
}

// startLockedModel is startModel, and requests must have the key, if there is one.
func startLockedModel(t *testing.T, key string, steps ...script.Step) *model {
	t.Helper()
	path, err := buildModel()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	m := &model{log: filepath.Join(dir, "log")}
	m.process = start(t, command{path: path, args: []string{
		"-script", writeJSON(t, filepath.Join(dir, "script.json"), script.Script{Steps: steps}), "-log", m.log, "-key", key,
	}})
	m.url = m.line("http://")
	t.Cleanup(func() {
		for _, r := range m.records(t) {
			for _, problem := range r.Problems {
				t.Errorf("request %d of the model: %s", r.Request, problem)
			}
		}
	})
	return m
}

// records is the log.
func (m *model) records(t *testing.T) (all []chat.Record) {
	t.Helper()
	text, err := os.ReadFile(m.log)
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(text) {
		var r chat.Record
		if !bytes.HasSuffix(line, []byte("\n")) {
			break // it is being written
		}
		if err := json.Unmarshal(line, &r); err != nil {
			t.Fatal(err)
		}
		all = append(all, r)
	}
	return all
}

// requests are the records of requests as they came.
func (m *model) requests(t *testing.T) (all []chat.Record) {
	t.Helper()
	for _, r := range m.records(t) {
		if !r.Ended {
			all = append(all, r)
		}
	}
	return all
}

// awaitRequests waits until the model has been asked so often.
func (m *model) awaitRequests(t *testing.T, n int) {
	t.Helper()
	if !eventually(patience, func() bool { return len(m.requests(t)) >= n }) {
		t.Fatalf("the model was asked %d times, want %d", len(m.requests(t)), n)
	}
}

// calls is a step in which the model calls one tool.
func calls(name string, args map[string]any, expect script.Expect) script.Step {
	return script.Step{Expect: expect, Calls: []script.Call{{Name: name, Args: args}}}
}

// says is a step in which the model answers.
func says(text string, last ...string) script.Step {
	return script.Step{Expect: script.Expect{Last: last}, Text: text}
}

// programOf is a call of exec.
func programOf(source string) map[string]any { return map[string]any{"title": "Look", "code": source} }

// turnResult is what `codecell agent --json` prints. It is spelled out, so that a change of it is noticed.
type turnResult struct {
	Text, Stop, Error string
	Turn              turnCounts
}

// turnCounts is what a turn has come to (L5).
type turnCounts struct {
	Run, Host, Token, Model, Mode, Search, Stop, Error string
	Tools, ToolBytes, PromptBytes, CatalogSize         int
	Sources                                            struct{ Openclaw, MCP, Client int }
	Requests, RequestBytes, Retries                    int
	Usage                                              struct{ InputTokens, CachedTokens, OutputTokens int }
	CostUSD                                            float64
	Totals                                             struct {
		Searches, Describes, Calls int
		Called                     []struct {
			ID, Source string
			Count      int
		}
	}
}

// called gives the tools that were called, each as "id ×count".
func (c *turnCounts) called() string {
	var all []string
	for _, tool := range c.Totals.Called {
		all = append(all, fmt.Sprintf("%s ×%d", tool.ID, tool.Count))
	}
	return strings.Join(all, ", ")
}

// agentCommand is a turn on a host.
func agentCommand(t *testing.T, host hostProcess, m *model, prompt string, flags ...string) command {
	t.Helper()
	args := append([]string{"agent", "--json", "--bus", host.url, "--provider-url", m.url, "--provider", "e2e", "--model", "scripted"}, flags...)
	return codecell(t, append(args, prompt)...)
}

// takeTurn takes a turn to its end.
func takeTurn(t *testing.T, host hostProcess, m *model, prompt string, flags ...string) (turnResult, int) {
	t.Helper()
	got := do(t, agentCommand(t, host, m, prompt, flags...), "")
	if n := strings.Count(got.stdout, "\n"); n != 1 {
		t.Fatalf("agent --json printed %d lines, want one JSON object:\n%s\nexit code %d, stderr: %s", n, got.stdout, got.code, got.stderr)
	}
	return decode[turnResult](t, got.stdout), got.code
}

// answered fails the test for a turn that didn't answer this.
func answered(t *testing.T, got turnResult, code int, text string) {
	t.Helper()
	if code != 0 || got.Stop != "answered" || got.Text != text {
		t.Errorf("exit code %d, %s, %q, error %q; want %q", code, got.Stop, got.Text, got.Error, text)
	}
}
