package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"strings"
	"testing"

	"github.com/codecell/codecell/bus"
	"github.com/codecell/codecell/bus/bustest"
	"github.com/codecell/codecell/schemas"
)

// guarded starts a host whose echo needs an approval.
func guarded(t *testing.T, more string) (url string) {
	t.Helper()
	lab := newToolServer(t)
	_, url = up(t, "--config", write(t, "config.json5", fmt.Sprintf(`{ mcpServers: { lab: { url: %q } }, tools: { approve: ["echo"] }%s }`, lab.url, more)))
	return url
}

// waiting gives the approvals that can be decided, once there are so many.
func waiting(t *testing.T, url string, want int) (ids []string) {
	t.Helper()
	for ctx := soon(t); ctx.Err() == nil; {
		var out struct{ Approvals []schemas.Approval }
		got := cli{}.do(t, "approvals", "ls", "--json", "--bus", url).want(t, exitCompleted)
		if err := json.Unmarshal([]byte(got.out), &out); err != nil {
			t.Fatalf("%v: %s", err, got.out)
		}
		if len(out.Approvals) == want {
			for _, p := range out.Approvals {
				ids = append(ids, p.ID)
			}
			return ids
		}
	}
	t.Fatalf("there are not %d approvals", want)
	return nil
}

const echoes = `
const said = []
for (let i = 0; i < 5; i++) said.push((await MCP.lab.echo({ text: "notes/" + i })).content[0].text)
return said.join(" ")`

// A person approves a loop once, with a grant; a call outside of it asks (P3).
func TestSpec_V2_P3_ApproveALoop(t *testing.T) {
	url := guarded(t, "")
	cli{}.do(t, "approvals", "ls", "--bus", url).want(t, exitCompleted, "no call waits for an approval")
	exec := cli{}.start(t, "exec", "--json", "--bus", url, program(t, echoes))
	id := waiting(t, url, 1)[0]
	cli{}.do(t, "approvals", "ls", "--bus", url).want(t, exitCompleted, id, "pending, ", " left", "lab.echo", "agent default, session cli", "tools.approve includes it")
	cli{}.do(t, "approvals", "show", id, "--bus", url).want(t, exitCompleted, "lab.echo", `"text": "notes/0"`, "tools.approve includes it")
	match := write(t, "match.json", `{"properties":{"text":{"type":"string","pattern":"^notes/"}},"required":["text"]}`)
	cli{}.do(t, "approvals", "approve", id, "--bus", url, "--calls", "4", "--match", match, "--by", "ada", "--for", "10m").
		want(t, exitCompleted, "approved "+id, "granted 4 more calls of this tool in this cell")
	if line := exec.line("status"); !strings.Contains(line, `"value":"notes/0 notes/1 notes/2 notes/3 notes/4"`) {
		t.Error(line)
	}
	cli{}.do(t, "approvals", "ls", "--all", "--bus", url).want(t, exitCompleted, id, "approved")
	cli{}.do(t, "approvals", "show", id, "--bus", url).want(t, exitCompleted, "4 more calls of lab.echo in this cell", "ada", "^notes/")
	cli{}.do(t, "approvals", "approve", id, "--bus", url).want(t, exitFailed, "was approved by ada at ")
	cli{}.do(t, "approvals", "deny", id, "--bus", url).want(t, exitFailed, "can't be decided again")
	object := cli{}.do(t, "approvals", "deny", id, "--json", "--bus", url).want(t, exitFailed).object(t)
	if e, _ := object["error"].(map[string]any); e["code"] != "invalid_input" || e["field"] != "approval" {
		t.Errorf("%v", object)
	}
}

// A denial is the program's to handle, and is for one call.
func TestSpec_V2_P3_Case68_Deny(t *testing.T) {
	url := guarded(t, "")
	exec := cli{}.start(t, "exec", "--json", "--bus", url, program(t, `
const both = await Promise.allSettled([MCP.lab.echo({ text: "a" }), MCP.lab.echo({ text: "b" })])
return both.map((r) => r.status === "fulfilled" ? r.value.content[0].text : r.reason.message).join(" | ")`))
	ids := waiting(t, url, 2)
	object := cli{}.do(t, "approvals", "deny", ids[0], "--note", "not now", "--by", "bob", "--json", "--bus", url).want(t, exitCompleted).object(t)
	if object["state"] != "denied" || object["by"] != "bob" {
		t.Errorf("%v", object)
	}
	cli{}.do(t, "approvals", "approve", ids[1], "--bus", url).want(t, exitCompleted)
	if line := exec.line("status"); !regexp.MustCompile(`"value":"(echo: denied by bob: not now \| b|a \| echo: denied by bob: not now)"`).MatchString(line) {
		t.Error(line)
	}
}

func TestApprovals_Usage(t *testing.T) {
	url := guarded(t, "")
	for args, want := range map[string]string{
		"show": "codecell approvals ls", "approve a b": "got 2", "approve x --scope run": "--scope is about a grant",
		"approve x --match {}": "--match is about a grant", "approve x --calls 2 --match no-such.json": "no-such.json",
		"approve x --calls 2 --for -1h": "--for must be", "nonsense": "nonsense",
	} {
		cli{}.do(t, append([]string{"approvals", "--bus", url}, strings.Fields(args)...)...).want(t, exitUsage, want)
	}
	cli{}.do(t, "approvals", "ls").want(t, exitUsage, "codecell up --listen")
	for _, command := range []string{"show", "approve", "deny"} {
		cli{}.do(t, "approvals", command, "nonsense", "--bus", url).want(t, exitFailed, "approval is not an id", `got "nonsense"`)
		cli{}.do(t, "approvals", command, "hact2pb6y3qeh2rw-mfzwizltoq4t", "--bus", url).want(t, exitFailed, "there is no approval")
	}
}

