// store, load and results: what outlives a program. The host is the one that keeps and refuses; here is what reaches it.
import test from "node:test";
import assert from "node:assert/strict";
import { run, valueOf } from "./harness.mjs";

const install = { features: { store: true, results: true } };
const go = (source) => run(source, { install });
const asked = (guest) => guest.requests.map((r) => [r.kind, r.text]);

test("T1 store and load ask the host, and resolve to what it says", async () => {
  const guest = await go("const stored = await store('k', { a: [1, 'é'] }); return [typeof stored, await load('k'), typeof await load('none')]");
  assert.deepEqual(asked(guest), [["store", '{"key":"k","value":{"a":[1,"é"]}}']]);
  guest.answer(["r1"]).answer(["r2", { a: [1, "é"] }]).answer(["r3"]);
  assert.deepEqual(asked(guest).slice(1), [["load", '{"key":"k"}'], ["load", '{"key":"none"}']]);
  assert.deepEqual(guest.value, ["undefined", { a: [1, "é"] }, "undefined"]);
});

test("T1 a value of undefined deletes; null, false, 0 and text are values", async () => {
  const guest = await go("store('k', undefined); store('k'); store('k', null); store('k', false); store('k', 0); store('k', 'x')");
  assert.deepEqual(asked(guest).map(([, text]) => text), [
    '{"key":"k"}', '{"key":"k"}', '{"key":"k","value":null}', '{"key":"k","value":false}', '{"key":"k","value":0}', '{"key":"k","value":"x"}',
  ]);
});

test("T1 keys are non-empty text of at most 256 characters", async (t) => {
  for (const [key, message] of [
    ["undefined", /must be a non-empty string$/], ["null", /non-empty string$/], ["5", /non-empty string$/], ["''", /non-empty string$/],
    ["{ toString: () => 'k' }", /non-empty string$/], ["new String('k')", /non-empty string$/], ["Symbol('k')", /non-empty string$/], ["['k']", /non-empty string$/],
    ["'k'.repeat(257)", /at most 256 characters; it has 257$/], ["'k'.repeat(1e7)", /at most 256 characters; it has 10000000$/],
    ["'a\\ud800'", /half of a surrogate pair$/], ["'\\udc00a'", /half of a surrogate pair$/],
  ]) {
    await t.test(key, async () => {
      const guest = await go(`const failures = [];
        for (const [name, ask] of [["store", () => store(${key}, 1)], ["load", () => load(${key})]]) {
          let promise; try { promise = ask() } catch { return "threw" }
          try { await promise; return "resolved" } catch (e) { failures.push(e instanceof TypeError, e.message.startsWith(name + ": the key "), e.message) }
        }
        return failures`);
      const [a, b, stored, c, d, loaded] = guest.value;
      assert.deepEqual([a, b, c, d], [true, true, true, true]);
      assert.match(stored, message);
      assert.match(loaded, message);
      assert.deepEqual([guest.requests, guest.unhandled], [[], []]);
    });
  }
});

test("T1 any other text is a key: names of the language, quotes, pairs, controls", async () => {
  const keys = ["__proto__", "constructor", "then", "toString", '"', "\\", "\u0000", "\u2028", "😀".repeat(128), "k".repeat(256), " "];
  const guest = await go(`for (const key of ${JSON.stringify(keys)}) { store(key, 1); load(key) }`);
  assert.deepEqual(guest.requests.map((r) => r.payload.key), keys.flatMap((key) => [key, key]));
});

