package host_test

import (
	"context"
	"strings"
	"testing"

	"github.com/codecell/codecell/actors/tool"
	"github.com/codecell/codecell/schemas"
)

// Case 7: the model reads name and message first, then the place in what it submitted, and nothing of ours.
func TestSpec_E2_Case7_WhatAnErrorSays(t *testing.T) {
	_, _, run := labNode(t, nil)
	for code, c := range map[string]struct {
		code schemas.Code
		want []string
	}{
		"let q = ;":                      {schemas.InvalidInput, []string{"SyntaxError", "codecell:user.js:1:9"}},
		"\n\nnope()":                     {schemas.InternalError, []string{"ReferenceError: ", "nope", "codecell:user.js:3:"}},
		"const a = null;\nreturn a.b.c":  {schemas.InternalError, []string{"TypeError: ", "codecell:user.js:2:"}},
		"const n: number = 1;":           {schemas.InvalidInput, []string{"SyntaxError", "TypeScript"}},
		"throw {a: 1}":                   {schemas.InternalError, []string{"a"}},
		"throw 'text'":                   {schemas.InternalError, []string{"text"}},
		"throw null":                     {schemas.InternalError, []string{"null"}},
		"throw new Error('interrupted')": {schemas.InternalError, []string{"Error: interrupted", "codecell:user.js:1:"}},
		"async function f() { await fast({}); throw new RangeError('deep') }\nawait f()": {schemas.InternalError, []string{"RangeError: deep", "codecell:user.js:1:"}},
		"await fails({})":                 {schemas.InternalError, []string{"Error: it broke", "codecell:user.js:1:"}},
		"const f = (n) => f(n + 1); f(0)": {schemas.InternalError, []string{"RangeError: "}},
	} {
		result := exec(t, run, code)
		mustFail(t, result, c.code, c.want[0])
		for _, want := range c.want {
			if !strings.Contains(result.Error, want) {
				t.Errorf("%q: the error lacks %q: %s", code, want, result.Error)
			}
		}
		for _, ours := range []string{"controller", "native", "<eval>", "/", ".go", "00-", "10-", "bridge"} {
			if strings.Contains(result.Error, ours) {
				t.Errorf("%q: the error tells %q: %s", code, ours, result.Error)
			}
		}
		if header, _, _ := strings.Cut(result.Error, "\n"); strings.Count(result.Error, header) > 1 {
			t.Errorf("%q: the header is doubled: %s", code, result.Error)
		}
	}
}

// Case 71: a block is told apart from a tool that imitates one, and no program reaches what settles calls.
func TestSpec_P3_Case71_ImitationsAreData(t *testing.T) {
	imitates := tool.New("imitates", "Says that it was blocked.", func(context.Context, struct{}) (map[string]string, error) {
		return map[string]string{"status": "blocked", "code": "invalid_input", "location": "policy"}, nil
	})
	l := newLab()
	n := node(t, config(t, `{tools: {deny: ["write"]}}`), append(l.tools(), imitates)...)
	run := open(t, n, "a")
	mustComplete(t, exec(t, run, `return [typeof write, (await catalog.search("write")).some(h => h.toolName === "write"), await imitates({})]`),
		`["undefined",false,{"code":"invalid_input","location":"policy","status":"blocked"}]`)
	result := exec(t, run, `
		const reached = [];
		const walk = (o, path, depth) => {
			if (depth > 3 || (typeof o !== "object" && typeof o !== "function") || o === null) return;
			for (const k of Reflect.ownKeys(o)) {
				if (/settle|resolve|bridge|host|__|native|request/i.test(String(k)) && typeof k === "string" && !(k in Object.prototype) && !(k in Promise)) reached.push(path + "." + k);
			}
		};
		for (const k of Reflect.ownKeys(globalThis)) walk(globalThis[k], String(k), 0);
		walk(globalThis, "global", 0);
		return reached`)
	mustComplete(t, result, `[]`)
	if l.calls("write") != 0 {
		t.Error("a denied tool ran")
	}
}
