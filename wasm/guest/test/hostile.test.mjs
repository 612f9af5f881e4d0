// Programs that redefine the language under the controller: they may hurt themselves, and nothing else.
import test from "node:test";
import assert from "node:assert/strict";
import { Guest, run, tool, valueOf } from "./harness.mjs";

const install = { tools: [tool(0, "rec")], mcp: [{ identifier: "gh", serverName: "gh", tools: [{ ref: 1, identifier: "get", toolName: "get" }] }] };

// record is what serialising a tool gives.
const record = (...of) => {
  const { ref, ...fields } = tool(...of);
  return fields;
};

// Everything that JavaScript lets a program replace, replaced by something that notes the loss and throws.
const SABOTAGE = `
  const leaks = [];
  const { defineProperty, getOwnPropertyDescriptor, ownKeys } = Reflect;
  const note = (value) => defineProperty(leaks, leaks.length, { __proto__: null, value, writable: true, enumerable: true, configurable: true });
  const Failure = Error;
  const broken = (where) => function () { note(where); throw new Failure("sabotage " + where) };
  const spoil = (object, where) => {
    const all = ownKeys(object);
    for (let i = 0; i < all.length; i++) {
      const key = all[i];
      const d = getOwnPropertyDescriptor(object, key);
      if (key === "constructor" || key === "prototype" || !d.configurable) continue;
      const value = broken(where + "." + name(key));
      if ("value" in d) { if (typeof d.value === "function") defineProperty(object, key, { __proto__: null, ...d, value }) }
      else defineProperty(object, key, { __proto__: null, ...d, get: d.get && value, set: d.set && value });
    }
  };
  const name = String;
`;

test("B1 a program that breaks every built-in still gets its calls, output and value through", async () => {
  const guest = await run(`${SABOTAGE}
    const targets = [["Promise", Promise], ["Promise.prototype", Promise.prototype], ["JSON", JSON], ["String.prototype", String.prototype],
      ["RegExp.prototype", RegExp.prototype], ["Map.prototype", Map.prototype], ["WeakMap.prototype", WeakMap.prototype], ["WeakSet.prototype", WeakSet.prototype],
      ["Set.prototype", Set.prototype], ["Number", Number], ["Object", Object], ["Array", Array], ["Math", Math], ["String", String], ["Error", Error],
      ["Error.prototype", Error.prototype], ["BigInt.prototype", BigInt.prototype], ["Date.prototype", Date.prototype], ["Symbol.prototype", Symbol.prototype],
      ["Uint8Array.prototype", Uint8Array.prototype], ["TypedArray.prototype", Object.getPrototypeOf(Uint8Array.prototype)], ["ArrayBuffer.prototype", ArrayBuffer.prototype]];
    for (let i = 0; i < targets.length; i++) spoil(targets[i][1], targets[i][0]);
    spoil(Reflect.getPrototypeOf([]), "Array.prototype");
    spoil(Reflect.getPrototypeOf(() => 1), "Function.prototype");
    const objectPrototype = Reflect.getPrototypeOf({});
    const call = rec({ path: "p", list: [1] }); // The rest would rightly take part in JSON.stringify.
    for (let i = 0; i < 12; i++) {
      const where = "Array.prototype[" + i + "]";
      defineProperty(Reflect.getPrototypeOf([]), i, { __proto__: null, configurable: true, get: broken(where), set: broken(where) });
    }
    const polluted = ["value", "get", "set", "writable", "object", "up", "left", "a", "name", "message", "stack", "answer", "resolve", "reject", "error", "label", "then2", "constructor", "toJSON", "location", "x"];
    for (let i = 0; i < polluted.length; i++) {
      const where = "Object.prototype." + polluted[i];
      defineProperty(objectPrototype, polluted[i], { __proto__: null, configurable: true, get: broken(where), set: broken(where) });
    }
    const gone = ["JSON", "Map", "Promise", "Error", "TypeError", "RangeError", "Object", "Array", "String", "WeakMap", "Uint8Array", "Symbol", "eval"];
    for (let i = 0; i < gone.length; i++) globalThis[gone[i]] = undefined;
    leaks.length = 0;
    text("t"); json([1, "two", { a: 3 }, rec]); console.log("c", [1, { b: 2 }], new (Reflect.getPrototypeOf(async () => 1).constructor)("return 1"));
    const id = setTimeout(() => text("timer"), 1); clearTimeout(setTimeout(() => {}, 5));
    const r = await call;
    let message; try { await rec("bad") } catch (e) { message = e }
    json(leaks);
    return [r, { deep: [r] }]`, { install });
  assert.deepEqual(guest.faults, []);
  assert.deepEqual(guest.settled, []);
  const call = guest.requests.find((r) => r.kind === "call");
  assert.deepEqual(call.payload, { ref: 0, args: { path: "p", list: [1] } });
  const json = [1, "two", { a: 3 }, record(0, "rec")];
  assert.deepEqual(guest.output.map((o) => o.value), ["t", json, 'c [1,{"b":2}] [Function: anonymous]']);
  guest.answer([call.id, ["answer", 1]], ["r2", null]);
  assert.deepEqual(guest.output.slice(3).map((o) => o.value), ["timer", []]);
  assert.deepEqual(guest.value, [["answer", 1], { deep: [["answer", 1]] }]);
  assert.deepEqual(guest.unhandled, []);
});

