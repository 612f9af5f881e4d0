package main

import (
	"bytes"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/codecell/codecell/schemas"
)

// TestSpec_V2_HumanOutput: what people see, as golden files: command line, both streams, exit code.
func TestSpec_V2_HumanOutput(t *testing.T) {
	server := newToolServer(t)
	_, url := up(t, "--config", configOf(t, map[string]string{"lab": server.url}))
	orders := program(t, `
const [a, b] = await Promise.all(["ada", "bob"].map((text) => MCP.lab.echo({ text })));
text("two customers");
json({ first: a.content[0].text });
await yield_control("look");
return { customers: [a, b].map((r) => r.content[0].text) };`)
	var b strings.Builder
	show := func(args ...string) result {
		got := cli{env: map[string]string{"CODECELL_BUS": url}}.do(t, args...)
		b.WriteString("$ codecell " + strings.Join(args, " ") + "\n" + got.out)
		for l := range strings.Lines(got.err) {
			b.WriteString("stderr: " + l)
		}
		b.WriteString("exit code " + string('0'+rune(got.code)) + "\n\n")
		return got
	}
	id := runID(t, show("exec", "--title", "Customers", orders))
	show("slots")
	show("wait", id)
	// Its run ends beside the answer, and isn't counted for any more then.
	cli{}.until(t, func(r result) bool { return !strings.Contains(r.out, "in this run") }, "wait", id, "--bus", url)
	show("wait", id)
	show("exec", program(t, `await MCP.lab.echo({ text: "a" }); throw new TypeError("no such order")`))
	show("exec", program(t, `let q = ;`))
	show("tools")
	show("search", "say", "it", "again", "--limit", "1")
	show("search", "zebra crossing")
	show("cancel", "x")
	show("version")
	golden(t, "human", b.String())
}

// TestPrint_Colours: on a terminal the words that matter are coloured; elsewhere nothing is.
func TestPrint_Colours(t *testing.T) {
	results := []*schemas.Result{
		{Status: schemas.StatusCompleted, Value: schemas.JSON(`1`), Warnings: []string{"w"}},
		{Status: schemas.StatusWaiting, Reason: schemas.ReasonYield, RunID: "id"},
		{Status: schemas.StatusFailed, Code: schemas.Timeout, Error: "slow"},
	}
	for _, terminals := range []bool{true, false} {
		var out, errs bytes.Buffer
		a := &app{out: &out, err: &errs, color: terminals, errColor: terminals}
		for _, r := range results {
			if err := a.printResult(r); err != nil {
				t.Fatal(err)
			}
		}
		if got := strings.Count(out.String()+errs.String(), plain); got == 0 == terminals {
			t.Errorf("terminals %v: %d coloured words:\n%s%s", terminals, got, out.String(), errs.String())
		}
	}
	// Each stream for itself: one may be a file.
	var out, errs bytes.Buffer
	a := &app{out: &out, err: &errs, color: true}
	_ = a.printResult(results[0])
	if strings.Contains(errs.String(), "\x1b") {
		t.Errorf("colours in a file: %q", errs.String())
	}
}

// TestPrint_Hostile: what a program or a server says can't steer the terminal.
func TestPrint_Hostile(t *testing.T) {
	const evil = "\x1b[2J\x07\u009b31m\x7f\u202etxt.exe\u2066\r"
	var out, errs bytes.Buffer
	a := &app{out: &out, err: &errs}
	for _, r := range []*schemas.Result{
		{Status: schemas.StatusCompleted, Value: schemas.JSON(`"` + "\u009b\x7f\u202e" + `\u001b"`), Warnings: []string{evil}, Output: []schemas.OutputItem{{Type: "text", Text: evil}, {Type: "json", Value: schemas.JSON(evil)}}},
		{Status: schemas.StatusFailed, Error: evil, Telemetry: schemas.Telemetry{Calls: []schemas.CallOutcome{{Tool: evil}}}},
		{Status: schemas.StatusWaiting, Pending: []schemas.PendingCall{{Tool: evil}}},
	} {
		if err := a.printResult(r); err != nil {
			t.Fatal(err)
		}
	}
	a.warn([]string{evil})
	a.printCatalog([]schemas.CatalogEntry{{CallableName: "t", Description: evil}}, []string{evil}, "tools", "")
	for _, r := range out.String() + errs.String() {
		if strings.ContainsRune("\x1b\x07\u009b\x7f\u202e\u2066\r", r) {
			t.Errorf("%U came through:\n%q\n%q", r, out.String(), errs.String())
			return
		}
	}
	if got := printable("tab\tline\nü ✓ 🦊"); got != "tab\tline\nü ✓ 🦊" {
		t.Errorf("%q", got)
	}
}

// TestPrint_Progress: a terminal shows what takes long and how long; the line is gone afterwards.
func TestPrint_Progress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, live := range []bool{true, false} {
			var errs bytes.Buffer
			a := &app{err: &errs, live: live}
			stop := a.progress("waiting for read")
			time.Sleep(3500 * time.Millisecond) // virtual: something takes long
			stop()
			want := ""
			if live {
				want = "\rwaiting for read … 1 s\x1b[K\rwaiting for read … 2 s\x1b[K\rwaiting for read … 3 s\x1b[K\r\x1b[K"
			}
			if errs.String() != want {
				t.Errorf("live %v: %q", live, errs.String())
			}
		}
		var errs bytes.Buffer
		(&app{err: &errs, live: true}).progress("quick")()
		if errs.Len() != 0 {
			t.Errorf("what is quick shows nothing: %q", errs.String())
		}
	})
}

func TestPrint_WaitingFor(t *testing.T) {
	call := func(tool string) schemas.PendingCall {
		return schemas.PendingCall{Kind: "call", Tool: tool, State: "sent"}
	}
	for want, r := range map[string]schemas.Result{
		"running":                     {Reason: schemas.ReasonYield, Pending: []schemas.PendingCall{{Kind: "yield"}}},
		"waiting for read":            {Reason: schemas.ReasonPendingTools, Pending: []schemas.PendingCall{call("read")}},
		"waiting for timer":           {Reason: schemas.ReasonPendingTools, Pending: []schemas.PendingCall{{Kind: "timer"}}},
		"waiting for a, b, c, 2 more": {Reason: schemas.ReasonPendingTools, Pending: []schemas.PendingCall{call("a"), call("b"), call("c"), call("d"), call("e")}},
	} {
		if got := waitingFor(&r); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestPrint_FirstLine(t *testing.T) {
	for text, want := range map[string]string{"": "", "one\ntwo": "one", "\n  one": "one", "äöü": "äöü", "0123456789x": "012345678…"} {
		if got := firstLine(text, 10); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
