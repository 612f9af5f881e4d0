package tool

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/codecell/codecell/schemas"
)

func shellOf(t testing.TB, dir string) *coreTools {
	t.Helper()
	return coreOf(t, dir, "exec", "process")
}

func TestCore_Exec(t *testing.T) {
	p := shellOf(t, folder(t, map[string]string{"sub/f": "text"}))
	for _, c := range []struct {
		args                 in
		status, kind, output string
		code                 int
		signal               string
	}{
		{in{"command": "echo hi"}, "completed", "", "hi\n", 0, ""},
		{in{"command": "echo out; echo err >&2; exit 3"}, "completed", "", "out\nerr\n", 3, ""},
		{in{"command": "cat f; echo; pwd | grep -o 'sub$'", "cwd": "sub"}, "completed", "", "text\nsub\n", 0, ""},
		{in{"command": "cat", "stdin": "given é\n"}, "completed", "", "given é\n", 0, ""},
		{in{"command": "cat"}, "completed", "", "", 0, ""},
		{in{"command": "no-such-command-at-all"}, "failed", "not_found", "no-such-command-at-all", 127, ""},
		{in{"command": "./sub/f"}, "failed", "not_executable", "denied", 126, ""},
		{in{"command": "kill -9 $$"}, "failed", "signal", "", 0, "SIGKILL"},
		{in{"command": "-e"}, "failed", "not_found", "-e", 127, ""},
		{in{"command": "printf '\\377a\\303'"}, "completed", "", "\ufffda\ufffd", 0, ""},
		{in{"command": "printf '\\000'"}, "completed", "", "\x00", 0, ""},
	} {
		got := wants[execResult](t, p, "exec", c.args)
		whole := got.Output == c.output || c.kind == "not_found" || c.kind == "not_executable"
		if got.Status != c.status || got.FailureKind != c.kind || !whole || !strings.Contains(got.Output, c.output) || got.ExitSignal != c.signal {
			t.Errorf("%v: %+v", c.args, got)
		}
		if (got.ExitCode == nil) != (c.signal != "") || got.ExitCode != nil && *got.ExitCode != c.code {
			t.Errorf("%v: exit code %v", c.args, got.ExitCode)
		}
		if got.SessionID != "" || got.Truncated {
			t.Errorf("%v: kept as %q", c.args, got.SessionID)
		}
	}
	if got := wants[shellList](t, p, "process", in{"action": "list"}); len(got.Sessions) != 0 {
		t.Errorf("ended commands are listed: %+v", got.Sessions)
	}
	for _, c := range []struct {
		args in
		want string
	}{
		{in{"command": "  "}, "command"},
		{in{"command": "a\x00b"}, "NUL"},
		{in{"command": strings.Repeat("x", maxCommandBytes+1)}, "write it to a file"},
		{in{"command": "pwd", "cwd": ".."}, "out of the workspace"},
		{in{"command": "pwd", "cwd": "/"}, "absolute"},
		{in{"command": "pwd", "cwd": "sub/f"}, "no folder"},
		{in{"command": "pwd", "cwd": "none"}, "doesn't exist"},
		{in{"command": "pwd", "env": in{"A": "b"}}, "env"},
		{in{"code": "return 1"}, "command"},
		{in{"command": "pwd", "timeoutMs": 0}, "timeoutMs"},
	} {
		if _, err := do[execResult](t, p, "exec", c.args); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.60v: %v, want %q", c.args, err, c.want)
		}
	}
}

