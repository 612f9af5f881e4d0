package host_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/codecell/codecell/actors/host"
	"github.com/codecell/codecell/actors/tool"
	"github.com/codecell/codecell/bus"
	"github.com/codecell/codecell/schemas"
)

// codeSearch is the configuration of a node whose runs search by programs with a limit of 10 s; hastyCode, of a second.
const (
	codeSearch = `{tools: {codeMode: false, toolSearch: {mode: "code"}}}`
	hastyCode  = `{tools: {codeMode: false, toolSearch: {mode: "code", codeTimeoutMs: 1000}}}`
)

// searchNode is a node with the lab's tools, and a run that searches.
func searchNode(t *testing.T, text string) (*lab, *host.Node, *bus.Run) {
	t.Helper()
	l := newLab()
	n := node(t, config(t, text), l.tools()...)
	return l, n, openIn(t, n.Client(), "a", schemas.Open{Mode: schemas.ModeSearch})
}

// searchCode runs a program of Tool Search.
func searchCode(t *testing.T, run *bus.Run, code string) *schemas.Result {
	t.Helper()
	return within(t, startSearch(t, run, code))
}

// startSearch sends a program of Tool Search and gives its answer later.
func startSearch(t *testing.T, run *bus.Run, code string) <-chan *schemas.Result {
	t.Helper()
	input, err := json.Marshal(map[string]string{"code": code})
	if err != nil {
		t.Fatal(err)
	}
	answer := make(chan *schemas.Result, 1)
	go func() {
		r, err := run.Exec(context.WithoutCancel(t.Context()), schemas.Exec{CallID: "s1", Input: input})
		if err != nil {
			t.Error(err)
			r = &schemas.Result{}
		}
		answer <- r
	}()
	return answer
}

// Native tools, tools of servers and of callers are found, described and called by their ids, and counted.
func TestSpec_L1_L4_L5_SearchDescribeCall(t *testing.T) {
	s := serveTools(t, `[{"name":"lookup","description":"Looks a word up.","inputSchema":{"type":"object","properties":{"word":{"type":"string"}},"required":["word"]}}]`)
	n := node(t, config(t, fmt.Sprintf(`{tools: {codeMode: false, toolSearch: {mode: "code", searchDefaultLimit: 2, maxSearchLimit: 3}}, mcpServers: {far: {url: %q}}}`, s.URL)), newLab().tools()...)
	run := openIn(t, n.Client(), "a", schemas.Open{Mode: schemas.ModeAuto})
	mustShow(t, &run.Surface, "search code", "tool_search_code")
	bringing(t, run, says("mine", "brought", nil))
	r := searchCode(t, run, `
		const { search, describe, call } = openclaw.tools;
		const [hit] = await search("echo", { limit: 1 });
		const many = (await search("gives back what it gets", { limit: 50 })).length, few = (await search("gives back what it gets")).length;
		const about = await describe(hit.id);
		return { hit, many, few, properties: Object.keys(about.parameters.properties), echo: await call(hit.id, { n: 7 }), none: await search("zebra crossing") }`)
	want := `{"hit":{"id":"openclaw:lab:echo","name":"echo","source":"openclaw","description":"Gives back what it gets.","input":`
	if r.Status != schemas.StatusCompleted || !strings.HasPrefix(string(r.Value), want) || !strings.HasSuffix(string(r.Value), `"many":3,"few":2,"properties":["n"],"echo":{"n":7},"none":[]}`) || r.Untrusted {
		t.Errorf("native: %s, untrusted %v", told(r), r.Untrusted)
	}
	if c := r.Telemetry; c.SearchCount != 4 || c.DescribeCount != 1 || c.CallCount != 1 || c.Sources.MCP != 1 || strings.Join(c.VisibleTools, " ") != "tool_search_code" {
		t.Errorf("telemetry %+v", c)
	}
	r = searchCode(t, run, `
		const [hit] = await openclaw.tools.search("look a word up");
		const about = await openclaw.tools.describe(hit.id);
		return [hit.id, hit.input ?? null, about.untrusted.parameters.required, await openclaw.tools.call(hit.id, { word: "x" }), await openclaw.tools.call("mine")]`)
	mustComplete(t, r, `["mcp:far:lookup",null,["word"],{"content":[{"type":"text","text":"lookup{\"word\":\"x\"}"}]},"brought"]`)
	if !r.Untrusted || !strings.Contains(schemas.ModelText(*r, "m1"), "outside-data m1") {
		t.Errorf("O5: untrusted %v", r.Untrusted)
	}
}

