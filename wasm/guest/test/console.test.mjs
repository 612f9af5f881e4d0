// console (G5).
import test from "node:test";
import assert from "node:assert/strict";
import { run, tool } from "./harness.mjs";

const lines = async (source, options) => {
  const guest = await run(source, options);
  assert.equal(guest.settled[0]?.kind, "value", JSON.stringify(guest.settled));
  for (const item of guest.output) assert.equal(item.kind, "console");
  return guest.output.map((o) => o.value);
};
const line = async (source, options) => {
  const all = await lines(source, options);
  assert.equal(all.length, 1);
  return all[0];
};

test("G5 levels, order, joining by spaces, %s literal", async () => {
  assert.deepEqual(await lines(`
    console.log("a", 1, "%s", "b"); console.info("i"); console.warn("w"); console.error("e", 2); console.debug("d"); console.log()`),
  ["a 1 %s b", "[info] i", "[warn] w", "[error] e 2", "[debug] d", ""]);
});

test("G5 only the five methods, which can't be replaced", async () => {
  assert.deepEqual(await lines("console.log = 1; console.log(Object.keys(console)); console.log(typeof console.table)"),
    ['["log","info","warn","error","debug"]', "undefined"]);
});

test("G5 values", async (t) => {
  for (const [source, expected] of [
    ["undefined, null, NaN, -0, 5n, true", "undefined null NaN 0 5n true"],
    ["Symbol('q'), () => 1, function f() {}, class C {}", "Symbol(q) [Function] [Function: f] [Function: C]"],
    ["{ a: [1, { b: 'c' }], u: undefined, n: NaN, big: 1n, s: Symbol('x'), f() {} }",
      '{"a":[1,{"b":"c"}],"u":"undefined","n":"NaN","big":"1n","s":"Symbol(x)","f":"[Function: f]"}'],
    ["[1, , 3]", '[1,"[empty]",3]'],
    ["new Map([['a', { b: 1 }]]), new Set([1, 'x'])", '{"Map(1)":[["a",{"b":1}]]} {"Set(2)":[1,"x"]}'],
    ["new Uint8Array([1, 2]), new ArrayBuffer(3)", '{"Uint8Array(2)":[1,2]} [ArrayBuffer 3]'],
    ["new Date(0), new Date(NaN), /r/g", "1970-01-01T00:00:00.000Z Invalid Date /r/"],
    ["new String('s'), [new Number(1)]", 's ["1"]'],
    ["new Error('own message'), { e: new TypeError('t') }", 'Error: own message {"e":"TypeError: t"}'],
    ["Promise.resolve(1), [Promise.reject(2).catch(() => 0)]", '[Promise] ["[Promise]"]'],
    ["Object.create(null), new (class P { x = 1 })", '{} {"x":1}'],
    ["JSON.parse('{\"__proto__\":1}')", '{"__proto__":1}'],
    ["{ l1: { l2: { l3: { l4: 1 } } } }", '{"l1":{"l2":{"l3":{"l4":1}}}}'],
    ["{ l1: { l2: { l3: { l4: { l5: 1 } } } } }", '{"l1":{"l2":{"l3":{"l4":"[truncated]"}}}}'],
    ["MCP, catalog", "{} {\"search\":\"[Function: search]\",\"all\":\"[Function: all]\"}"],
  ]) {
    await t.test(source, async () => assert.equal(await line(`console.log(${source})`), expected));
  }
});