func TestCore_ExecTellsNoSecrets(t *testing.T) {
	t.Setenv("CODECELL_TEST_SECRET", "hush")
	t.Setenv("CODECELL_TEST_SHOWN", "shown")
	t.Setenv("PATH", os.Getenv("PATH"))
	p, err := Core(CoreOptions{Root: t.TempDir(), Tools: []string{"exec"}, Env: []string{"CODECELL_TEST_SHOWN", "CODECELL_TEST_UNSET"}})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close(context.Background())
	made, _ := compileOffer(p.Offer(), nil)
	got := wants[execResult](t, &coreTools{p, made}, "exec", in{"command": "env"})
	var names []string
	for line := range strings.Lines(got.Output) {
		name, _, _ := strings.Cut(line, "=")
		names = append(names, name)
	}
	for _, name := range names {
		own := []string{"PWD", "OLDPWD", "SHLVL", "_", "CODECELL_TEST_SHOWN"} // the shell's own, and what is allowed
		if !slices.Contains(slices.Concat(commandEnv, own), name) {
			t.Errorf("the command sees %s", name)
		}
	}
	if !slices.Contains(names, "CODECELL_TEST_SHOWN") || !slices.Contains(names, "PATH") {
		t.Errorf("the command sees %v", names)
	}
}

// Q5: how long a call waits for its command.
func TestSpec_Q5_Patience(t *testing.T) {
	ms := func(n int64) *int64 { return &n }
	for _, c := range []struct {
		budget int64
		yield  *int64
		want   time.Duration
	}{
		{0, nil, 9 * time.Second},
		{10_000, nil, 9 * time.Second},
		{60_000, nil, 58 * time.Second},
		{1000, nil, 750 * time.Millisecond},
		{300, nil, 50 * time.Millisecond},
		{100, nil, 0},
		{100, ms(5000), 5 * time.Second},
		{10_000, ms(0), 0},
	} {
		args := execArgs{YieldMs: c.yield}
		if got := args.patience(&schemas.Call{BudgetMs: c.budget}); got != c.want {
			t.Errorf("budget %d, yieldMs %v: %v, want %v", c.budget, c.yield, got, c.want)
		}
	}
}

// pollUntil polls a command until its output so far, after what is known of it, is enough, and gives it with the last state.
func pollUntil(t testing.TB, p *coreTools, id, known string, enough func(text, status string) bool) (string, processResult) {
	t.Helper()
	text, until := known, time.Now().Add(time.Minute)
	for {
		got := wants[processResult](t, p, "process", in{"action": "poll", "sessionId": id, "waitMs": 500})
		text += *got.Output
		if enough(text, got.Status) {
			return text, got
		}
		if time.Now().After(until) {
			t.Fatalf("got %q, %+v", text, got.shellState)
		}
	}
}

// over waits for the end.
func over(_, status string) bool { return status != statusRunning }

func TestSpec_Q5_ACommandGoesOnInTheBackground(t *testing.T) {
	dir := t.TempDir()
	p := shellOf(t, dir)
	call := callOf("exec", "1", `{"command":"echo first; while [ ! -e go ]; do sleep 0.05; done; echo last"}`)
	call.BudgetMs = 3000
	value, err := useAs(soon(t), p, call)
	if err != nil {
		t.Fatal(err)
	}
	got := decode[execResult](t, value)
	if got.Status != statusRunning || got.SessionID == "" || got.Output != "first\n" || got.ExitCode != nil {
		t.Fatalf("%+v", got)
	}
	if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	text, end := pollUntil(t, p, got.SessionID, "", over)
	if text != "last\n" || end.Status != statusCompleted || *end.ExitCode != 0 || end.DurationMs < 2700 || end.More {
		t.Errorf("%q %+v", text, end.shellState)
	}
	again := wants[processResult](t, p, "process", in{"action": "poll", "sessionId": got.SessionID, "waitMs": 10_000})
	if *again.Output != "" || again.Status != statusCompleted {
		t.Errorf("%+v", again)
	}
	if log := wants[processResult](t, p, "process", in{"action": "log", "sessionId": got.SessionID}); *log.Output != "first\nlast\n" || log.Continuation != nil {
		t.Errorf("%+v", log)
	}
}

