// Programs of Tool Search (L1).
import test from "node:test";
import assert from "node:assert/strict";
import { run } from "./harness.mjs";
import { ECMASCRIPT } from "./ecmascript.mjs";

const ids = { "openclaw:core:read": 3, "mcp:gh:a\"b": 4, "openclaw:core:then": 0 };
const sync = (method, { id }) => (Object.hasOwn(ids, id) ? { ok: ids[id] }
  : { error: { name: "Error", message: `There is no tool ${id}. Did you mean read?`, code: "invalid_input" } });
const go = (source) => run(source, { install: { contract: "tool-search" }, sync });

test("L1 CASES 11: openclaw.tools, a console of three levels and ECMAScript, nothing else", async () => {
  const guest = await go(`
    const own = (o) => Reflect.ownKeys(o).map(String);
    return { globals: own(globalThis), openclaw: own(openclaw), tools: own(openclaw.tools), console: own(console),
      prototypes: [openclaw, openclaw.tools].map(Object.getPrototypeOf),
      frozen: [openclaw, openclaw.tools, console].map(Object.isFrozen),
      extensible: [openclaw.tools.search, openclaw.tools.describe, openclaw.tools.call].map((f) => own(f)),
      global: ["openclaw", "console"].map((n) => { const d = Object.getOwnPropertyDescriptor(globalThis, n); return [d.writable, d.enumerable, d.configurable] }) }`);
  const { globals, openclaw, tools, console: levels, prototypes, frozen, extensible, global } = guest.value;
  assert.deepEqual(globals.toSorted(), [...ECMASCRIPT, "openclaw", "console"].toSorted());
  const symbols = ["Symbol(Symbol.toStringTag)", "Symbol(Symbol.toPrimitive)"];
  assert.deepEqual([openclaw, tools, levels], [["tools", ...symbols], ["search", "describe", "call", ...symbols], ["log", "warn", "error"]]);
  assert.deepEqual([prototypes, frozen], [[null, null], [true, true, true]]);
  for (const keys of extensible) assert.deepEqual(keys.toSorted(), ["length", "name"]);
  assert.deepEqual(global, [[false, false, false], [false, false, false]]);
});

test("L1 nothing of Code Mode, a host or the controller is in reach", async () => {
  const names = ["text", "json", "yield_control", "setTimeout", "clearTimeout", "TextEncoder", "TextDecoder", "catalog", "MCP", "API", "tools", "ALL_TOOLS", "nodes",
    "namespaces", "skills", "results", "store", "load", "agents", "phase", "log", "read", "process", "require", "module", "std", "os", "fetch", "host", "controller",
    "queueMicrotask", "structuredClone", "setInterval", "performance", "WebAssembly", "withTool", "hostFunction", "pending"];
  const guest = await go(`const of = (name) => (0, eval)("typeof " + name);
    return ${JSON.stringify(names)}.filter((n) => of(n) !== "undefined" || n in globalThis || n in openclaw.tools)`);
  assert.deepEqual(guest.value, []);
  const imported = await go(`const said = []; for (const by of [Function, async function () {}.constructor]) {
    try { said.push(await by("return import('fs')")()) } catch (e) { said.push(e.name) } } return said`);
  assert.equal(imported.settled[0].kind, "value");
  for (const name of imported.value) assert.match(name, /Error$/);
});

test("L1 nothing is thenable, and looking asks the host nothing", async () => {
  const guest = await go(`const t = await openclaw, u = await openclaw.tools, s = await u.search;
    return [typeof t.tools, typeof u.call, typeof s, String(openclaw), openclaw.tools + "", JSON.stringify(openclaw), openclaw.tools.then, openclaw.constructor]`);
  assert.deepEqual(guest.value, ["object", "function", "function", "[object openclaw]", "[object openclaw.tools]", '{"tools":{}}', null, null]);
  assert.deepEqual([guest.requests, guest.syncs], [[], []]);
});

const tamper = `
  Object.defineProperty(Object.prototype, "ok", { get() { return 9 }, set() { throw 1 } });
  Object.defineProperty(Object.prototype, "error", { get() { return {} } });
  for (const name of ["get", "set", "delete"]) Map.prototype[name] = () => { throw 2 };
  Promise.prototype.then = () => { throw 3 }; Array.prototype[Symbol.iterator] = () => { throw 4 };
  JSON.parse = JSON.stringify = () => { throw 5 }; Promise.resolve = Function.prototype.call = () => { throw 6 };`;

