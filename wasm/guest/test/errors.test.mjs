// How errors read: the program's own, syntax errors, and the host's.
import test from "node:test";
import assert from "node:assert/strict";
import { Guest, run, tool, valueOf } from "./harness.mjs";

const install = { tools: [tool(0, "boom")] };
const errorOf = async (source) => (await run(source)).error;

test("E2 name, message, then locations of the submitted source", async () => {
  assert.deepEqual(await errorOf("nope()"),
    { name: "ReferenceError", message: "nope is not defined", stack: "    at <anonymous> (codecell:user.js:1:1)" });
  assert.deepEqual(await errorOf("const a = 1;\n\nfunction inner() {\n  throw new TypeError('x')\n}\nawait null;\n  inner();"),
    { name: "TypeError", message: "x", stack: "    at inner (codecell:user.js:4:13)\n    at <anonymous> (codecell:user.js:7:3)" });
  assert.equal((await errorOf("null.x")).name, "TypeError");
  assert.equal((await errorOf("class Mine extends Error { name = 'Mine' }\nthrow new Mine('m')")).name, "Mine");
});

test("E2 CASES 7: the program sees the same kind of stack, headed once", async () => {
  assert.equal(await valueOf("try { boom() } catch (e) { return e.stack }"),
    "ReferenceError: boom is not defined\n    at <anonymous> (codecell:user.js:1:7)");
  assert.equal(await valueOf("const e = new Error('m'); e.message = 'n'; return [e.stack, Object.create(e).stack, Object.keys(e)].join('|')"),
    "Error: n\n    at <anonymous> (codecell:user.js:1:15)||");
  assert.equal(await valueOf("class E extends Error { constructor(m) { super(m); Error.captureStackTrace(this, E); this.name = 'E' } }\nreturn new E('m').stack"),
    "Error: m\n    at E (codecell:user.js:1:82)\n    at <anonymous> (codecell:user.js:2:12)");
  assert.equal(await valueOf("const e = new Error('m'); e.stack = 'mine'; return e.stack"), "mine");
});

test("E2 no host frames, controller functions or other files in any stack", async () => {
  const guest = await run(`
    const stacks = [];
    const look = () => { stacks.push(new Error("x").stack) };
    json({ get a() { look(); return new Map([[1, { get b() { look() } }]]) } });
    try { text({ get a() { throw new Error("t") } }) } catch (e) { stacks.push(e.stack) }
    try { setTimeout(1) } catch (e) { stacks.push(e.stack) }
    await catalog.search(1).catch((e) => stacks.push(e.stack));
    await boom(1).catch((e) => stacks.push(e.stack));
    await boom({ get a() { throw new Error("t") } }).catch((e) => stacks.push(e.stack + e.cause.stack));
    [1].map(look);
    const holder = {}; ({ get a() { Error.captureStackTrace(holder) } }).a; stacks.push(holder.stack);
    return stacks`, { install });
  assert.equal(guest.value.length, 9);
  for (const stack of guest.value) {
    for (const line of stack.split("\n").slice(1)) assert.match(line, /^( {4}at [\w<> ]+ \(codecell:user\.js:\d+:\d+\)|.*\bError: t)/);
    assert.doesNotMatch(stack, /controller|<input>|native/);
  }
});

test("E2 text that the program evaluates gives no locations of its own", async () => {
  assert.equal((await errorOf("const f = 1;\neval('nope()')")).stack, "    at <anonymous> (codecell:user.js:2:1)");
  for (const call of ["JSON.parse('{bad')", "JSON.parse('[\\n1,')", "eval('((')", "new Function('((')", "new RegExp('(')"]) {
    assert.match((await errorOf("const f = 1;\n\n" + call)).stack, /^ {4}at <anonymous> \(codecell:user\.js:3:\d+\)$/, call);
  }
  assert.equal((await errorOf("await Promise.resolve('{bad').then(JSON.parse)")).stack, "");
});

test("E2 a callee that isn't a function is named", async () => {
  for (const [source, message] of [
    ["MCP.nope({})", "not a function: MCP.nope"],
    ["const o = {};\n  await o.a({}).then()", "not a function: o.a"],
    ["const x = 1; x()", "not a function: x"],
    ["new Map().nope()", "not a function: nope"],
    ["const list = [1]; list[0]()", "not a function"],
    ["(() => { const a = { b: {} }; a.b.c?.(1); a\n  .b.d(2) })()", "not a function: b.d"],
  ]) {
    const error = await errorOf(source);
    assert.equal(error.name, "TypeError");
    assert.equal(error.message, message);
  }
});