// Case 11: nothing else is in reach; what a program leaves, the next one doesn't find.
func TestSpec_L1_Case11_NothingElse(t *testing.T) {
	_, n, run := searchNode(t, codeSearch)
	mustComplete(t, searchCode(t, run, `
		globalThis.left = 1; Array.prototype.push = null; Object.prototype.id = "openclaw:lab:write"; Promise.prototype.then = undefined;
		return ["text", "json", "store", "load", "results", "catalog", "MCP", "API", "nodes", "skills", "namespaces", "setTimeout", "yield_control", "echo", "exec", "wait", "tools",
			"tool_search_code", "fetch", "process", "require"].filter((name) => (0, eval)("typeof " + name) !== "undefined")`), `[]`)
	mustComplete(t, searchCode(t, run, `return [typeof left, typeof [].push, ({}).id ?? null, Object.keys(openclaw), Object.keys(openclaw.tools), Object.keys(console)]`),
		`["undefined","function",null,["tools"],["search","describe","call"],["log","warn","error"]]`)
	// A code run of the same node has what it always had.
	mustComplete(t, exec(t, open(t, n, "b"), `return [typeof openclaw, typeof catalog.search, typeof text, (await echo({n: 2})).n]`), `["undefined","function","function",2]`)
}

// What is wrong with a program is found before it runs, in the submitted source's lines.
func TestSpec_L1_X3_X4_X5_ProgramsAreChecked(t *testing.T) {
	l, _, run := searchNode(t, codeSearch)
	const effect = `await openclaw.tools.call("openclaw:lab:write", {});`
	for code, says := range map[string]string{
		effect + ` import("fs")`:              "import",
		effect + ` require("fs")`:             "uses require, and module access is off",
		`const fs = require("fs")`:            "called as this tool's description says", // which isn't by globals here
		`ls -la`:                              "shell",
		effect + "\nlet q = ;":                "codecell:user.js:2:9",
		effect + "\nconst n: number = 1":      "TypeScript",
		effect + `}); evil(); (async () => {`: "SyntaxError",
	} {
		mustFail(t, searchCode(t, run, code), schemas.InvalidInput, says)
	}
	for input, says := range map[string]string{
		`{}`:                              "code: give the JavaScript program",
		`{"code":"return 1","codes":"x"}`: `did you mean "code"?`,
		`{"code":"return 1","awaitResults":true}`: "awaitResults: remove this field",
		`{"title":"t","command":"return 1"}`:      "command: there is no such field",
		`[]`:                                      "expected the input to be a JSON object",
	} {
		r, err := run.Exec(t.Context(), schemas.Exec{CallID: "s2", Input: schemas.JSON(input)})
		if err != nil {
			t.Fatal(err)
		}
		mustFail(t, r, schemas.InvalidInput, says)
	}
	if l.calls("write") != 0 {
		t.Errorf("write was called %d times", l.calls("write"))
	}
}

// L4: a tool that policy hides is like one that doesn't exist, and one that is shown is called directly. Nothing runs.
func TestSpec_L1_L4_HiddenAndUnknownTools(t *testing.T) {
	l, _, run := searchNode(t, `{tools: {codeMode: false, toolSearch: {mode: "code"}, deny: ["write"], direct: ["audit"]}}`)
	r := searchCode(t, run, `
		const said = [(await openclaw.tools.search("write")).map((t) => t.name)];
		for (const id of ["openclaw:lab:write", "write", "openclaw:lab:wrte", "openclaw:lab:audit", "record_rec", "openclaw:lab:FAST", 7, "__proto__"])
			for (const f of [openclaw.tools.call, openclaw.tools.describe]) try { await f(id, {}); said.push("done") } catch (e) { said.push(e.message) }
		return said`)
	var said []any
	if err := json.Unmarshal(r.Value, &said); err != nil || len(said) != 17 {
		t.Fatalf("%s, %v", told(r), err)
	}
	for i, says := range []string{"there is no tool", "there is no tool", "there is no tool", "call \"audit\" itself", "rec", "there is no tool", "must be a string", "there is no tool"} {
		for _, got := range said[1+2*i : 3+2*i] {
			if text := fmt.Sprint(got); !strings.Contains(text, says) || strings.Contains(strings.ReplaceAll(text, `no tool "openclaw:lab:write"`, ""), `lab:write`) && i != 0 {
				t.Errorf("selector %d: %s, want %s", i, got, says)
			}
		}
	}
	for _, name := range []string{"write", "audit", "rec", "fast"} {
		if l.calls(name) != 0 {
			t.Errorf("%s was called", name)
		}
	}
	if strings.Contains(fmt.Sprint(said[0]), "write") {
		t.Errorf("found %v", said[0])
	}
}