// What a model or a server has written neither steers the terminal nor breaks the list.
func TestPrint_HostileApprovals(t *testing.T) {
	var out strings.Builder
	a := &app{out: &out, err: io.Discard}
	evil := schemas.Approval{
		ID: "x1", State: schemas.ApprovalPending, Tool: "wri\x1b[2Jte\nx9  pending", Owner: "fi\tles", Reason: "\u202egnol", Input: schemas.JSON("{\x1b"),
		Identity: schemas.Identity{Agent: "a\r\nb", SessionKey: "k"}, Grant: &schemas.Grant{Match: schemas.JSON("{")},
	}
	a.printApprovals([]schemas.Approval{evil}, false)
	if strings.Count(out.String(), "\n") != 1 || strings.ContainsAny(out.String(), "\x1b\r\u202e") {
		t.Errorf("%q", out.String())
	}
	a.printApproval(&evil)
	if strings.ContainsAny(out.String(), "\x1b\r\u202e") {
		t.Errorf("%q", out.String())
	}
	out.Reset()
	a.json = true
	a.printApproval(&evil)
	if !json.Valid([]byte(out.String())) {
		t.Errorf("%q", out.String())
	}
}

// On a terminal, whoever runs a program is told how to let its calls run.
func TestExec_SaysHowToApprove(t *testing.T) {
	url := guarded(t, "")
	errs := &lineLog{changed: make(chan struct{})}
	a := &app{in: strings.NewReader(""), out: io.Discard, err: errs, live: true, env: func(string) string { return "" }}
	code := make(chan int, 1)
	go func() {
		code <- a.run(soon(t), []string{"exec", "--bus", url, program(t, `return (await MCP.lab.echo({ text: "a" })).content[0].text`)})
	}()
	id := waiting(t, url, 1)[0]
	errs.await(t, "lab.echo waits for an approval: codecell approvals approve "+id+" --bus "+url)
	cli{}.do(t, "approvals", "approve", id, "--bus", url).want(t, exitCompleted)
	if got := <-code; got != exitCompleted {
		t.Errorf("exit code %d: %s", got, errs)
	}
}

// A host in the process of exec has no port: nobody can approve, and it says so.
func TestExec_SaysThatNobodyCanApprove(t *testing.T) {
	lab := newToolServer(t)
	config := write(t, "config.json5", fmt.Sprintf(`{ mcpServers: { lab: { url: %q } }, tools: { approve: ["echo"] }, approvals: { timeoutSeconds: 3 } }`, lab.url))
	errs := &lineLog{changed: make(chan struct{})}
	var out strings.Builder
	a := &app{in: strings.NewReader(""), out: &out, err: errs, live: true, env: func(string) string { return "" }}
	code := a.run(soon(t), []string{"exec", "--config", config, program(t, `return MCP.lab.echo({ text: "a" })`)})
	errs.await(t, "lab.echo waits for an approval, and nobody can give it: the bus of this process has no port")
	if code != exitFailed || !strings.Contains(out.String(), "the approval timed out: nobody decided within 3s, and it was not run") {
		t.Errorf("exit code %d: %s", code, out.String())
	}
}

// Whoever is on the bus may write to the record and tell facts. None of it steers the terminal, or puts a command into
// the line that people are told to type (B4).
func TestSpec_B4_ApprovalsOfOthers(t *testing.T) {
	var out, said bytes.Buffer
	printed := make(chan struct{})
	a := &app{out: &out, err: writerFunc(func(p []byte) { said.Write(p); close(printed) }), live: true, bus: "nats://h:4222"}
	hostile := schemas.Approval{ID: "x\x1b[2J", State: "p\x1b]0;\a", Tool: "t\n\x1b[1m", Reason: "\u202er", Input: schemas.JSON("{\"a\":\"\x1b[0m\"}")}
	a.printApprovals([]schemas.Approval{hostile}, true)
	a.printApproval(&hostile)
	if text := out.String(); strings.ContainsAny(text, "\x1b\a\u202e") {
		t.Errorf("%q", text)
	}

	conn := bustest.Conn(t)
	stop := a.showApprovals(t.Context(), &link{conn: conn}, func(at schemas.Address) bool { return at.Run == "mine" })
	tell := func(run, id string) {
		t.Helper()
		fact := &schemas.ApprovalOpened{Owner: "files", Tool: "write", Approval: id, Address: schemas.Address{Host: "h", Run: run, Cell: "c"}, Call: "1"}
		subject, err := bus.FactSubject(fact)
		if err == nil {
			err = conn.Publish(subject, "", fact)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	mine := bus.NewApprovalID("x1")
	tell("mine", "x1; rm -rf ~")
	tell("mine", "\x1b[2J"+mine)
	tell("another", bus.NewApprovalID("x2"))
	tell("mine", mine)
	select {
	case <-printed:
	case <-soon(t).Done():
	}
	stop()
	if text := strings.TrimPrefix(said.String(), "\r"+eraseLine); text != "files.write waits for an approval: codecell approvals approve "+mine+" --bus nats://h:4222\n" {
		t.Errorf("%q", text)
	}
}

type writerFunc func([]byte)

func (f writerFunc) Write(p []byte) (int, error) { f(p); return len(p), nil }
