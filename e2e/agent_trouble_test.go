package e2e

import (
	"net/http"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/codecell/codecell/e2e/provider/chat"
	"github.com/codecell/codecell/e2e/provider/script"
	"github.com/codecell/codecell/schemas"
)

// shop is a host with one plugin tool, which the model sees.
func shop(t *testing.T) (hostProcess, *plugin) {
	t.Helper()
	host := startHost(t, writeJSON(t, filepath.Join(t.TempDir(), "codecell.json5"), map[string]any{"tools": map[string]any{"codeMode": false}}))
	return host, servePlugin(t, host, "shop", schemas.Tool{
		Name: "order", Description: "Orders an item.", Parameters: schemas.JSON(`{"type":"object","required":["item"],"properties":{"item":{"type":"string"}}}`),
	})
}

// TestReal_V4_BadProviders: a request is sent again where nothing can have been done by it, so often and no oftener; where
// that isn't safe or doesn't help, the turn ends and says why. What ran, ran once, and is in the transcript.
func TestReal_V4_BadProviders(t *testing.T) {
	t.Parallel()
	host, shop := shop(t)
	settings := writeJSON(t, filepath.Join(t.TempDir(), "turns.json5"), map[string]any{})
	// A short patience for a provider that says nothing, and longer than others need on a busy machine.
	impatient := writeJSON(t, filepath.Join(t.TempDir(), "impatient.json5"), map[string]any{"provider": map[string]any{"silenceSeconds": 3}})
	trouble := func(kind chat.Trouble, after int) chat.Delivery {
		return chat.Delivery{Chunk: 2, Trouble: kind, After: after}
	}
	fail := func(status int) script.Step { return script.Step{Fail: &script.Failure{Status: status, Message: "no"}} }
	bolt := map[string]any{"item": "bolt"}
	const done, unknown = `^Done\.$`, `^Sorry\.$`
	for _, c := range []struct {
		name  string
		steps []script.Step
		flags []string
		// stop, text and why are how the turn ends; ran, asked and again count calls of the tool, requests and retries.
		stop, text, why   string
		ran, asked, again int
	}{
		{name: "a dropped stream", steps: []script.Step{{Text: "Half of it", Delivery: trouble(chat.Drop, 3)}, says("Done.")}, stop: "answered", text: done, asked: 2, again: 1},
		{name: "a dropped call", steps: []script.Step{
			{Calls: []script.Call{{Name: "order", Args: bolt}}, Delivery: trouble(chat.Drop, 4)}, calls("order", bolt, script.Expect{Messages: 1}), says("Done."),
		}, stop: "answered", text: done, ran: 1, asked: 3, again: 1},
		{name: "a dropped answer after a call", steps: []script.Step{
			calls("order", bolt, script.Expect{}), {Text: "Half of it", Delivery: trouble(chat.Drop, 3)}, says("Done.", "1200"),
		}, stop: "answered", text: done, ran: 1, asked: 3, again: 1},
		{name: "always dropped", steps: []script.Step{{Forever: true, Text: "Half of it", Delivery: trouble(chat.Drop, 3)}},
			stop: "failed", why: "asked 4 times", asked: 4, again: 3},
		{name: "always dropped after a call", steps: []script.Step{
			calls("order", bolt, script.Expect{}), {Forever: true, Text: "Half of it", Delivery: trouble(chat.Drop, 3)},
		}, stop: "failed", why: "asked 4 times", ran: 1, asked: 5, again: 3},
		{name: "an answer that is cut off", steps: []script.Step{{Delivery: trouble(chat.Drop, 0), Text: "Half of it"}, says("Done.")},
			flags: []string{"--no-stream"}, stop: "answered", text: done, asked: 2, again: 1},
		{name: "an answer that isn't JSON", steps: []script.Step{{Delivery: trouble(chat.Garbage, 0)}, says("Done.")},
			flags: []string{"--no-stream"}, stop: "answered", text: done, asked: 2, again: 1},
		{name: "a chunk that isn't JSON", steps: []script.Step{{Text: "Some of it", Delivery: trouble(chat.Garbage, 2)}, says("Done.")}, stop: "answered", text: done, asked: 2, again: 1},
		{name: "a stream without an end", steps: []script.Step{{Calls: []script.Call{{Name: "order", Args: bolt}}, Delivery: trouble(chat.Unfinished, 0)}, says("Done.")},
			stop: "answered", text: done, asked: 2, again: 1},
		{name: "a silent stream", steps: []script.Step{{Text: "Some of it", Delivery: trouble(chat.Stall, 2)}, says("Done.")}, flags: []string{"--config", impatient},
			stop: "answered", text: done, asked: 2, again: 1},
		{name: "too many requests", steps: []script.Step{{Fail: &script.Failure{Status: http.StatusTooManyRequests, RetryAfter: "1"}}, says("Done.")},
			stop: "answered", text: done, asked: 2, again: 1},
		{name: "a failing provider", steps: []script.Step{fail(500), fail(503), says("Done.")}, stop: "answered", text: done, asked: 3, again: 2},
		{name: "always failing", steps: []script.Step{{Forever: true, Fail: &script.Failure{Status: 500, Message: "out of order"}}}, stop: "failed", why: "500.*out of order.*asked 4 times", asked: 4, again: 3},
		{name: "a wrong key", steps: []script.Step{fail(401)}, stop: "failed", why: "401.*key", asked: 1},
		{name: "malformed arguments", steps: []script.Step{
			{Calls: []script.Call{{Name: "order", Raw: `{"item":`}}}, calls("order", bolt, script.Expect{Last: []string{`JSON`}}), says("Done.", "1200"),
		}, stop: "answered", text: done, ran: 1, asked: 3},
		{name: "arguments that don't fit", steps: []script.Step{
			calls("order", map[string]any{"itme": 7}, script.Expect{}), says("Sorry.", `item`),
		}, stop: "answered", text: unknown, asked: 2},
		{name: "an unknown tool", steps: []script.Step{calls("oder", bolt, script.Expect{}), says("Sorry.", `oder`, `order`)}, stop: "answered", text: unknown, asked: 2},
		{name: "a hidden tool", steps: []script.Step{calls("order", bolt, script.Expect{Tools: []string{"exec", "wait"}}), says("Sorry.", `order`)},
			flags: []string{"--mode", "code"}, stop: "answered", text: unknown, asked: 2},
		{name: "a wrong reason", steps: []script.Step{
			{Calls: []script.Call{{Name: "order", Args: bolt}}, Finish: "stop"}, {Text: "Half of it", Finish: "tool_calls"}, says("Done."),
		}, stop: "answered", text: done, ran: 1, asked: 3, again: 1},
		{name: "an answer that is too long", steps: []script.Step{{Text: "Half of it", Finish: "length"}}, stop: "limit", text: "^Half of it$", why: "cut off", asked: 1},
		{name: "an endless loop", steps: []script.Step{{Forever: true, Calls: []script.Call{{Name: "order", Args: map[string]any{"item": `{{"round"}}`}}}}},
			flags: []string{"--max-requests", "5"}, stop: "limit", why: "5 times", ran: 5, asked: 5},
		{name: "the same for ever", steps: []script.Step{{Forever: true, Calls: []script.Call{{ID: "same", Name: "order", Args: bolt}}}}, stop: "limit", why: "circles", ran: 8, asked: 8},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, before, start := startModel(t, c.steps...), len(shop.ran()), time.Now()
			got, code := takeTurn(t, host, m, "Order a bolt", append([]string{"--session", c.name, "--config", settings}, c.flags...)...)
			if got.Stop != c.stop || (code == 0) != (c.stop == "answered") || !regexp.MustCompile(c.text).MatchString(got.Text) || !regexp.MustCompile(c.why).MatchString(got.Error) {
				t.Errorf("exit code %d: %q, %q, %q", code, got.Stop, got.Text, got.Error)
			}
			if ran := len(shop.ran()) - before; ran != c.ran || len(m.requests(t)) != c.asked || got.Turn.Retries != c.again {
				t.Errorf("%d calls ran, %d requests, %d retries; want %d, %d, %d", ran, len(m.requests(t)), got.Turn.Retries, c.ran, c.asked, c.again)
			}
			if c.name == "too many requests" && time.Since(start) < time.Second {
				t.Error("the provider isn't left alone for as long as it asks")
			}
			logged := turnOf(t, host, c.name)
			if want := map[bool]string{true: "openclaw:shop:order ×" + string(rune('0'+c.ran))}[c.ran > 0]; logged.Stop != c.stop || c.ran > 0 && logged.called() != want {
				t.Errorf("the log says %q, %q", logged.Stop, logged.called())
			}
		})
	}
}