test("G5 cycles and accessors are placeholders, and nothing of the program runs", async () => {
  const guest = await run(`
    const ran = [];
    const trap = (name) => () => { ran.push(name); throw 1 };
    const o = { get g() { ran.push("g") }, set s(v) {}, get gs() { ran.push("gs") }, set gs(v) {}, toJSON() { ran.push("toJSON") }, toString() { ran.push("toString") }, [Symbol.toPrimitive]() { ran.push("prim") } };
    o.me = o; o.list = [o];
    const handler = new Proxy({}, { get: (t, name) => trap(name) });
    const proxy = new Proxy({}, handler);
    const revoked = Proxy.revocable({}, {}); revoked.revoke();
    Object.defineProperty(Object.prototype, "get", { get: trap("proto get"), configurable: true });
    Array.prototype.toJSON = Object.prototype.toJSON = trap("proto toJSON");
    const error = new Error("m"); Object.defineProperty(error, "name", { get: trap("name") });
    const date = new Date(0); date.toISOString = trap("iso");
    console.log(o, proxy, revoked.proxy, [proxy], Object.create(proxy), new Proxy(() => 1, handler), error, date, Object.create(Map.prototype));
    return ran`);
  assert.deepEqual(guest.value, []);
  assert.equal(guest.output[0].value,
    '{"g":"[Getter]","s":"[Setter]","gs":"[Getter/Setter]","toJSON":"[Function: toJSON]","toString":"[Function: toString]","me":"[Circular]","list":["[Circular]"]} ' +
    '[Proxy] [Proxy] ["[Proxy]"] {} [Proxy] Error: m 1970-01-01T00:00:00.000Z {}');
});

test("G5 a tool is named", async () => {
  assert.equal(await line("console.log(read, [read])", { install: { tools: [tool(0, "read")] } }), '[Tool read] ["[Tool read]"]');
});

test("G5 strings end after 512 units, not within a pair", async () => {
  assert.equal(await line("console.log('x'.repeat(513))"), "x".repeat(512) + "…[truncated]");
  assert.equal(await line("console.log('x'.repeat(512))"), "x".repeat(512));
  assert.equal(await line("console.log('x'.repeat(511) + '😀😀')"), "x".repeat(511) + "…[truncated]");
  assert.equal(await line("console.log('x'.repeat(510) + '😀😀')"), "x".repeat(510) + "😀" + "…[truncated]");
  assert.equal(await line("console.log({ ['k'.repeat(600)]: 1 })"), JSON.stringify({ ["k".repeat(512) + "…[truncated]"]: 1 }));
});

test("G5 50 properties an object, 100 values a call", async () => {
  const wide = JSON.parse(await line("console.log(Object.fromEntries(Array.from({ length: 60 }, (_, i) => ['p' + i, i])))"));
  assert.equal(Object.keys(wide).length, 51);
  assert.equal(wide["…"], "10 more");
  const long = JSON.parse(await line("console.log(Array.from({ length: 1e6 }, (_, i) => i))"));
  assert.equal(long.length, 51);
  assert.equal(long[50], "… 999950 more");
  const many = await line("console.log(...Array.from({ length: 200 }, (_, i) => i))");
  assert.equal(many, Array.from({ length: 100 }, (_, i) => i).join(" ") + " …[truncated]");
  const deep = await line("console.log(Array.from({ length: 50 }, () => [1, 2, 3, 4]))");
  assert.ok(deep.length < 1000 && /more/.test(deep), deep);
});

test("G5 a message ends after 4,096 units and a mark, not within a pair", async () => {
  const cut = await line("console.log(...Array.from({ length: 20 }, () => 'y'.repeat(500)))");
  assert.equal(cut.length, 4096 + "…[truncated]".length);
  assert.ok(cut.endsWith("y…[truncated]"));
  const pair = await line("console.warn('z'.repeat(507), ...Array.from({ length: 40 }, () => '😀'.repeat(255)))");
  assert.ok(!/[\ud800-\udbff](?![\udc00-\udfff])/.test(pair), "split pair");
});

test("G5 16,384 units over all resumes, then one mark and silence", async () => {
  const guest = await run(`
    for (let i = 0; i < 60; i++) console.log("x".repeat(108));
    await yield_control();
    for (let i = 0; i < 100; i++) console.log("x".repeat(108));
    await yield_control();
    console.log("silent"); console.error("too"); text("still here"); return 1`);
  assert.equal(guest.output.length, 60);
  guest.answer([guest.requests[0].id, {}]);
  const total = guest.output.reduce((sum, o) => sum + o.text.length + 23, 0);
  assert.equal(guest.output.at(-1).value, "[console output truncated]");
  assert.equal(guest.output.length, 123 + 1);
  assert.ok(total - 23 - guest.output.at(-1).text.length <= 16384);
  guest.answer([guest.requests[1].id, {}]);
  assert.equal(guest.output.length, 125);
  assert.equal(guest.output.at(-1).value, "still here");
  assert.equal(guest.value, 1);
});