test("E2 X5 CASES 7: columns count the UTF-16 units of the submitted source, not its bytes", async () => {
  for (const [source, message, place] of [
    ["let s = '\u{1f600}\u{1f600}'; s.nope()", "not a function: s.nope", "1:19"],
    ["let s = 'é';\nconst long = {}; let t = '日本'; long.nope()", "not a function: long.nope", "2:37"],
    ["let s = '—'; nope()", "nope is not defined", "1:14"],
  ]) {
    const error = await errorOf(source);
    assert.deepEqual([error.message, error.stack], [message, `    at <anonymous> (codecell:user.js:${place})`]);
  }
  for (const [source, line, column] of [["let s = '\u{1f600}é'; let q = ;", 1, 24], ["let q = 1;\n/* 日本 */ let r = ;", 2, 18]]) {
    const error = JSON.parse((await Guest.create()).call("check", source));
    assert.deepEqual([error.line, error.column], [line, column], source);
  }
});

test("E2 CASES 7: what fails before the engine has noted a place is at the beginning", async () => {
  for (const source of ["const { a } = null", "const [a] = null", "for (const x of 5);"]) {
    assert.equal((await errorOf(source)).stack, "    at <anonymous> (codecell:user.js:1:1)", source);
  }
});

test("E2 things that aren't Errors are shown", async () => {
  for (const [source, message] of [
    ["throw 'str'", "str"],
    ["throw null", "null"],
    ["throw undefined", "undefined"],
    ["throw 5n", "5n"],
    ["throw { a: 1, get b() { throw 1 } }", '{"a":1,"b":"[Getter]"}'],
    ["throw new Proxy({}, {})", "[Proxy]"],
    ["throw Symbol('s')", "Symbol(s)"],
    ["throw Object.create(Error.prototype)", "{}"],
    ["throw 'long'.repeat(1000)", "long".repeat(1000)], // the output's budget bounds it (O2)
  ]) assert.deepEqual(await errorOf(source), { name: "Thrown value", message, stack: "" }, source);
});

test("E2 causes and members are shown, bounded", async () => {
  const chain = await errorOf("throw new Error('a', { cause: new TypeError('b', { cause: { c: 1 } }) })");
  assert.equal(chain.stack, "    at <anonymous> (codecell:user.js:1:35)\n" +
    "Caused by: TypeError: b\n    at <anonymous> (codecell:user.js:1:35)\n" +
    'Caused by: {"c":1}');
  const any = await errorOf("await Promise.any([1, 2, 3, 4, 5, 6, 7].map((n) => Promise.reject(new Error('e' + n))))");
  assert.equal(any.name, "AggregateError");
  assert.match(any.stack, /\nError 1 of 7: Error: e1\n[^]*\nError 5 of 7: Error: e5\n/);
  assert.doesNotMatch(any.stack, /e6/);
  const loop = await errorOf("const e = new Error('l'); e.cause = e; throw e");
  assert.equal(loop.stack.match(/Caused by/g).length, 4);
  const long = await errorOf("throw new Error('x'.repeat(2e6), { cause: new Error('y'.repeat(1e6)) })");
  assert.ok(long.message.endsWith("x [error truncated]") && long.message.length < 1.1e6);
  assert.ok(long.stack.length < 2000);
});

test("E1 neither name, code nor text of a program's error makes it the host's", async () => {
  const error = await errorOf("throw Object.assign(new Error('interrupted'), { code: 'timeout', name: 'InternalError', stack: '    at x (codecell:user.js:9:9)' })");
  assert.deepEqual(error, { name: "InternalError", message: "interrupted", stack: "    at <anonymous> (codecell:user.js:1:25)" });
});

test("E2 describing runs nothing of the program", async () => {
  const guest = await run(`
    globalThis.ran = [];
    const e = new Error("real");
    for (const name of ["name", "message", "stack", "cause", "errors", "toString", "code"]) Object.defineProperty(e, name, { get() { ran.push(name); throw 1 } });
    setTimeout(() => text(ran.join()), 0);
    throw e`);
  assert.deepEqual(guest.error, { name: "Error", message: "", stack: "    at <anonymous> (codecell:user.js:3:19)" });
  guest.answer([guest.requests[0].id]);
  assert.deepEqual(guest.output.map((o) => o.value), [""]);
});