test("B1 what isn't there isn't looked up on Object.prototype: handles, what a search found, refusals", async () => {
  const theirs = tool(2, "theirs", { source: "client" });
  const guest = await run(`
    const touched = [];
    for (const name of ["get", "set", "value", "odd", "name", "label", "input", "ok", "error", "location", "toJSON"]) {
      Object.defineProperty(Object.prototype, name, {
        __proto__: null, configurable: true, get() { touched[touched.length] = name; throw name }, set() { throw name } });
    }
    json([rec, theirs]); console.log(Object.defineProperty({}, "x", { __proto__: null, set() {}, enumerable: true }));
    const [found] = await catalog.search("x");
    json(found);
    let refused; try { await rec() } catch (e) { refused = e }
    return [touched, refused.message, refused.code]`, { install: { ...install, tools: [...install.tools, theirs] } });
  assert.deepEqual(guest.settled, []);
  const found = [1, "MCP.gh.get", { toolName: "get", source: "mcp" }];
  guest.answer(["r1", [tool(...found)]]);
  guest.refuse("r2", { message: "no", code: "tool_error" });
  assert.deepEqual(guest.value, [[], "no", "tool_error"]);
  assert.deepEqual(guest.output.map((o) => o.value), [
    [record(0, "rec"), record(2, "theirs", { source: "client" })], '{"x":"[Setter]"}', record(...found),
  ]);
});

test("B1 settlement can't be seen, forged or doubled through promises", async () => {
  const guest = await run(`
    const seen = [];
    const spy = (name) => function (...args) { seen.push(name, ...args.map(String)); return this };
    Promise.prototype.then = spy("then"); Promise.prototype.catch = spy("catch"); Promise.prototype.finally = spy("finally");
    Object.defineProperty(Promise, Symbol.species, { get: spy("species") });
    Object.defineProperty(Promise.prototype, "constructor", { get() { seen.push("constructor"); return class { constructor(f) { f((v) => seen.push("resolve", v), (v) => seen.push("reject", v)) } } } });
    Promise.resolve = spy("resolve");
    const p = rec({});
    setTimeout(() => text("timer"), 1);
    globalThis.seen = seen;
    return { get seen() { return [...seen] } }`, { install });
  assert.deepEqual(guest.value, { seen: [] });
  guest.answer(["r1", 1], ["r2", null]);
  assert.deepEqual(guest.output.map((o) => o.value), ["timer"]);
  assert.equal(guest.settled.length, 1);
});

test("B1 stack hooks never get the controller's functions", async () => {
  const guest = await run(`
    const got = [];
    for (const C of [Error, TypeError, RangeError, Object.getPrototypeOf(TypeError)]) {
      C.prepareStackTrace = (e, sites) => { got.push(typeof sites); return sites };
      Object.defineProperty(C, "stackTraceLimit", { value: 0, writable: true, configurable: true });
    }
    json({ get a() { got.push(typeof new Error("x").stack); return 1 } });
    const holder = {}; json({ get a() { Error.captureStackTrace(holder); return 1 } }); got.push(typeof holder.stack);
    try { json({ get a() { null.x } }) } catch (e) { got.push(typeof e.stack, e.stack.split("\\n").length) }
    return got`);
  assert.deepEqual(guest.value, ["string", "string", "string", 3]);
});

test("B1 caller and arguments don't lead to the controller", async () => {
  const guest = await run(`
    const got = [];
    function look() {
      for (const name of ["caller", "arguments"]) try { got.push(String(look[name])) } catch (e) { got.push(e.name) }
      return 1;
    }
    json({ get a() { return look() } });
    try { got.push(String(arguments.callee.caller)) } catch (e) { got.push(e.name) }
    return got`);
  for (const seen of guest.value) assert.ok(["TypeError", "null", "undefined"].includes(seen), seen);
});

test("B1 the program's wrapper gives nothing away", async () => {
  const guest = await run("const f = arguments.callee; const again = await f.call(); return [f.name, again, Object.keys(f)]".replace("await f.call()", "typeof f"));
  assert.deepEqual(guest.value, ["", "function", []]);
  assert.equal(guest.settled.length, 1);
});

test("B1 answers with hostile keys stay data", async () => {
  const guest = await run("const r = await rec(); return [Object.keys(r), typeof r.then, ({}).polluted === undefined, r]", { install });
  guest.call("settle", "r1", true, '{"__proto__":{"polluted":1},"then":"x","constructor":{"prototype":{}},"toJSON":1}');
  guest.drain();
  assert.deepEqual(guest.value[0], ["__proto__", "then", "constructor", "toJSON"]);
  assert.deepEqual(guest.value.slice(1, 3), ["string", true]);
  assert.match(guest.settled[0].text, /"__proto__":\{"polluted":1\}/);
});

