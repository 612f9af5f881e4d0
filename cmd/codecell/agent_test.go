package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/codecell/codecell/schemas"
)

const secretKey = "sk-test-3f9a7c1e5b2d8f6a4c0e"

// turnOf reads the one object of a turn.
func turnOf(t *testing.T, r result) (out struct {
	Text, Stop, Error string
	Turn              schemas.TurnEntry
}) {
	t.Helper()
	if err := json.Unmarshal([]byte(r.out), &out); err != nil || strings.Count(r.out, "\n") != 1 {
		t.Fatalf("%v: %s\nstderr: %s", err, r.out, r.err)
	}
	return out
}

// withTools is a configuration with tools, without which there is nothing for programs to do.
func withTools(t *testing.T, more string) string {
	t.Helper()
	return fmt.Sprintf(`{ workspace: { root: %q }, %s }`, t.TempDir(), more)
}

// sums answers with a program first, and then with what came of it.
func sums(_ int, q *question) words {
	if last := q.last(); strings.Contains(last, `"value":3`) {
		return words{text: "The sum is 3."}
	}
	a := execs("call_1", "Sum", "return 1 + 2")
	a.text = "Let me see."
	return a
}

// TestSpec_V4_Agent: a turn goes from the prompt to the answer, streaming and not. The words of the model are on standard
// output, and what happens besides on standard error; --json is one object with the counts (L5).
func TestSpec_V4_L5_Agent(t *testing.T) {
	m := newModel(t, sums)
	config := write(t, "codecell.json5", withTools(t, `models: { "openai/m": { price: { input: 10, cachedInput: 1, output: 100 } } }`))
	args := []string{"agent", "--config", config, "--provider-url", m.url, "--model", "m", "--mode", "code"}
	prompt := "How much is 1 + 2?"
	got := cli{env: map[string]string{"OPENAI_API_KEY": secretKey}}.do(t, append(args, prompt)...).want(t, exitCompleted)
	if got.out != "Let me see.\nThe sum is 3.\n" {
		t.Errorf("standard output: %q", got.out)
	}
	for _, text := range []string{
		"code: the model sees 2 tools", `→ exec "Sum"`, "← exec in ", "answered · ", "requests 2", "tokens in 200 (80 cached), out 20", "$0.0033",
	} {
		if !strings.Contains(got.err, text) {
			t.Errorf("%q isn't on standard error: %s", text, got.err)
		}
	}
	first := m.questions()[0]
	if first.key != "Bearer "+secretKey || !first.Stream || first.tools() != "exec wait" || first.last() != prompt || first.Model != "m" {
		t.Errorf("asked with tools %q, stream %v, %q", first.tools(), first.Stream, first.last())
	}
	if strings.Contains(got.out+got.err, secretKey) {
		t.Error("the key was printed")
	}
	for _, flags := range [][]string{{"--json"}, {"--json", "--no-stream"}} {
		got := cli{in: prompt}.do(t, append(append(args, flags...), "-")...).want(t, exitCompleted)
		out := turnOf(t, got)
		e := &out.Turn
		if out.Text != "The sum is 3." || out.Stop != "answered" || out.Error != "" || e.Mode != schemas.ModeCode || e.Tools != 2 || e.ToolBytes == 0 ||
			e.Requests != 2 || e.Model != "openai/m" || e.Usage.InputTokens != 200 || got.err != "" {
			t.Errorf("%v: %s %s", flags, got.out, got.err)
		}
	}
	all := m.questions()
	if last := all[len(all)-1]; last.Stream || last.key != "" {
		t.Errorf("stream %v, key %q", last.Stream, last.key)
	}
	got = cli{}.do(t, append(args, "--quiet", "--no-stream", prompt)...).want(t, exitCompleted)
	if !strings.HasSuffix(got.out, "The sum is 3.\n") || got.err != "" {
		t.Errorf("quiet: %q %q", got.out, got.err)
	}
	got = cli{}.do(t, append(args, "--no-tools", "--system", write(t, "system.txt", "Be brief."), prompt)...)
	all = m.questions()
	if last := all[len(all)-1]; last.tools() != "" || !strings.Contains(last.said(0), "Be brief.") {
		t.Errorf("without tools the model saw %q, instructions %s, and the turn printed %s", last.tools(), last.said(0), got.err)
	}
}

