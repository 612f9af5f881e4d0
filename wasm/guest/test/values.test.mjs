// What a program gives away: final values, text() and json().
import test from "node:test";
import assert from "node:assert/strict";
import { Guest, run, tool, valueOf } from "./harness.mjs";

const table = (name, rows) => test(name, async (t) => {
  for (const [source, expected] of rows) {
    await t.test(source, async () => {
      const guest = await run(source);
      assert.deepEqual(guest.settled.map((s) => s.value), [expected]);
      assert.equal(guest.settled[0].kind, "value");
      assert.deepEqual(guest.requests, []);
      assert.deepEqual(guest.unhandled, []);
      assert.deepEqual(guest.faults, []);
    });
  }
});

table("X7 return, await and the bare last expression", [
  ["return 1 + 2", 3],
  ["1 + 1", null],
  ["", null],
  ["// only a comment", null],
  ["return", null],
  ["return await Promise.resolve({ a: 1 })", { a: 1 }],
  ["return (async () => ({ a: 1 }))()", { a: 1 }],
  ["(async () => 5)()", null],
  ["return { then(done) { done(7) } }", 7],
  ["const at = await 3; const more = await Promise.all([at, 4]); return more", [3, 4]],
  ["implicit = 4; return this.implicit", 4],
  ["with ({ inner: 5 }) { return inner }", 5],
  ["return eval('1 + 1') + new Function('return 2')()", 4],
  ["const s=\"a\\nb\tc\"; return s.length", 5],
  ["return 'a\u2028b'.length", 3],
  ["return [typeof arguments, arguments.length, new.target === undefined]", ["object", 0, true]],
]);

table("X11 values without a JSON form are null", [
  ["return undefined", null],
  ["return NaN", null],
  ["return -Infinity", null],
  ["return () => 1", null],
  ["return Symbol('s')", null],
  ["return -0", 0],
  ["return { a: undefined, b() {}, c: Symbol(), d: 1, [Symbol('e')]: 2 }", { d: 1 }],
  ["return [undefined, () => 1, Symbol(), , NaN]", [null, null, null, null, null]],
]);

table("O1 built-ins have fixed forms", [
  ["return 10n", "10"],
  ["return { n: 10n, m: [-3n] }", { n: "10", m: ["-3"] }],
  ["return new Date(0)", "1970-01-01T00:00:00.000Z"],
  ["return [new Date(NaN)]", [null]],
  ["return new Map([['a', 1], [{ k: 2 }, new Set([3])]])", [["a", 1], [{ k: 2 }, [3]]]],
  ["return new Set(['a', undefined, 'b'])", ["a", null, "b"]],
  ["return /a\\/b/gi", "/a\\/b/gi"],
  ["return [new String('s'), new Number(2), new Boolean(false), Object(5n), new Number(NaN)]", ["s", 2, false, "5", null]],
  ["return new Uint8Array([1, 2])", { 0: 1, 1: 2 }],
  ["return { i: new Int8Array([-2]), f: new Float32Array([0.5]), b: new BigInt64Array([-7n]) }", { i: { 0: -2 }, f: { 0: 0.5 }, b: { 0: "-7" } }],
  ["return new Uint8Array([1, 2, 3]).subarray(1)", { 0: 2, 1: 3 }],
  ["return [new Uint8Array([7, 8]).buffer, new DataView(new Uint8Array([7, 8, 9]).buffer, 1)]", [{ 0: 7, 1: 8 }, { 0: 8, 1: 9 }]],
  ["return Object.create(null, { a: { value: 1, enumerable: true } })", { a: 1 }],
  ["class P { x = 1; #y = 2; get z() { return 3 } }; return new P()", { x: 1 }],
  ["return JSON.rawJSON('12345678901234567890') !== 0 && [1.5, 'x', true, null]", [1.5, "x", true, null]],
  ["return [Object.create(Map.prototype), Object.create(Date.prototype), Object.create(Error.prototype)]", [{}, {}, {}]],
  ["return new Proxy({ a: 1, b: [2] }, {})", { a: 1, b: [2] }],
  ["return new Proxy([1, 2], {})", [1, 2]],
  ["return [Math.max, globalThis.JSON, Reflect]", [null, {}, {}]],
]);

