package run

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// J1: what is left of TypeScript stands where it stood.
func TestSpec_J1_TokensKeepTheirPlaces(t *testing.T) {
	for name, tc := range map[string]struct{ source, want string }{
		"types": {
			"interface A { x: number }\nfunction f<T>(x: T): T {\n  // why\n  return x!\n}\nthrow new Error(f('x' as string))",
			"\nfunction f(   x)       {\n\n  return x}\n\nthrow new Error(f(\"x\"          ))",
		},
		"templates": {
			"'use strict'\nconst s: string = `a\n  ${1 as number}\n  b`\nreturn (\n  s)",
			"\"use strict\";\nconst s=          `a\n  ${1          }\n  b`;\nreturn s",
		},
		"a chain": {
			"const r: number[] = list\n  .filter((x: any) => x)\n  .map(x =>\n    x + 1)\nreturn r",
			"const r=            list.\n   filter( x=>        x).\n   map(x=>\n    x+  1);\nreturn r",
		},
		"an enum": {
			"enum Color { Red }\nlet c: Color\n\nc = Color.Red",
			"let  Color;(Color2=>{Color2[Color2[\"Red\"]=0]=\"Red\"})(Color||(Color={}));\nlet c;\n\nc=  0",
		},
		"astral characters": {
			"const a: string = '\U0001F680'; const b: any = 1;\nreturn a",
			"const a=          \"\U0001F680\"; const b=       1;\nreturn a",
		},
		"nothing": {"// only a comment", "\n"},
	} {
		t.Run(name, func(t *testing.T) {
			got := runTransformer(tc.source)
			lines := func(text string) (cut []string) {
				for line := range strings.SplitSeq(text, "\n") {
					cut = append(cut, strings.TrimRight(line, " "))
				}
				return cut
			}
			if d := cmp.Diff(lines(tc.want), lines(got.Code)); d != "" || got.Message != "" {
				t.Errorf("%s\n%s\n%q", d, got.Message, got.Code)
			}
		})
	}
}

// J1, Case 7c: diagnostics are at the line and column of the submitted source.
func TestSpec_J1_Case7_DiagnosticsKnowThePlace(t *testing.T) {
	for source, want := range map[string]transformed{
		"const a: number = 1\nlet q: number = ;":   {Message: `Unexpected ";"`, Line: 2, Column: 17},
		"const é: string = '\U0001F680' let":       {Message: `Expected ";" but found "let"`, Line: 1, Column: 24},
		"if (true) {\n  f(":                        {Message: `unexpected end of the program (Unexpected "}")`, Line: 2, Column: 5},
		"}); evil(); (async()=>{":                  {Message: `Unexpected ")"`, Line: 1, Column: 2},
		"import fs from 'fs'":                      {Message: `Unexpected "fs"`, Line: 1, Column: 1, Module: "an import statement"},
		"const a = 1\n  import\n\t{ b } from 'b'":  {Message: `Unexpected "{"`, Line: 2, Column: 3, Module: "an import statement"},
		"let a: any = \\u0069mport('x')":           {Message: `Unexpected "\\u0069mport"`, Line: 1, Column: 14, Module: "import"},
		"await im\\u{70}ort('x')":                  {Message: `Unexpected "im\\u{70}ort"`, Line: 1, Column: 7, Module: "import"},
		"import type X from 'x'":                   {Message: `Unexpected "type"`, Line: 1, Column: 1, Module: "an import statement"},
		"import x = require('x')":                  {Message: `Unexpected "x"`, Line: 1, Column: 1, Module: "an import statement"},
		"return 1\nexport const a: number = 1":     {Message: `Unexpected "export"`, Line: 2, Column: 1, Module: "an export statement"},
		"export type A = 1":                        {Message: `Unexpected "export"`, Line: 1, Column: 1, Module: "an export statement"},
		"const a = '\u2028';\r\rlet q: number = ;": {Message: `Unexpected ";"`, Line: 1, Column: 33},
		"/* \u2029 */\nimport fs from 'fs'":        {Message: `Unexpected "fs"`, Line: 2, Column: 1, Module: "an import statement"},
		"/* \u2028 */ f(\r":                        {Message: `unexpected end of the program (Unexpected "}")`, Line: 1, Column: 12},
		"const ximport = 1; ximport 2":             {Message: `Expected ";" but found "2"`, Line: 1, Column: 28},
	} {
		if got := *runTransformer(source); got != want {
			t.Errorf("%q\ngot  %+v\nwant %+v", source, got, want)
		}
	}
}

// endless is a short program for which the transformer needs longer than anyone lives.
var endless = strings.Repeat("a ? (b) : c => d ? (e) : f => ", 20)

// Case 31, B2: a transformation that never finishes ends with whoever waits for it, and so does what it costs.
func TestSpec_L10_Case31_TransformationsEndInTime(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	start := time.Now()
	_, err := transformTypeScript(ctx, endless)
	if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) > 30*time.Second {
		t.Errorf("after %v: %v", time.Since(start), err)
	}
	ctx, cancel = context.WithCancel(t.Context())
	time.AfterFunc(100*time.Millisecond, cancel)
	if _, err := transformTypeScript(ctx, endless); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if len(transformers) != 0 {
		t.Errorf("%d places are still taken", len(transformers))
	}
	start = time.Now()
	if IsTypeScript(endless) || time.Since(start) > maxTransform+30*time.Second {
		t.Errorf("the hint took %v", time.Since(start))
	}
}

// B2: a program that exhausts the transformer's stack is refused, and costs only the process that looked at it.
func TestSpec_B2_DeepTypeScript(t *testing.T) {
	for _, part := range []string{"!", "("} {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		got, err := transformTypeScript(ctx, strings.Repeat(part, 500_000/len(part)))
		cancel()
		if err != nil && !errors.Is(err, context.DeadlineExceeded) || err == nil && got.Message == "" {
			t.Errorf("%q: %+v %v", part, got, err)
		}
	}
}

func TestTypeScript_TheProcessAnswersAsTheFunctionDoes(t *testing.T) {
	for _, source := range []string{"const a: number = 1\nreturn a", "let = ;", "", "return `\u2028${1}`"} {
		got, err := transformTypeScript(t.Context(), source)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(runTransformer(source), got); d != "" {
			t.Errorf("%q: %s", source, d)
		}
	}
	if os.Getenv(transformerEnv) != "" {
		t.Error("this process is a transformer")
	}
}

func FuzzRelay(f *testing.F) {
	f.Add("enum A { B = `${1}`.length }\nreturn (\n A.B as any)\n .x?.y\n ++z")
	f.Fuzz(func(t *testing.T, source string) {
		if len(source) > 200 { // longer ones may take for ever
			t.Skip()
		}
		got := runTransformer(source)
		if got.Message == "" && strings.Count(got.Code, "\n") > strings.Count(source, "\n")+1 {
			t.Errorf("%q became longer: %q", source, got.Code)
		}
	})
}
