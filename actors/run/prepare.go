package run

import (
	"context"
	"slices"
	"strings"

	"github.com/codecell/codecell/actors/cell"
	"github.com/codecell/codecell/schemas"
)

// prepared is a program that has been read, or refused.
type prepared struct {
	exec  *Exec
	input schemas.ExecInput
	// source is what the guest gets.
	source    string
	skills    *Skills
	admission *Admission
	err       *schemas.Error
	// session is that of a bound run, unless sessionErr says why there is none.
	session    Session
	sessionErr error
	record     *record
}

// prepare does what must happen before a guest starts: the catalog is admitted, the input is validated, the program is
// searched for module access, hooks are asked. It runs outside the actor. ctx ends when nobody
// waits for it any more.
func prepare(ctx context.Context, spec *Spec, m *Exec) *prepared {
	p := &prepared{exec: m}
	if p.session, p.sessionErr = openSession(spec); p.session != nil {
		defer func() { p.record = newRecord(spec, p) }()
	}
	admission, err := spec.Env.Admit(spec.Identity)
	if err != nil {
		p.err = &schemas.Error{Code: schemas.RuntimeUnavailable, Message: err.Error()}
		return p
	}
	p.admission = admission
	if p.err = refuseExec(admission); p.err != nil {
		return p
	}
	if p.input, p.err = admission.parser(spec.Contract)(m.Msg.Input); p.err != nil {
		return p
	}
	if p.err = admission.reach(spec.Contract).checkProgram(p.input); p.err != nil {
		return p
	}
	if p.err = p.input.CheckLanguage(admission.Languages); p.err != nil {
		return p
	}
	if spec.Hooks.Before != nil {
		if p.askBefore(ctx, spec); p.err != nil {
			return p
		}
	}
	if spec.Skills != nil {
		p.skills = spec.Skills()
	}
	p.source = p.input.Code
	p.transform(ctx)
	return p
}

// checkProgram refuses what no guest may see. In TypeScript, modules are looked for once its types are gone, and what is no
// JavaScript may be a program by its types.
func (r reach) checkProgram(in schemas.ExecInput) *schemas.Error {
	if in.Language == schemas.LanguageTypeScript {
		err := r.checkShell(in.Code)
		if err == nil {
			return nil // as nearly always, and nothing was parsed
		}
		if parsed, _ := readInert(in.Code); !parsed {
			return nil
		}
		return err
	}
	return r.checkSource(in.Code)
}

// openSession gives the session of a run that is bound. It may block.
func openSession(spec *Spec) (Session, error) {
	if !spec.Bind {
		return nil, nil //nolint:nilnil // a run that isn't bound has no session, and that's no error
	}
	return spec.Env.Session(spec.Identity.SessionKey)
}

// programsAre says what programs are where they may be TypeScript too.
func programsAre(languages []string) string {
	if !slices.Contains(languages, schemas.LanguageTypeScript) {
		return ""
	}
	return "Programs have no modules, and types only with language: \"typescript\""
}

// explainSyntax adds to a syntax error what a model most often got wrong: it wrote TypeScript (X2). Where that may be
// written, the transformer is left alone: it's for programs that say what they are (J1).
func explainSyntax(in schemas.ExecInput, languages []string, reply cell.Reply) cell.Reply {
	if in.Language == schemas.LanguageTypeScript {
		return reply
	}
	return func(result *schemas.Result) {
		// Only the compiler fails with this pair: a program that throws a SyntaxError is an
		// internal_error.
		if result.Code != schemas.InvalidInput || !strings.HasPrefix(result.Error, "SyntaxError") {
			reply(result)
			return
		}
		if slices.Contains(languages, schemas.LanguageTypeScript) {
			reply(result) // it says how to give types
			return
		}
		// Off the cell's goroutine: telling takes a process.
		go func() {
			if IsTypeScript(in.Code) {
				explained := *result
				explained.Error += "\nThe program is TypeScript. Write plain JavaScript: no type annotations, interfaces, enums or casts."
				result = &explained
			}
			reply(result)
		}()
	}
}