// The limit is hard, while tools work and after they have answered. Pending calls are cancelled, and nothing is left.
func TestSpec_L1_HardLimit(t *testing.T) {
	const call = `openclaw.tools.call("openclaw:lab:`
	for name, c := range map[string]struct{ code, says string }{
		"a tool is pending":             {`console.log("a"); await ` + call + `held", {})`, "1 of its calls were still pending"},
		"nobody awaits it":              {`console.log("a"); void ` + call + `held", {}); return 1`, "1 of its calls"},
		"many continuations":            {`console.log("a"); for (;;) await ` + call + `slow", {})`, "timeout"},
		"many failures":                 {`console.log("a"); for (;;) await ` + call + `fails", {}).catch(() => 1)`, "timeout"},
		"unknown ids for ever":          {`console.log("a"); for (;;) await openclaw.tools.call("nobody").catch(() => 1)`, "timeout"},
		"searches for ever":             {`console.log("a"); for (;;) await openclaw.tools.search("x")`, "timeout"},
		"a loop":                        {`console.log("a"); for (;;);`, "timeout"},
		"a loop after a continuation":   {`console.log("a"); await ` + call + `fast", {}); for (;;);`, "timeout"},
		"a native loop beside a tool":   {`console.log("a"); void ` + call + `held", {}); await ` + call + `fast", {}); new Array(4294967295).reverse()`, "timeout"},
		"microtasks without end":        {`console.log("a"); for (;;) await null`, "timeout"},
		"a promise of its own and tool": {`console.log("a"); void ` + call + `held", {}); await new Promise(() => {})`, "1 of its calls"},
	} {
		t.Run(name, func(t *testing.T) {
			_, n, run := searchNode(t, hastyCode)
			begin := time.Now()
			r := searchCode(t, run, c.code)
			mustFail(t, r, schemas.Timeout, c.says)
			if d := time.Since(begin); d < time.Second || d > prompt {
				t.Errorf("answered after %v", d)
			}
			if texts(r) != "a" || r.RunID != "" {
				t.Errorf("output %q, runId %q", texts(r), r.RunID)
			}
			if slots, cells := held(t, n); slots+cells != 0 {
				t.Errorf("%d slots and %d cells are left", slots, cells)
			}
		})
	}
}

// A promise that nothing settles fails at once, and failures are the program's own.
func TestSpec_L1_E1_Failures(t *testing.T) {
	_, n, run := searchNode(t, codeSearch)
	mustFail(t, searchCode(t, run, `await new Promise(() => {})`), schemas.InternalError, "ends by itself, such as a tool call, or resolve")
	mustFail(t, searchCode(t, run, `throw new Error("interrupted")`), schemas.InternalError, "Error: interrupted")
	mustFail(t, searchCode(t, run, `void openclaw.tools.call("openclaw:lab:fails", {}); return 1`), schemas.InternalError, "it broke")
	mustFail(t, searchCode(t, run, `await Promise.all(Array.from({ length: 200 }, () => openclaw.tools.call("openclaw:lab:rec", {})))`), schemas.InvalidInput, "too many requests at once")
	mustComplete(t, searchCode(t, run, `try { await openclaw.tools.call("openclaw:lab:fails", {}) } catch (e) { return [e.message, e.code, e.location] }`), `["it broke","tool_error","tool"]`)
	mustComplete(t, searchCode(t, run, `const r = await Promise.all(Array.from({ length: 40 }, (_, n) => openclaw.tools.call("openclaw:lab:echo", { n }))); return r.length`), `40`)
	r := searchCode(t, run, `return ["x".repeat(200000)]`)
	if !strings.Contains(string(r.Value), `"truncated":true`) || !strings.Contains(string(r.Value), "leave nothing for later ones") {
		t.Errorf("O3: %.300s", r.Value)
	}
	if slots, cells := held(t, n); slots+cells != 0 {
		t.Errorf("%d slots and %d cells are left", slots, cells)
	}
}