// TestSpec_V4_AgentStreams: the words are there before the model has ended, and Ctrl-C ends the turn while it is silent,
// with what it has said kept.
func TestSpec_V4_AgentStreams(t *testing.T) {
	goOn := make(chan struct{})
	m := newModel(t, func(n int, _ *question) words {
		if n == 2 {
			return words{text: "Never\nmind", hold: make(chan struct{})}
		}
		return words{text: "One\ntwo", hold: goOn}
	})
	config := stored(t)
	args := []string{"agent", "--config", config, "--session", "desk", "--provider-url", m.url, "--model", "m", "go"}
	turn := cli{}.start(t, args...)
	turn.line("One")
	close(goOn)
	turn.line("two")
	if code := turn.wait(); code != exitCompleted {
		t.Errorf("exit code %d: %s", code, turn.errs)
	}
	turn = cli{}.start(t, args...)
	turn.line("Never")
	if code := turn.stop(); code != exitInterrupted {
		t.Errorf("exit code %d: %s", code, turn.errs)
	}
	cli{}.do(t, "session", "show", "desk", "--config", config).
		want(t, exitCompleted, "assistant (cut): Never", "cancelled of openai/m", "error: the turn was stopped")
}

// TestSpec_V4_AgentProviderTrouble: what can be asked again is, and each end has its exit code and a clear error.
func TestSpec_V4_AgentProviderTrouble(t *testing.T) {
	for name, c := range map[string]struct {
		answer func(n int, q *question) words
		flags  []string
		code   int
		texts  []string
		asked  int // 0 for any
	}{
		"no key": {func(int, *question) words { return words{status: 401, text: "no such key"} }, nil, exitFailed,
			[]string{"no such key", "No key was sent", "OPENAI_API_KEY", "failed"}, 1},
		"busy for a moment": {func(n int, _ *question) words {
			if n == 1 {
				return words{status: 429, text: "too many \x1b[2J requests"}
			}
			return words{text: "Here."}
		}, nil, exitCompleted, []string{"again in ", "retry 1", "Here."}, 2},
		"broken": {func(int, *question) words { return words{status: 500, text: "oh no"} }, nil, exitFailed, []string{"oh no", "retry 1"}, 2},
		"drops": {func(n int, _ *question) words {
			if n == 1 {
				return words{text: "Half of ", drop: true}
			}
			return words{text: "All of it."}
		}, nil, exitCompleted, []string{"Half of \nAll of it.\n", "again in "}, 2},
		"never ends": {func(n int, _ *question) words { return execs(fmt.Sprint("c", n), "Again", fmt.Sprintf("return %d", n)) },
			[]string{"--max-requests", "3"}, exitFailed, []string{"limit", "requests 3"}, 3},
		"says nothing of its price": {func(int, *question) words { return words{text: "Here.", silent: true} }, nil, exitCompleted,
			[]string{"Here.", "requests 1, ", "what 1 answers took"}, 1},
		"hidden tool": {func(n int, q *question) words {
			if n == 1 {
				return words{calls: []toolCall{{"c1", "read\x1b[2J", `{`}}}
			}
			return words{text: "I can't."}
		}, nil, exitCompleted, []string{"failed", "I can't."}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newModel(t, c.answer)
			config := write(t, "codecell.json5", withTools(t, `provider: { maxRetries: 1 }, tools: { codeMode: true }`))
			args := append([]string{"agent", "--config", config, "--provider-url", m.url, "--model", "m"}, c.flags...)
			got := cli{}.do(t, append(args, "go")...).want(t, c.code, c.texts...)
			if n := len(m.questions()); c.asked > 0 && n != c.asked {
				t.Errorf("asked %d times, want %d", n, c.asked)
			}
			if strings.Contains(got.out+got.err, "\x1b") {
				t.Errorf("it steers the terminal: %q %q", got.out, got.err)
			}
		})
	}
}

// TestSpec_V4_AgentSteersNoTerminal: what a model says can't steer a terminal, and is as it was said for other readers.
func TestSpec_V4_AgentSteersNoTerminal(t *testing.T) {
	const evil = "a\x1b]0;x\x07b\u202ec\td\r\ne"
	m := newModel(t, func(int, *question) words { return words{text: evil} })
	args := []string{"agent", "--provider-url", m.url, "--model", "m", "go"}
	if got := (cli{}).do(t, args...).want(t, exitCompleted); got.out != evil+"\n" {
		t.Errorf("in a pipe: %q", got.out)
	}
	if got := (cli{shows: true}).do(t, args...).want(t, exitCompleted); got.out != "a\uFFFD]0;x\uFFFDb\uFFFDc\td\ne\n" {
		t.Errorf("on a terminal: %q", got.out)
	}
}

