package host_test

import (
	"context"
	"encoding/json"
	"iter"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/codecell/codecell/actors/host"
	"github.com/codecell/codecell/actors/tool"
	"github.com/codecell/codecell/bus"
	"github.com/codecell/codecell/schemas"
)

const older = `contract: "2026-07", tools: {codeMode: {timeoutMs: 10000}}`

// olderNode is a node under the contract of 2026-07.
func olderNode(t *testing.T, tools ...tool.Func) *host.Node {
	t.Helper()
	return node(t, config(t, `{`+older+`}`), tools...)
}

// execIn runs a program in a language; "" says none.
func execIn(t *testing.T, run *bus.Run, language, code string) *schemas.Result {
	t.Helper()
	in := map[string]any{"code": code}
	if language != "" {
		in["language"] = language
	}
	input, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	result, err := run.Exec(t.Context(), schemas.Exec{CallID: "call-1", Input: input})
	if err != nil {
		t.Fatal(err)
	}
	return result
}

var languages = []string{"javascript", "typescript"}

// inLanguages runs programs that must come to the same in both languages.
func inLanguages(t *testing.T, run *bus.Run, programs map[string]string) {
	t.Helper()
	for code, want := range programs {
		for _, language := range languages {
			if r := execIn(t, run, language, code); r.Status != schemas.StatusCompleted || string(r.Value) != want {
				t.Errorf("%s: %s\ngot %s, want %s", language, code, told(r), want)
			}
		}
	}
}

func odd(name string) tool.Func {
	return tool.New(name, "Is called "+name+".", func(_ context.Context, in echoIn) (echoOut, error) { return echoOut(in), nil })
}

func TestSpec_J2_GuestOfTheOlderContract(t *testing.T) {
	n := olderNode(t, odd("a-b"), odd("a_b"), odd("exec"), odd("search"), odd("delete"), odd("2nd"), odd("then"))
	run := open(t, n, "a")
	inLanguages(t, run, map[string]string{
		`return [typeof catalog, typeof store, typeof load, typeof results, typeof echo, typeof tools, typeof MCP, typeof API,
			typeof text, typeof json, typeof yield_control]`: `["undefined","undefined","undefined","undefined","undefined","object","object","object",` +
			`"function","function","function"]`,
		`return ALL_TOOLS.map(({name}) => name)`: `["2nd","a-b","a_b","boom","delete","echo","exec","search","then"]`,
		`const t = ALL_TOOLS.find((t) => t.name === "echo");
		return [Object.keys(t), t.source, /^tool_[0-9a-f]{16}$/.test(t.id), Object.isFrozen(t), Object.isFrozen(ALL_TOOLS)]`: `[["id","name","description","source"],` +
			`"openclaw",true,true,true]`,
		`return Object.keys(tools)`: `["search","describe","call","tool_2nd","boom","delete","echo","exec"]`,
		`const id = (name) => ALL_TOOLS.find((t) => t.name === name).id;
		return Promise.all([tools.echo({n: 1}), tools.exec({n: 2}), tools.delete({n: 3}), tools.call(id("a-b"), {n: 4}), tools.call(id("a_b"), {n: 5}),
			tools.call(id("then"), {n: 6}), tools.call(id("search"), {n: 7}), tools.call("echo", {n: 8})].map(async (c) => (await c).n))`: `[1,2,3,4,5,6,7,8]`,
		`const [best] = await tools.search("gives back", {limit: 1}); const d = await tools.describe(best.id);
		return [best.name, d.name, d.id === best.id, d.parameters.required]`: `["echo","echo",true,["n"]]`,
		`return await tools.search("zzz qqq")`: `[]`,
		`const bad = []; for (const f of [() => tools.call("nope", {}), () => tools.call(1), () => tools.describe(), () => tools.search(1), () => tools.echo(1)])
			try { await f() } catch (e) { bad.push(e.name + ": " + e.message.slice(0, 30)) }
		return bad`: `["Error: tools.call: there is no tool \"","TypeError: tools.call: the first argument","TypeError: tools.describe: the first argu",` +
			`"TypeError: tools.search: the query must b","TypeError: tools.echo: the argument must "]`,
		`return await Promise.all([tools, ALL_TOOLS.length, typeof (await tools)])`: `[{},9,"object"]`,
		`const f = API.read("tools/echo.d.ts"); return [Object.keys(f), f.content.includes("  echo(input: {"), f.bytes > 10, API.list("results").files]`: `[["path","content","bytes"],` +
			`true,true,[]]`,
	})
	if r := execIn(t, run, "", `text(1); return 1`); string(r.Value) != "1" {
		t.Errorf("without a language: %s", told(r))
	}
	if r := execIn(t, run, "", `await tools.echo({n: 1}); await yield_control(); return 5`); r.Status != schemas.StatusWaiting {
		t.Errorf("yield: %s", told(r))
	} else if r, err := run.Wait(t.Context(), r.RunID); err != nil || string(r.Value) != "5" {
		t.Errorf("wait: %s %v", told(r), err)
	}
}

