package tool

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/codecell/codecell/schemas"
)

const processName = "process"

const (
	// inputPatience is how long a command may leave its input unread.
	inputPatience = 5 * time.Second
	// listedCommandBytes bounds a command as it is listed.
	listedCommandBytes = 200
	// maxPollWait bounds one poll.
	maxPollWait = 10 * time.Minute
)

type processArgs struct {
	Action    string `json:"action"`
	SessionID string `json:"sessionId"`
	Offset    int64  `json:"offset"`
	Limit     int    `json:"limit"`
	Data      string `json:"data"`
	EOF       bool   `json:"eof"`
	WaitMs    int64  `json:"waitMs"`
}

// processResult is the answer to any action but list.
type processResult struct {
	shellState
	// Output is for poll and log; From is the offset of its first byte, Bytes the length of all output by now.
	Output *string `json:"output,omitempty"`
	From   *int64  `json:"from,omitempty"`
	Bytes  int64   `json:"bytes,omitempty"`
	More   bool    `json:"more,omitempty"`
	// Continuation is of log only.
	Continuation *byteContinuation `json:"continuation,omitempty"`
	// Written is how much of the data the command's input has taken.
	Written int `json:"written,omitempty"`
}

// shellList is the answer to list, and listedShell one command of it.
type shellList struct {
	Sessions []listedShell `json:"sessions"`
}
type listedShell struct {
	shellState
	Command string `json:"command"`
}

// byteContinuation is given back as the arguments of the next log, whose output is appended.
type byteContinuation struct {
	Kind   string `json:"kind"`
	Offset int64  `json:"offset"`
	Limit  int    `json:"limit"`
}

func (x *shells) processTool() Func {
	return coreTool(processName,
		"Look after commands that exec left in the background. poll: what came since the last poll; log: the kept output, in pages; input: write to a command started with background: true; kill: end it. A command that has ended can be looked at for 30 minutes.",
		`{"type":"object","properties":{`+
			`"action":{"enum":["list","poll","log","input","kill"]},`+
			`"sessionId":{"type":"string","description":"of exec; for all actions but list"},`+
			`"waitMs":{"type":"integer","minimum":0,"maximum":600000,"default":0,"description":"poll: wait so long for output or the end"},`+
			`"offset":{"type":"integer","minimum":0,"default":0,"description":"log: byte of the output to begin at"},`+
			`"limit":{"type":"integer","minimum":4,"maximum":51200,"default":51200,"description":"log: most bytes"},`+
			`"data":{"type":"string","description":"input: the text, with its line end"},`+
			`"eof":{"type":"boolean","default":false,"description":"input: nothing more will come"},`+
			`"kind":{"enum":["byte"],"description":"from a continuation; not looked at"}},`+
			`"required":["action"],"additionalProperties":false}`,
		// A hint shows what comes first.
		`{"type":"object","properties":{`+statusProperty+
			`"output":{"type":"string"},"more":{"type":"boolean","description":"there is more to get now"},`+
			`"sessions":{"type":"array","items":{"type":"object","properties":{`+statusProperty+`"command":{"type":"string"},`+stateProperties+`},"required":["sessionId","status","command"]}},`+
			stateProperties+`,`+
			`"from":{"type":"integer","description":"byte of all output that output begins at: what lies before and wasn't given isn't kept"},`+
			`"bytes":{"type":"integer","description":"length of all output"},`+
			`"continuation":{"type":"object","description":"arguments of the next log, whose output is appended","properties":{"kind":{"enum":["byte"]},"offset":{"type":"integer"},"limit":{"type":"integer"}},"required":["kind","offset","limit"]},`+
			`"written":{"type":"integer","description":"bytes"}}}`,
		x.process)
}

func (x *shells) process(ctx context.Context, in processArgs) (any, error) {
	owner := ownerOf(CallOf(ctx))
	if in.Action == "list" {
		list := shellList{Sessions: []listedShell{}}
		for _, s := range x.list(owner) {
			list.Sessions = append(list.Sessions, listedShell{s.now(), clip(s.command, listedCommandBytes)})
		}
		return list, nil
	}
	if in.SessionID == "" {
		return nil, refused(schemas.CallInputContract, atInput, "sessionId: %s needs that of a command; process({action: \"list\"}) has them", in.Action)
	}
	s, err := x.find(owner, in.SessionID)
	if err != nil {
		return nil, err
	}
	switch in.Action {
	case "poll":
		return s.poll(ctx, time.Duration(in.WaitMs)*time.Millisecond)
	case "log":
		return s.log(&in), nil
	case "input":
		return s.feed(ctx, &in)
	default:
		return s.end(ctx)
	}
}

// poll gives what came since the last poll, or since the result of exec.
func (s *shell) poll(ctx context.Context, wait time.Duration) (*processResult, error) {
	if wait > 0 {
		s.mu.Lock()
		seen := s.seen
		s.mu.Unlock()
		timer := time.NewTimer(min(wait, maxPollWait))
		defer timer.Stop()
		select {
		case <-s.out.after(seen):
			if s.out.complete() {
				<-s.over // a moment later
			}
		case <-timer.C:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	state := s.now() // before the output: with its end known, nothing is missed
	s.mu.Lock()
	p := s.out.read(s.polled, pageBytes)
	s.polled, s.seen = p.next, p.seen()
	s.mu.Unlock()
	return &processResult{shellState: state, Output: &p.text, From: &p.from, Bytes: p.total, More: p.more}, nil
}

// log gives a page of the output that is kept.
func (s *shell) log(in *processArgs) *processResult {
	limit := min(in.Limit, pageBytes)
	if limit <= 0 {
		limit = pageBytes
	}
	state := s.now()
	p := s.out.read(in.Offset, limit)
	r := &processResult{shellState: state, Output: &p.text, From: &p.from, Bytes: p.total, More: p.more}
	if p.more {
		r.Continuation = &byteContinuation{Kind: "byte", Offset: p.next, Limit: limit}
	}
	return r
}

// feed writes to the command's input.
func (s *shell) feed(ctx context.Context, in *processArgs) (*processResult, error) {
	n, err := s.input(ctx, in.Data)
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, toolError("the command doesn't read its input: it took %d of %d bytes", n, len(in.Data))
	case err != nil && s.ending():
		return nil, toolError("the command has ended")
	case err != nil:
		return nil, toolError("the command took %d of %d bytes: %v", n, len(in.Data), err)
	}
	if in.EOF {
		s.closeInput()
	}
	return &processResult{shellState: s.now(), Written: n}, nil
}

// end ends the command, and waits until it has.
func (s *shell) end(ctx context.Context) (*processResult, error) {
	s.stop(whyKilled)
	select {
	case <-s.over:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	return &processResult{shellState: s.now()}, nil
}

func toolError(format string, args ...any) error {
	e := refused(schemas.CallToolError, atTool, format, args...)
	e.Effect = schemas.Failed
	return e
}
