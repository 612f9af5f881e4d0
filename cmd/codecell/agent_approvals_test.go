package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/codecell/codecell/schemas"
)

// asker is a turn whose program calls a guarded tool twice.
func asker(t *testing.T) (m *model, config string) {
	t.Helper()
	lab := newToolServer(t)
	m = newModel(t, func(n int, q *question) words {
		if n == 1 {
			return execs("c1", "Echo", `
const both = await Promise.allSettled([MCP.lab.echo({ text: "\x1b[2Ja" }), MCP.lab.echo({ text: "b" })])
return both.map((r) => r.status + ":" + (r.value?.content[0].text ?? r.reason.message)).join(" | ")`)
		}
		return words{text: "It said " + q.last()}
	})
	return m, write(t, "config.json5", fmt.Sprintf(`{ mcpServers: { lab: { url: %q } }, tools: { approve: ["echo"] } }`, lab.url))
}

// TestSpec_V4_P3_AgentAsksAtTheTerminal: who sits at the terminal decides; an answer that is none is asked for again, what
// isn't answered with yes isn't run, and "a" is for all calls of the tool in this run.
func TestSpec_V4_P3_AgentAsksAtTheTerminal(t *testing.T) {
	const question = "approve? [y/N/a = all calls of this tool in this run]"
	for name, c := range map[string]struct {
		typed     []string
		questions int
		want      string
	}{
		"each":       {[]string{"y", "y"}, 2, "fulfilled:b"},
		"all":        {[]string{"a"}, 1, "fulfilled:b"},
		"none":       {[]string{"n", ""}, 2, "rejected:echo: denied by "},
		"not a word": {[]string{"perhaps", "a"}, 2, "fulfilled:b"},
	} {
		t.Run(name, func(t *testing.T) {
			m, config := asker(t)
			in, keys := io.Pipe()
			defer keys.Close()
			turn := cli{typed: in}.start(t, "agent", "--config", config, "--provider-url", m.url, "--model", "m", "--mode", "code", "go")
			for i, answer := range c.typed {
				turn.errs.awaitAgain(t, question, i+1)
				if _, err := io.WriteString(keys, answer+"\n"); err != nil {
					t.Fatal(err)
				}
			}
			turn.line(c.want) // what the model was told, and says again
			if code := turn.wait(); code != exitCompleted {
				t.Errorf("exit code %d", code)
			}
			errs := turn.errs.String()
			if n := strings.Count(errs, question); n < c.questions || strings.Contains(errs, "\x1b") ||
				!strings.Contains(errs, "lab.echo waits for an approval (tools.approve includes it)") {
				t.Errorf("%d questions: %s", n, errs)
			}
		})
	}
}

// TestSpec_V4_P3_AgentSaysHowToDecide: without a terminal it says which command decides, and another process does; a
// program of somebody else is nobody's question here.
func TestSpec_V4_P3_AgentSaysHowToDecide(t *testing.T) {
	m, config := asker(t)
	_, url := up(t, "--config", config)
	other := cli{}.start(t, "exec", "--bus", url, program(t, `return await MCP.lab.echo({ text: "theirs" })`))
	theirs := waiting(t, url, 1)[0]
	turn := cli{}.start(t, "agent", "--json", "--bus", url, "--provider-url", m.url, "--model", "m", "--mode", "code", "go")
	for _, id := range waiting(t, url, 3) {
		if id == theirs {
			continue
		}
		turn.errs.await(t, "codecell approvals approve "+id+" --bus "+url)
		cli{}.do(t, "approvals", "approve", id, "--bus", url).want(t, exitCompleted)
	}
	if line := turn.line("stop"); !strings.Contains(line, "fulfilled:b") || strings.Contains(turn.errs.String(), theirs) {
		t.Errorf("%s %s", line, turn.errs)
	}
	cli{}.do(t, "approvals", "deny", theirs, "--bus", url).want(t, exitCompleted)
	other.wait()
}

// TestSpec_V4_P3_AgentHearsDecisionsOfOthers: a question that another process has answered is put away, and so are the
// questions of somebody whose terminal is gone: they are told how else to decide.
func TestSpec_V4_P3_AgentHearsDecisionsOfOthers(t *testing.T) {
	m, config := asker(t)
	_, url := up(t, "--config", config)
	in, keys := io.Pipe()
	turn := cli{typed: in}.start(t, "agent", "--bus", url, "--provider-url", m.url, "--model", "m", "--mode", "code", "go")
	turn.errs.await(t, "approve? ")
	ids := waiting(t, url, 2)
	cli{}.do(t, "approvals", "approve", ids[0], "--bus", url, "--by", "ada").want(t, exitCompleted)
	keys.Close()
	turn.errs.await(t, "codecell approvals approve "+ids[1])
	cli{}.do(t, "approvals", "approve", ids[1], "--bus", url, "--by", "ada").want(t, exitCompleted)
	turn.line("It said")
	if code := turn.wait(); code != exitCompleted {
		t.Errorf("exit code %d: %s", code, turn.errs)
	}
}

