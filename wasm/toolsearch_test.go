package wasm

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// searchImage is what programs of Tool Search start from.
func searchImage(t *testing.T) *Image {
	t.Helper()
	img, err := newEngine(t, Config{}).NewImage(t.Context(), []byte(`{"contract":"tool-search"}`))
	if err != nil {
		t.Fatal(err)
	}
	return img
}

// searchWorld knows one tool.
var searchWorld = Env{Sync: func(method string, payload []byte) []byte {
	if method == "tool.find" && string(payload) == `{"id":"openclaw:core:read"}` {
		return []byte(`{"ok":3}`)
	}
	return []byte(`{"error":{"name":"Error","message":` + strconv.Quote(method) + `}}`)
}}

// ecmascript are the globals of the language, as far as the engine has them.
var ecmascript = strings.Fields(`globalThis Infinity NaN undefined eval isFinite isNaN parseFloat parseInt decodeURI decodeURIComponent
	encodeURI encodeURIComponent escape unescape AggregateError Array ArrayBuffer AsyncDisposableStack BigInt BigInt64Array BigUint64Array
	Boolean DataView Date DisposableStack Error EvalError FinalizationRegistry Float16Array Float32Array Float64Array Function Int8Array
	Int16Array Int32Array Iterator JSON Map Math Number Object Promise Proxy RangeError ReferenceError Reflect RegExp Set SharedArrayBuffer
	String SuppressedError Symbol SyntaxError TypeError URIError Uint8Array Uint8ClampedArray Uint16Array Uint32Array WeakMap WeakRef WeakSet`)

// L1: the global object of such a guest, fresh and restored, has openclaw, console and ECMAScript.
func TestSpec_L1_GlobalsOfToolSearch(t *testing.T) {
	img := searchImage(t)
	const names = `Reflect.ownKeys(globalThis).map(String).sort()`
	leg, snapshot := parked(t, img, `const before = `+names+`; await openclaw.tools.search("x"); return [before, `+names+`]`)
	if len(leg.Requests) != 1 || leg.Requests[0].Kind != "search" {
		t.Fatalf("%+v", leg)
	}
	var got [2][]string
	if err := json.Unmarshal([]byte(value(t, resume(t, restore(t, img, snapshot, searchWorld), Answer{ID: leg.Requests[0].ID, OK: true, Body: []byte("[]")}))), &got); err != nil {
		t.Fatal(err)
	}
	want := slices.Sorted(slices.Values(append(slices.Clone(ecmascript), "console", "openclaw")))
	for i, all := range got {
		if !slices.Equal(all, want) {
			t.Errorf("globals %d: %q, want %q", i, all, want)
		}
	}
}

// L1, B1: whatever a program does to its realm, it asks for nothing but searches, descriptions and calls.
func TestSpec_L1_B1_HostileProgramsOfToolSearch(t *testing.T) {
	img := searchImage(t)
	for _, source := range []string{
		`for (const name of Reflect.ownKeys(globalThis)) { try { delete globalThis[name] } catch {} } const o = openclaw; await o.tools.call("openclaw:core:read")`,
		`const all = [Object, Array, Function, Promise, Map, String, RegExp, Error], own = Reflect.ownKeys;
			for (let i = 0; i < all.length; i++) { const p = all[i].prototype, names = own(p); for (let j = 0; j < names.length; j++) try { p[names[j]] = () => openclaw } catch {} }
			await openclaw.tools.call("openclaw:core:read")`,
		`Object.defineProperty(Object.prototype, "ref", { get: () => 0 }); Object.prototype.ok = 0; Object.prototype.kind = "store"; await openclaw.tools.call("openclaw:core:read")`,
		`JSON.parse = () => ({ ok: 0 }); JSON.stringify = () => '{"ref":0}'; await openclaw.tools.call("openclaw:core:read")`,
		`const id = { toString() { return "openclaw:core:read" } }; await openclaw.tools.call(id).catch(() => openclaw.tools.call("openclaw:core:read"))`,
		`openclaw.tools.call = null; globalThis.openclaw = 1; await openclaw.tools.call("openclaw:core:read")`,
	} {
		leg := start(t, acquire(t, img, testLimits(), searchWorld), source)
		if len(leg.Requests) != 1 || leg.Requests[0].Kind != "call" || string(leg.Requests[0].Payload) != `{"ref":3,"args":{}}` || leg.Settled {
			t.Errorf("%s: %+v", source, leg)
		}
	}
	for _, source := range []string{
		`return await openclaw.tools.call("tool.find").catch((e) => e.message)`,
		`try { openclaw.tools.constructor.constructor("return 1")() } catch (e) { return "tool.find" }`,
		`return (await Promise.allSettled(["a", "b"].map((id) => openclaw.tools.describe(id))))[1].reason.message`,
	} {
		if leg := start(t, acquire(t, img, testLimits(), searchWorld), source); value(t, leg) != `"tool.find"` || len(leg.Requests) != 0 {
			t.Errorf("%s: %+v", source, leg)
		}
	}
}
