package run

import (
	"strings"
	"testing"
	"time"

	"github.com/codecell/codecell/actors/cell"
	"github.com/codecell/codecell/schemas"
)

// readProgram is what becomes of a program of the contract of 2026-07 before a guest sees it.
func readProgram(t *testing.T, in schemas.ExecInput, budget time.Duration) *prepared {
	t.Helper()
	limits := schemas.DefaultLimits()
	limits.Timeout = budget
	p := &prepared{exec: &Exec{Start: time.Now()}, input: in, admission: &Admission{Limits: limits}, source: in.Code}
	p.transform(t.Context())
	return p
}

// J1: the transformer is there for TypeScript cells only. Here all of its places are taken: who asks for one waits in vain.
func TestSpec_J1_JavaScriptNeverMeetsTheTransformer(t *testing.T) {
	for range maxTransformers {
		transformers <- struct{}{}
	}
	defer func() {
		for range maxTransformers {
			<-transformers
		}
	}()
	const budget = 200 * time.Millisecond
	if p := readProgram(t, schemas.ExecInput{Code: "return 1", Language: schemas.LanguageTypeScript}, budget); p.err == nil || p.err.Code != schemas.Timeout {
		t.Errorf("TypeScript without a transformer: %+v", p.err)
	}
	for _, language := range []string{"", schemas.LanguageJavaScript} {
		if p := readProgram(t, schemas.ExecInput{Code: "return 1", Language: language}, budget); p.err != nil || p.source != "return 1" {
			t.Errorf("%q: %+v", language, p.err)
		}
	}
	in := schemas.ExecInput{Code: "const a: number = 1", Language: schemas.LanguageJavaScript}
	var got *schemas.Result
	var reply cell.Reply = func(r *schemas.Result) { got = r }
	explainSyntax(in, []string{schemas.LanguageJavaScript, schemas.LanguageTypeScript}, reply)(
		&schemas.Result{Status: schemas.StatusFailed, Code: schemas.InvalidInput, Error: "SyntaxError: x"})
	if got == nil || got.Error != "SyntaxError: x" {
		t.Errorf("the answer isn't given at once: %+v", got)
	}
}

// J1, X4: a program in TypeScript isn't parsed for the sake of shell text that it can't be, however long it is.
func TestSpec_J1_X4_TypeScriptIsNotParsedInVain(t *testing.T) {
	in := schemas.ExecInput{Language: schemas.LanguageTypeScript, Code: strings.Repeat("f(1)\n", 1000)}
	if n := testing.AllocsPerRun(10, func() { _ = reach202607.checkProgram(in) }); n > 100 {
		t.Errorf("%v allocations", n)
	}
	for code, refused := range map[string]bool{"ls -la": true, "git status": false, "node: number = 1": false, "#!/bin/sh": false} {
		in.Code = code
		if err := reach202607.checkProgram(in); (err != nil) != refused {
			t.Errorf("%s: %v", code, err)
		}
	}
}

func BenchmarkTransformTypeScript(b *testing.B) {
	const source = "interface A { x: number }\nconst f = (a: A): number => a.x\nreturn f({ x: 1 } as A)"
	for _, bench := range []struct {
		name string
		run  func() error
	}{
		{"process", func() error { _, err := transformTypeScript(b.Context(), source); return err }},
		{"work alone", func() error { runTransformer(source); return nil }},
	} {
		b.Run(bench.name, func(b *testing.B) {
			for b.Loop() {
				if err := bench.run(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
