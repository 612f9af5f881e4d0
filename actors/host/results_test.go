package host_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/codecell/codecell/actors/tool"
	"github.com/codecell/codecell/bus"
	"github.com/codecell/codecell/schemas"
)

// yields runs a program that must complete, and checks its value. A result that is waiting is waited for.
func yields(t *testing.T, run *bus.Run, code, want string) *schemas.Result {
	t.Helper()
	result := exec(t, run, code)
	for result.Status == schemas.StatusWaiting {
		var err error
		if result, err = run.Wait(t.Context(), result.RunID); err != nil {
			t.Fatal(err)
		}
	}
	if result.Status != schemas.StatusCompleted || string(result.Value) != want {
		t.Errorf("%s\ncame to %s %s %s, want %s", code, result.Status, result.Value, result.Error, want)
	}
	return result
}

// savedID runs a program that returns the id of a result that it saved.
func savedID(t *testing.T, run *bus.Run, code string) (quoted string) {
	t.Helper()
	result := exec(t, run, code)
	var id string
	if err := json.Unmarshal(result.Value, &id); err != nil || !strings.HasPrefix(id, "result_") {
		t.Fatalf("result = %+v", result)
	}
	return string(result.Value)
}

func TestSpec_T4_Case82_ResultsServeLaterCellsOfTheRun(t *testing.T) {
	n := node(t, nil)
	run := open(t, n, "saves")
	id := savedID(t, run, `return (await results.save({rows: [1, 2]})).id`)
	yields(t, run, `const copy = await results.load(`+id+`); copy.rows.push(3); return [copy, await results.load(`+id+`)]`,
		`[{"rows":[1,2,3]},{"rows":[1,2]}]`)
	yields(t, run, `const before = await results.load(`+id+`); await yield_control(); return [before, await results.load(`+id+`)]`,
		`[{"rows":[1,2]},{"rows":[1,2]}]`)
	yields(t, run, `const failures = [];
		for (const value of [5n, {n: 1n}, {get a() { throw new Error("from a getter") }}]) await results.save(value).catch(e => failures.push(e.name));
		return failures`, `["TypeError","TypeError","TypeError"]`)
	another := open(t, n, "another")
	yields(t, another, `return await results.load(`+id+`).catch(e => [e.name, e.code, e.message.startsWith("results.load: this run has no result")])`,
		`["Error","invalid_input",true]`)
	yields(t, run, `return [await results.delete(`+id+`), await results.load(`+id+`).catch(e => e.message.includes("this run has no result"))]`, `[true,true]`)
}

func TestSpec_T4_Case82_ResultsAreGoneWithTheirRun(t *testing.T) {
	n := node(t, nil)
	run := open(t, n, "ends")
	id := savedID(t, run, `return (await results.save([1])).id`)
	if err := run.Close(t.Context(), "done"); err != nil {
		t.Fatal(err)
	}
	yields(t, open(t, n, "ends"), `return await results.load(`+id+`).catch(e => e.message.includes("this run has no result"))`, `true`)
}

func TestSpec_T4_Case82_ResultsOutliveTheirCatalog(t *testing.T) {
	n := node(t, config(t, `{bus: {listen: "127.0.0.1:0"}}`))
	run := open(t, n, "a")
	id := savedID(t, run, `return (await results.save([catalog.all().length])).id`)
	renewed := replicas(t, n, 1, tool.New("more", "One tool more.", func(_ context.Context, in echoIn) (echoOut, error) { return echoOut(in), nil }))
	yields(t, renewed, `return [await results.load(`+id+`), catalog.all().length]`, `[[2],3]`)
}

// A failed program loses what it stored; what it saved stays, as its effects do.
func TestSpec_T4_WhatAFailedProgramSavedStays(t *testing.T) {
	n := node(t, nil)
	run := open(t, n, "fails")
	result := exec(t, run, `const {id} = await results.save([7]); text(id); throw new Error("afterwards")`)
	if result.Status != schemas.StatusFailed || len(result.Output) != 1 {
		t.Fatalf("result = %+v", result)
	}
	yields(t, run, `return await results.load("`+result.Output[0].Text+`")`, `[7]`)
}

func TestSpec_T4_Case82_ARunKeeps64Results(t *testing.T) {
	n := node(t, nil)
	run := open(t, n, "many")
	yields(t, run, `
		const ids = [];
		for (let i = 0; i < 64; i++) ids.push((await results.save({i})).id);
		const full = await results.save(64).catch(e => [e.name, e instanceof RangeError, e.message.includes("results.delete")]);
		const all = await Promise.all(ids.map(id => results.load(id)));
		await results.delete(ids[0]);
		const record = await results.save("again");
		return [full, all.every((v, i) => v.i === i), record.bytes, record.count, record.shape, record.preview, record.previewTruncated]`,
		`[["RangeError",true,true],true,7,1,"string","\"again\"",false]`)
}

func TestSpec_T4_ResultsAreBoundedInBytes(t *testing.T) {
	run := open(t, node(t, config(t, `{tools: {codeMode: {enabled: true, maxSnapshotBytes: 100000}}}`)), "bytes")
	yields(t, run, `
		const first = await results.save("é".repeat(30000)); // 60002 bytes
		const refused = [];
		for (const n of [20000, 49999, 60000]) await results.save("é".repeat(n)).catch(e => refused.push(e.name));
		await results.save("é".repeat(19998));
		return [first.bytes, refused, (await results.load(first.id)).length]`, `[60002,["RangeError","RangeError","RangeError"],30000]`)
}

func TestSpec_R1_RestartSafeCellsSaveAndStoreNothing(t *testing.T) {
	run := open(t, node(t, nil), "safe")
	input, err := json.Marshal(map[string]any{"title": "Safe", "restartSafe": true, "code": `
		const asks = [() => store("k", 1), () => load("k"), () => results.save(1), () => results.load("result_a"), () => results.delete("result_a")];
		const said = [];
		for (const ask of asks) await ask().catch(e => said.push(e.message.includes(" is unavailable: a restart-safe cell")));
		return said`})
	if err != nil {
		t.Fatal(err)
	}
	result, err := run.Exec(t.Context(), schemas.Exec{CallID: "call-1", Input: input})
	if err != nil || string(result.Value) != `[true,true,true,true,true]` {
		t.Errorf("result = %+v, %v", result, err)
	}
}

func TestSpec_T3_StoreNeedsASession(t *testing.T) {
	run := open(t, node(t, nil), "unbound")
	yields(t, run, `return await Promise.all([store("k", 1), load("k")].map(p => p.catch(e => e.message.split(";")[0])))`,
		`["store is unavailable: this run has no session","load is unavailable: this run has no session"]`)
	if result := exec(t, run, `store("k", 1); return 1`); result.Status != schemas.StatusFailed || !strings.Contains(result.Error, "this run has no session") {
		t.Errorf("a refusal that nobody handles: %+v", result)
	}
}

func TestSpec_G3_ResultsAreDeclared(t *testing.T) {
	run := open(t, node(t, nil), "declared")
	yields(t, run, `const {content, bytes} = API.read("results.d.ts"); return [API.list("res").files.length, content.includes("function store("), content.length === bytes]`,
		`[1,true,true]`)
}