// TestSpec_V4_P3_AgentIsAskedOfDirectCalls: so it is where the model calls the tool itself; and who presses Ctrl-C at the
// question has not approved anything.
func TestSpec_V4_P3_AgentIsAskedOfDirectCalls(t *testing.T) {
	lab := newToolServer(t)
	m := newModel(t, func(n int, q *question) words {
		if n%2 == 1 {
			return words{calls: []toolCall{{"c1", q.Tools[0].Function.Name, `{"text":"hello"}`}}}
		}
		return words{text: "It said " + q.last()}
	})
	config := write(t, "config.json5", fmt.Sprintf(
		`{ mcpServers: { lab: { url: %q } }, tools: { allow: ["lab.hold"], approve: ["*"] } }`, lab.url))
	args := []string{"agent", "--config", config, "--provider-url", m.url, "--model", "m", "--mode", "direct", "go"}
	in, keys := io.Pipe()
	defer keys.Close()
	turn := cli{typed: in}.start(t, args...)
	turn.errs.await(t, "direct: the model sees 1 tool")
	turn.errs.await(t, "approve? ")
	if code := turn.stop(); code != exitInterrupted || len(lab.held) > 0 {
		t.Errorf("exit code %d, %d calls made: %s", code, len(lab.held), turn.errs)
	}
	close(lab.open)
	in, again := io.Pipe()
	defer again.Close()
	m.mu.Lock()
	m.asked = nil
	m.mu.Unlock()
	turn = cli{typed: in}.start(t, args...)
	turn.errs.await(t, "approve? ")
	_, _ = io.WriteString(again, "y\n")
	turn.line("hello")
	if code := turn.wait(); code != exitCompleted || len(lab.held) != 1 {
		t.Errorf("exit code %d, %d calls made: %s", code, len(lab.held), turn.errs)
	}
}

// TestApprovals_WhoseQuestion: a turn asks about its own calls and those of agents below it, and of nobody else.
func TestApprovals_WhoseQuestion(t *testing.T) {
	d := approver{who: schemas.Identity{SessionKey: "desk", Run: "agent:1"}}
	for who, want := range map[schemas.Identity]bool{
		{SessionKey: "desk", Run: "agent:1"}:                   true,
		{SessionKey: "desk", Run: "agent:2"}:                   false,
		{SessionKey: "desk/a", Run: "child", Depth: 1}:         true,
		{SessionKey: "desk/a/b", Run: "child", Depth: 2}:       true,
		{SessionKey: "desk/a", Run: "child"}:                   false,
		{SessionKey: "desktop/a", Run: "child", Depth: 1}:      false,
		{SessionKey: "", Run: "", Depth: 1}:                    false,
		{SessionKey: "desk", Run: "somebody else's", Depth: 1}: false,
	} {
		if got := d.own(&who); got != want {
			t.Errorf("%+v: %v", who, got)
		}
	}
}

// People read why a call failed, and not what is around it for models.
func TestWhyText(t *testing.T) {
	failed := schemas.Result{Status: schemas.StatusFailed, Code: schemas.InternalError, Error: "Error: no such order\n    at 1:1", Untrusted: true}
	for told, want := range map[string]string{
		schemas.ModelText(failed, "id"):               failed.Error,
		schemas.Untrusted("text", "get-sum: b", "id"): "get-sum: b",
		"tool_error: it broke":                        "tool_error: it broke",
		`{"status":"waiting"}`:                        `{"status":"waiting"}`,
		strings.TrimSuffix(schemas.Untrusted("text", "a\nb", "i"), "\n[[end-outside-data i]]"): "a\nb", // cut
	} {
		if got := whyText(told); got != want {
			t.Errorf("%q gives %q, want %q", told, got, want)
		}
	}
}

// Nobody sits at the device that has nothing, which services get as their standard input.
func TestTerminal(t *testing.T) {
	for _, path := range []string{os.DevNull, t.TempDir()} {
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if terminal(f) {
			t.Errorf("%s is taken for a terminal", path)
		}
	}
}

// TestSpec_G10_P3_AgentIsAskedForItsAgents: agents that the turn's program starts ask the same provider, and what their
// calls need is asked at the same terminal.
func TestSpec_G10_P3_AgentIsAskedForItsAgents(t *testing.T) {
	lab := newToolServer(t)
	m := newModel(t, func(_ int, q *question) words {
		child := strings.Contains(q.speech(), "user:Echo it")
		switch answered := q.Messages[len(q.Messages)-1].Role == "tool"; {
		case child && answered:
			return words{text: "The child heard " + q.last()}
		case child:
			return execs("c1", "Echo", `return (await MCP.lab.echo({ text: "hello" })).content[0].text`)
		case answered:
			return words{text: "It said " + q.last()}
		default:
			return execs("c1", "Delegate", `return (await agents.run("Echo it")).text`)
		}
	})
	config := write(t, "config.json5", fmt.Sprintf(
		`{ mcpServers: { lab: { url: %q } }, tools: { swarm: true, approve: ["echo"], codeMode: true } }`, lab.url))
	in, keys := io.Pipe()
	defer keys.Close()
	turn := cli{typed: in}.start(t, "agent", "--config", config, "--provider-url", m.url, "--model", "m", "go")
	turn.errs.await(t, "lab.echo waits for an approval")
	turn.errs.await(t, "approve? ")
	_, _ = io.WriteString(keys, "y\n")
	turn.line("The child heard")
	if code := turn.wait(); code != exitCompleted {
		t.Errorf("exit code %d: %s", code, turn.errs)
	}
}
