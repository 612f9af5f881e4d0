package run

import (
	"strings"
	"testing"

	"github.com/codecell/codecell/schemas"
)

func TestSpec_X3_RefusesModuleAccess(t *testing.T) {
	emoji := strings.Repeat("\U0001F680", 100)
	for name, source := range map[string]string{
		"import statement":              `import fs from 'fs'; return 1`,
		"bare import":                   `import 'fs'`,
		"export":                        `export const a = 1`,
		"dynamic import":                `const fs = await import('fs'); return fs`,
		"import.meta":                   `return import.meta.url`,
		"in a template interpolation":   "return `a ${await import('fs')} b`",
		"nested template":               "return `a ${`b ${import('x')}`}`",
		"require":                       `return require('fs')`,
		"require escaped":               `return requ\u0069re('fs')`,
		"require escaped with braces":   `return requ\u{69}re('fs')`,
		"import escaped":                `rec({}); return \u0069mport('fs')`,
		"import escaped with braces":    `const s = 1; await im\u{70}ort('fs')`,
		"import.meta escaped":           `return \u0069mport.meta`,
		"require escaped whole":         `\u0072\u0065\u0071\u0075\u0069\u0072\u0065('fs')`,
		"optional call":                 `return require?.('fs')`,
		"parenthesised":                 `return (require)('fs')`,
		"comma sequence":                `return (0, require)('fs')`,
		"alias":                         `const load = require; return load('fs')`,
		"alias in an object":            `const o = {require}; return o.require('fs')`,
		"default parameter":             `const f = (load = require) => load('fs'); return f()`,
		"in a class static block":       `class A { static { require('fs') } }`,
		"in a try":                      `try { require('fs') } catch {}`,
		"typeof, then call":             `if (typeof require === 'function') require('fs')`,
		"import after a division":       `let x = 1; x++ / import('fs') / 2`,
		"import after emoji":            `const s = "` + emoji + `"; await import('fs')`,
		"shadowed elsewhere":            `{ const require = 1; } return require('fs')`,
		"in an arrow in an argument":    `[1].map(() => require('fs'))`,
		"tagged template":               "return require`fs`",
		"spread":                        `f(...[require])`,
		"assignment to a free variable": `x = require`,
	} {
		t.Run(name, func(t *testing.T) {
			err := reachCurrent.checkSource(source)
			if err == nil {
				t.Fatalf("accepted: %s", source)
			}
			if err.Code != schemas.InvalidInput || !strings.Contains(err.Message, "module access is off") || err.Field != "code" {
				t.Errorf("error = %+v", err)
			}
		})
	}
}

// Places are those of the statement, in UTF-16 units, as in all that a model reads about its source.
func TestSpec_X3_X5_Case5_ModuleStatementsHaveTheirPlaces(t *testing.T) {
	for source, place := range map[string]string{
		"import fs from 'fs'": "an import statement at line 1, column 1",
		"let s = '\U0001F680\U0001F680'; import fs from 'import'":    "an import statement at line 1, column 17",
		"const é = 1\n  import\n\t{ b } from 'b'":                    "an import statement at line 2, column 3",
		"return 1\n/* \U0001F680 */ export const a = 1":              "an export statement at line 2, column 10",
		"const text = 'import'; import.source('x')":                  "an import statement at line 1, column 24",
		"const a = `\r\n\U0001F680`;\r\nexport default function(){}": "an export statement at line 3, column 1",
		// Parsers see lines where nobody else does.
		"const a = 1;\r\rexport const b = 'export'":             "an export statement at line 1, column 15",
		"const a = '\u2028\u2029';\n export const b = 'export'": "an export statement at line 2, column 2",
		"/* \u2028 */ import fs from 'fs'; return 'import'":     "an import statement at line 1, column 9",
	} {
		err := reachCurrent.checkSource(source)
		if err == nil || !strings.Contains(err.Message, place+",") {
			t.Errorf("%q: %v, want %s", source, err, place)
		}
	}
}

func TestSpec_X3_AcceptsModuleLookingText(t *testing.T) {
	for name, source := range map[string]string{
		"string":             `return "import fs from 'fs'; require('x')"`,
		"template text":      "return `import('fs') require('x')`",
		"regular expression": `return /import\(|require\(/.test("x")`,
		"regex class":        `return /[/]import\(/.source`,
		"comment":            "// import x from 'y'\n/* require('z') */ return 1",
		"escaped property":   `const o = {\u0069mport() { return 1 }}; return o.\u0069mport()`,
		"methods":            `const o = {import() { return 1 }, require() { return 2 }}; return o.import() + o.require()`,
		"property path":      `const o = {import: {meta: 3}}; return o.import.meta`,
		"optional property":  `return o?.import?.(1)`,
		"class members":      `class A { static import() {} #require = 1; require() { return this.#require } } return new A().require()`,
		"own function":       `function require(a) { return a } return require(2)`,
		"own binding":        `const {require} = {require: 1}; return require`,
		"own parameter":      `const f = async ({require = 1}) => require; return f({})`,
		"key":                `return {require: 1, import: 2}`,
		"typeof":             `return [typeof require, typeof module, typeof (require)]`,
		"tool argument":      `return await search({query: "how to require() in node"})`,
		"division":           `let x = 4; return x++ / 2 / 1`,
		"unicode escape":     `return "\u0072equire" + caf\u00e9`,
		"no words":           `return 1 + 2`,
	} {
		t.Run(name, func(t *testing.T) {
			if err := reachCurrent.checkSource(source); err != nil {
				t.Errorf("refused %s: %v", source, err)
			}
		})
	}
}

func TestCheckSource_NamesThePlace(t *testing.T) {
	err := reachCurrent.checkSource("const a = 1;\nimport fs from 'fs'\n")
	if err == nil || !strings.Contains(err.Message, "line 2, column") {
		t.Errorf("error = %v", err)
	}
}

func TestSpec_X2_TellsTypeScriptFromNonsense(t *testing.T) {
	for source, want := range map[string]bool{
		"const a: number = 5; return a":                    true,
		"interface A { x: string }\nreturn 1":              true,
		"return (await read({path: 'a'})) as string":       true,
		"enum E { A }\nreturn E.A":                         true,
		"function f<T>(x: T): T { return x }\nreturn f(1)": true,
		"}; return 5; {":                                   false,
		"}\nfunction f(){":                                 false,
		"let q = ;":                                        false,
		"return (1":                                        false,
		"git status":                                       false,
		"if (x { return }":                                 false,
		"const = 3":                                        false,
	} {
		if got := IsTypeScript(source); got != want {
			t.Errorf("IsTypeScript(%q) = %v, want %v", source, got, want)
		}
	}
}

func FuzzCheckSource(f *testing.F) {
	f.Add("return require('x')")
	f.Add("`${import('a')}` \\u{72}equire")
	f.Fuzz(func(t *testing.T, source string) {
		_ = reachCurrent.checkSource(source) // it must not panic
	})
}
