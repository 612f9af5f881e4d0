package e2e

import (
	"encoding/json"
	"strings"
	"testing"
)

// cellResult is a result as the CLI and models see it. It is spelled out here rather than taken from schemas, so that a
// change of the contract is noticed.
type cellResult struct {
	Status           string            `json:"status"`
	RunID            string            `json:"runId"`
	Reason           string            `json:"reason"`
	Value            json.RawMessage   `json:"value"`
	Error            string            `json:"error"`
	Code             string            `json:"code"`
	PendingToolCalls []json.RawMessage `json:"pendingToolCalls"`
	Output           []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	} `json:"output"`
	DryRun *struct {
		Calls []struct {
			ID          string          `json:"id"`
			Tool        string          `json:"tool"`
			Args        json.RawMessage `json:"args"`
			Placeholder bool            `json:"placeholder"`
		} `json:"calls"`
	} `json:"dryRun"`
}

// outputs joins the texts that the cell emitted.
func (r cellResult) outputs() string {
	var texts []string
	for _, item := range r.Output {
		texts = append(texts, item.Text)
	}
	return strings.Join(texts, "\n")
}

// unwrap returns the JSON object inside the envelope for untrusted content.
func unwrap(text string) string {
	from, to := strings.IndexByte(text, '{'), strings.LastIndexByte(text, '}')
	if from < 0 || to < from {
		return text
	}
	return text[from : to+1]
}

func decode[T any](t *testing.T, text string) T {
	t.Helper()
	var v T
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%v in %q", err, text)
	}
	return v
}

// contains reports whether the text contains all the parts.
func contains(text string, parts ...string) bool {
	for _, part := range parts {
		if !strings.Contains(text, part) {
			return false
		}
	}
	return true
}

// execute runs a program by `codecell exec --json` and returns its result and the exit code.
func execute(t *testing.T, source string, args ...string) (cellResult, int) {
	t.Helper()
	args = append([]string{"exec", "--json", "--title", t.Name()[max(0, len(t.Name())-120):]}, args...)
	got := do(t, codecell(t, append(args, program(t, source))...), "")
	if n := strings.Count(got.stdout, "\n"); n != 1 {
		t.Fatalf("exec --json printed %d lines, want one JSON object:\n%s\nstderr: %s", n, got.stdout, got.stderr)
	}
	return decode[cellResult](t, got.stdout), got.code
}