// TestSpec_V4_AgentSession: the second turn of a session knows the first, and what each came to is on record.
func TestSpec_V4_L5_AgentSession(t *testing.T) {
	m := newModel(t, func(n int, q *question) words {
		if n > 2 {
			return words{text: "As before."}
		}
		return sums(n, q)
	})
	config := write(t, "codecell.json5", withTools(t, fmt.Sprintf(`bus: { storeDir: %q }`, filepath.Join(t.TempDir(), "store"))))
	at := func(args ...string) result { return cli{}.do(t, append(args, "--config", config)...) }
	turn := []string{"agent", "--session", "desk", "--provider-url", m.url, "--model", "m", "--mode", "code"}
	at(append(turn, "How much is 1 + 2?")...).want(t, exitCompleted)
	at(append(turn, "And again?")...).want(t, exitCompleted, "As before.")
	all := m.questions()
	if got := all[len(all)-1].speech(); got != "user:How much is 1 + 2? assistant:exec() tool assistant:The sum is 3. user:And again?" {
		t.Errorf("the model was told %q", got)
	}
	shown := at("session", "show", "desk").want(t, exitCompleted,
		"user: How much is 1 + 2?", "assistant: Let me see.", "→ exec {", "tool exec: {", "assistant: The sum is 3.",
		"turn     answered of openai/m, by code", "saw 2 tools first, in ", "searches 0, describes 0, calls 0", "requests 2, tokens in 200 (80 cached), out 20")
	if strings.Contains(shown.out, "\x1b") {
		t.Errorf("%q", shown.out)
	}
	entries := entriesOf(t, at("session", "show", "desk", "--json"))
	// The host and the turn write independently of each other, each in its order; what was asked for comes before what it came to.
	hosts := slices.IndexFunc(entries, func(e schemas.SessionEntry) bool { return e.Kind == schemas.EntryExec })
	turns := strings.NewReplacer("exec ", "", "result ", "").Replace(kinds(entries) + " ")
	if runs := strings.NewReplacer("message ", "", "turn ", "").Replace(kinds(entries) + " "); runs != "exec result " || hosts < 2 ||
		turns != "message message message message turn message message turn " {
		t.Errorf("entries: %s", kinds(entries))
	}
	at("session", "recover", "desk").want(t, exitCompleted, "no program was interrupted")
	if n := strings.Count(at("session", "export", "desk").out, "\n"); n != len(entries) {
		t.Errorf("the export has %d lines", n)
	}
	// A session that isn't kept says so, and a turn without one leaves nothing.
	cli{}.do(t, append(turn, "--no-tools", "Hello?")...).want(t, exitCompleted, "ends with this process")
	at("agent", "--provider-url", m.url, "--model", "m", "Hello?").want(t, exitCompleted)
	if got := at("session", "ls", "--json").object(t)["sessions"].([]any); len(got) != 1 {
		t.Errorf("sessions: %v", got)
	}
}

