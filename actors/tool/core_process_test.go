package tool

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/codecell/codecell/schemas"
)

// as runs a core tool for another session.
func as(t testing.TB, p *coreTools, session, agent, tool, args string) (schemas.JSON, error) {
	t.Helper()
	call := callOf(tool, "1", args)
	call.Identity.SessionKey, call.Identity.Agent = session, agent
	return useAs(soon(t), p, call)
}

func TestCore_ProcessInput(t *testing.T) {
	p := shellOf(t, t.TempDir())
	started := wants[execResult](t, p, "exec", in{"command": "read a; echo got $a; cat; echo end", "background": true, "stdin": "one\n"})
	id := started.SessionID
	pollUntil(t, p, id, started.Output, func(text, _ string) bool { return text == "got one\n" })
	if got := wants[processResult](t, p, "process", in{"action": "input", "sessionId": id, "data": "zwei é\n"}); got.Written != 8 || got.Status != statusRunning {
		t.Errorf("%+v", got)
	}
	pollUntil(t, p, id, "", func(text, _ string) bool { return text == "zwei é\n" })
	wants[processResult](t, p, "process", in{"action": "input", "sessionId": id, "eof": true})
	text, end := pollUntil(t, p, id, "", over)
	if text != "end\n" || end.Status != statusCompleted {
		t.Errorf("%q %+v", text, end.shellState)
	}
	for _, args := range []in{{"action": "input", "sessionId": id, "data": "x"}, {"action": "poll"}, {"action": "poll", "sessionId": "sh-none"}, {"action": "clear"}} {
		if _, err := do[processResult](t, p, "process", args); err == nil {
			t.Errorf("%v is taken", args)
		}
	}
	// One whose input was never open says what to do, also where it hasn't read what it was started with.
	for _, stdin := range []string{"", strings.Repeat("x", 1<<20)} {
		id = wants[execResult](t, p, "exec", in{"command": "sleep 1000", "yieldMs": 0, "stdin": stdin}).SessionID
		if _, err := do[processResult](t, p, "process", in{"action": "input", "sessionId": id, "data": "x"}); err == nil || !strings.Contains(err.Error(), "background: true") {
			t.Error(err)
		}
	}
}

// A command that doesn't read its input holds up nobody who gives up.
func TestCore_ProcessInputIsNotRead(t *testing.T) {
	p := shellOf(t, t.TempDir())
	id := wants[execResult](t, p, "exec", in{"command": "sleep 1000", "background": true}).SessionID
	ctx, cancel := context.WithTimeout(t.Context(), inputPatience/3)
	defer cancel()
	begun := time.Now()
	_, err := useAs(ctx, p, callOf("process", "1", fmt.Sprintf(`{"action":"input","sessionId":%q,"data":%q}`, id, strings.Repeat("x", 1<<20))))
	if err == nil || !strings.Contains(err.Error(), "doesn't read") || time.Since(begun) > inputPatience {
		t.Errorf("after %v: %v", time.Since(begun), err)
	}
	id = wants[execResult](t, p, "exec", in{"command": "sleep 1000", "background": true, "stdin": strings.Repeat("x", 1<<20)}).SessionID
	ctx, cancel = context.WithTimeout(t.Context(), inputPatience/3)
	defer cancel()
	_, err = useAs(ctx, p, callOf("process", "1", fmt.Sprintf(`{"action":"input","sessionId":%q,"data":"x"}`, id)))
	if err == nil || !strings.Contains(err.Error(), "started with") {
		t.Error(err)
	}
}

func TestCore_ProcessKill(t *testing.T) {
	needProc(t)
	dir := t.TempDir()
	p := shellOf(t, dir)
	id := wants[execResult](t, p, "exec", in{"command": "sleep 1000 & echo $! > pid.new; mv pid.new pid; wait", "background": true}).SessionID
	pid := awaitFile(t, dir, "pid")
	got := wants[processResult](t, p, "process", in{"action": "kill", "sessionId": id})
	if got.Status != statusFailed || got.FailureKind != whyKilled || got.ExitSignal != "SIGTERM" || got.SessionID != id {
		t.Errorf("%+v", got.shellState)
	}
	gone(t, pid)
	if again := wants[processResult](t, p, "process", in{"action": "kill", "sessionId": id}); again.FailureKind != whyKilled {
		t.Errorf("%+v", again.shellState)
	}
	list := wants[shellList](t, p, "process", in{"action": "list"}).Sessions
	if len(list) != 1 || list[0].SessionID != id || list[0].Status != statusFailed || !strings.HasPrefix(list[0].Command, "sleep 1000") {
		t.Errorf("%+v", list)
	}
}