func TestSpec_E3_J2_UnknownToolsAreCallsThatWereNotMade(t *testing.T) {
	inLanguages(t, open(t, olderNode(t), "a"), map[string]string{
		`const said = [];
		for (const f of [() => tools.call("nope", {}), () => tools.describe("nope")]) try { await f() } catch (e) { said.push([e.code, e.location, e.effectStatus]) }
		return said`: `[["invalid_input","input","not_started"],["invalid_input","input","not_started"]]`,
	})
}

func TestSpec_O3_J2_OversizedValuesWithoutResults(t *testing.T) {
	run := open(t, node(t, config(t, `{contract: "2026-07", tools: {codeMode: {maxOutputBytes: 1024}}}`)), "a")
	r := execIn(t, run, "", `return {a: "x".repeat(5000)}`)
	var value struct {
		Truncated bool
		Reference any
		Prefix    string
		Guidance  string
	}
	if err := json.Unmarshal(r.Value, &value); err != nil || !value.Truncated || value.Reference != nil || !strings.HasPrefix(value.Prefix, `{"a":"xx`) ||
		strings.Contains(value.Guidance, "results.") {
		t.Errorf("%s, %v", told(r), err)
	}
}

func TestSpec_J1_InputOfTheOlderContract(t *testing.T) {
	n := olderNode(t)
	run := open(t, n, "a")
	facts, err := n.Client().Watch(t.Context(), bus.Facts("cell", "started"))
	if err != nil {
		t.Fatal(err)
	}
	next, stop := iter.Pull(facts)
	defer stop()
	for input, want := range map[string]string{
		`{"command":"return 1"}`:                                                   "1",
		`{"code":"return 2","command":"return 2","language":null}`:                 "2",
		`{"code":"const a: number = 3; return a","language":"typescript"}`:         "3",
		"{\"code\":\"```ts\\nreturn 4 as any\\n```\",\"language\":\"typescript\"}": "4",
	} {
		r, err := run.Exec(t.Context(), schemas.Exec{Input: schemas.JSON(input)})
		if err != nil || string(r.Value) != want {
			t.Errorf("%s: %s %v", input, told(r), err)
		}
		e, _ := next()
		if f, ok := e.Fact.(*schemas.CellStarted); !ok || f.Title == "" || len(f.Title) > 2*schemas.MaxTitle {
			t.Errorf("%s: title %+v", input, f)
		}
	}
	for input, want := range map[string]string{
		`{}`:           "code: give",
		`{"code":" "}`: "code: give",
		`{"code":"return 1","command":"return 2"}`:        "alias",
		`{"code":"return 1","language":"python"}`:         `language: expected "javascript" or "typescript"`,
		`{"code":"return 1","language":1}`:                "language: expected a string",
		`{"code":"return 1","typecheck":true}`:            "typecheck: there is no such field",
		`{"code":"return 1","restartSafe":true}`:          "restartSafe: remove this field",
		`{"code":"const a: number = 3; return a"}`:        `types only with language: "typescript"`,
		`{"code":"const a: = 3","language":"typescript"}`: "codecell:user.ts:1:10",
	} {
		r, err := run.Exec(t.Context(), schemas.Exec{Input: schemas.JSON(input)})
		if err != nil {
			t.Fatal(err)
		}
		mustFail(t, r, schemas.InvalidInput, want)
		if r.Telemetry.CallCount != 0 {
			t.Errorf("%s: calls", input)
		}
	}
	one := node(t, config(t, `{contract: "2026-07", tools: {codeMode: {languages: ["javascript"]}},
		agents: {entries: {ts: {tools: {codeMode: {languages: ["typescript"]}}}}}}`))
	only := open(t, one, "a")
	mustFail(t, execIn(t, only, "typescript", `return 1`), schemas.InvalidInput, "typescript isn't offered here: write the program in javascript")
	mustComplete(t, execIn(t, only, "", `return 1`), "1")
	// A program that doesn't say its language is in the one that there is.
	who := someone("ts")
	who.Agent = "ts"
	typed := openAs(t, one, schemas.Open{Identity: who})
	mustComplete(t, execIn(t, typed, "", `const n: number = 1; return n`), "1")
	mustFail(t, execIn(t, typed, "javascript", `return 1`), schemas.InvalidInput, "javascript isn't offered here: write the program in typescript")
	if s, _ := typed.Surface.Tool("exec"); s == nil || !strings.Contains(string(s.InputSchema), "typescript unless told") {
		t.Errorf("the model is told %+v", s)
	}
	mustFail(t, exec(t, open(t, node(t, nil), "b"), "let x = 1; let x = 2"), schemas.InvalidInput, "SyntaxError")
}