// TestSpec_V4_S8_AgentInterrupted: Ctrl-C in the middle of a call ends the call, its program and the turn, in good order.
func TestSpec_V4_S8_AgentInterrupted(t *testing.T) {
	for _, where := range []string{"own host", "running host"} {
		t.Run(where, func(t *testing.T) {
			lab := newToolServer(t)
			m := newModel(t, func(int, *question) words { return execs("c1", "Hold", `return await MCP.lab.hold({ text: "x" })`) })
			dir := t.TempDir()
			config := write(t, "codecell.json5", fmt.Sprintf(`{ mcpServers: { lab: { url: %q } }, bus: { storeDir: %q } }`, lab.url, filepath.Join(dir, "store")))
			args := []string{"agent", "--json", "--config", config, "--session", "desk", "--provider-url", m.url, "--model", "m", "--mode", "code", "go"}
			var url string
			if where == "running host" {
				_, url = up(t, "--config", config)
				args = append(args, "--bus", url)
			}
			ctx, interrupt := context.WithCancel(soon(t))
			go func() {
				<-lab.held
				interrupt()
			}()
			out := turnOf(t, cli{}.with(t, ctx, args...).want(t, exitInterrupted))
			if out.Stop != schemas.StopCancelled || out.Turn.Requests != 1 {
				t.Errorf("%+v", out)
			}
			if url == "" {
				cli{}.do(t, "session", "show", "desk", "--config", config).want(t, exitCompleted, "cancelled of openai/m", "tool exec: ", "failed (aborted)")
				return // the process ends, and with it its connections to servers
			}
			if got := next(t, lab.stopped); got != "x" {
				t.Errorf("stopped %q", got)
			}
			idle(t, url)
			cli{}.until(t, prints("cancelled of openai/m", "tool exec: ", "failed (aborted)"), "session", "show", "desk", "--bus", url).want(t, exitCompleted)
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	cli{}.with(t, ctx, "agent", "--provider-url", "http://127.0.0.1:1", "--model", "m", "go").want(t, exitInterrupted, "interrupted")
}

// TestSpec_V4_AgentUsage: a command line that can't be meant is refused, before anything is asked.
func TestSpec_V4_AgentUsage(t *testing.T) {
	priced := write(t, "priced.json5", `{ turns: { maxCostUsd: 1 } }`)
	base := "agent --provider-url http://127.0.0.1:1/v1 --model m "
	for _, c := range []struct {
		args string
		want []string
	}{
		{"agent", []string{"PROMPT"}},
		{"agent go", []string{"--provider-url", "provider.url"}},
		{"agent --provider-url http://127.0.0.1:1 go", []string{"--model", "provider.model"}},
		{"agent --provider-url ftp://x --model m go", []string{"ftp"}},
		{base + "--mode fast go", []string{"--mode", `"fast"`}},
		{base + "--max-requests 0 go", []string{"--max-requests"}},
		{base + "--max-tokens -1 go", []string{"--max-tokens"}},
		{base + "--max-cost NaN go", []string{"--max-cost"}},
		{base + "--max-cost 1 go", []string{"price", "models"}},
		{base + "--config " + priced + " go", []string{"price", "models"}},
		{base + "--timeout 1ms go", []string{"--timeout"}},
		{base + "--system no-such.txt go", []string{"no-such.txt"}},
		{base + "--api-key-env NOBODY go", []string{"--api-key-env NOBODY"}},
		{base + "--agent nobody go", []string{"--agent nobody"}},
		{base + "--bus nats://127.0.0.1:1 go", []string{"nats://127.0.0.1:1"}},
		{base + "-", []string{"the prompt is empty"}},
	} {
		t.Run(c.args, func(t *testing.T) {
			t.Parallel()
			got := cli{in: " \n"}.do(t, strings.Fields(c.args)...).want(t, exitUsage, c.want...)
			if got.out != "" {
				t.Errorf("on standard output: %s", got.out)
			}
		})
	}
	cli{env: map[string]string{"CODECELL_DEBUG_SSE": "all"}}.do(t, strings.Fields(base+"go")...).want(t, exitUsage, "CODECELL_DEBUG_SSE")
	cli{}.do(t, append(strings.Fields(base), strings.Repeat("x", maxPrompt+1))...).want(t, exitUsage, "longer than")
	cli{}.do(t, "__complete", "agent", "--mode", "").want(t, exitCompleted, "auto", "code", "direct", "search")
}

// TestSpec_V4_B5_AgentKeepsItsKey: nothing that a turn prints or keeps has the key in it, whatever is asked to be shown.
func TestSpec_V4_B5_AgentKeepsItsKey(t *testing.T) {
	m := newModel(t, func(n int, q *question) words {
		if n == 1 {
			return words{status: 500, text: "key " + secretKey + " is unwell"}
		}
		return sums(n, q)
	})
	dir := t.TempDir()
	config := write(t, "codecell.json5", withTools(t, fmt.Sprintf(`bus: { storeDir: %q }, provider: { url: %q, model: "m", apiKeyEnv: "KEY" }`, dir, m.url)))
	env := map[string]string{
		"KEY": secretKey, "CODECELL_DEBUG_CODE_MODE": "1", "CODECELL_DEBUG_MODEL_TRANSPORT": "1",
		"CODECELL_DEBUG_MODEL_PAYLOAD": "full-redacted", "CODECELL_DEBUG_SSE": "peek",
	}
	got := cli{env: env}.do(t, "agent", "--verbose", "--config", config, "--session", "desk", "--mode", "code",
		"How much is 1 + 2? My words are not secret.").want(t, exitCompleted, "The sum is 3.")
	if !strings.Contains(got.err, "not secret") || strings.Contains(got.out+got.err, secretKey) {
		t.Errorf("printed: %s", got.err)
	}
	if m.questions()[0].key != "Bearer "+secretKey {
		t.Error("the key wasn't sent")
	}
	_ = filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			if b, _ := os.ReadFile(path); strings.Contains(string(b), secretKey) {
				t.Errorf("the key is in %s", filepath.Base(path))
			}
		}
		return nil
	})
}
