package run

import (
	"context"
	"strings"

	"github.com/codecell/codecell/actors/cell"
	"github.com/codecell/codecell/schemas"
)

// prepared is a program that has been read, or refused.
type prepared struct {
	exec      *Exec
	input     schemas.ExecInput
	admission *Admission
	err       *schemas.Error
	// session is that of a bound run, unless sessionErr says why there is none.
	session    Session
	sessionErr error
	record     *record
}

// prepare does what must happen before a guest starts: the input is validated, the program is
// searched for module access, the catalog is admitted, hooks are asked. It runs outside the actor. ctx ends when nobody
// waits for it any more.
func prepare(ctx context.Context, spec *Spec, m *Exec) *prepared {
	p := &prepared{exec: m}
	if p.session, p.sessionErr = openSession(spec); p.session != nil {
		defer func() { p.record = newRecord(spec, p) }()
	}
	if p.input, p.err = schemas.ParseExecInput(m.Msg.Input); p.err != nil {
		return p
	}
	if p.err = CheckSource(p.input.Code); p.err != nil {
		return p
	}
	admission, err := spec.Env.Admit(spec.Identity)
	if err != nil {
		p.err = &schemas.Error{Code: schemas.RuntimeUnavailable, Message: err.Error()}
		return p
	}
	p.admission = admission
	if spec.Hooks.Before != nil {
		p.askBefore(ctx, spec)
	}
	return p
}

// openSession gives the session of a run that is bound. It may block.
func openSession(spec *Spec) (Session, error) {
	if !spec.Bind {
		return nil, nil //nolint:nilnil // a run that isn't bound has no session, and that's no error
	}
	return spec.Env.Session(spec.Identity.SessionKey)
}

// explainSyntax adds to a syntax error what a model most often got wrong: it wrote TypeScript (X2).
func explainSyntax(source string, reply cell.Reply) cell.Reply {
	return func(result *schemas.Result) {
		// Only the compiler fails with this pair: a program that throws a SyntaxError is an
		// internal_error.
		if result.Code != schemas.InvalidInput || !strings.HasPrefix(result.Error, "SyntaxError") {
			reply(result)
			return
		}
		// Off the cell's goroutine: telling takes a parse.
		go func() {
			if IsTypeScript(source) {
				explained := *result
				explained.Error += "\nThe program is TypeScript. Write plain JavaScript: no type annotations, interfaces, enums or casts."
				result = &explained
			}
			reply(result)
		}()
	}
}