// The value is encoded like a tool's arguments (G2), so CASES 1c is the same for all three.
const REFUSED = [
  ["5n", /the value can't be encoded as JSON: TypeError: /],
  ["{ n: 5n }", /the value can't be encoded as JSON: TypeError: /],
  ["(() => { const o = {}; o.me = o; return o })()", /the value can't be encoded as JSON: TypeError: circular/],
  ["{ get x() { throw new Error('from getter') } }", /the value can't be encoded as JSON: Error: from getter$/],
  ["{ x: { toJSON() { throw 'thrown' } } }", /encoded as JSON: thrown$/],
  ["new Proxy({}, { ownKeys() { throw new Error('trap') } })", /encoded as JSON: Error: trap$/],
  ["() => 1", /must be JSON data, not a function$/],
  ["Symbol()", /must be JSON data, not a symbol$/],
  ["Promise.resolve(1)", /must be JSON data, not a promise \(await it first\)$/],
  ["new Map([[1, 2]])", /must be JSON data, not a Map \(use Object.fromEntries\)$/],
  ["new Set()", /must be JSON data, not a Set \(use Array.from\)$/],
  ["/a/", /must be JSON data, not a RegExp \(use its source\)$/],
  ["{ list: [Promise.resolve(1)] }", /encoded as JSON: list\[0\] is a promise \(await it first\)$/],
  ["{ toJSON: () => undefined }", /must be JSON data, not an object without a JSON value$/],
];

test("G2 CASES 1: values that JSON can't express reject, and nothing is stored or saved", async (t) => {
  for (const [value, message] of REFUSED) {
    await t.test(value, async () => {
      const guest = await go(`const failures = [];
        for (const keep of [() => store("k", ${value}), () => results.save(${value})]) {
          let promise; try { promise = keep() } catch { return "threw" }
          try { await promise; return "resolved" } catch (e) { failures.push(e instanceof TypeError, e.message) }
        }
        return failures`);
      const [a, stored, b, saved] = guest.value;
      assert.deepEqual([a, b], [true, true]);
      assert.match(stored, message);
      assert.match(saved, message);
      assert.ok(stored.startsWith("store: ") && saved.startsWith("results.save: "), stored + saved);
      assert.deepEqual([guest.requests, guest.unhandled], [[], []]);
    });
  }
});

test("G2 what JSON.stringify makes of a value is what is kept", async () => {
  const guest = await run(`
    store("k", JSON.parse('{"__proto__":{"a":1},"constructor":2}'));
    store("k", { u: undefined, n: NaN, d: new Date(0), t: { toJSON: () => [1] }, s: "\\ud800", big: JSON.rawJSON("12345678901234567890.10") });
    store("k", new Date(0)); results.save([undefined, store, "a"]); results.save("text"); results.save(null)`, { install });
  assert.deepEqual(asked(guest), [
    ["store", '{"key":"k","value":{"__proto__":{"a":1},"constructor":2}}'],
    ["store", '{"key":"k","value":{"n":null,"d":"1970-01-01T00:00:00.000Z","t":[1],"s":"\\ud800","big":12345678901234567890.10}}'],
    ["store", '{"key":"k","value":"1970-01-01T00:00:00.000Z"}'],
    ["results.save", '{"value":[null,null,"a"]}'], ["results.save", '{"value":"text"}'], ["results.save", '{"value":null}'],
  ]);
});

test("T4 results are saved, loaded and deleted by id", async () => {
  const guest = await go("const saved = await results.save([1]); const copy = await results.load(saved.id); copy.push(2); return [saved, copy, await results.load(saved.id), await results.delete(saved.id)]");
  assert.deepEqual(asked(guest), [["results.save", '{"value":[1]}']]);
  guest.answer(["r1", { id: "result_a" }]).answer(["r2", [1]]).answer(["r3", [1]]).answer(["r4", true]);
  assert.deepEqual(guest.requests.slice(1).map((r) => [r.kind, r.payload]), [
    ["results.load", { id: "result_a" }], ["results.load", { id: "result_a" }], ["results.delete", { id: "result_a" }],
  ]);
  assert.deepEqual(guest.value, [{ id: "result_a" }, [1, 2], [1], true]);
});

test("T4 an id is text", async () => {
  const guest = await go(`const failures = [];
    for (const id of [undefined, null, 5, {}, { id: "result_a" }, Symbol()]) {
      for (const name of ["load", "delete"]) await results[name](id).catch((e) => failures.push([e instanceof TypeError, e.message.split(":")[0]]));
    }
    const saved = results.save(undefined).catch((e) => e.message);
    return [failures, await saved]`);
  assert.deepEqual(guest.value[0], Array.from({ length: 12 }, (_, i) => [true, i % 2 ? "results.delete" : "results.load"]));
  assert.equal(guest.value[1], "results.save: the value must be JSON data, not undefined");
  assert.deepEqual(guest.requests, []);
});

test("E3 a refusal of the host is an ordinary error, and unhandled if nobody catches it", async () => {
  const refusal = { name: "RangeError", message: "store: full", code: "invalid_input", location: "input", effectStatus: "not_started" };
  const guest = await go("try { await store('k', 1) } catch (e) { json([e instanceof RangeError, e.name, e.message, e.code, e.stack.includes('user.js:1:13')]) }\nstore('l', 2)");
  guest.refuse("r1", refusal);
  assert.deepEqual(guest.output[0].value, [true, "RangeError", "store: full", "invalid_input", true]);
  assert.deepEqual(guest.unhandled, []);
  guest.refuse("r2", refusal);
  assert.match(guest.unhandled[0].stack, /codecell:user\.js:2:1\)$/);
  const early = await go("store('', 1)");
  assert.match(early.unhandled[0].message, /^store: the key/);
});

test("G7 they are sealed, read-only, and not thenable", async () => {
  const guest = await go(`
    store = load = results = 1; results.save = 2;
    const [r, s, l] = [await results, await store, await load];
    return [typeof r.save, typeof s, typeof l, String(results), Object.keys(results), Object.isFrozen(results), Object.getPrototypeOf(results) === null,
      typeof results.then, typeof results.constructor, [store, load, results.save, results.load, results.delete].map((f) => f.name + f.length), Object.keys(globalThis)]`);
  assert.deepEqual(guest.value, ["function", "function", "function", "[object results]", ["save", "load", "delete"], true, true,
    "undefined", "undefined", ["store2", "load1", "save1", "load1", "delete1"], []]);
  assert.deepEqual(guest.requests, []);
});

test("G11 they are there as the catalog says", async () => {
  const names = "return ['store', 'load', 'results'].filter((name) => name in globalThis)";
  assert.deepEqual(await valueOf(names), []);
  assert.deepEqual(await valueOf(names, { install: { features: { store: true } } }), ["store", "load"]);
  assert.deepEqual(await valueOf(names, { install: { features: { results: true } } }), ["results"]);
});

test("X11 what a getter of the final value stores is asked before the program settles", async () => {
  const guest = await go("return { get a() { store('k', 1); return 1 } }");
  assert.deepEqual([asked(guest), guest.value], [[["store", '{"key":"k","value":1}']], { a: 1 }]);
});

test("B1 a program that breaks the language keeps its values right", async () => {
  const guest = await go(`
    Object.defineProperty(Object.prototype, "key", { set() { throw 1 }, get() { throw 1 } });
    Object.defineProperty(Object.prototype, "value", { get() { return 666 }, configurable: true });
    String.prototype.toWellFormed = JSON.stringify = () => { throw 1 };
    delete Object.prototype.value;
    await store("k", { a: 1 }); return await load("k")`);
  guest.answer(["r1"]).answer(["r2", { a: 1 }]);
  assert.deepEqual(guest.requests.map((r) => r.payload), [{ key: "k", value: { a: 1 } }, { key: "k" }]);
  assert.deepEqual([guest.value, guest.faults], [{ a: 1 }, []]);
});