// A7, A5: the surface says what there is in this contract, and flatly.
func TestSpec_A7_SurfaceOfTheOlderContract(t *testing.T) {
	n := node(t, config(t, `{`+older+`, agents: {entries: {js: {tools: {codeMode: {languages: ["javascript"]}}}}}}`), odd("a-b"), odd("a_b"))
	for agent, language := range map[string]string{schemas.DefaultAgent: `["javascript","typescript"]`, "js": `["javascript"]`} {
		who := someone("surface" + agent)
		who.Agent = agent
		run := openAs(t, n, schemas.Open{Identity: who})
		for _, s := range run.Surface.Tools {
			schema := string(s.InputSchema)
			if strings.Contains(schema, "anyOf") || strings.Contains(schema, "oneOf") {
				t.Errorf("%s: %s", s.Name, schema)
			}
			if s.Name != "exec" {
				continue
			}
			if !strings.Contains(schema, `"enum":`+language) || strings.Contains(schema, "title") {
				t.Errorf("schema %s", schema)
			}
			for _, want := range []string{"ALL_TOOLS", "tools.search", "tools.call(id", "\ntools.echo({ n: number }) -> { n: number }", "\ntools.call(\"tool_", "10 s"} {
				if !strings.Contains(s.Description, want) {
					t.Errorf("no %q in\n%s", want, s.Description)
				}
			}
			for _, never := range []string{"catalog", "results.", "store(", "title", "restartSafe"} {
				if strings.Contains(s.Description, never) {
					t.Errorf("%q in\n%s", never, s.Description)
				}
			}
			if agent == "js" && strings.Contains(s.Description, "TypeScript") {
				t.Error("TypeScript is offered to who can't have it")
			}
		}
	}
}

// Case 5: modules are found by parsing, in both languages alike.
func TestSpec_X3_Case5_ModulesInBothLanguages(t *testing.T) {
	run := open(t, olderNode(t), "a")
	emoji := strings.Repeat("\U0001F680", 100)
	for _, code := range []string{
		"await tools.echo({n: 1}); return `a ${await import('fs')}`", `await tools.echo({n: 1}); return requ\u0069re('fs')`,
		`await tools.echo({n: 1}); return require?.('fs')`, `await tools.echo({n: 1}); (require)('fs')`, `await tools.echo({n: 1}); (0, require)('fs')`,
		`const r = require; await tools.echo({n: 1}); r('fs')`, `let x = 1; await tools.echo({n: 1}); x++ / import('fs') / 2`,
		`await tools.echo({n: 1}); const s = "` + emoji + `"; await import('fs')`, `await tools.echo({n: 1}); return import.meta`,
		"import fs from 'fs'; await tools.echo({n: 1})", "await tools.echo({n: 1})\nexport const a = 1",
	} {
		for _, language := range languages {
			r := execIn(t, run, language, code)
			mustFail(t, r, schemas.InvalidInput, "module access is off")
			if r.Telemetry.CallCount != 0 {
				t.Errorf("%s: %s made %d calls", language, code, r.Telemetry.CallCount)
			}
		}
	}
	mustFail(t, execIn(t, run, "typescript", "const a = 1\nimport type { A } from './a'\nreturn a"), schemas.InvalidInput, "an import statement at line 2, column 1")
	inLanguages(t, run, map[string]string{
		"return [`import('x')`, \"require('y')\", /import\\(/.source] // import x":                                                             `["import('x')","require('y')","import\\("]`,
		`const o = {import() { return 1 }, require() { return 2 }, a: {import: {meta: 3}}}; return [o.import(), o.require(), o.a.import.meta]`: `[1,2,3]`,
	})
	mustComplete(t, execIn(t, run, "typescript", `const f = (x: typeof import("fs")) => 1; return f`), "null")
}