table("O1 Errors are name, message and their JSON fields", [
  ["return new TypeError('bad')", { name: "TypeError", message: "bad" }],
  ["return Object.assign(new Error('x', { cause: new RangeError('y') }), { code: 'E', f() {}, stack: 's' })",
    { name: "Error", message: "x", code: "E", cause: { name: "RangeError", message: "y" } }],
  ["return new AggregateError([new Error('a'), 2], 'all')", { name: "AggregateError", message: "all", errors: [{ name: "Error", message: "a" }, 2] }],
  ["class MyError extends Error { name = 'MyError' }; return [new MyError('m')]", [{ name: "MyError", message: "m" }]],
]);

const UNAWAITED = "[Promise that was not awaited: use await or Promise.all(...) before you return or emit it]";
table("O1 promises and cycles become hints", [
  ["return { p: Promise.resolve(1), q: [(async () => 2)()] }", { p: UNAWAITED, q: [UNAWAITED] }],
  ["const o = { a: 1 }; o.me = o; o.list = [o]; return o", { a: 1, me: "[Circular]", list: ["[Circular]"] }],
  ["const m = new Map(); m.set('m', m); return m", [["m", "[Circular]"]]],
  ["const e = new Error('e'); e.cause = e; return e", { name: "Error", message: "e", cause: "[Circular]" }],
  ["const twice = { a: 1 }; return [twice, twice]", [{ a: 1 }, { a: 1 }]],
]);

test("G2 toJSON never runs on a final value, text or json", async () => {
  const guest = await run(`
    let ran = 0;
    const toJSON = () => { ran++; return 9 };
    Object.prototype.toJSON = Array.prototype.toJSON = String.prototype.toJSON = BigInt.prototype.toJSON = toJSON;
    Date.prototype.toJSON = toJSON;
    json({ p: { toJSON, a: 1 }, n: 1n });
    text([{ toJSON, a: 1 }]);
    delete Object.prototype.toJSON;
    return { p: { toJSON, a: "s" }, d: new Date(0), l: [1], n: 2n, ran }`);
  assert.deepEqual(guest.value, { p: { a: "s" }, d: "1970-01-01T00:00:00.000Z", l: [1], n: "2", ran: 0 });
  assert.deepEqual(guest.output.map((o) => o.value), [{ p: { a: 1 }, n: "1" }, '[{"a":1}]']);
});

test("G2 a toJSON that isn't a function is data", async () => {
  assert.deepEqual(await valueOf("return { toJSON: 1, a: { toJSON: 'x' } }"), { toJSON: 1, a: { toJSON: "x" } });
});

test("G2 getters run once, and may emit and request while the value is encoded", async () => {
  const guest = await run("return { get v() { text('g'); rec({ k: 1 }); return 3 } }", { install: { tools: [tool(0, "rec")] } });
  assert.deepEqual(guest.value, { v: 3 });
  assert.deepEqual(guest.output.map((o) => o.value), ["g"]);
  assert.deepEqual(guest.requests.map((r) => r.payload), [{ ref: 0, args: { k: 1 } }]);
});

test("G2 a getter that throws fails the program with its own error", async () => {
  const guest = await run("return { get v() { throw new RangeError('no v') } }");
  assert.equal(guest.error.name, "RangeError");
  assert.equal(guest.error.message, "no v");
  assert.equal(guest.error.stack, "    at get v (codecell:user.js:1:30)");
});

