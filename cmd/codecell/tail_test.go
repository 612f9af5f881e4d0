package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/codecell/codecell/bus"
	"github.com/codecell/codecell/schemas"
)

// TestSpec_U4_Tail: the facts of a program's life in words and in JSON, each with what it is about.
func TestSpec_U4_Tail(t *testing.T) {
	server := newToolServer(t)
	_, url := up(t, "--config", configOf(t, map[string]string{"lab": server.url}))
	words := cli{}.start(t, "tail", "--bus", url)
	lines := cli{}.start(t, "tail", "--bus", url, "--json")
	words.errs.await(t, "listening")
	lines.errs.await(t, "listening")
	id := runID(t, cli{}.do(t, "exec", "--bus", url, "--title", "A \x1b[31mred title", program(t, `await MCP.lab.echo({ text: "secret" }); await yield_control(); return 1`)))
	cli{}.do(t, "wait", "--bus", url, id).want(t, exitCompleted)

	kinds := []string{"run.opened", "cell.started", "slot.taken", "call.sent", "call.started", "call.ended", "cell.parked", "cell.resumed", "cell.ended", "slot.freed", "run.closed"}
	// Hosts and executors tell theirs independently, so that any may come last.
	seen := map[string]bool{}
	all := func() bool {
		return !slices.ContainsFunc(kinds, func(kind string) bool { return !seen[kind] })
	}
	var human []string
	for !all() {
		line := words.line("")
		fields := strings.Fields(line)
		if len(fields) < 3 || strings.Contains(line, "secret") || strings.Contains(line, "\x1b") {
			t.Errorf("a line says too little or too much: %q", line)
			break
		}
		seen[fields[1]] = true
		human = append(human, line)
	}
	if ended := line(human, "cell.ended"); !strings.Contains(ended, id[11:17]) || !strings.Contains(ended, "completed after ") || !strings.Contains(ended, "1 calls") {
		t.Errorf("%s", ended)
	}

	seen = map[string]bool{}
	for !all() {
		var event struct {
			Kind string
			Fact map[string]any
		}
		text := lines.line("")
		if err := json.Unmarshal([]byte(text), &event); err != nil || event.Kind == "" || event.Fact["at"] == nil {
			t.Fatalf("%v: %s", err, text)
		}
		seen[event.Kind] = true
	}
	if code := words.stop(); code != exitCompleted {
		t.Errorf("exit code %d", code)
	}
}

// line finds a line by a word in it.
func line(lines []string, word string) string {
	return lines[slices.IndexFunc(lines, func(l string) bool { return strings.Contains(l, word) })]
}

func TestTail_Filters(t *testing.T) {
	for args, want := range map[string]string{
		"":                     "",
		"cell":                 "codecell.v1.feed.cell.>",
		"cell.ended":           "codecell.v1.feed.cell.ended.>",
		"cell cell.ended":      "codecell.v1.feed.cell.>",
		"cell.ended cell cell": "codecell.v1.feed.cell.>",
		"call.sent call.ended": "codecell.v1.feed.call.sent.> codecell.v1.feed.call.ended.>",
	} {
		got, err := feedFilters(strings.Fields(args))
		if err != nil || strings.Join(got, " ") != want {
			t.Errorf("%q: %q, %v, want %q", args, got, err, want)
		}
	}
	for _, arg := range []string{"nonsense", "cell.nonsense", "cell.ended.x", ">", "*", "cell."} {
		if got, err := feedFilters([]string{arg}); err == nil {
			t.Errorf("%q: %q", arg, got)
		}
	}
}

// TestTail_KnowsEveryFact: no kind of fact is shown as a Go value.
func TestTail_KnowsEveryFact(t *testing.T) {
	for _, row := range bus.Rows() {
		if !strings.HasPrefix(row.Verb, "feed.") {
			continue
		}
		fact := row.New()
		if _, words := factText(fact); words == fmt.Sprintf("%+v", fact) {
			t.Errorf("%s has no words", row.Verb)
		}
	}
}

// TestSpec_U4_L5_TailTellsTurns: a turn's facts say what the model saw, how its requests went, and what it came to, when
// it happened and without a word of what was said.
func TestSpec_U4_L5_TailTellsTurns(t *testing.T) {
	_, url := up(t, "--config", write(t, "codecell.json5", withTools(t, "")))
	m := newModel(t, func(n int, q *question) words {
		if n == 1 {
			return words{status: 503, text: "secret"}
		}
		return sums(n, q)
	})
	words := cli{}.start(t, "tail", "--bus", url, "turn")
	lines := cli{}.start(t, "tail", "--bus", url, "--json", "turn")
	words.errs.await(t, "listening")
	lines.errs.await(t, "listening")
	cli{}.do(t, "agent", "--bus", url, "--provider-url", m.url, "--model", "m", "--mode", "code", "A secret?").want(t, exitCompleted)
	var told strings.Builder
	for line := ""; !strings.Contains(line, "turn.ended"); {
		line = words.line("turn.")
		fmt.Fprintln(&told, line)
	}
	for _, want := range []string{
		"openai/m by code: 2 tools shown of 4", "request 1: ", "status 503 in ", ", failed", ", try 2, 100 tokens in, 10 out, 1 calls", "request 2: ",
		" answered after ", "3 requests, 0 calls, 220 tokens",
	} {
		if !strings.Contains(told.String(), want) || strings.Contains(told.String(), "secret") {
			t.Errorf("no %q, or too much, in\n%s", want, &told)
		}
	}
	var event struct {
		Kind string
		Fact struct{ At int64 }
	}
	for event.Kind != "turn.ended" {
		if err := json.Unmarshal([]byte(lines.line("turn.")), &event); err != nil {
			t.Fatal(err)
		}
		if ago := time.Since(time.Unix(0, event.Fact.At)); ago < 0 || ago > patience {
			t.Errorf("%s was told of %v ago", event.Kind, ago)
		}
	}
	if words := notedText(&schemas.CellNoted{Phase: "look\n", Text: " a\n b "}); words != `"look\n" a b` {
		t.Error(words)
	}
	if words := notedText(&schemas.CellNoted{Phase: "look"}); words != `begins "look"` {
		t.Error(words)
	}
}