// Cancelling the call, and closing the run, end the program and its calls.
func TestSpec_L1_S8_Cancelled(t *testing.T) {
	for how, stop := range map[string]func(context.Context, *bus.Run) error{
		"abort": func(ctx context.Context, r *bus.Run) error { return r.Abort(ctx, "s1", "enough") },
		"close": func(ctx context.Context, r *bus.Run) error { return r.Close(ctx, "enough") },
	} {
		for _, code := range []string{`await openclaw.tools.call("held", {})`, `void openclaw.tools.call("held", {}); await openclaw.tools.call("fast", {}); for (;;);`} {
			l, n, run := searchNode(t, `{tools: {codeMode: false, toolSearch: {mode: "code", codeTimeoutMs: 60000}}}`)
			begin := time.Now()
			answer := startSearch(t, run, code)
			for l.calls("held") == 0 {
				time.Sleep(time.Millisecond) // real: the call's way to its executor
			}
			if err := stop(t.Context(), run); err != nil {
				t.Fatal(err)
			}
			mustFail(t, within(t, answer), schemas.Aborted, "enough")
			if slots, cells := held(t, n); slots+cells != 0 || time.Since(begin) > 2*prompt {
				t.Errorf("%s: %d slots and %d cells are left after %v", how, slots, cells, time.Since(begin))
			}
		}
	}
}

// P1, X8: hooks see the program and its calls, as they do those of an exec.
func TestSpec_L1_P1_X8_Hooks(t *testing.T) {
	var guard, audit spy
	n := hookedNode(t, config(t, codeSearch), []tool.Hook{guard.hook("guard", schemas.BeforeToolCall), audit.hook("audit", schemas.AfterToolCall)})
	run := openIn(t, n.Client(), "a", schemas.Open{Mode: schemas.ModeSearch})
	mustComplete(t, searchCode(t, run, `return (await openclaw.tools.call("openclaw:lab:echo", { n: 4 })).n`), `4`)
	before, after := guard.seen(schemas.BeforeToolCall), audit.seen(schemas.AfterToolCall)
	if len(before) != 2 || len(after) != 2 {
		t.Fatalf("asked before %d, after %d", len(before), len(after))
	}
	if e := before[0]; e.Tool != "exec" || e.ToolKind != schemas.ToolKindExec || e.ToolInputKind != schemas.ToolInputJavaScript || !strings.Contains(string(e.Input), `openclaw.tools.call`) {
		t.Errorf("the program: %+v", e)
	}
	if e := before[1]; e.Tool != "echo" || e.ParentID != "s1" || string(e.Input) != `{"n":4}` || e.ToolKind != "" {
		t.Errorf("its call: %+v", e)
	}
}

// S6: the time of a person isn't the program's, however hard its limit is. What is denied is that call.
func TestSpec_L1_S6_P3_Approvals(t *testing.T) {
	l := newLab()
	n := node(t, config(t, `{tools: {codeMode: false, approve: ["write"], toolSearch: {mode: "code", codeTimeoutMs: 1000}}}`), l.tools()...)
	run := openIn(t, n.Client(), "a", schemas.Open{Mode: schemas.ModeSearch})
	facts, err := n.Client().Watch(t.Context(), bus.Facts("approval", "opened"))
	if err != nil {
		t.Fatal(err)
	}
	answer := startSearch(t, run, `const { call } = openclaw.tools; const first = await call("write", { n: 1 });
		try { await call("write", { n: 2 }) } catch (e) { return [first, e.location] }`)
	approve := true
	for e := range facts {
		if e.Err != nil {
			t.Fatal(e.Err)
		}
		if approve {
			time.Sleep(1500 * time.Millisecond) // real: longer than the program's limit
		}
		if err := n.Client().Decide(t.Context(), schemas.Decision{Approval: e.Fact.(*schemas.ApprovalOpened).Approval, Approve: approve, By: "ada"}); err != nil {
			t.Fatal(err)
		}
		if !approve {
			break
		}
		approve = false
	}
	mustComplete(t, within(t, answer), `[{"n":1},"approval"]`)
	if l.calls("write") != 1 {
		t.Errorf("write was called %d times", l.calls("write"))
	}
}

// P6: the transcript has the program, its calls inside it, and its answer.
func TestSpec_L1_P6_Transcript(t *testing.T) {
	n := node(t, config(t, hastyCode), newLab().tools()...)
	run := openIn(t, n.Client(), "a", schemas.Open{Mode: schemas.ModeSearch, Bind: true})
	mustComplete(t, searchCode(t, run, `await openclaw.tools.search("echo"); return (await openclaw.tools.call("openclaw:lab:echo", { n: 1 })).n`), `1`)
	_, lines := transcript(t, n, "a", "completed of s1 in s1")
	mustRead(t, lines, "exec s1", "call 2 echo in s1", "done 2 in s1", "completed of s1 in s1")
	mustFail(t, searchCode(t, run, `await openclaw.tools.call("held", {})`), schemas.Timeout, "1 of its calls")
	_, lines = transcript(t, n, "a", "failed of s1 in s1 timeout")
	mustRead(t, lines[4:], "exec s1", "call 1 held in s1", "unknown 1 in s1", "failed of s1 in s1 timeout")
}
