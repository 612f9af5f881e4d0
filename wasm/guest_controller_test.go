package wasm

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"
)

// These tests run programs through the embedded controller, the guest's own JavaScript. Its finer points are tested in
// guest/test, in Node; here is what needs this package's machine: requests, snapshots, limits, stops.

const controllerInstall = `{"contract":"current","features":{},
	"tools":[
		{"ref":0,"callableName":"rec","toolName":"rec","description":"Records its input.","source":"openclaw"},
		{"ref":1,"callableName":"slow","toolName":"slow","description":"Takes its time.","source":"client","input":"unknown"}],
	"mcp":[{"identifier":"gh","serverName":"git-hub","tools":[{"ref":2,"identifier":"createIssue","toolName":"create_issue"}]}]}`

// startControlled makes guests of one image with the embedded controller.
func startControlled(t *testing.T) (guest func(t *testing.T) *Guest) {
	t.Helper()
	e := newEngine(t, Config{})
	img, err := e.NewImage(t.Context(), []byte(controllerInstall))
	if err != nil {
		t.Fatal(err)
	}
	return func(t *testing.T) *Guest {
		t.Helper()
		return acquire(t, img, testLimits(), Env{Sync: lookUpFiles})
	}
}

func lookUpFiles(method string, payload []byte) []byte {
	if strings.Contains(string(payload), "nope") {
		return []byte(`{"error":{"name":"Error","message":"no such file","code":"invalid_input"}}`)
	}
	return []byte(`{"ok":{"method":` + strconv.Quote(method) + `,"asked":` + string(payload) + `}}`)
}

func outputsOf(leg Leg) string {
	var b strings.Builder
	for _, o := range leg.Output {
		b.WriteString(o.Kind + " " + string(o.Payload) + "\n")
	}
	return b.String()
}

func TestSpec_X11_ControllerValues(t *testing.T) {
	guest := startControlled(t)
	for _, tc := range []struct{ source, want string }{
		{`1 + 1`, `null`},
		{`return (async () => ({a: 1}))()`, `{"a":1}`},
		{`return [undefined, NaN, -0, 10n, () => 1, new Date(0), new Map([["k", new Set([1])]]), /a/g]`,
			`[null,null,0,"10",null,"1970-01-01T00:00:00.000Z",[["k",[1]]],"/a/g"]`},
		{`return {i: new Int8Array([-2]), f: new Float32Array([0.5]), k: JSON.parse('{"__proto__":7,"constructor":1}')}`,
			`{"i":{"0":-2},"f":{"0":0.5},"k":{"__proto__":7,"constructor":1}}`},
		{`return {p: {toJSON() { rec({}); return 9 }}}`, `{"p":{}}`},
		{`const o = {}; o.me = o; return [o, Object.assign(new Error("e"), {code: 1}), rec]`,
			`[{"me":"[Circular]"},{"name":"Error","message":"e","code":1},{"callableName":"rec","toolName":"rec","description":"Records its input.","source":"openclaw"}]`},
		{`return "a\ud83d😀"`, `"a\ud83d😀"`},
		{`const s="a\\nb\tc"; return s.length`, `6`},
		{`const c = await catalog, s = await MCP.gh, f = await rec; return [typeof c.search, typeof s, typeof f, String(MCP), JSON.stringify(MCP).length > 9]`,
			`["function","object","function","[object MCP]",true]`},
		{`return [typeof process, typeof require, typeof std, typeof os, typeof fetch, typeof host, typeof performance, typeof queueMicrotask]`,
			`["undefined","undefined","undefined","undefined","undefined","undefined","undefined","undefined"]`},
		{`return [API.list("mcp/"), await MCP.gh.$api("createIssue"), (() => { try { API.read("nope") } catch (e) { return [e.code, e.location] } })()]`,
			`[{"method":"api.list","asked":{"prefix":"mcp/"}},{"method":"mcp.api","asked":{"server":"gh","tool":"createIssue"}},["invalid_input","codecell:user.js:1:80"]]`},
		{`return new TextDecoder().decode(new TextEncoder().encode("é😀\ud800"))`, `"é😀` + "\ufffd" + `"`},
		{`let v = 1; for (let i = 0; i < 500; i++) v = [v]; return v`, strings.Repeat("[", 500) + "1" + strings.Repeat("]", 500)},
		{`function f() { f() } try { f() } catch (e) { return e.name }`, `"RangeError"`},
		{`let v = {}; for (let i = 0; i < 3000; i++) v = new Map([[1, v]]); try { json(v) } catch (e) { return e.name }`, `"RangeError"`},
	} {
		t.Run(tc.source, func(t *testing.T) {
			leg := start(t, guest(t), tc.source)
			if got := value(t, leg); got != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
			if len(leg.Requests) != 0 || leg.Unhandled != nil {
				t.Errorf("requests %v, unhandled %v", leg.Requests, leg.Unhandled)
			}
		})
	}
}