test("G3 special keys survive literally and change no prototype", async () => {
  const guest = await run(`
    const k = JSON.parse('{"__proto__":7,"constructor":1,"toString":null}');
    json(k);
    return [k, Object.getPrototypeOf({}) === Object.prototype, ({}).constructor === Object]`);
  assert.equal(guest.output[0].text, '{"__proto__":7,"constructor":1,"toString":null}');
  assert.equal(guest.settled[0].text, '[{"__proto__":7,"constructor":1,"toString":null},true,true]');
});

test("O4 lone surrogates are escaped, pairs are kept", async () => {
  const guest = await run('text("a\\ud83d"); return ["\\udc00", "😀"]');
  assert.equal(guest.output[0].text, '"a\\ud83d"');
  assert.equal(guest.settled[0].text, '["\\udc00","😀"]');
});

test("X13 digits of raw JSON survive", async () => {
  const guest = await run("return { n: JSON.rawJSON('12345678901234567890.10') }");
  assert.equal(guest.settled[0].text, '{"n":12345678901234567890.10}');
});

test("X11 nesting: 500 levels pass, 501 and a cycle of getters are clear errors", async () => {
  const nest = (n) => `let v = 1; for (let i = 0; i < ${n}; i++) v = [v]; return v`;
  assert.match((await run(nest(500))).settled[0].text, /^\[{500}1\]{500}$/);
  const guest = await run(nest(501));
  assert.equal(guest.error.name, "RangeError");
  assert.equal(guest.error.message, "the value is nested deeper than 500 levels and can't be encoded as JSON");
  const endless = await run("class Node { get next() { return new Node() } static f = 1 }; const f = () => ({ get n() { return f() } }); return f()");
  assert.match(endless.error.message, /nested deeper/);
  assert.equal(await valueOf("let v = 1; for (let i = 0; i < 2000; i++) v = [v]; try { json(v) } catch (e) { return e.name }"), "RangeError");
});

test("E2 the error of a value that is nested too deeply has the place where it was emitted", async () => {
  for (const emit of ["json", "text"]) {
    const guest = await run(`let v = 1; for (let i = 0; i < 501; i++) v = [v];\nfunction tell() { ${emit}(v) }\ntell()`);
    assert.match(guest.error.stack, /^ {4}at tell \(codecell:user\.js:2:24\)\n {4}at .*codecell:user\.js:3:1\)?$/);
  }
});

test("O1 text and json append in order; text of anything is its JSON text", async () => {
  const guest = await run(`
    text("plain"); text({ a: [1] }); text(undefined); text(10n); text(new Date(0)); text(null); text(true); text("x", "ignored");
    json("s"); json(undefined); json(() => 1); json([1, { b: 2 }]); json();
    return [text("y"), json(1)]`);
  assert.deepEqual(guest.output.map((o) => [o.kind, o.value]), [
    ["text", "plain"], ["text", '{"a":[1]}'], ["text", "null"], ["text", "10"], ["text", "1970-01-01T00:00:00.000Z"],
    ["text", "null"], ["text", "true"], ["text", "x"],
    ["json", "s"], ["json", null], ["json", null], ["json", [1, { b: 2 }]], ["json", null],
    ["text", "y"], ["json", 1],
  ]);
  assert.deepEqual(guest.value, [null, null]);
});

test("X11 output after the program has settled still reaches the host", async () => {
  const guest = await run("slow({}).then(() => text('late')); return 1", { install: { tools: [tool(0, "slow")] } });
  assert.deepEqual([guest.value, guest.output], [1, []]);
  guest.answer([guest.requests[0].id, null]);
  assert.deepEqual(guest.output.map((o) => o.value), ["late"]);
  assert.equal(guest.settled.length, 1);
});

test("X12 a program that waits for nothing settles nothing and asks for nothing", async () => {
  const guest = await run("await new Promise(() => {}); return 1");
  assert.deepEqual([guest.settled, guest.requests, guest.unhandled], [[], [], []]);
});