// TestReal_V4_HostKilledMidTurn: the turn ends soon and says so. What had run is in the session when the host is back, and
// runs no second time.
func TestReal_V4_HostKilledMidTurn(t *testing.T) {
	t.Parallel()
	fixture := newFixture(t)
	settings := writeJSON(t, filepath.Join(t.TempDir(), "codecell.json5"), map[string]any{
		"mcpServers": servers{"fixture": fixture.server(t)}, "bus": map[string]any{"storeDir": filepath.Join(t.TempDir(), "store")},
	})
	host := startHost(t, settings)
	m := startModel(t, script.Step{Calls: []script.Call{{ID: "outer", Name: "exec", Args: map[string]any{
		"title": "Record", "code": `await MCP.fixture.record({ n: 1 }); await MCP.fixture.record({ n: 2, ms: 60000 }); await MCP.fixture.record({ n: 3 })`, "awaitResults": true,
	}}}}, script.Step{Forever: true, Text: "The host is gone.", Expect: script.Expect{Role: "tool"}})
	turn := start(t, agentCommand(t, host, m, "Record", "--mode", "code", "--session", "killed"))
	fixture.awaitCalls(t, 2)
	// Nothing waits until a transcript is kept: what comes right before a kill may be missing.
	const kept = "message, message, exec record done record"
	if !eventually(patience, func() bool { return strings.HasPrefix(shapeOf(t, host, "killed"), kept) }) {
		t.Fatalf("the session has %q", shapeOf(t, host, "killed"))
	}
	killed := time.Now()
	host.stop(syscall.SIGKILL)
	said := turn.line("{")
	took := time.Since(killed)
	if code := turn.exitCode(); code != 1 {
		t.Errorf("exit code %d after %v: %s", code, took, said)
	}
	got := decode[struct {
		Stop  string
		Error any // a turn that has no host any more may have no report
	}](t, said)
	if got.Stop == "answered" {
		t.Errorf("a turn without a host has answered: %s", said)
	}
	t.Logf("the turn ended %v after the kill: %s", took.Round(time.Millisecond), said)

	host = startHost(t, settings)
	if shape := shapeOf(t, host, "killed"); !strings.HasPrefix(shape, kept) {
		t.Errorf("the session has %q, want %q", shape, kept)
	}
	if n := len(fixture.calls()); n != 2 {
		t.Errorf("%d calls ran", n)
	}
}