func TestSpec_E2_ControllerErrors(t *testing.T) {
	guest := startControlled(t)
	for _, tc := range []struct{ source, name, message, stack string }{
		{"let q = ;", "SyntaxError", "unexpected token in expression: ';'", "    at codecell:user.js:1:9"},
		{"nope()", "ReferenceError", "nope is not defined", "    at <anonymous> (codecell:user.js:1:1)"},
		{"\n  await MCP.gh.nope({})", "TypeError", "not a function: MCP.gh.nope", "    at <anonymous> (codecell:user.js:2:16)"},
		{"throw {a: 1}", "Thrown value", `{"a":1}`, ""},
		{"throw new Error('interrupted')", "Error", "interrupted", "    at <anonymous> (codecell:user.js:1:11)"},
		{"}); text('x'); rec(); (async()=>{", "SyntaxError", "unexpected token: '}'", "    at codecell:user.js:1:1"},
		{"return {get v() { throw new Error('in value', {cause: 1}) }}", "Error", "in value", "    at get v (codecell:user.js:1:29)\nCaused by: 1"},
	} {
		t.Run(tc.source, func(t *testing.T) {
			leg := start(t, guest(t), tc.source)
			if leg.Err == nil {
				t.Fatalf("no error: %s", leg.Value)
			}
			if leg.Err.Name != tc.name || leg.Err.Message != tc.message || leg.Err.Stack != tc.stack {
				t.Errorf("got  %q %q\n%s\nwant %q %q\n%s", leg.Err.Name, leg.Err.Message, leg.Err.Stack, tc.name, tc.message, tc.stack)
			}
			if len(leg.Requests)+len(leg.Output) != 0 {
				t.Errorf("requests %v, output %s", leg.Requests, outputsOf(leg))
			}
		})
	}
}

func TestSpec_G2_GettersOfTheFinalValueMayCall(t *testing.T) {
	g := startControlled(t)(t)
	leg := start(t, g, `return {get v() { text("g"); rec({k: 1}); return 3 }}`)
	if got := value(t, leg); got != `{"v":3}` {
		t.Errorf("value %s", got)
	}
	if got := outputsOf(leg); got != "text \"g\"\n" {
		t.Errorf("output %s", got)
	}
	if len(leg.Requests) != 1 || string(leg.Requests[0].Payload) != `{"ref":0,"args":{"k":1}}` {
		t.Errorf("requests %v", leg.Requests)
	}
}

func TestSpec_G2_ArgumentsThatAreNoJSON(t *testing.T) {
	guest := startControlled(t)
	for _, args := range []string{
		`{n: 5n}`, `(() => { const o = {}; o.me = o; return o })()`, `{get x() { throw 1 }}`, `"text"`, `[1]`, `null`, `Promise.resolve({})`,
	} {
		t.Run(args, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			leg, err := guest(t).Start(ctx, "try { await rec("+args+") } catch (e) { return [e instanceof TypeError, e.message.startsWith('rec: ')] }")
			if err != nil {
				t.Fatal(err)
			}
			if got := value(t, leg); got != `[true,true]` || len(leg.Requests) != 0 {
				t.Errorf("value %s, requests %v", got, leg.Requests)
			}
		})
	}
}