// Commands belong to a session and an agent: nobody else's programs see, read, feed or end them.
func TestCore_ProcessIsTheSessionsOwn(t *testing.T) {
	p := shellOf(t, t.TempDir())
	id := wants[execResult](t, p, "exec", in{"command": "sleep 1000", "background": true}).SessionID
	for _, other := range [][2]string{{"k2", "main"}, {"k", "other"}, {"k", ""}} {
		list, err := as(t, p, other[0], other[1], "process", `{"action":"list"}`)
		if err != nil || string(list) != `{"sessions":[]}` {
			t.Errorf("%v sees %s %v", other, list, err)
		}
		for _, action := range []string{"poll", "log", "input", "kill"} {
			_, err := as(t, p, other[0], other[1], "process", fmt.Sprintf(`{"action":%q,"sessionId":%q}`, action, id))
			if err == nil || !strings.Contains(err.Error(), "no command") {
				t.Errorf("%v may %s: %v", other, action, err)
			}
		}
	}
	// The session's next run still has it.
	call := callOf("process", "1", fmt.Sprintf(`{"action":"poll","sessionId":%q}`, id))
	call.Identity.Run, call.Address.Run = "r2", "other"
	if value, err := useAs(soon(t), p, call); err != nil || decode[processResult](t, value).Status != statusRunning {
		t.Errorf("%s %v", value, err)
	}
	call.Identity.Sandbox = "box"
	if _, err := useAs(soon(t), p, call); err == nil || !strings.Contains(err.Error(), "no command") {
		t.Errorf("a sandbox reaches a command from outside: %v", err)
	}
}

func TestCore_ProcessesAreBounded(t *testing.T) {
	p := shellOf(t, t.TempDir())
	var ids []string
	for range maxRunningEach {
		ids = append(ids, wants[execResult](t, p, "exec", in{"command": "sleep 1000", "background": true}).SessionID)
	}
	_, err := do[execResult](t, p, "exec", in{"command": "echo hi"})
	if err == nil || !strings.Contains(err.Error(), "32 commands of this session") {
		t.Errorf("%v", err)
	}
	if _, err := as(t, p, "k2", "main", "exec", `{"command":"echo hi"}`); err != nil {
		t.Errorf("another session is held up: %v", err)
	}
	for _, id := range ids {
		wants[processResult](t, p, "process", in{"action": "kill", "sessionId": id})
	}
	for until := time.Now().Add(30 * time.Second); ; {
		list := wants[shellList](t, p, "process", in{"action": "list"}).Sessions
		if len(list) == maxEndedEach && list[0].SessionID == ids[maxRunningEach-maxEndedEach] {
			break
		}
		if time.Now().After(until) {
			t.Fatalf("%d ended commands are kept", len(list))
		}
		time.Sleep(10 * time.Millisecond) // real: the last one is counted a moment after its end is told
	}
}

func TestCore_EndedCommandsAreLetGo(t *testing.T) {
	p := shellOf(t, t.TempDir())
	x := p.Provider.(*core).shells
	x.endedKept = 50 * time.Millisecond
	id := wants[execResult](t, p, "exec", in{"command": "true", "background": true}).SessionID
	for until := time.Now().Add(30 * time.Second); ; {
		if _, err := do[processResult](t, p, "process", in{"action": "log", "sessionId": id}); err != nil {
			break
		}
		if time.Now().After(until) {
			t.Fatal("it is still there")
		}
		time.Sleep(10 * time.Millisecond) // real: the time that it is kept passes
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if len(x.all) != 0 {
		t.Errorf("%d are held", len(x.all))
	}
}

// Closing the tools ends all commands, also those that don't heed the request, and nothing is started any more.
func TestCore_CloseEndsCommands(t *testing.T) {
	needProc(t)
	dir := t.TempDir()
	p := shellOf(t, dir)
	for i, command := range []string{"sleep 1000", "trap '' TERM; while :; do sleep 0.1; done"} {
		wants[execResult](t, p, "exec", in{"command": fmt.Sprintf("echo $$ > new%d; mv new%d pid%d; %s", i, i, i, command), "background": true})
	}
	pids := []string{awaitFile(t, dir, "pid0"), awaitFile(t, dir, "pid1")}
	awaited := make(chan error, 1)
	go func() {
		_, err := useAs(soon(t), p, callOf("exec", "1", `{"command":"echo x > here; sleep 1000","awaitResults":true}`))
		awaited <- err
	}()
	awaitFile(t, dir, "here")
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // there is no time for those that don't heed it
	begun := time.Now()
	if err := p.Close(ctx); err != nil {
		t.Error(err)
	}
	if took := time.Since(begun); took > termGrace {
		t.Errorf("closing took %v", took)
	}
	for _, pid := range pids {
		gone(t, pid)
	}
	if err := <-awaited; err != nil {
		t.Errorf("the waiting call: %v", err) // it hears of the end: failed, killed
	}
	if _, err := do[execResult](t, p, "exec", in{"command": "true"}); err == nil {
		t.Error("a command is started after the end")
	}
}

func TestCapture_PollDoesNotSpinOnHalfACharacter(t *testing.T) {
	p := shellOf(t, t.TempDir())
	started := wants[execResult](t, p, "exec", in{"command": `printf 'a\303'; cat >/dev/null; printf '\251b'`, "background": true})
	id := started.SessionID
	pollUntil(t, p, id, started.Output, func(text, _ string) bool { return text == "a" })
	begun := time.Now()
	got := wants[processResult](t, p, "process", in{"action": "poll", "sessionId": id, "waitMs": 100})
	if *got.Output != "" || got.More || time.Since(begun) < 100*time.Millisecond {
		t.Errorf("%q more %v after %v", *got.Output, got.More, time.Since(begun))
	}
	wants[processResult](t, p, "process", in{"action": "input", "sessionId": id, "eof": true})
	if text, _ := pollUntil(t, p, id, "", over); text != "éb" {
		t.Errorf("%q", text)
	}
}
