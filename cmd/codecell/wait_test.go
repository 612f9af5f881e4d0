package main

import (
	"context"
	"regexp"
	"strings"
	"testing"
)

// runID finds the id in what was printed.
func runID(t *testing.T, r result) string {
	t.Helper()
	id := regexp.MustCompile(`[a-z2-7]{10}-[a-z2-7]{26}`).FindString(r.out)
	if id == "" {
		t.Fatalf("no runId in %s%s", r.out, r.err)
	}
	return id
}

// TestSpec_W1_CommandsOfASession: what exec leaves waiting outlives its process, and wait goes on with it in the same
// session. A stranger is refused and harms nothing.
func TestSpec_W1_CommandsOfASession(t *testing.T) {
	_, url := up(t)
	at := func(args ...string) []string { return append(args, "--bus", url) }
	id := runID(t, cli{}.do(t, at("exec", "--session", "one", program(t, `text("a"); await yield_control("x"); text("b"); await yield_control("y"); return 3`))...).
		want(t, exitWaiting, "a\n", "waiting (yield)", "codecell wait ", " --session one\n"))

	cli{}.do(t, at("wait", id, "--session", "other")...).want(t, exitFailed, "invalid_input", "different session")
	cli{}.do(t, at("wait", id)...).want(t, exitFailed, "invalid_input")
	again := cli{}.do(t, at("wait", id, "--session", "one")...).want(t, exitWaiting, "b\n")
	if strings.HasPrefix(again.out, "a\n") || strings.Contains(again.out, "\na\n") { // a runId may end in a
		t.Errorf("output came twice: %s", again.out)
	}
	object := cli{}.do(t, at("wait", id, "--session", "one", "--json")...).want(t, exitCompleted).object(t)
	if object["value"] != 3.0 {
		t.Errorf("%v", object)
	}
	cli{}.do(t, at("wait", id, "--session", "one")...).want(t, exitFailed, "earlier results")
}

func TestWait_UntilTheEnd(t *testing.T) {
	_, url := up(t)
	id := runID(t, cli{}.do(t, "exec", "--bus", url, program(t, `await yield_control(); text("a"); await yield_control(); return 3`)))
	cli{env: map[string]string{"CODECELL_BUS": url}}.do(t, "wait", "--wait", id).want(t, exitCompleted, "a\n3\n")
}

func TestSpec_W2_WaitForNobody(t *testing.T) {
	_, url := up(t)
	for _, id := range []string{"aaaa", "../..", "aaaaaaaaaa-aaaaaaaaaaaaaaaaaaaaaaaaaa"} {
		got := cli{}.do(t, "wait", "--bus", url, id).want(t, exitFailed, "failed")
		if len(got.out) < 40 {
			t.Errorf("says nothing about it: %s", got.out)
		}
		cli{}.do(t, "cancel", "--bus", url, id).want(t, exitFailed)
	}
	cli{}.do(t, "wait", "aaaa").want(t, exitUsage, "codecell up --listen")
	cli{}.do(t, "wait").want(t, exitUsage, "RUNID")
}

// TestWait_Interrupted: Ctrl-C ends the command; the program belongs to the host and goes on.
func TestWait_Interrupted(t *testing.T) {
	server := newToolServer(t)
	_, url := up(t, "--config", configOf(t, map[string]string{"lab": server.url}))
	id := runID(t, cli{}.do(t, "exec", "--bus", url, program(t, `await yield_control(); return await MCP.lab.hold({ text: "x" })`)))
	ctx, interrupt := context.WithCancel(soon(t))
	go func() {
		<-server.held
		interrupt()
	}()
	cli{}.with(t, ctx, "wait", "--bus", url, id).want(t, exitWaiting, "the program goes on: codecell wait "+id)
	if len(server.stopped) != 0 {
		t.Error("the call was stopped")
	}
	cli{}.do(t, "cancel", "--bus", url, id, "--json").want(t, exitCompleted, `"cancelled":true`)
	next(t, server.stopped)
	cli{}.do(t, "cancel", "--bus", url, id).want(t, exitFailed, "unavailable")
}

func TestExec_Quoted(t *testing.T) {
	for word, want := range map[string]string{"one": "one", "nats://a:4222": "nats://a:4222", "": "''", "a b": "'a b'", "it's $x": `'it'\''s $x'`} {
		if got := quoted(word); got != want {
			t.Errorf("%q: %s, want %s", word, got, want)
		}
	}
}
