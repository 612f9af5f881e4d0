// agents.run, phase and log (G10). Agents are started and waited for by calls of the native tools whose refs the catalog gives.
import test from "node:test";
import assert from "node:assert/strict";
import { run, tool } from "./harness.mjs";

const install = { agents: { spawn: 3, await: 4 }, tools: [tool(3, "sessions_spawn"), tool(4, "agents_wait")] };
const go = (source) => run(source, { install });
const asked = (guest) => guest.requests.map((r) => [r.kind, r.payload.ref, r.payload.args]);
const usage = { inputTokens: 5, outputTokens: 2 };
const answer = (id, rest) => ({ results: [{ id, status: "completed", usage, ...rest }], pending: [] });
const waitFor = (id) => ["call", 4, { ids: [id], awaitResults: true, background: true }];

test("G10 agents.run starts an agent, waits for it, and resolves to its answer", async () => {
  const guest = await go(`return await agents.run("sum up a.txt")`);
  guest.answer(["r1", { id: "a1", sessionKey: "k/a1", status: "accepted" }]).answer(["r2", answer("a1", { text: "42", label: "sums" })]);
  assert.deepEqual(guest.value, { id: "a1", label: "sums", text: "42", usage });
  assert.deepEqual(asked(guest), [["call", 3, { scope: "cell", task: "sum up a.txt" }], waitFor("a1")]);
});

test("G10 agents.run takes what the tool takes", async () => {
  const guest = await go(`return await agents.run({ task: "t", label: "l", agent: "x", model: "m", mode: "code", timeoutMs: 5 })`);
  guest.answer(["r1", { id: "a1" }]).answer(["r2", answer("a1", { text: "t", truncated: true })]);
  assert.deepEqual(guest.value, { id: "a1", text: "t", truncated: true, usage });
  assert.deepEqual(asked(guest)[0][2], { scope: "cell", task: "t", label: "l", agent: "x", model: "m", mode: "code", timeoutMs: 5 });
});

test("G10 agents run side by side, and a failed one rejects where it was started", async () => {
  const guest = await go(`const all = await Promise.allSettled(["a", "b", "c"].map((t) => agents.run(t)));
    return all.map((s) => s.status === "fulfilled" ? s.value.text : [s.reason instanceof Error, s.reason.message, s.reason.code, s.reason.agent, s.reason.text ?? null,
      s.reason.location, s.reason.effectStatus])`);
  guest.answer(["r1", { id: "a1" }], ["r2", { id: "a2" }], ["r3", { id: "a3" }]);
  guest.answer(["r5", answer("a2", { status: "failed", label: "second", error: "it broke", text: "so far" })]);
  guest.answer(["r6", answer("a3", { status: "cancelled", error: "cancelled: the run was closed" })]).answer(["r4", answer("a1", { text: "one" })]);
  assert.deepEqual(guest.value, [
    "one",
    [true, "agents.run: agent second failed: it broke", "tool_error", "a2", "so far", "tool", "failed"],
    [true, "agents.run: agent a3 cancelled: cancelled: the run was closed", "tool_error", "a3", null, "tool", "failed"],
  ]);
});

test("G10 what the tools refuse rejects as any call does", async () => {
  const guest = await go(`try { await agents.run({}) } catch (e) { return [e.message, e.code, e.location] }`);
  guest.refuse("r1", { code: "tool_error", message: "8 agents are at work" });
  assert.deepEqual(guest.value, ["8 agents are at work", "tool_error", "codecell:user.js:1:20"]);
  assert.deepEqual(asked(guest), [["call", 3, { scope: "cell" }]]);
});

test("G10 tasks that can't be meant are refused, and nothing is asked", async (t) => {
  for (const source of ["agents.run()", "agents.run(5)", "agents.run(null)", "agents.run(['a'])", "agents.run({ task: 5n })"]) {
    await t.test(source, async () => {
      const guest = await go(`try { await ${source} } catch (e) { return [e instanceof TypeError, e.message] }`);
      assert.equal(guest.value[0], true);
      assert.match(guest.value[1], /5n/.test(source) ? /BigInt/ : /a string, or an object such as \{ task: "…" \}, not (undefined|null|a number|an array)$/);
      assert.deepEqual(guest.requests, []);
    });
  }
});

test("G10 phase and log tell who watches, and agents belong to the phase in which they begin", async () => {
  const guest = await go(`log("before", { n: 1 }); phase("collect"); log("x"); agents.run("a").catch(() => {}); phase("p".repeat(200)); agents.run("b").catch(() => {}); return [log(1), phase("")]`);
  assert.deepEqual(guest.syncs.map((s) => [s.method, s.payload]), [
    ["note", { phase: "", text: 'before {"n":1}' }], ["note", { phase: "collect", text: "" }], ["note", { phase: "collect", text: "x" }],
    ["note", { phase: "p".repeat(120), text: "" }], ["note", { phase: "p".repeat(120), text: "1" }], ["note", { phase: "", text: "" }],
  ]);
  assert.deepEqual(guest.output.map((o) => o.value), ['before {"n":1}', "x", "1"]);
  assert.deepEqual(asked(guest).map(([, , args]) => args.phase), ["collect", "p".repeat(120)]);
});

test("G10 a note is bounded, and a title must be a text", async () => {
  const guest = await go(`log("é".repeat(400), "x".repeat(400)); try { phase(5) } catch (e) { return e instanceof TypeError }`);
  assert.equal(guest.syncs[0].payload.text.length, 512);
  assert.equal(guest.value, true);
});

test("G7 agents isn't thenable, and none of the three can be replaced", async () => {
  const guest = await go(`await agents; agents.run = 1; return [typeof agents.then, typeof agents.run, Object.isFrozen(agents), delete globalThis.phase, typeof log, Object.keys(globalThis)]`);
  assert.deepEqual(guest.value.slice(0, 5), ["undefined", "function", true, false, "function"]);
});

test("G10 without the swarm there is nothing of it", async () => {
  const guest = await run(`return [typeof agents, typeof phase, typeof log]`, { install: { tools: install.tools } });
  assert.deepEqual(guest.value, ["undefined", "undefined", "undefined"]);
});

test("a placeholder of a dry run is an answer without words", async () => {
  const guest = await go(`return await agents.run("a")`);
  guest.answer(["r1", { id: "", sessionKey: "", status: "accepted" }]).answer(["r2", { results: [], pending: [] }]);
  assert.deepEqual(guest.value, { id: "", text: "" });
});
