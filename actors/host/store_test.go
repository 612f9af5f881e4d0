package host_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/codecell/codecell/actors/host"
	"github.com/codecell/codecell/bus"
	"github.com/codecell/codecell/schemas"
)

// bound opens a run that is bound to the session of that name.
func bound(t *testing.T, n *host.Node, name string) *bus.Run {
	t.Helper()
	return openAs(t, n, schemas.Open{Identity: someone(name), Bind: true})
}

func openAs(t *testing.T, n *host.Node, ask schemas.Open) *bus.Run {
	t.Helper()
	run, err := n.Client().Open(t.Context(), ask)
	if err != nil {
		t.Fatal(err)
	}
	return run
}

// fails runs a program that must fail with the code.
func fails(t *testing.T, run *bus.Run, code string, want schemas.Code) *schemas.Result {
	t.Helper()
	result := exec(t, run, code)
	if result.Status != schemas.StatusFailed || result.Code != want {
		t.Errorf("%s\ncame to %s %s %s, want %s", code, result.Status, result.Value, result.Error, want)
	}
	return result
}

func TestSpec_T1_ValuesServeLaterCellsAndRunsOfTheSession(t *testing.T) {
	n := node(t, nil)
	run := bound(t, n, "values")
	yields(t, run, `await store("k", {a: [1]}); return [await load("k"), typeof await load("none")]`, `[{"a":[1]},"undefined"]`)
	yields(t, run, `const copy = await load("k"); copy.a.push(2); return [copy, await load("k")]`, `[{"a":[1,2]},{"a":[1]}]`)
	turn := someone("values")
	turn.Run = "the next turn"
	next := openAs(t, n, schemas.Open{Identity: turn, Bind: true})
	yields(t, next, `return await load("k")`, `{"a":[1]}`)
	yields(t, next, `await store("k", undefined); return typeof await load("k")`, `"undefined"`)
	yields(t, run, `return typeof await load("k")`, `"undefined"`)
	yields(t, bound(t, n, "another session"), `return typeof await load("k")`, `"undefined"`)
}

func TestSpec_T1_AnyJSONComesBackAsItWas(t *testing.T) {
	run := bound(t, node(t, nil), "json")
	yields(t, run, `
		await store("__proto__", JSON.parse('{"__proto__":{"x":1},"constructor":2}'));
		await store("\u2028 \" 😀", "<&>\ud800");
		await store("n", JSON.rawJSON("12345678901234567890.10"));
		await store("null", null)`, `null`)
	yields(t, run, `
		const o = await load("__proto__"), s = await load("\u2028 \" 😀");
		return [Object.keys(o), o.__proto__.x, typeof o.x, s.length, s.charCodeAt(3), await load("n"), await load("null")]`,
		`[["__proto__","constructor"],1,"undefined",4,55296,12345678901234567000,null]`)
}

func TestSpec_T2_OnlyCompletedProgramsStore(t *testing.T) {
	n := node(t, config(t, `{tools: {codeMode: {enabled: true, timeoutMs: 1500}}}`))
	run := bound(t, n, "discards")
	yields(t, run, `await store("k", "kept")`, `null`)
	fails(t, run, `await store("k", "thrown"); throw new Error("afterwards")`, schemas.InternalError)
	fails(t, run, `await store("k", "computed"); for (;;);`, schemas.Timeout)
	fails(t, run, `for (;;) await store("k", await load("k"))`, schemas.Timeout)
	fails(t, run, `await store("k", "rejected"); boom({}); return 1`, schemas.InternalError)
	fails(t, run, `await store("k", "stuck"); await new Promise(() => {})`, schemas.InternalError)
	parked := exec(t, run, `await store("k", "cancelled"); await yield_control(); return 1`)
	if err := n.Client().Cancel(t.Context(), parked.RunID, schemas.Cancel{Identity: run.Identity, Reason: "test"}); err != nil {
		t.Fatal(err)
	}
	yields(t, run, `return await load("k")`, `"kept"`)
}