for (const [how, before] of [["", ""], [" of a program that tampers with built-ins", tamper]]) {
  test("L1 calls go by id" + how, async () => {
    const guest = await go(`${before}
      const { search, describe, call } = openclaw.tools;
      const all = [search("read a file", { limit: 2 }), search("x"), describe("mcp:gh:a\\"b"), call("openclaw:core:read", { path: "p", ["__proto__"]: 1 }), call("openclaw:core:then")];
      const got = []; for (let i = 0; i < all.length; i++) got[i] = await all[i];
      got[5] = Object.isFrozen(got[0]);
      return got`);
    assert.deepEqual(guest.syncs.map(({ method, payload }) => [method, payload.id]), [
      ["tool.find", "mcp:gh:a\"b"], ["tool.find", "openclaw:core:read"], ["tool.find", "openclaw:core:then"]]);
    assert.deepEqual(guest.requests.map((r) => [r.kind, r.text]), [
      ["search", '{"query":"read a file","limit":2}'], ["search", '{"query":"x"}'], ["describe", '{"ref":4}'],
      ["call", '{"ref":3,"args":{"path":"p","__proto__":1}}'], ["call", '{"ref":0,"args":{}}'],
    ]);
    const found = [{ id: "openclaw:core:read", name: "read", source: "openclaw", description: "Reads." }];
    guest.answer(["r5", { isError: true, content: [] }], ["r4", { content: "text" }], ["r3", { parameters: {} }], ["r2", []], ["r1", found]);
    assert.deepEqual(guest.value, [found, [], { parameters: {} }, { content: "text" }, { isError: true, content: [] }, false]);
  });
}

test("L1 unknown ids and bad arguments reject, and nothing is called", async () => {
  const guest = await go(`const said = [];
    const { search, describe, call } = openclaw.tools;
    const bad = [() => call("nope"), () => describe("nope", 1), () => call("__proto__", {}), () => call(), () => describe({ id: "x" }), () => call("openclaw:core:read", [1]),
      () => call("openclaw:core:read", "p"), () => call("openclaw:core:read", { n: 1n }), () => search(), () => search("x", { limit: 0 }), () => search("x", { get limit() { throw new Error("own") } })];
    for (const f of bad) { const p = f(); try { await p; said.push("resolved") } catch (e) { said.push(e.name + ": " + e.message + (e.code ? " " + e.code + " " + e.location : "")) } }
    return said`);
  const texts = [/^Error: There is no tool nope\. Did you mean read\? invalid_input codecell:user\.js:3:\d+$/, /^Error: There is no tool nope/, /^Error: There is no tool __proto__/,
    /^TypeError: openclaw\.tools\.call: the first argument must be a string/, /^TypeError: openclaw\.tools\.describe: the first/, /not an array input_contract input$/, /not a string input_contract input$/, /BigInt/,
    /^TypeError: openclaw\.tools\.search: the query must be a string/, /^RangeError: openclaw\.tools\.search: limit/, /^Error: own$/];
  assert.equal(guest.value.length, texts.length);
  texts.forEach((text, i) => assert.match(guest.value[i], text));
  assert.deepEqual(guest.requests, []);
});

test("L1 what it says and returns is as in an exec", async () => {
  const guest = await go(`console.log("a", { b: 1 }); console.warn("w"); console.error(new Error("e")); console.log(openclaw.tools.call);
    return { d: new Date(0), m: new Map([[1, 2]]), f: openclaw.tools.call, p: openclaw }`);
  assert.deepEqual(guest.output.map((o) => o.value), ['a {"b":1}', "[warn] w", "[error] Error: e", "[Function: call]"]);
  assert.deepEqual(guest.value, { d: "1970-01-01T00:00:00.000Z", m: [[1, 2]], p: { tools: {} } });
  const failed = await go("\n  await null; throw new TypeError('no')");
  assert.match(failed.error.stack, /^ {4}at .*codecell:user\.js:2:\d+\)$/);
});
