package main

import (
	"context"
	"strings"
	"testing"
)

// TestSpec_V2_Exec: the exit code says how a program went, and --json prints one object.
func TestSpec_V2_Exec(t *testing.T) {
	for _, c := range []struct {
		name, source string
		flags        []string
		code         int
		status       string
		out          string // in human output, on either stream
	}{
		{"completed", `return { sum: 1 + 2 }`, nil, exitCompleted, "completed", `"sum": 3`},
		{"nothing returned", `text("hi")`, nil, exitCompleted, "completed", "null"},
		{"thrown", "\nthrow new Error('no such order')", nil, exitFailed, "failed", "codecell:user.js:2"},
		{"empty", "  \n", nil, exitFailed, "failed", "code: give the JavaScript program"},
		{"blank title", `return 1`, []string{"--title", " "}, exitFailed, "failed", "title: give a short title"},
		{"yield", `await yield_control("look"); return 1`, nil, exitWaiting, "waiting", "--wait"},
		{"yield, waited for", `text("a"); await yield_control("look"); text("b"); return 1`, []string{"--wait"}, exitCompleted, "completed", "a\nb\n1\n"},
		{"a host of its own is named as a way on", `await yield_control("look")`, nil, exitWaiting, "waiting", "codecell up"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			args := append([]string{"exec", program(t, c.source)}, c.flags...)
			cli{}.do(t, args...).want(t, c.code, c.out)
			object := cli{}.do(t, append(args, "--json")...).want(t, c.code).object(t)
			if object["status"] != c.status {
				t.Errorf("status %v, want %s", object["status"], c.status)
			}
		})
	}
}

// TestSpec_V2_ExecJSONJoinsOutput: with --wait the one object has the output of all legs.
func TestSpec_V2_ExecJSONJoinsOutput(t *testing.T) {
	path := program(t, `text("a"); await yield_control(); json(2); await yield_control(); text("c"); return 1`)
	object := cli{}.do(t, "exec", "--wait", "--json", path).want(t, exitCompleted).object(t)
	if output, _ := object["output"].([]any); len(output) != 3 {
		t.Errorf("output %v, want that of three legs", object["output"])
	}
}

func TestExec_Title(t *testing.T) {
	_, url := up(t)
	held := `await yield_control()`
	cli{in: held}.do(t, "exec", "--bus", url, "-").want(t, exitWaiting)
	cli{}.do(t, "exec", "--bus", url, program(t, held)).want(t, exitWaiting)
	cli{}.do(t, "exec", "--bus", url, "--title", "My title", program(t, held)).want(t, exitWaiting)
	cli{}.do(t, "slots", "--bus", url).want(t, exitCompleted, "Program from standard input", "program.js", "My title")
}

func TestExec_RefusesWhatIsNoProgram(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"too long":    {strings.Repeat("x", 600<<10), "longer than 524288 bytes"},
		"not text":    {"\xff\xfe", "isn't UTF-8"},
		"other files": {"", "no such file"},
	} {
		t.Run(name, func(t *testing.T) {
			path := "no-such.js"
			if c.text != "" {
				path = program(t, c.text)
			}
			cli{}.do(t, "exec", path).want(t, exitUsage, c.want)
			object := cli{}.do(t, "exec", "--json", path).want(t, exitUsage).object(t)
			if e, _ := object["error"].(map[string]any); e["code"] != "invalid_input" {
				t.Errorf("%v", object)
			}
		})
	}
}

// TestSpec_S8_ExecInterrupted: Ctrl-C cancels the program and its calls, on whatever host it runs.
func TestSpec_S8_ExecInterrupted(t *testing.T) {
	for _, where := range []string{"own host", "running host"} {
		t.Run(where, func(t *testing.T) {
			lab := newToolServer(t)
			args := []string{"exec", "--await-results", "--json", "--config", configOf(t, map[string]string{"lab": lab.url}),
				program(t, `return await MCP.lab.hold({ text: "x" })`)}
			var url string
			if where == "running host" {
				_, url = up(t, "--config", configOf(t, map[string]string{"lab": lab.url}))
				args = append(args, "--bus", url)
			}
			ctx, interrupt := context.WithCancel(soon(t))
			go func() {
				<-lab.held
				interrupt()
			}()
			object := cli{}.with(t, ctx, args...).want(t, exitFailed).object(t)
			if object["status"] != "failed" || object["code"] != "aborted" {
				t.Errorf("%v", object)
			}
			if url == "" {
				return // the process ends, and with it its connections to servers
			}
			if got := next(t, lab.stopped); got != "x" {
				t.Errorf("stopped %q", got)
			}
			idle(t, url)
		})
	}
}

// TestSpec_S8_WaitOutInterrupted: the same while --wait goes on with a parked program.
func TestSpec_S8_WaitOutInterrupted(t *testing.T) {
	lab := newToolServer(t)
	_, url := up(t, "--config", configOf(t, map[string]string{"lab": lab.url}))
	ctx, interrupt := context.WithCancel(soon(t))
	go func() {
		<-lab.held
		interrupt()
	}()
	cli{}.with(t, ctx, "exec", "--wait", "--bus", url, program(t, `await yield_control(); return await MCP.lab.hold({ text: "y" })`)).
		want(t, exitFailed, "aborted", "interrupted")
	if got := next(t, lab.stopped); got != "y" {
		t.Errorf("stopped %q", got)
	}
}

func TestExec_InterruptedBeforeItBegan(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	got := cli{}.with(t, ctx, "exec", program(t, `return 1`))
	if got.code == exitCompleted || !strings.Contains(got.out+got.err, "interrupted") {
		t.Errorf("%+v", got)
	}
}