func TestSpec_Q4_AwaitedCommandsEnd(t *testing.T) {
	p := shellOf(t, t.TempDir())
	call := callOf("exec", "1", `{"command":"sleep 0.6; echo end","awaitResults":true,"yieldMs":1}`)
	call.BudgetMs = 100
	value, err := useAs(soon(t), p, call)
	if err != nil {
		t.Fatal(err)
	}
	if got := decode[execResult](t, value); got.Status != statusCompleted || got.Output != "end\n" || got.SessionID != "" {
		t.Errorf("%+v", got)
	}
	// background stays the opt-out.
	got := wants[execResult](t, p, "exec", in{"command": "sleep 1000", "awaitResults": true, "background": true})
	if got.Status != statusRunning {
		t.Errorf("%+v", got)
	}
}

func TestCore_ExecTimesOut(t *testing.T) {
	p := shellOf(t, t.TempDir())
	var both sync.WaitGroup
	both.Go(func() {
		got, err := do[execResult](t, p, "exec", in{"command": "echo begun; sleep 1000 & sleep 1000; echo not reached", "timeoutMs": 3000})
		if err != nil || got.Status != statusFailed || !got.TimedOut || got.FailureKind != whyTimeout || got.Output != "begun\n" || got.ExitSignal != "SIGTERM" {
			t.Errorf("%+v %v", got, err)
		}
	})
	both.Go(func() { // one that doesn't heed the request is killed
		got, err := do[execResult](t, p, "exec", in{"command": "trap '' TERM; echo begun; while :; do sleep 0.1; done", "timeoutMs": 3000})
		if err != nil || !got.TimedOut || got.ExitSignal != "SIGKILL" || got.Output != "begun\n" {
			t.Errorf("%+v %v", got, err)
		}
	})
	both.Wait()
}

// alive tells whether a process is there and no zombie.
func alive(pid string) bool {
	stat, err := os.ReadFile(filepath.Join("/proc", strings.TrimSpace(pid), "stat"))
	if err != nil {
		return false
	}
	rest := string(stat[strings.LastIndexByte(string(stat), ')')+1:])
	return !strings.HasPrefix(rest, " Z")
}

// gone waits until a process is.
func gone(t testing.TB, pid string) {
	t.Helper()
	for until := time.Now().Add(30 * time.Second); alive(pid); {
		if time.Now().After(until) {
			t.Fatalf("process %s is still there", pid)
		}
		time.Sleep(10 * time.Millisecond) // real: the system tells nobody about the end of another's child
	}
}

func needProc(t testing.TB) {
	t.Helper()
	if !alive(fmt.Sprint(os.Getpid())) {
		t.Skip("no /proc")
	}
}

// What a command leaves behind in its group ends with it, and neither it nor what left the group holds the call up.
func TestCore_ExecLeavesNothingBehind(t *testing.T) {
	needProc(t)
	p := shellOf(t, t.TempDir())
	got := wants[execResult](t, p, "exec", in{"command": "for i in 1 2 3 4 5 6 7 8; do (sleep 1000 & echo $!) & done; wait; sleep 1000 & echo $!"})
	pids := strings.Fields(got.Output)
	if got.Status != statusCompleted || len(pids) != 9 {
		t.Fatalf("%+v", got)
	}
	for _, pid := range pids {
		gone(t, pid)
	}
	got = wants[execResult](t, p, "exec", in{"command": "setsid sh -c 'echo $$; : > left; exec sleep 1000' & while [ ! -e left ]; do sleep 0.05; done; echo end"})
	pid := strings.Fields(got.Output)[0]
	n := 0
	if _, err := fmt.Sscan(pid, &n); err != nil || n <= 1 {
		t.Fatalf("%q %v", got.Output, err)
	}
	defer syscall.Kill(n, syscall.SIGKILL) //nolint:errcheck // ours alone: it told its number
	if got.Status != statusCompleted || !strings.HasSuffix(got.Output, "end\n") || !alive(pid) {
		t.Errorf("%+v", got)
	}
}