test("E3 an unhandled rejection is reported, one that gets a handler isn't", async () => {
  const bad = await run("boom({}); return 'ok'", { install });
  assert.deepEqual([bad.value, bad.unhandled], ["ok", []]);
  bad.refuse("r1", { name: "Error", message: "no such file", code: "tool_error" });
  assert.equal(bad.unhandled.length, 1);
  assert.equal(bad.unhandled[0].message, "no such file");
  assert.equal(bad.unhandled[0].stack, "    at <anonymous> (codecell:user.js:1:1)");
  const later = await run("const p = boom({}); const q = boom({}); await q; try { await p } catch (e) { return e.message }", { install });
  later.refuse("r1", { name: "Error", message: "first" });
  assert.equal(later.unhandled.length, 1);
  later.answer(["r2", 1]);
  assert.deepEqual([later.value, later.unhandled], ["first", []]);
});

test("E3 the controller itself leaves no rejection unhandled", async () => {
  const guest = await run("setTimeout(() => {}, 1); boom({}).catch(() => {}); throw new Error('main')", { install });
  guest.answer(["r1"]).refuse("r2", { name: "Error", message: "x" });
  assert.equal(guest.error.message, "main");
  assert.deepEqual(guest.unhandled, []);
});

test("E2 E3 a host error is an ordinary Error with plain fields and the place of the call", async () => {
  const guest = await run(`
async function load(path) {
  return await boom({ path });
}
try { await load("x") } catch (e) {
  return [e instanceof Error, e.name, e.message, { ...e }, e.stack, Object.keys(e), e];
}`, { install });
  guest.refuse("r1", {
    name: "Error", message: "no such file", code: "tool_error", effectStatus: "unknown", stack: "host frames", detail: { __proto__: null, a: 1 },
  });
  const fields = { code: "tool_error", effectStatus: "unknown", detail: { a: 1 }, location: "codecell:user.js:3:16" };
  assert.deepEqual(guest.value, [true, "Error", "no such file", fields,
    "Error: no such file\n    at load (codecell:user.js:3:16)\n    at <anonymous> (codecell:user.js:5:13)",
    ["code", "effectStatus", "detail", "location"], { name: "Error", message: "no such file", ...fields }]);
});

test("E3 names of host errors", async () => {
  for (const [name, check] of [["TypeError", "e instanceof TypeError"], ["RangeError", "e instanceof RangeError"], ["PolicyError", "e.name === 'PolicyError'"]]) {
    const guest = await run(`try { await boom() } catch (e) { return [${check}, e.name, e instanceof Error, e.location, String(e)] }`, { install });
    guest.refuse("r1", { name, message: "m", location: "given" });
    assert.deepEqual(guest.value, [true, name, true, "given", name + ": m"]);
  }
});

test("X5 syntax errors have one-based places in the submitted source", async (t) => {
  for (const [source, line, column, message] of [
    ["let q = ;", 1, 9, /unexpected token/],
    ["const a = 1;\n  let b = 😀;", 2, 11, /./],
    ["return 1 +", 1, 11, /unexpected end/],
    ["const f = {\n  a: 1,\n", 3, 1, /unexpected end/],
    ["if (true) {\n  text('a')\n", 3, 1, /unexpected end/],
    ["text('a", 1, 6, /string/],
    ["const x: number = 1", 1, 8, /./],
    ["\n\nbreak;", 3, 6, /break/],
    ["const a = 1; const a = 2", 1, 22, /redefinition/],
    ["import x from 'y'", 1, 8, /./],
    ["return super.x", 1, 13, /super/],
    ["#!/usr/bin/env node", 1, 1, /./],
    ["*/ x", 1, 1, /./],
  ]) {
    await t.test(JSON.stringify(source), async () => {
      const guest = await run(source);
      const error = guest.error;
      assert.equal(error.name, "SyntaxError");
      assert.equal(error.code, "invalid_input");
      assert.deepEqual([error.line, error.column], [line, column]);
      assert.equal(error.stack, `    at codecell:user.js:${line}:${column}`);
      assert.match(error.message, message);
      assert.deepEqual([guest.requests, guest.output, guest.faults, guest.unhandled], [[], [], [], []]);
    });
  }
});