func TestSpec_T2_WritesAreSeenAfterAWait(t *testing.T) {
	n := node(t, nil)
	run, other := bound(t, n, "waits"), bound(t, n, "waits")
	first := exec(t, run, `await store("k", 1); await yield_control(); const seen = await load("k"); await store("k", seen + 1); await yield_control(); return await load("k")`)
	yields(t, other, `return typeof await load("k")`, `"undefined"`)
	yields(t, other, `await store("l", "meanwhile")`, `null`)
	second, err := run.Wait(t.Context(), first.RunID)
	if err != nil || second.Status != schemas.StatusWaiting {
		t.Fatalf("%+v, %v", second, err)
	}
	yields(t, other, `return typeof await load("k")`, `"undefined"`)
	if done, err := run.Wait(t.Context(), second.RunID); err != nil || string(done.Value) != "2" {
		t.Fatalf("%+v, %v", done, err)
	}
	yields(t, other, `return [await load("k"), await load("l")]`, `[2,"meanwhile"]`)
}

func TestSpec_T2_WhatIsNotAwaitedIsStored(t *testing.T) {
	run := bound(t, node(t, nil), "late")
	yields(t, run, `store("void", 1); return {get a() { store("getter", 2); return 3 }}`, `{"a":3}`)
	yields(t, run, `return [await load("void"), await load("getter")]`, `[1,2]`)
}

func TestSpec_E3_ARefusalThatNobodyHandlesFailsTheCell(t *testing.T) {
	run := bound(t, node(t, nil), "refusals")
	for _, bad := range []string{`store("", 1)`, `store("k", 5n)`, `store("k", "x".repeat(300000))`, `load(7)`} {
		fails(t, run, `store("before", 1); `+bad+`; return 1`, schemas.InternalError)
	}
	yields(t, run, `return typeof await load("before")`, `"undefined"`)
}

func TestSpec_G2_Case1_ValuesThatJSONLacksStoreNothing(t *testing.T) {
	run := bound(t, node(t, nil), "case1")
	yields(t, run, `
		const circle = {}; circle.me = circle;
		const said = [];
		for (const value of [5n, {n: 5n}, circle, {get x() { throw new Error("from a getter") }}, {toJSON() { throw 1 }}]) {
			for (const keep of [(v) => store("k", v), (v) => results.save(v)]) await keep(value).catch(e => said.push(e.message.includes("can't be encoded")));
		}
		return [said.length, said.every(Boolean), typeof await load("k")]`, `[10,true,"undefined"]`)
	yields(t, run, `return typeof await load("k")`, `"undefined"`)
}

func TestSpec_T1_LimitsLeaveTheStoreAsItWas(t *testing.T) {
	run := bound(t, node(t, nil), "limits")
	yields(t, run, `
		const fits = "x".repeat(262142);
		await store("a", fits); await store("b", fits); await store("c", fits);
		const refused = [];
		for (const [key, value] of [["a", fits + "y"], ["d", fits], ["k".repeat(257), 1], ["", 1]]) await store(key, value).catch(e => refused.push(e.name));
		return [refused, (await load("a")).length, typeof await load("d")]`,
		`[["RangeError","RangeError","TypeError","TypeError"],262142,"undefined"]`)
	yields(t, run, `await store("a", undefined); await store("d", "x".repeat(262142)); return (await load("d")).length`, `262142`)
	yields(t, run, `return [typeof await load("a"), (await load("d")).length]`, `["undefined",262142]`)
}

func TestSpec_T1_ManyKeysAreStoredAtOnce(t *testing.T) {
	run := bound(t, node(t, nil), "many")
	yields(t, run, `for (let i = 0; i < 2000; i++) await store("key " + i, i)`, `null`)
	yields(t, run, `let sum = 0; for (let i = 0; i < 2000; i++) sum += await load("key " + i); return sum`, `1999000`)
	fails(t, run, `await Promise.all(Array.from({length: 10000}, (_, i) => store("key " + i, "changed")))`, schemas.InvalidInput)
	yields(t, run, `return await load("key 7")`, `7`)
}