func TestCore_CancelledCallsEndTheirCommand(t *testing.T) {
	needProc(t)
	dir := t.TempDir()
	p := shellOf(t, dir)
	ctx, cancel := context.WithCancel(soon(t))
	ended := make(chan error, 1)
	go func() {
		_, err := useAs(ctx, p, callOf("exec", "1", `{"command":"echo $$ > pid.new; mv pid.new pid; sleep 1000","awaitResults":true}`))
		ended <- err
	}()
	pid := awaitFile(t, dir, "pid")
	cancel()
	err := <-ended
	var ce *schemas.CallError
	if !errors.As(err, &ce) || !strings.Contains(ce.Message, "cancelled") {
		t.Errorf("%v", err)
	}
	gone(t, pid)
}

// awaitFile waits for a file and gives its text.
func awaitFile(t testing.TB, parts ...string) string {
	t.Helper()
	for until := time.Now().Add(30 * time.Second); ; {
		if text, err := os.ReadFile(filepath.Join(parts...)); err == nil {
			return string(text)
		}
		if time.Now().After(until) {
			t.Fatalf("%v never came", parts)
		}
		time.Sleep(10 * time.Millisecond) // real: another process makes the file
	}
}

// A killed child of ours is waited for like any other end.
func TestCore_ExecKilledFromOutside(t *testing.T) {
	dir := t.TempDir()
	p := shellOf(t, dir)
	got := wants[execResult](t, p, "exec", in{"command": "echo $$ > pid.new; mv pid.new pid; while :; do sleep 0.1; done", "background": true})
	n := 0
	if _, err := fmt.Sscan(awaitFile(t, dir, "pid"), &n); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(n, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_, end := pollUntil(t, p, got.SessionID, "", over)
	if end.Status != statusFailed || end.FailureKind != "signal" || end.ExitSignal != "SIGKILL" || end.ExitCode != nil {
		t.Errorf("%+v", end.shellState)
	}
	if alive(fmt.Sprint(n)) {
		t.Errorf("process %d is still there", n)
	}
	if _, err := os.Stat(fmt.Sprintf("/proc/%d", n)); err == nil {
		t.Errorf("process %d is a zombie", n)
	}
}

func TestCore_ExecOutputIsBounded(t *testing.T) {
	p := shellOf(t, t.TempDir())
	got := wants[execResult](t, p, "exec", in{"command": "i=0; while [ $i -lt 100000 ]; do echo line $i é; i=$((i+1)); done", "awaitResults": true})
	if got.Status != statusCompleted || !got.Truncated || got.SessionID == "" || len(got.Output) > headShown+tailShown+100 || !utf8.ValidString(got.Output) {
		t.Fatalf("%d bytes of %d, %+v", len(got.Output), got.Bytes, got.shellState)
	}
	if !strings.HasPrefix(got.Output, "line 0 é\nline 1 é\n") || !strings.HasSuffix(got.Output, "line 99999 é\n") || !strings.Contains(got.Output, " bytes left out]\n") {
		t.Errorf("%.60q … %q", got.Output, got.Output[len(got.Output)-60:])
	}
	// What is kept of it comes in pages, which say where they begin.
	args := in{"action": "log", "sessionId": got.SessionID}
	kept, skipped, at := 0, 0, int64(0)
	for {
		r := wants[processResult](t, p, "process", args)
		if *r.From != at {
			skipped++
		}
		kept += len(*r.Output)
		at = *r.From + int64(len(*r.Output))
		if r.Continuation == nil {
			break
		}
		args = in{"action": "log", "sessionId": got.SessionID, "offset": r.Continuation.Offset, "limit": r.Continuation.Limit, "kind": r.Continuation.Kind}
	}
	if at != got.Bytes || skipped != 1 || kept < headKept+tailKept-8 || kept > headKept+tailKept {
		t.Errorf("%d bytes kept in pages, %d gaps, end at %d of %d", kept, skipped, at, got.Bytes)
	}
}