func TestSpec_E3_HostErrorsAreCatchableData(t *testing.T) {
	g := startControlled(t)(t)
	leg := start(t, g, "try {\n  await rec({});\n} catch (e) {\n  return [e instanceof Error, e.name, {...e}, e.stack];\n}")
	leg = resume(t, g, Answer{ID: leg.Requests[0].ID, Body: []byte(`{"name":"Error","message":"no","code":"tool_error","effectStatus":"unknown"}`)})
	want := `[true,"Error",{"code":"tool_error","effectStatus":"unknown","location":"codecell:user.js:2:9"},"Error: no\n    at <anonymous> (codecell:user.js:2:9)"]`
	if got := value(t, leg); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestSpec_E3_ControllerUnhandledRejections(t *testing.T) {
	g := startControlled(t)(t)
	leg := start(t, g, `setTimeout(() => { throw new TypeError("late") }, 5); void slow({}); return "ok"`)
	if got := value(t, leg); got != `"ok"` || leg.Unhandled != nil {
		t.Fatalf("value %s, unhandled %v", got, leg.Unhandled)
	}
	leg = resume(t, g, Answer{ID: leg.Requests[0].ID, OK: true})
	if leg.Unhandled == nil || leg.Unhandled.Name != "TypeError" || leg.Unhandled.Message != "late" {
		t.Errorf("unhandled %+v", leg.Unhandled)
	}
}

func TestSpec_G4_ControllerTimers(t *testing.T) {
	g := startControlled(t)(t)
	leg := start(t, g, `const t = setTimeout(() => text("x"), 50000); await new Promise((r) => setTimeout(r, 2)); clearTimeout(t); clearTimeout(t); await rec(); return 4`)
	if len(leg.Requests) != 2 || leg.Requests[0].Kind != "timer" || string(leg.Requests[0].Payload) != `{"delayMs":50000}` {
		t.Fatalf("requests %v", leg.Requests)
	}
	first, second := leg.Requests[0].ID, leg.Requests[1].ID
	leg = resume(t, g, Answer{ID: second, OK: true})
	if len(leg.Cancelled) != 1 || leg.Cancelled[0] != first {
		t.Errorf("cancelled %v, want %s", leg.Cancelled, first)
	}
	leg = resume(t, g, Answer{ID: leg.Requests[0].ID, OK: true})
	if got := value(t, leg); got != `4` || len(leg.Output) != 0 {
		t.Errorf("value %s, output %s", got, outputsOf(leg))
	}
}

func TestSpec_C5_ControllerSearch(t *testing.T) {
	g := startControlled(t)(t)
	leg := start(t, g, `const [a, b] = await catalog.search("issue", {limit: 2}); b({title: "t"}); return [a === rec, b, Object.isFrozen(catalog.all())]`)
	if len(leg.Requests) != 1 || string(leg.Requests[0].Payload) != `{"query":"issue","limit":2}` {
		t.Fatalf("requests %v", leg.Requests)
	}
	leg = resume(t, g, Answer{ID: leg.Requests[0].ID, OK: true, Body: []byte(`[{"ref":0,"callableName":"rec","toolName":"rec","description":"d","source":"openclaw"},
		{"ref":2,"callableName":"MCP.gh.createIssue","toolName":"create_issue","description":"d","source":"mcp"}]`)})
	if got, want := value(t, leg), `[true,{"callableName":"MCP.gh.createIssue","toolName":"create_issue","description":"d","source":"mcp"},true]`; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if len(leg.Requests) != 1 || string(leg.Requests[0].Payload) != `{"ref":2,"args":{"title":"t"}}` {
		t.Errorf("requests %v", leg.Requests)
	}
}

func TestSpec_S12_ControllerStateSurvivesParking(t *testing.T) {
	g := startControlled(t)(t)
	leg := start(t, g, `
		class Box { #v = 1; bump() { return ++this.#v } }
		const box = new Box(), map = new Map([["k", {deep: true}]]);
		console.log("x".repeat(500)); let timed = 0; setTimeout(() => { timed++ }, 5);
		const x = await slow(); console.log("after");
		return [x, box.bump(), map.get("k"), timed, await rec()]`)
	timer, slow := leg.Requests[0].ID, leg.Requests[1].ID
	parked, err := g.Snapshot(10 << 20)
	if err != nil {
		t.Fatal(err)
	}
	restored, err := g.image.engine.Restore(t.Context(), g.image, parked, testLimits(), Env{})
	if err != nil {
		t.Fatal(err)
	}
	defer restored.Close()
	leg = resume(t, restored, Answer{ID: timer, OK: true}, Answer{ID: slow, OK: true, Body: []byte(`40`)})
	if got := outputsOf(leg); got != "console \"after\"\n" {
		t.Errorf("output %s", got)
	}
	leg = resume(t, restored, Answer{ID: leg.Requests[0].ID, OK: true, Body: []byte(`2`)})
	if got := value(t, leg); got != `[40,2,{"deep":true},1,2]` {
		t.Errorf("value %s", got)
	}
}

func TestSpec_G5_ControllerConsole(t *testing.T) {
	leg := start(t, startControlled(t)(t), `console.log("a", {b: [1, {get c() { text("ran") }}]}, rec); console.error(new Error("own"));
		for (let i = 0; i < 500; i++) console.log("x".repeat(108)); text("end")`)
	if first := outputsOf(Leg{Output: leg.Output[:2]}); first != "console \"a {\\\"b\\\":[1,{\\\"c\\\":\\\"[Getter]\\\"}]} [Tool rec]\"\nconsole \"[error] Error: own\"\n" {
		t.Errorf("output %s", first)
	}
	last := outputsOf(Leg{Output: leg.Output[len(leg.Output)-2:]})
	if last != "console \"[console output truncated]\"\ntext \"end\"\n" || len(leg.Output) > 130 {
		t.Errorf("%d items, the last: %s", len(leg.Output), last)
	}
}

func TestSpec_S7_ControllerOverflow(t *testing.T) {
	leg := start(t, startControlled(t)(t), `try { await Promise.all(Array.from({length: 145}, (_, i) => rec({i}))) } catch (e) { return e.name }`)
	if !leg.Overflow || len(leg.Requests) != 0 {
		t.Errorf("overflow %v, %d requests", leg.Overflow, len(leg.Requests))
	}
}

func TestSpec_B1_ControllerOutlivesSabotage(t *testing.T) {
	g := startControlled(t)(t)
	leg := start(t, g, `
		const bad = () => { throw new Error("sabotage") };
		const protos = [Promise.prototype, String.prototype, Map.prototype, RegExp.prototype, Array.prototype, Function.prototype];
		const {defineProperty, ownKeys} = Reflect;
		for (let i = 0; i < protos.length; i++) {
			const keys = ownKeys(protos[i]);
			for (let k = 0; k < keys.length; k++) if (keys[k] !== "constructor" && keys[k] !== "length") defineProperty(protos[i], keys[k], {value: bad});
		}
		const names = ["value", "get", "set", "then", "name"];
		for (let i = 0; i < names.length; i++) defineProperty(Object.prototype, names[i], {__proto__: null, get: () => undefined, set: bad, configurable: true});
		JSON.stringify = JSON.parse = Object.keys = bad; Promise.resolve = bad; Proxy = Error = Map = undefined;
		text("t"); json({a: [1]}); console.log({b: [2]});
		return await rec({a: 1})`)
	if got := outputsOf(leg); got != "text \"t\"\njson {\"a\":[1]}\nconsole \"{\\\"b\\\":[2]}\"\n" || len(leg.Requests) != 1 {
		t.Fatalf("output %s, requests %v, error %v", got, leg.Requests, leg.Err)
	}
	leg = resume(t, g, Answer{ID: leg.Requests[0].ID, OK: true, Body: []byte(`{"r":[1]}`)})
	if got := value(t, leg); got != `{"r":[1]}` {
		t.Errorf("value %s", got)
	}
}

// Values that take for ever to encode, and code that runs while a program is only checked, are stopped like any other.
func TestSpec_L1_EncodingIsInterrupted(t *testing.T) {
	guest := startControlled(t)
	for _, source := range []string{
		`return new Array(4294967295)`,
		`return {get v() { for (;;); }}`,
		`return new Proxy([], {get: (t, k) => k === "length" ? 2 ** 53 : 1})`,
		`text(new Proxy({}, {getPrototypeOf() { for (;;); }}))`,
		`}); for (;;); (async()=>{`,
		`console.log(Object.setPrototypeOf({}, new Proxy({}, {}))); for (;;) json(new Date(0))`,
	} {
		t.Run(source, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			defer cancel()
			_, err := guest(t).Start(ctx, source)
			if !errors.Is(err, ErrInterrupted) && !errors.Is(err, ErrMemory) {
				t.Errorf("error %v", err)
			}
		})
	}
}

func TestSpec_X5_ControllerCheck(t *testing.T) {
	g := startControlled(t)(t)
	checked, err := g.Check(t.Context(), "text('ran');\n  a b")
	if err != nil {
		t.Fatal(err)
	}
	var found struct {
		Name         string
		Line, Column int
	}
	text, _ := json.Marshal(checked)
	if err := json.Unmarshal(text, &found); err != nil || found.Name != "SyntaxError" || found.Line != 2 || found.Column != 5 {
		t.Errorf("check found %s", text)
	}
	if checked, err = g.Check(t.Context(), "text('ran'); return 1"); checked != nil || err != nil {
		t.Fatalf("check found %v, %v", checked, err)
	}
	leg := start(t, g, "text('ran'); return 1")
	if got := value(t, leg); got != `1` || len(leg.Output) != 1 {
		t.Errorf("value %s, output %s", got, outputsOf(leg))
	}
}