test("X5 check compiles only, and start runs what it checked", async () => {
  const guest = await Guest.create();
  assert.equal(guest.call("check", "text('ran'); return 1"), undefined);
  guest.drain();
  assert.deepEqual([guest.output, guest.settled], [[], []]);
  const error = JSON.parse(guest.call("check", "a b"));
  assert.deepEqual([error.name, error.line, error.column, error.code], ["SyntaxError", 1, 3, "invalid_input"]);
  assert.equal(guest.call("check", "text('ran'); return 1"), undefined);
  guest.start("text('ran'); return 1");
  assert.deepEqual([guest.output.length, guest.value], [1, 1]);
});

test("X5 a body that closes its wrapper is a syntax error, and reaches nothing", async (t) => {
  for (const source of [
    "}); text('out'); (async()=>{",
    "}); text('out'); (async function(){",
    "}, text('out'), async function(){",
    "}(text('out'), boom()), async function(){",
    "}.x = text('out'), async function(){",
    "} + text('out') + function(){",
    "} ? text('out') : function(){",
    "return 1 }/1/(async function(){ text('out')",
    "}`${text('out')}`, async function(){",
    "}); Promise.resolve().then(() => { text('out'); boom() }); (async function(){",
    "}), (() => { throw new SyntaxError('mine') })(), (async function(){",
    "}), Object.prototype.toString = Function.prototype.toString = () => 'async function(){', (async function(){",
    "}), new Proxy(function(){}, {}), (async function(){",
    "}); while (false) {} ({x(){",
    "})\n;(async function(){ return 1 })\n//",
    "}) /* ",
    "}); 5; //",
    "}) // ",
  ]) {
    await t.test(source, async () => {
      const guest = await Guest.create({ install });
      const checked = JSON.parse(guest.call("check", source));
      assert.equal(checked.name, "SyntaxError");
      guest.start(source);
      assert.equal(guest.error.name, "SyntaxError");
      assert.equal(guest.error.code, "invalid_input");
      assert.deepEqual([guest.requests, guest.output, guest.faults], [[], [], []]);
    });
  }
});

test("X5 the place of an early close is told", async () => {
  for (const [source, line, column] of [
    ["}); text('out'); (async()=>{", 1, 1], ["return 1\n } + text('out') + function(){", 2, 2], ["}, text('out'), async function(){", 1, 1],
    ["}", 1, 1], ["return 1; }", 1, 11], ["const a = 1;\n}\n\nreturn a", 2, 1], ["if (1) {\n  text(1)\n}}\nreturn 1", 3, 2], ["a(); // }\n)", 2, 1],
    ["const s = '}' )", 1, 15], ["f({ a: 1 } 2)", 1, 12],
  ]) {
    const error = await errorOf(source);
    assert.deepEqual([error.line, error.column], [line, column], source);
  }
});

test("X5 ends that only look as if they closed the wrapper are fine", async () => {
  for (const [source, value] of [
    ["return '}); (async()=>{'", "}); (async()=>{"],
    ["return 1 // })", 1],
    ["return `}${'})'}`", "}})"],
    ["{ { } } return {}", {}],
    ["'use strict'; return this === undefined", true],
    ["return /}\\)/.source", "}\\)"],
    ["return 1\n}\n".slice(0, 8), 1],
    ["return 1 /* } */", 1],
    ["return 1\n<!-- html comment", 1],
  ]) assert.deepEqual(await valueOf(source), value, source);
});

test("X5 a code fence is refused with advice", async () => {
  const error = await errorOf("\n ```js\nreturn 1\n```");
  assert.deepEqual([error.name, error.code, error.line, error.column], ["SyntaxError", "invalid_input", 2, 2]);
  assert.match(error.message, /code fence/);
});

test("E2 an exhausted stack is an ordinary, catchable error", async () => {
  assert.equal(await valueOf("function f() { f() } try { f() } catch (e) { return e.name }"), "RangeError");
  const error = await errorOf("function f() { f() }\nf()");
  assert.deepEqual([error.name, error.message], ["RangeError", "Maximum call stack size exceeded"]);
  assert.match(error.stack, /^( {4}at f \(codecell:user\.js:1:16\)\n?){10}$/);
});
