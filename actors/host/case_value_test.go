package host_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/codecell/codecell/schemas"
)

// Case 1: what JSON can't express is refused, the tool isn't called, and the program may go on.
func TestSpec_G2_Case1_ArgumentsMustBeJSON(t *testing.T) {
	l, _, run := labNode(t, nil)
	result := exec(t, run, `
		const caught = [];
		const loop = {}; loop.me = loop;
		const throws = { get v() { throw new Error("from a getter") } };
		const hook = { toJSON() { throw new Error("from a hook") } };
		for (const args of [{n: 5n}, loop, throws, hook, {deep: [{n: 1n}]}]) {
			try { await rec(args); caught.push("called") } catch (e) { caught.push(e instanceof Error && e.message.length > 5) }
		}
		return caught`)
	mustComplete(t, result, `[true,true,true,true,true]`)
	if n := l.calls("rec"); n != 0 {
		t.Errorf("the tool was called %d times", n)
	}
}

// Case 2: getters of the final value are part of the program; toJSON isn't asked.
func TestSpec_X11_Case2_FinalEncodingIsPartOfTheProgram(t *testing.T) {
	l, n, run := labNode(t, config(t, short))
	result := exec(t, run, `return {get v() { text("g"); rec({k: 1}); return 3 }}`)
	mustComplete(t, result, `{"v":3}`)
	if texts(result) != "g" || l.ended("rec") != 1 {
		t.Errorf("output %q, rec ran %d times", texts(result), l.ended("rec"))
	}
	first := exec(t, run, `return {get v() { text("g"); held({k: 1}); return 3 }}`)
	mustWait(t, first, schemas.ReasonPendingTools)
	close(l.gate)
	last := wait(t, n, "a", "w", first.RunID)
	mustComplete(t, last, `{"v":3}`)
	if texts(first) != "g" || texts(last) != "" || l.ended("held") != 1 {
		t.Errorf("output %q then %q, held ended %d times", texts(first), texts(last), l.ended("held"))
	}
	mustComplete(t, exec(t, run, `return {p: {toJSON() { rec({}); return 9 }}}`), `{"p":{}}`)
	if l.calls("rec") != 1 {
		t.Errorf("toJSON ran: rec was called %d times", l.calls("rec"))
	}
}

// Case 3: typed arrays keep their numbers, and special keys are keys.
func TestSpec_O1_Case3_FixedForms(t *testing.T) {
	_, _, run := labNode(t, nil)
	mustComplete(t, exec(t, run, `return {i: new Int8Array([-2]), f: new Float32Array([0.5]), k: JSON.parse('{"__proto__":7,"constructor":1}')}`),
		`{"i":{"0":-2},"f":{"0":0.5},"k":{"__proto__":7,"constructor":1}}`)
	mustComplete(t, exec(t, run, `const made = JSON.parse('{"__proto__":{"evil":1}}'); return [made, ({}).evil ?? null]`), `[{"__proto__":{"evil":1}},null]`)
	result := exec(t, run, `
		text("a"); json({b: 1}); console.log("c"); console.warn("d");
		const e = Object.assign(new TypeError("no"), {code: "X", extra: {n: 1}});
		json(e); json(new Uint8Array([1, 255])); json(fast({})); json(rec);
		return {e, pending: fast({}), tool: rec}`)
	if result.Status != schemas.StatusCompleted {
		t.Fatal(told(result))
	}
	items, err := json.Marshal(result.Output)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`{"type":"text","text":"a"},{"type":"json","value":{"b":1}},{"type":"text","text":"c"},{"type":"text","text":"[warn] d"}`,
		`"name":"TypeError","message":"no","code":"X","extra":{"n":1}`, `{"0":1,"1":255}`, `await`, `"callableName":"rec"`,
	} {
		if !strings.Contains(string(items), want) {
			t.Errorf("the output lacks %s:\n%s", want, items)
		}
	}
	for _, want := range []string{`"name":"TypeError"`, `await`, `"callableName":"rec"`} {
		if !strings.Contains(string(result.Value), want) {
			t.Errorf("the value lacks %s:\n%s", want, result.Value)
		}
	}
}