func TestSpec_O5_StoredDataIsUntrustedInLaterCells(t *testing.T) {
	n := withDocs(t, serveDocs(t), "")
	run := bound(t, n, "taint")
	yields(t, run, `await store("own", 1)`, `null`)
	result := yields(t, run, `await store("before", 1); const {contents} = await MCP.myDocs.resources.read({uri: "note:1"}); await store("web", contents); return results.save(contents).then(r => text(r.id))`, `null`)
	if !result.Untrusted || len(result.Output) != 1 {
		t.Fatalf("%+v", result)
	}
	for _, c := range []struct {
		code      string
		untrusted bool
	}{
		{`await load("own")`, false},
		{`await load("none")`, false},
		{`await load("before")`, true}, // it can't be told what the program knew when it was committed
		{`await load("web")`, true},
		{`await results.load("` + result.Output[0].Text + `")`, true},
		{`try { await load("web"); throw 1 } catch { await yield_control() }`, true},
		{`await store("copy", [(await load("web")).length]); await store("web", undefined)`, true},
		{`await load("web")`, false},
	} {
		if got := yields(t, run, c.code, `null`); got.Untrusted != c.untrusted {
			t.Errorf("%s: untrusted %v, want %v", c.code, got.Untrusted, c.untrusted)
		}
	}
	if got := yields(t, run, `return await load("copy")`, `[1]`); !got.Untrusted {
		t.Error("a copy of untrusted data is trusted")
	}
}

func TestSpec_T2_ADryRunStoresNothing(t *testing.T) {
	n := node(t, nil)
	yields(t, bound(t, n, "dry"), `await store("k", 1)`, `null`)
	rehearsal := someone("dry")
	rehearsal.Run = "rehearsal"
	dry := openAs(t, n, schemas.Open{Identity: rehearsal, Bind: true, DryRun: true})
	result := yields(t, dry, `await store("k", await load("k") + 1); return await load("k")`, `2`)
	if len(result.Warnings) != 1 || !strings.HasPrefix(result.Warnings[0], "dry run: ") {
		t.Errorf("warnings %q", result.Warnings)
	}
	yields(t, bound(t, n, "dry"), `return await load("k")`, `1`)
}

func TestSpec_T1_ValuesSurviveTheHost(t *testing.T) {
	dir := t.TempDir()
	up := func() *host.Node {
		n, err := host.Up(t.Context(), host.NodeOptions{CacheDir: cache, Config: config(t, fmt.Sprintf(`{bus: {storeDir: %q}}`, dir))})
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	down := func(n *host.Node) {
		if err := n.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Fatal(err)
		}
	}
	before := up()
	run := bound(t, before, "survives")
	yields(t, run, `await store("k", {kept: true})`, `null`)
	id := savedID(t, run, `return (await results.save([1])).id`)
	down(before)
	after := up()
	defer down(after)
	yields(t, bound(t, after, "survives"), `return [await load("k"), await results.load(`+id+`).catch(e => e.message.includes("Results are gone when their run ends"))]`,
		`[{"kept":true},true]`)
}

func TestSpec_O3_OversizedValuesAreKeptForLaterCells(t *testing.T) {
	run := open(t, node(t, config(t, `{tools: {codeMode: {enabled: true, maxOutputBytes: 2000}}}`)), "oversized")
	result := exec(t, run, `return Array.from({length: 1000}, (_, i) => ({i}))`)
	var value struct {
		Truncated bool
		Reference struct {
			ID    string
			Count int
		}
	}
	if err := json.Unmarshal(result.Value, &value); err != nil || !value.Truncated || value.Reference.Count != 1000 {
		t.Fatalf("%s, %v", result.Value, err)
	}
	yields(t, run, `const all = await results.load("`+value.Reference.ID+`"); return [all.length, all[999].i]`, `[1000,999]`)
}
