// Namespaces (K1–K3).
import test from "node:test";
import assert from "node:assert/strict";
import { Guest, run, tool, valueOf } from "./harness.mjs";

const crm = {
  name: "crm",
  scope: {
    region: "eu",
    limits: { page: 50, kinds: ["new", "old", null] },
    contacts: {
      find: { $tool: 0, tool: "find" },
      byName: { $tool: 0, tool: "find", input: { query: { $arg: 0 }, limit: { $arg: 1 }, tags: ["vip", { $arg: 2 }], fixed: { deep: [1, true] } } },
      raw: { $tool: 1, tool: "log", input: { $arg: 1 } },
    },
    list: [{ $tool: 1, tool: "log" }],
  },
};
const install = { tools: [tool(0, "find"), tool(1, "log")], features: { namespaces: true }, namespaces: [crm] };

test("K1 a namespace is a global and a member of namespaces, and nothing without its feature", async () => {
  assert.deepEqual(await valueOf("return [crm === namespaces.crm, Object.keys(namespaces), Object.keys(globalThis)]", { install }),
    [true, ["crm"], ["crm", "find", "log"]]);
  assert.deepEqual(await valueOf("return Object.keys(namespaces)", { install: { features: { namespaces: true } } }), []);
  assert.deepEqual(await valueOf("return [typeof namespaces, typeof crm]"), ["undefined", "undefined"]);
});

test("K2 what is in a scope is data and functions", async () => {
  assert.deepEqual(await valueOf("return [crm, typeof crm.contacts.find, crm.contacts.find.name]", { install }),
    [{ region: "eu", limits: crm.scope.limits, contacts: {}, list: [null] }, "function", "crm.contacts.find"]);
});

test("K3 a call is a call of the tool, by its ref", async () => {
  const guest = await run("return await Promise.all([crm.contacts.find({ a: 1 }), namespaces.crm.list[0](), find({ a: 2 })])", { install });
  assert.deepEqual(guest.requests.map((r) => [r.kind, r.payload]),
    [["call", { ref: 0, args: { a: 1 } }], ["call", { ref: 1, args: {} }], ["call", { ref: 0, args: { a: 2 } }]]);
  guest.answer(["r1", 1], ["r2", 2], ["r3", 3]);
  assert.deepEqual(guest.value, [1, 2, 3]);
});

test("K2 a template makes the input of the arguments", async () => {
  const guest = await run(`
    crm.contacts.byName("ada", 3, { x: 1 }); crm.contacts.byName("ada"); crm.contacts.byName();
    crm.contacts.raw("ignored", { whole: true }); crm.contacts.raw();`, { install });
  const fixed = { deep: [1, true] };
  assert.deepEqual(guest.requests.map((r) => r.payload.args), [
    { query: "ada", limit: 3, tags: ["vip", { x: 1 }], fixed },
    { query: "ada", tags: ["vip", null], fixed }, { tags: ["vip", null], fixed }, { whole: true }, {},
  ]);
});

test("G2 arguments that JSON would lose reject that call only", async () => {
  const guest = await run(`
    const of = async (call) => { try { await call() } catch (e) { return e.name + ": " + e.message } };
    const cycle = {}; cycle.cycle = cycle;
    return [await of(() => crm.contacts.find("ada")), await of(() => crm.contacts.byName(() => 1)), await of(() => crm.contacts.byName("a", new Map())),
      await of(() => crm.contacts.byName(1n)), await of(() => crm.contacts.byName(cycle)), await of(() => crm.contacts.raw(0, [1]))]`, { install });
  assert.deepEqual(guest.value.map((text) => text.slice(0, 74)), [
    "TypeError: crm.contacts.find: the argument must be an object such as { key",
    "TypeError: crm.contacts.byName: argument 1 must be JSON data, not a functi",
    "TypeError: crm.contacts.byName: argument 2 must be JSON data, not a Map (u",
    "TypeError: crm.contacts.byName: the argument can't be encoded as JSON: Typ",
    "TypeError: crm.contacts.byName: the argument can't be encoded as JSON: Typ",
    "TypeError: crm.contacts.raw: the argument must be an object such as { key:",
  ]);
  assert.deepEqual(guest.requests, []);
});

test("K3 nothing of a namespace can be changed, and what a program changes elsewhere reaches no other tool", async () => {
  const guest = await run(`
    "use strict";
    const tries = [() => { crm.region = 1 }, () => { crm.limits.kinds.push(1) }, () => { delete crm.contacts }, () => { crm.contacts.find.ref = 1 },
      () => { namespaces.other = crm }, () => Object.defineProperty(crm.contacts, "find", { value: log }), () => Object.setPrototypeOf(crm, {}), () => { crm.list[0] = find }];
    const names = tries.map((t) => { try { t(); return "changed" } catch (e) { return e.name } });
    Object.defineProperty(Object.prototype, "$tool", { get() { return 1 }, configurable: true });
    Object.defineProperty(Object.prototype, "limit", { set() { throw new Error("seen") }, configurable: true });
    crm.contacts.byName("ada", 2);
    crm.contacts.byName();
    return names`, { install });
  assert.deepEqual(guest.value, Array(8).fill("TypeError"));
  assert.deepEqual(guest.requests.map((r) => [r.payload.ref, r.payload.args.query, r.payload.args.limit]), [[0, "ada", 2], [0, undefined, undefined]]);
});

test("G7 a namespace is safe to await, print and serialise", async () => {
  const guest = await run(`
    const c = await crm, n = await namespaces, d = await crm.contacts;
    console.log(crm);
    return [c === crm, n === namespaces, typeof d.find, String(crm), \`\${crm.contacts}\`, JSON.stringify(crm.limits), crm.toString, crm.constructor, crm.__proto__]`, { install });
  assert.deepEqual(guest.value, [true, true, "function", "[object crm]", "[object crm.contacts]", '{"page":50,"kinds":["new","old",null]}', null, null, null]);
  assert.deepEqual(guest.requests, []);
  assert.equal(guest.output.length, 1);
});

test("K1 CASES: a namespace keeps its name, and a tool of that name is reached by its handle", async () => {
  const guest = await run("return [typeof crm, await catalog.all()[1]()]", { install: { ...install, tools: [tool(0, "find"), tool(1, "crm")] } });
  assert.deepEqual(guest.requests.map((r) => r.payload.ref), [1]);
  guest.answer(["r1", "called"]);
  assert.deepEqual(guest.value, ["object", "called"]);
});

test("a namespace is the same after a snapshot", async () => {
  const guest = await Guest.create({ install });
  guest.start("const { contacts } = crm; const a = await contacts.byName('ada'); return [a, await crm.contacts.find({ b: 1 }), crm.contacts === contacts]");
  const later = await guest.restore();
  later.answer(["r1", "one"]);
  later.answer(["r2", "two"]);
  assert.deepEqual(later.value, ["one", "two", true]);
});