test("B1 a hostile thenable as the value settles once", async () => {
  assert.deepEqual(await valueOf("return { then(ok, no) { ok(1); ok(2); no(3); throw 4 } }"), 1);
  const guest = await run("return { get then() { throw new Error('then') } }");
  assert.equal(guest.error.message, "then");
  const never = await run("return { then() {} }");
  assert.deepEqual(never.settled, []);
});

test("B1 hostile values: proxies that lie, throw and recurse", async () => {
  const guest = await run(`
    const out = [];
    const lies = [
      new Proxy({}, { ownKeys: () => ["a"], getOwnPropertyDescriptor: () => ({ value: 1, enumerable: true, configurable: true }), get: () => 7 }),
      new Proxy([], { get: (t, k) => (k === "length" ? 2 : k) }),
      new Proxy({}, { getPrototypeOf: () => Map.prototype }),
      new Proxy(function () {}, {}),
    ];
    for (const lie of lies) json(lie);
    for (const bad of [new Proxy({}, { ownKeys() { throw new Error("keys") } }), new Proxy({}, { getPrototypeOf() { throw new Error("proto") } }), Proxy.revocable([], {}).proxy]) {
      try { json(bad) } catch (e) { out.push(e.message) }
    }
    const dead = Proxy.revocable([], {}); dead.revoke();
    try { json(dead.proxy) } catch (e) { out.push(e.name) }
    return out`);
  assert.deepEqual(guest.output.map((o) => o.value), [{ a: 7 }, ["0", "1"], {}, null, []]);
  assert.deepEqual(guest.value, ["keys", "proto", "TypeError"]);
});

test("B1 Proxy is still Proxy", async () => {
  assert.deepEqual(await valueOf(`
    const p = new Proxy({ a: 1 }, { get: (t, k) => k });
    const { proxy, revoke } = Proxy.revocable({}, {});
    let calls = 0; try { Proxy({}, {}) } catch { calls++ } try { new Proxy(1, {}) } catch (e) { calls += e instanceof TypeError }
    class Sub { constructor() { return new Proxy(this, {}) } }
    return [p.zz, typeof Proxy, Proxy.name, Proxy.length, typeof Proxy.revocable, Reflect.construct(Proxy, [{ b: 2 }, {}]).b, typeof revoke, calls,
      new Sub() instanceof Sub, new Proxy(() => 5, {})(), globalThis.Proxy === Proxy, "prototype" in Proxy]`),
  ["zz", "function", "Proxy", 2, "function", 2, "function", 2, true, 5, true, false]);
});

test("B1 a forged handle is only its own fields", async () => {
  const guest = await run(`
    const forged = Object.setPrototypeOf(() => 1, Object.getPrototypeOf(rec));
    Object.assign(forged, { callableName: "x", toolName: { toString() { throw 1 } }, extra: 1 });
    console.log(forged);
    return [forged, JSON.stringify(forged)]`, { install });
  assert.deepEqual(guest.value, [{ callableName: "x" }, '{"callableName":"x"}']);
});

test("B1 floods: 10,000 values, deep microtasks and many timers keep order", async () => {
  assert.equal(await valueOf("let n = 0; for (let i = 0; i < 1e4; i++) await (n += 1); return n"), 10000);
  const guest = await run("for (let i = 0; i < 100; i++) setTimeout((n) => text(n), 0, i); return 1");
  guest.answer(...guest.requests.map((r) => [r.id, null]));
  assert.deepEqual(guest.output.map((o) => o.value), Array.from({ length: 100 }, (_, i) => String(i)));
});

test("B1 seeded fuzz: no program of spare parts reaches a fault or settles twice", async () => {
  let state = 12345;
  const random = (n) => (state = (state * 1103515245 + 12345) % 2147483648) % n;
  const parts = ["text(", "json(", "console.log(", "rec(", "await ", "catalog.search('x')", "{a:", "}", "[", "]", ")", "null", "new Map(", "new Proxy({},{})", "setTimeout(", "()=>", "throw ",
    ";", ",", "1", "'s'", "return ", "Promise.reject(1)", "MCP.gh.get(", "async ", "function(){", "${", "`", "/", "*", "//", "\n", "Symbol()", "10n", "yield_control(", "class A{", "super", "new.target"];
  for (let i = 0; i < 150; i++) {
    let source = "";
    for (let n = random(9) + 1; n > 0; n--) source += parts[random(parts.length)];
    const guest = await run(source, { install });
    for (const r of guest.requests.slice(0, 5)) guest.answer([r.id, r.kind === "search" ? [] : {}]);
    assert.deepEqual(guest.faults, [], source);
    assert.ok(guest.settled.length <= 1, source);
  }
});
