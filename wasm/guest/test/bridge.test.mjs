// Calls, search, handles, timers and yields.
import test from "node:test";
import assert from "node:assert/strict";
import { Guest, run, tool, valueOf } from "./harness.mjs";

const install = { tools: [tool(0, "rec"), tool(1, "slow"), tool(2, "fast")] };
const calls = (guest) => guest.requests.filter((r) => r.kind === "call").map((r) => r.payload);

test("X10 a call requests its tool and resolves to the answer", async () => {
  const guest = await run("const r = await rec({ path: 'a', n: 1.5 }); return [r, r.x.y]", { install });
  assert.deepEqual(guest.requests.map((r) => [r.kind, r.payload]), [["call", { ref: 0, args: { path: "a", n: 1.5 } }]]);
  assert.deepEqual(guest.settled, []);
  guest.answer(["r1", { x: { y: [1] } }]);
  assert.deepEqual(guest.value, [{ x: { y: [1] } }, [1]]);
});

test("G1 an empty answer is undefined; null stays null", async () => {
  const guest = await run("return [typeof await rec(), await rec()]", { install });
  guest.answer(["r1", undefined]).answer(["r2", null]);
  assert.deepEqual(guest.value, ["undefined", null]);
});

test("E3 B4 a reply that can't be read as JSON rejects its call as an output that doesn't fit", async () => {
  for (const reply of ["{bad", '"a\u0000b"', "1 2"]) {
    const guest = await run("try { await rec() } catch (e) { return [e.message, e.code, e.location, e.effectStatus, e.stack] }", { install });
    guest.call("settle", "r1", true, reply);
    guest.drain();
    const [message, code, location, effect, stack] = guest.value;
    assert.match(message, /^the tool ran, but its reply can't be read as JSON: (SyntaxError|RangeError): /);
    assert.deepEqual([code, location, effect], ["output_contract", "output", "done"]);
    assert.match(stack, /codecell:user\.js:1:13/);
  }
});

test("G2 no argument is {}; literal keys, toJSON and dropped fields follow JSON", async () => {
  const guest = await run(`
    rec(); rec(undefined); rec({}, "ignored");
    rec(JSON.parse('{"__proto__":{"a":1},"constructor":2}'));
    rec({ u: undefined, f() {}, n: NaN, d: new Date(0), t: { toJSON: () => [1] }, o: Object.create({ inherited: 1 }) });
    rec(new (class Args { path = "p" })()); rec(Object.create(null)); rec({ handle: rec })`, { install });
  assert.deepEqual(guest.requests.map((r) => r.text), [
    '{"ref":0,"args":{}}', '{"ref":0,"args":{}}', '{"ref":0,"args":{}}',
    '{"ref":0,"args":{"__proto__":{"a":1},"constructor":2}}',
    '{"ref":0,"args":{"n":null,"d":"1970-01-01T00:00:00.000Z","t":[1],"o":{}}}',
    '{"ref":0,"args":{"path":"p"}}', '{"ref":0,"args":{}}',
    '{"ref":0,"args":{"handle":{"callableName":"rec","toolName":"rec","description":"The tool rec.","source":"openclaw"}}}',
  ]);
});

test("G2 CASES 1: arguments that JSON can't express reject that call, and request nothing", async (t) => {
  for (const [args, message] of [
    ["{ n: 5n }", /^rec: the argument can't be encoded as JSON: TypeError: /],
    ["(() => { const o = {}; o.me = o; return o })()", /^rec: the argument can't be encoded as JSON: TypeError: circular/],
    ["{ get x() { throw new Error('from getter') } }", /encoded as JSON: Error: from getter$/],
    ["{ x: { toJSON() { throw 'thrown' } } }", /encoded as JSON: thrown$/],
    ["new Proxy({}, { ownKeys() { throw new Error('trap') } })", /encoded as JSON: Error: trap$/],
    ["'path'", /^rec: the argument must be an object such as \{ key: value \}, not a string$/],
    ["['a']", /not an array$/],
    ["null", /not null$/],
    ["5", /not a number$/],
    ["5n", /not a bigint$/],
    ["() => 1", /not a function$/],
    ["Symbol()", /not a symbol$/],
    ["Promise.resolve({})", /not a promise \(await it first\)$/],
    ["new Map([['a', 1]])", /not a Map/],
    ["new Set()", /not a Set \(use Array.from\)$/],
    ["new Error('lost')", /not an Error \(use its message\)$/],
    ["{ text: slow() }", /can't be encoded as JSON: text is a promise \(await it first\)$/],
    ["{ a: [{}, { 'b c': Promise.resolve(1) }] }", /: a\[1\]\.b c is a promise \(await it first\)$/],
    ["{ s: '{}', m: new Map([[1, 2]]) }", /: m is a Map \(use Object.fromEntries\)$/],
    ["{ s: new Set([1]) }", /: s is a Set \(use Array.from\)$/],
    ["{ r: /a/ }", /: r is a RegExp \(use its source\)$/],
    ["{ e: new TypeError('x') }", /: e is an Error \(use its message\)$/],
    ["{ b: new ArrayBuffer(1) }", /: b is an ArrayBuffer/],
    ["new Date()", /not a Date$/],
    ["{ toJSON: () => 'text' }", /toJSON must give an object$/],
    ["{ toJSON: () => undefined }", /toJSON must give an object$/],
    ["{ toJSON: () => [1] }", /toJSON must give an object$/],
  ]) {
    await t.test(args, async () => {
      const guest = await run(`const slow = () => Promise.resolve(1); let p; try { p = rec(${args}) } catch { return "threw" }
        try { await p; return "resolved" } catch (e) { return [e instanceof TypeError, e.message, e.code, e.location, e.effectStatus] }`, { install });
      assert.equal(guest.value[0], true);
      assert.match(guest.value[1], message);
      assert.deepEqual(guest.value.slice(2), ["input_contract", "input", "not_started"]);
      assert.deepEqual([guest.requests, guest.unhandled], [[], []]);
    });
  }
});

test("G2 CASES 1: what JSON has words for is passed, and looking for what it hasn't runs no code of the program", async () => {
  const guest = await run(`let ran = 0;
    Set.prototype.toJSON = function () { return [...this] };
    const named = Object.assign(new Error("e"), { code: "c" });
    rec({ empty: {}, list: [{}, []], none: Object.create(null), set: new Set([1]), named, when: new Date(0), custom: { toJSON: () => ({}), p: Promise.resolve() },
      get got() { ran++; return new Map() }, proxy: new Proxy({ p: Promise.resolve() }, { getOwnPropertyDescriptor() { ran++; return undefined } }), u: undefined });
    return ran`, { install });
  assert.deepEqual(calls(guest)[0].args, {
    empty: {}, list: [{}, []], none: {}, set: [1], named: { code: "c" }, when: "1970-01-01T00:00:00.000Z", custom: {}, got: {}, proxy: {},
  });
  assert.equal(guest.value, 2); // the getter and the trap, once each: by the encoding
});

test("A1 CASES 12: answers settle in the order in which they arrive", async () => {
  const source = "void rec(); return [await Promise.race([slow(), fast()]), await Promise.race([Promise.all([slow()]), fast()]), await Promise.any([slow(), fast()])]";
  const guest = await run(source, { install });
  assert.deepEqual(calls(guest).map((c) => c.ref), [0, 1, 2]);
  guest.answer(["r3", "fast"], ["r2", "slow"]);
  assert.deepEqual(calls(guest).map((c) => c.ref), [0, 1, 2, 1, 2]);
  guest.answer(["r5", "fast"], ["r4", "slow"]);
  guest.answer(["r7", "fast"], ["r6", "slow"], ["r1", null]);
  assert.deepEqual(guest.value, ["fast", "fast", "fast"]);
});

test("A1 all answers of a resume settle before anything runs", async () => {
  const guest = await run("const seen = []; slow().then(() => seen.push('a', fast.n)); fast().then(() => seen.push('b')); setTimeout(() => seen.push('t'), 1); await rec(); return seen", { install });
  guest.call("settle", "r1", true, "1");
  guest.call("settle", "r3", true, undefined);
  guest.call("settle", "r2", true, "1");
  guest.call("settle", "r4", true, "1");
  guest.drain();
  assert.deepEqual(guest.value, ["a", null, "t", "b"]);
});

test("S8 unknown and settled ids are ignored", async () => {
  const guest = await run("return await rec()", { install });
  guest.answer(["r9", 1], ["", 1], ["__proto__", 1], ["constructor", 1]);
  assert.deepEqual([guest.settled, guest.faults], [[], []]);
  guest.answer(["r1", 1]).answer(["r1", 2]);
  assert.equal(guest.value, 1);
});

test("A7 CASES 18: dependent calls run in the same resume", async () => {
  const guest = await run("return (await Promise.all(Array.from({ length: 16 }, async (_, i) => (await rec({ i })) + (await fast({ i }))))).length", { install });
  assert.equal(guest.requests.length, 16);
  guest.answer(...guest.requests.map((r) => [r.id, 1]));
  assert.equal(guest.requests.length, 32);
  guest.answer(...guest.requests.slice(16).map((r) => [r.id, 1]));
  assert.equal(guest.value, 16);
});

test("C7 handles: callable, own fields, serialisable, read-only", async () => {
  const rich = tool(7, "edit_file", { toolName: "edit-file", label: "Edit", input: "{ path: string }", output: "string", apiPath: "tools/edit_file.d.ts" });
  const guest = await run(`
    const h = edit_file;
    h.description = 1; delete h.source; h.extra = 1; globalThis.edit_file = 2;
    return [typeof h, h.length, h.name, Object.keys(h), JSON.stringify(h), h.toJSON(), { h }, h, String(h).includes("native code"),
      !Object.isExtensible(h), typeof edit_file, "toJSON" in h, h instanceof Function, "prototype" in h]`, { install: { tools: [rich] } });
  const record = {
    callableName: "edit_file", toolName: "edit-file", label: "Edit", description: "The tool edit_file.", source: "openclaw",
    apiPath: "tools/edit_file.d.ts", input: "{ path: string }", output: "string",
  };
  assert.deepEqual(guest.value, ["function", 1, "edit_file", [...Object.keys(record), "describe"], JSON.stringify(record), record, { h: record }, record,
    true, true, "function", true, true, false]);
  assert.deepEqual(guest.requests, []);
});

test("C8 describe asks the host by reference", async () => {
  const guest = await run("const { describe } = rec; return [await rec.describe(), await describe()]", { install });
  guest.answer(["r1", { callableName: "rec" }]).answer(["r2", 2]);
  assert.deepEqual(guest.requests.map((r) => [r.kind, r.payload]), [["describe", { ref: 0 }], ["describe", { ref: 0 }]]);
  assert.deepEqual(guest.value, [{ callableName: "rec" }, 2]);
});

test("C6 catalog.all is a frozen array of native and client handles, at once", async () => {
  const mcp = [{ identifier: "gh", serverName: "gh", tools: [{ ref: 9, identifier: "get", toolName: "get" }] }];
  assert.deepEqual(await valueOf("const a = catalog.all(); return [a.map((h) => h.callableName), a[0] === rec, Object.isFrozen(a), a === catalog.all()]",
    { install: { ...install, mcp } }), [["rec", "slow", "fast"], true, true, true]);
  assert.deepEqual(await valueOf("return catalog.all()"), []);
});

test("C5 catalog.search resolves to a frozen array of callable handles", async () => {
  const guest = await run(`
    const found = await catalog.search("issue", { limit: 3 });
    const made = found[1]({ title: "t" });
    return [Object.isFrozen(found), found[0] === rec, found.map(String).every((s) => s.includes("native")), found, (await catalog.search("none")).length, await made]`, { install });
  assert.deepEqual(guest.requests.map((r) => [r.kind, r.payload]), [["search", { query: "issue", limit: 3 }]]);
  const issue = { ref: 5, callableName: "MCP.gh.createIssue", toolName: "create_issue", description: "d", source: "mcp", apiPath: "mcp/gh.d.ts" };
  guest.answer(["r1", [tool(0, "rec"), issue]]);
  assert.deepEqual(guest.requests[1].payload, { ref: 5, args: { title: "t" } });
  guest.answer(["r3", []]).answer(["r2", "done"]);
  const { ref, ...record } = issue;
  assert.deepEqual(guest.value, [true, true, true, [{ callableName: "rec", toolName: "rec", description: "The tool rec.", source: "openclaw" }, record], 0, "done"]);
});

test("C5 catalog.search refuses bad input without a request", async () => {
  for (const [args, name, message] of [
    ["", "TypeError", /query must be a string/],
    ["5", "TypeError", /query must be a string/],
    ["'q', { limit: 0 }", "RangeError", /limit must be a positive integer/],
    ["'q', { limit: 1.5 }", "RangeError", /positive integer/],
    ["'q', { limit: 'x' }", "RangeError", /positive integer/],
    ["'q', { limit: 1n }", "RangeError", /positive integer/],
    ["'q', { get limit() { throw new Error('own') } }", "Error", /^own$/],
  ]) {
    const guest = await run(`try { await catalog.search(${args}) } catch (e) { return [e.name, e.message] }`);
    assert.equal(guest.value[0], name);
    assert.match(guest.value[1], message);
    assert.deepEqual(guest.requests, []);
  }
  const guest = await run("catalog.search(''); catalog.search('q', null); catalog.search('q\"\\n\\ud800', { limit: undefined })");
  assert.deepEqual(guest.requests.map((r) => r.text), ['{"query":""}', '{"query":"q"}', '{"query":"q\\"\\n\\ud800"}']);
});

test("G6 yield_control", async () => {
  const guest = await run("return [await yield_control('why'), await yield_control(), await yield_control(5).catch((e) => e.message)]");
  guest.answer(["r1", { status: "yielded", reason: "why" }]).answer(["r2", { status: "yielded" }]);
  assert.deepEqual(guest.requests.map((r) => [r.kind, r.payload]), [["yield", { reason: "why" }], ["yield", {}]]);
  assert.deepEqual(guest.value, [{ status: "yielded", reason: "why" }, { status: "yielded" }, "yield_control: the reason must be a string"]);
});

test("G4 setTimeout runs its callback with its arguments when the host says so", async () => {
  const guest = await run("const id = setTimeout((...a) => text(a), 5, 'x', 1); await new Promise((r) => setTimeout(r, 2.2)); return [typeof id, id]");
  assert.deepEqual(guest.requests.map((r) => [r.kind, r.payload]), [["timer", { delayMs: 5 }], ["timer", { delayMs: 3 }]]);
  guest.answer(["r2", null]);
  assert.deepEqual([guest.value, guest.output], [["number", 1], []]);
  guest.answer(["r1", null]);
  assert.equal(guest.output[0].value, '["x",1]');
});

test("G4 odd delays", async () => {
  const guest = await run("for (const d of [undefined, null, -1, NaN, 'x', '7', Infinity, 1e12, {}, Symbol(), 5n, 0.1]) setTimeout(() => {}, d)");
  assert.deepEqual(guest.requests.map((r) => r.payload.delayMs), [0, 0, 0, 0, 0, 7, 2147483647, 2147483647, 0, 0, 0, 1]);
});

test("G4 a callback must be a function", async () => {
  assert.deepEqual(await valueOf("try { setTimeout('text(1)', 1) } catch (e) { return [e.name, e.message] }"),
    ["TypeError", "setTimeout: the callback must be a function"]);
});

test("G4 CASES 15: clearTimeout cancels at the host; odd, known and repeated ids are ignored", async () => {
  const guest = await run(`
    const t = setTimeout(() => text("x"), 50000);
    await new Promise((r) => setTimeout(r, 2));
    clearTimeout(t); clearTimeout(t);
    for (const odd of [0, -1, 99, undefined, null, "1", {}, Symbol(), NaN, "__proto__"]) clearTimeout(odd);
    await new Promise((r) => setTimeout(r, 2));
    return 4`);
  guest.answer(["r2", null]);
  assert.deepEqual(guest.cancelled, ["r1"]);
  guest.answer(["r3", null]).answer(["r1", null]);
  assert.deepEqual([guest.value, guest.output, guest.cancelled], [4, [], ["r1"]]);
});

test("G4 a timer cleared by another one of the same resume doesn't run; nor does clearing a past one cancel", async () => {
  const guest = await run("let b; const a = setTimeout(() => { clearTimeout(b); text('a') }, 1); b = setTimeout(() => text('b'), 1); await rec(); clearTimeout(a); return 1", { install });
  guest.answer(["r1", null], ["r2", null]);
  guest.answer(["r3", null]);
  assert.deepEqual([guest.value, guest.output.map((o) => o.value), guest.cancelled], [1, ["a"], []]);
});

test("E3 what a timer's callback throws or rejects is unhandled", async () => {
  for (const callback of ["() => { throw new Error('late') }", "async () => { throw new Error('late') }"]) {
    const guest = await run(`setTimeout(${callback}, 1); return 'ok'`);
    guest.answer(["r1", null]);
    assert.deepEqual([guest.value, guest.unhandled.map((e) => e.message)], ["ok", ["late"]]);
  }
  const handled = await run("setTimeout(() => { const p = Promise.reject(1); setTimeout(() => p.catch(() => {}), 1); return p }, 1)");
  handled.answer(["r1", null]);
  assert.equal(handled.unhandled.length, 1);
  handled.answer(["r2", null]);
  assert.deepEqual(handled.unhandled, []);
});

test("S12 closures, Map, generator, private field and timers go on after a snapshot", async () => {
  const guest = await run(`
    class Box { #v = 1; bump() { return ++this.#v } }
    function* count() { let i = 0; for (;;) yield i++ }
    const box = new Box(), map = new Map([["k", { deep: true }]]), gen = count(); gen.next();
    let timed = 0; const dead = setTimeout(() => text("dead"), 9); setTimeout(() => { timed++ }, 5);
    const x = await slow(); clearTimeout(dead);
    return [x, box.bump(), map.get("k"), gen.next().value, timed, await fast()]`, { install });
  const restored = await guest.restore();
  restored.answer(["r2", null], ["r3", 40]);
  assert.deepEqual(restored.cancelled, ["r1"]);
  restored.answer([restored.requests.at(-1).id, 2]);
  assert.deepEqual(restored.value, [40, 2, { deep: true }, 1, 1, 2]);
});