// shapeOf gives the kinds of a session's entries, each with the calls in it and how they ended.
func shapeOf(t *testing.T, host hostProcess, session string) string {
	t.Helper()
	var shape []string
	for _, e := range exportOf(t, host, session) {
		line := e.Kind
		for _, c := range e.Calls {
			line += " " + c.Call.Tool
			if c.Outcome != nil {
				line += " " + c.Outcome.Outcome
			}
		}
		shape = append(shape, line)
	}
	return strings.Join(shape, ", ")
}

// TestReal_V4_AgentKilledMidTurn: the host ends what a killed turn has left: its call is cancelled, its cell is gone, and
// nothing runs twice.
func TestReal_V4_AgentKilledMidTurn(t *testing.T) {
	t.Parallel()
	w := newWorkshop(t, map[string]any{"timeoutMs": 3000, "snapshotTtlSeconds": 1})
	m := startModel(t,
		calls("exec", programOf(`await safe_name({}); await stock_level({ gate: true }); await safe_name({ item: "never" })`), script.Expect{}),
		script.Step{Text: "So it waits.", Delivery: chat.Delivery{Trouble: chat.Stall}}) // if the program was parked before the kill
	turn := start(t, agentCommand(t, w.host, m, "Wait", "--session", "killed"))
	w.plugin.awaitRan(t, 2)
	killed := time.Now()
	turn.stop(syscall.SIGKILL)
	w.plugin.awaitGone(t, 1)
	w.idle(t)
	t.Logf("the host was idle %v after the kill", time.Since(killed).Round(time.Millisecond))
	if ran := w.plugin.ran(); !slices.Equal(ran, []string{`safe_name {}`, `stock_level {"gate":true}`}) {
		t.Errorf("%q ran", ran)
	}
}

// TestReal_V4_Q3_AgentKilledBesideARequiredProgram: a program whose calls are required goes on without the turn that asked for
// it, and ends like any other: nothing is left, and nothing ran twice.
func TestReal_V4_Q3_AgentKilledBesideARequiredProgram(t *testing.T) {
	t.Parallel()
	w := newWorkshop(t, map[string]any{"timeoutMs": 3000, "snapshotTtlSeconds": 1})
	m := startModel(t, calls("exec", map[string]any{
		"title": "Wait", "awaitResults": true, "code": `await stock_level({ gate: true }); await safe_name({ item: "last" })`,
	}, script.Expect{}))
	turn := start(t, agentCommand(t, w.host, m, "Wait"))
	w.plugin.awaitRan(t, 1)
	turn.stop(syscall.SIGKILL)
	w.plugin.open(t)
	w.idle(t)
	if ran := w.plugin.ran(); !slices.Equal(ran, []string{`safe_name {"item":"last"}`, `stock_level {"gate":true}`}) {
		t.Errorf("%q ran", ran)
	}
}
