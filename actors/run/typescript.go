package run

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"time"

	"github.com/codecell/codecell/schemas"
)

const (
	// maxTransform bounds the time in which one program is transformed. An ordinary one takes milliseconds, and the start
	// of the process some more.
	maxTransform = 5 * time.Second
	// maxTransformers is how many programs are transformed at once; more wait, within their budgets.
	maxTransformers = 4
	// maxTransformed bounds what a transformation may answer, in bytes: a program, and room for what TypeScript's enums and
	// parameter properties add.
	maxTransformed = 4 * schemas.MaxCodeBytes
)

// transformers are the places for transformations of this process.
var transformers = make(chan struct{}, maxTransformers)

// transformed is what a transformation comes to: a program, or the first error of its syntax.
type transformed struct {
	// Code has everything on the line of the submitted source where it stood there, and in its column where there was room.
	Code string `json:"code,omitempty"`
	// Plain: the program is JavaScript as well.
	Plain bool `json:"plain,omitempty"`
	// Message is empty if there is a program. Line and Column are one-based, in the submitted source; columns count UTF-16
	// units, as the engine's do.
	Message string `json:"message,omitempty"`
	Line    int    `json:"line,omitempty"`
	Column  int    `json:"column,omitempty"`
	// Module is what stands there if that is an import or export statement.
	Module string `json:"module,omitempty"`
}

// errTransform is what can't be blamed on the program.
var errTransform = errors.New("the TypeScript transformer isn't available")

// transformTypeScript makes JavaScript of TypeScript: types are taken out and nothing is checked (J1). The work is done
// by a process of its own, which ends with ctx: there are programs for which the transformer needs years, or a stack that
// no process has. The error is ctx's, [context.DeadlineExceeded] for a program that took too long, or matches
// errTransform.
func transformTypeScript(ctx context.Context, source string) (*transformed, error) {
	select {
	case transformers <- struct{}{}:
		defer func() { <-transformers }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	ctx, cancel := context.WithTimeout(ctx, maxTransform)
	defer cancel()
	self, err := ownPath()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errTransform, err)
	}
	cmd := exec.CommandContext(ctx, self)
	cmd.Args = []string{"codecell-typescript"}
	cmd.Env = []string{transformerEnv + "=1"}
	cmd.Stdin = bytes.NewReader([]byte(source))
	out := &boundedBuffer{left: maxTransformed}
	cmd.Stdout = out
	cmd.WaitDelay = time.Second
	err = cmd.Run()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if errors.Is(err, errTooMuch) {
		text := fmt.Sprintf("the program is longer than %d bytes as JavaScript", maxTransformed)
		return &transformed{Message: text, Line: 1, Column: 1}, nil
	}
	// What the embedding program prints before it comes to this package isn't ours.
	_, text, found := bytes.Cut(out.b.Bytes(), []byte(transformerMark))
	var t transformed
	if err != nil || !found || json.Unmarshal(text, &t) != nil {
		if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() == 2 && !found {
			// The runtime gave up, as it does when a stack is exhausted.
			return &transformed{Message: "the program is nested too deeply", Line: 1, Column: 1}, nil
		}
		return nil, fmt.Errorf("%w: its process ended without an answer: %w", errTransform, cmp.Or(err, errNoAnswer))
	}
	return &t, nil
}

// ownPath is the program that runs, also after its file was replaced by another version.
func ownPath() (string, error) {
	if runtime.GOOS == "linux" {
		return "/proc/self/exe", nil
	}
	return os.Executable()
}

var (
	errTooMuch  = errors.New("the answer is too long")
	errNoAnswer = errors.New("it said nothing")
)

// boundedBuffer takes so many bytes and no more.
type boundedBuffer struct {
	b    bytes.Buffer
	left int
}

func (b *boundedBuffer) Write(p []byte) (int, error) {
	if b.left -= len(p); b.left < 0 {
		return 0, errTooMuch
	}
	return b.b.Write(p)
}

// transform makes the program that the guest gets of one that may be TypeScript, within its budget (S5). It is refused like
// any other that can't run: with the line and the column of what was submitted.
func (p *prepared) transform(ctx context.Context) {
	if p.input.Language != schemas.LanguageTypeScript {
		return
	}
	budget := p.admission.Limits.Timeout
	start := p.exec.Start
	if start.IsZero() {
		start = time.Now()
	}
	ctx, cancel := context.WithDeadline(ctx, start.Add(budget))
	defer cancel()
	t, err := transformTypeScript(ctx, p.input.Code)
	switch {
	case errors.Is(err, context.Canceled):
		p.err = &schemas.Error{Code: schemas.Aborted, Message: "the call was cancelled before the program began"}
	case errors.Is(err, context.DeadlineExceeded):
		p.err = &schemas.Error{Code: schemas.Timeout, Message: fmt.Sprintf("code mode timeout exceeded: the TypeScript of the program "+
			"could not be transformed within its budget, or within %v; it was not started", maxTransform)}
	case err != nil:
		p.err = &schemas.Error{Code: schemas.RuntimeUnavailable, Message: err.Error() + "; the program was not started"}
	case t.Module != "":
		p.err = schemas.Refuse("code", fmt.Sprintf("the program uses %s at line %d, column %d, and %s",
			t.Module, t.Line, t.Column, modulesOff))
	case t.Message != "":
		if p.err = reach202607.checkShell(p.input.Code); p.err == nil {
			p.err = schemas.Refuse("code", fmt.Sprintf("SyntaxError: %s\n    at codecell:user.ts:%d:%d\n"+
				"No tools were dispatched: correct the source and submit it again.", t.Message, t.Line, t.Column))
		}
	default:
		p.source, p.err = t.Code, checkModules(t.Code)
	}
}

// IsTypeScript tells, of a program that is not JavaScript, whether it is TypeScript, so that the refusal can name the
// cause (X2). It is asked only after a syntax error, and answers within [maxTransform]. What the transformer takes for
// JavaScript, as it does a program that closes the function around it, has another fault than its types.
func IsTypeScript(source string) bool {
	ctx, cancel := context.WithTimeout(context.Background(), maxTransform)
	defer cancel()
	t, err := transformTypeScript(ctx, source)
	return err == nil && t.Message == "" && !t.Plain
}