// Case 8: a returned promise is awaited, a bare last expression is null, a fence is taken off.
func TestSpec_X7_Case8_WhatAProgramReturns(t *testing.T) {
	_, _, run := labNode(t, nil)
	for code, want := range map[string]string{
		`return (async () => ({a: 1}))()`:                             `{"a":1}`,
		`(async () => 5)()`:                                           `null`,
		`1 + 1`:                                                       `null`,
		"```js\nreturn 3\n```":                                        `3`,
		`const x = await fast({n: 1}); return x.n`:                    `1`,
		`return Promise.resolve(Promise.resolve(2))`:                  `2`,
		`return undefined`:                                            `null`,
		`if (true) return [await fast({}), 1][1]; throw 1`:            `1`,
		`return {then: (resolve) => resolve(await_ = 4)}; var await_`: `4`,
	} {
		t.Run(code, func(t *testing.T) { mustComplete(t, exec(t, run, code), want) })
	}
}

// Case 9: the source reaches the engine as it was sent.
func TestSpec_X13_Case9_EscapesAreUntouched(t *testing.T) {
	_, _, run := labNode(t, nil)
	code := "const s = \"a\\\\nb\tc\"; text(s); const u = \"x\u2028y\"; return [s.length, u.length, \"\\\"\".length, 'https://x.y/?a=1&b=<c>']"
	result := exec(t, run, code)
	mustComplete(t, result, "[6,3,1,\"https://x.y/?a=1&b=<c>\"]")
	if texts(result) != "a\\nb\tc" {
		t.Errorf("output %q", texts(result))
	}
	text, err := result.JSON()
	if err != nil || !strings.Contains(string(text), "https://x.y/?a=1&b=<c>") {
		t.Errorf("the model reads %s (%v)", text, err)
	}
}

// Case 11: what is documented is there, and nothing else.
func TestSpec_G1_Case11_Globals(t *testing.T) {
	_, _, run := labNode(t, nil)
	mustComplete(t, exec(t, run, `
		const absent = ["process", "module", "require", "std", "os", "fetch", "__host", "host", "tools", "ALL_TOOLS", "openclaw"].filter(n => n in globalThis);
		const functions = [text, json, yield_control, setTimeout, clearTimeout, rec, catalog.search, catalog.all, API.list, API.read].map(f => typeof f);
		return [absent, [...new Set(functions)], typeof MCP, typeof console.log, (await rec({n: 1})).n]`), `[[],["function"],"object","function",1]`)
}

// Case 10: nothing becomes a promise by answering every property, and a tool named then is a tool.
func TestSpec_G7_Case10_NothingIsThenable(t *testing.T) {
	l := newLab()
	n := node(t, nil, append(l.tools(), l.tool("then", 0, nil))...)
	result := exec(t, open(t, n, "a"), `
		const c = await catalog, m = await MCP, a = await API, f = await rec, s = await store, r = await results, ns = await namespaces;
		const same = [c === catalog, m === MCP, a === API, f === rec, s === store, r === results, ns === namespaces];
		const [found] = await catalog.search("then");
		return [same.every(Boolean), typeof String(MCP), JSON.stringify(MCP), typeof found, (await found) === found, typeof globalThis.then,
			(await globalThis[found.callableName]({n: 1})).n, (await found({n: 2})).n, found.toolName]`)
	mustComplete(t, result, `[true,"string","{}","function",true,"undefined",1,2,"then"]`)
	if l.calls("then") != 2 || l.calls("rec") != 0 || result.Telemetry.CallCount != 2 {
		t.Errorf("then was called %d times, rec %d, and %d calls were counted", l.calls("then"), l.calls("rec"), result.Telemetry.CallCount)
	}
}
