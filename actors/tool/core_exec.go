package tool

import (
	"context"
	"strings"
	"time"

	"github.com/codecell/codecell/schemas"
)

const execName = "exec"

const (
	// defaultPatience is how long exec waits for a command when its call doesn't say how long its cell can.
	defaultPatience = 10 * time.Second
	// A command's own limit.
	defaultTimeout = 30 * time.Minute
	maxTimeout     = 24 * time.Hour
	// maxCommandBytes is what one argument of a process may be, with room to spare.
	maxCommandBytes = 120 << 10
)

type execArgs struct {
	Command      string `json:"command"`
	Cwd          string `json:"cwd"`
	Stdin        string `json:"stdin"`
	TimeoutMs    int64  `json:"timeoutMs"`
	YieldMs      *int64 `json:"yieldMs"`
	Background   bool   `json:"background"`
	AwaitResults bool   `json:"awaitResults"`
}

func (in *execArgs) timeout() time.Duration {
	if in.TimeoutMs <= 0 {
		return defaultTimeout
	}
	return min(time.Duration(min(in.TimeoutMs, maxTimeout.Milliseconds()))*time.Millisecond, maxTimeout)
}

// execResult is a command's end, or its handle.
type execResult struct {
	shellState
	Output string `json:"output"`
	// Truncated: the middle of the output is left out. Bytes is the length of all of it.
	Truncated bool  `json:"truncated,omitempty"`
	Bytes     int64 `json:"bytes"`
}

// statusProperty and stateProperties are those of [shellState] in a schema.
const statusProperty = `"status":{"enum":["completed","failed","running"],"description":"completed: it ended by itself, whatever its exitCode; failed: see failureKind"},`
const stateProperties = `"exitCode":{"type":"integer"},` +
	`"exitSignal":{"type":"string","description":"such as SIGKILL; there is no exitCode then"},` +
	`"failureKind":{"enum":["not_found","not_executable","signal","timeout","killed","cancelled"]},` +
	`"sessionId":{"type":"string","description":"for process"},` +
	`"durationMs":{"type":"integer"},"timedOut":{"type":"boolean"},"cwd":{"type":"string"}`

// execTool is the shell tool. In programs it is exec(…); the model's own exec, which runs programs, is another tool
// that no program reaches (X9).
func (x *shells) execTool() Func {
	f := coreTool(execName,
		"Run a shell command (/bin/sh -c) in the workspace. It may do whatever the user of this machine may. A command that takes longer than the program has left goes on in the background: status is \"running\", and process({action: \"poll\", sessionId}) has the rest. With awaitResults: true the end is waited for instead.",
		`{"type":"object","properties":{`+
			`"command":{"type":"string","minLength":1,"description":"shell text"},`+
			`"cwd":{"type":"string","description":"folder, relative to the workspace; default: the workspace itself"},`+
			`"stdin":{"type":"string","description":"the command's input, which then ends"},`+
			`"timeoutMs":{"type":"integer","minimum":1,"maximum":86400000,"default":1800000,"description":"the command is ended after so long"},`+
			`"awaitResults":{"type":"boolean","default":false,"description":"wait until the command has ended"},`+
			`"yieldMs":{"type":"integer","minimum":0,"maximum":86400000,"description":"go on in the background after so long (not with awaitResults)"},`+
			`"background":{"type":"boolean","default":false,"description":"go on in the background at once, with the input open for process"}},`+
			`"required":["command"],"additionalProperties":false}`,
		`{"type":"object","properties":{`+statusProperty+stateProperties+`,`+
			`"output":{"type":"string","description":"stdout and stderr as they came, at most 50 KiB: the beginning and the end"},`+
			`"truncated":{"type":"boolean","description":"the middle of output is left out: process({action: \"log\", sessionId}) has more"},`+
			`"bytes":{"type":"integer","description":"length of all output"}},`+
			`"required":["status","output","bytes","durationMs","cwd"]}`,
		x.exec)
	f.tool.Awaitable = true
	return f
}

// exec runs a command until it ends, or until it goes on in the background. A call that is cancelled before ends it.
func (x *shells) exec(ctx context.Context, in execArgs) (*execResult, error) {
	switch {
	case strings.TrimSpace(in.Command) == "":
		return nil, refused(schemas.CallInputContract, atInput, "command: expected shell text, got only blanks")
	case strings.ContainsRune(in.Command, 0):
		return nil, refused(schemas.CallInputContract, atInput, "command: a NUL character can't be in it")
	case len(in.Command) > maxCommandBytes:
		return nil, refused(schemas.CallInputContract, atInput,
			"command: it has %d bytes, at most %d can be run: write it to a file, or give the data as stdin", len(in.Command), maxCommandBytes)
	}
	call := CallOf(ctx)
	s, err := x.start(ownerOf(call), &in)
	if err != nil {
		return nil, err
	}
	if !in.Background {
		var patience <-chan time.Time // nil: for ever
		if !in.AwaitResults {
			timer := time.NewTimer(in.patience(call))
			defer timer.Stop()
			patience = timer.C
		}
		select {
		case <-s.over:
		case <-patience:
		case <-ctx.Done():
			s.stop(whyCancelled)
			x.release(s, false)
			return nil, ctx.Err()
		}
	}
	return x.report(s), nil
}

// patience is how long a call waits for its command before it gives a handle: as long as it says, or so long that the
// handle reaches the cell in the same turn (Q5).
func (in *execArgs) patience(call *schemas.Call) time.Duration {
	if in.YieldMs != nil {
		return time.Duration(max(*in.YieldMs, 0)) * time.Millisecond
	}
	budget := defaultPatience
	if call.BudgetMs > 0 {
		budget = time.Duration(call.BudgetMs) * time.Millisecond
	}
	return max(budget-resumeMargin(budget), 0)
}

// resumeMargin is what a cell needs of its budget to be brought back and to go on with a handle: a tenth of it, from
// 250 ms to 2 s.
func resumeMargin(budget time.Duration) time.Duration {
	return min(max(budget/10, 250*time.Millisecond), 2*time.Second)
}

// report gives what exec returns of a command as it is now. One that runs, or whose output isn't all in the result, is
// kept for process.
func (x *shells) report(s *shell) *execResult {
	ended := s.ending()
	p, truncated := s.out.excerpt()
	s.mu.Lock()
	s.polled, s.seen = p.next, p.seen()
	s.mu.Unlock()
	x.release(s, !ended || truncated)
	return &execResult{shellState: s.now(), Output: p.text, Truncated: truncated, Bytes: p.total}
}