// Case 6: shell text, in both languages.
func TestSpec_X4_Case6_ShellTextInBothLanguages(t *testing.T) {
	run := open(t, olderNode(t), "a")
	for _, code := range []string{"pwd", "ls -la", "git status", "# list the files\nls", "./run.sh --fast", "find . -name '*.go'"} {
		for _, language := range languages {
			mustFail(t, execIn(t, run, language, code), schemas.InvalidInput, "shell text")
		}
	}
	inLanguages(t, run, map[string]string{`node -1; var node = 7; return node`: "7"})
	// What is no JavaScript may be TypeScript.
	mustComplete(t, execIn(t, run, "typescript", `node -1; var node: number = 7; return node`), "7")
}

// Case 7c: errors are at the lines and columns of what was submitted, at run time too.
func TestSpec_J1_Case7_RuntimeErrorsKnowThePlace(t *testing.T) {
	run := open(t, olderNode(t), "a")
	mustFail(t, execIn(t, run, "typescript", "const a: number = 1\nlet q: string = ;"), schemas.InvalidInput, "SyntaxError: Unexpected \";\"\n    at codecell:user.ts:2:17")
	mustFail(t, execIn(t, run, "typescript", "interface A {\n  x: number\n}\nconst f = (a: A): number => {\n  // why\n  return nope(a as any)\n}\nreturn f({ x: 1 })"),
		schemas.InternalError, "ReferenceError: nope is not defined\n    at f (codecell:user.js:6:10)\n    at <anonymous> (codecell:user.js:8:8)")
	mustComplete(t, execIn(t, run, "typescript", "type T = { a: string }\n\nlet where: unknown\ntry {\n  await tools.boom({} as T)\n} catch (e: any) {\n  where = e.location\n}\nreturn where"),
		`"tool"`)
	mustComplete(t, execIn(t, run, "typescript", "enum Color { Red = 3, Green }\nclass P { constructor(private readonly c: Color) {} get it(): number { return this.c } }\n"+
		"const xs: number[] = [Color.Green, new P(Color.Red).it]\nreturn xs.map(<T,>(x: T) => x satisfies T)"), `[4,3]`)
}

// X8, J1: hooks hear the language, and may rewrite a program that is then transformed.
func TestSpec_X8_HooksOfTheOlderContract(t *testing.T) {
	events := make(chan *schemas.HookEvent, 4)
	before := tool.Hook{Name: "before", Phase: schemas.BeforeToolCall, Ask: func(_ context.Context, e *schemas.HookEvent) (*schemas.Verdict, error) {
		if e.ToolKind != schemas.ToolKindExec {
			return nil, nil //nolint:nilnil // the call passes as it is
		}
		events <- e
		return &schemas.Verdict{Input: schemas.JSON(strings.ReplaceAll(string(e.Input), "41", "42 as number"))}, nil
	}}
	n, err := host.Up(t.Context(), host.NodeOptions{Config: config(t, `{`+older+`}`), Hooks: []tool.Hook{before}, CacheDir: cache})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = n.Close(context.Background()) })
	run := open(t, n, "a")
	mustComplete(t, execIn(t, run, "typescript", `const a: number = 41; return a`), "42")
	e := <-events
	if e.ToolInputKind != schemas.ToolInputTypeScript || string(e.Input) != `{"code":"const a: number = 41; return a","command":"const a: number = 41; return a","language":"typescript"}` {
		t.Errorf("%s %s", e.ToolInputKind, e.Input)
	}
	mustComplete(t, execIn(t, run, "", `return 1`), "1")
	if e := <-events; e.ToolInputKind != schemas.ToolInputJavaScript {
		t.Errorf("%s", e.ToolInputKind)
	}
}

// Case 31: a transformation that never finishes ends with the budget, and at once when the call is cancelled.
func TestSpec_L10_Case31_PreparationIsBounded(t *testing.T) {
	run := open(t, node(t, config(t, `{contract: "2026-07", tools: {codeMode: {timeoutMs: 700}}}`)), "a")
	endless := strings.Repeat("a ? (b) : c => d ? (e) : f => ", 20) + "1"
	r := execIn(t, run, "typescript", endless)
	mustFail(t, r, schemas.Timeout, "TypeScript")
	if len(r.Output) != 0 || r.Telemetry.CallCount != 0 {
		t.Errorf("%s", told(r))
	}
	patient := open(t, olderNode(t), "b")
	answered := make(chan struct{})
	var aborting sync.WaitGroup
	aborting.Go(func() { // a call that hasn't come yet can't be aborted
		for {
			select {
			case <-answered:
				return
			case <-time.After(300 * time.Millisecond): // real: the transformer is at work
				_ = patient.Abort(context.Background(), "call-1", "enough")
			}
		}
	})
	r = execIn(t, patient, "typescript", endless)
	close(answered)
	aborting.Wait()
	mustFail(t, r, schemas.Aborted, "cancelled") // long before its budget ends: that would be a timeout
}
