// nodes: paired machines. Each request is a call of the native tool whose ref the catalog gives.
import test from "node:test";
import assert from "node:assert/strict";
import { run, tool, valueOf } from "./harness.mjs";

const install = { nodes: 7, tools: [tool(7, "nodes_x1", { toolName: "nodes" })] };
const go = (source) => run(source, { install });
const asked = (guest) => guest.requests.map((r) => [r.kind, r.payload]);
const described = (...commands) => ({ node: { id: "UA", name: "mac", platform: "p", connected: true, commands: commands.map((name) => ({ name, params: {} })) } });

test("N1 list resolves to the nodes, and is a call of the tool", async () => {
  const guest = await go("return [await nodes.list(), await nodes.list()]");
  const list = [{ id: "UA", name: "mac", platform: "linux", connected: true, commands: ["device.status"] }];
  guest.answer(["r1", { nodes: list }]).answer(["r2", {}]); // a placeholder may have nothing in it
  assert.deepEqual(guest.value, [list, []]);
  assert.deepEqual(asked(guest), [["call", { ref: 7, args: { action: "list" } }], ["call", { ref: 7, args: { action: "list" } }]]);
});

test("N1 a handle has what the node advertises, and never exec", async () => {
  const guest = await go(`const all = [await nodes.get("mac"), await nodes.get("UA")];
    return all.map((n) => [Object.keys(n), n.id, n.name, n.commands, typeof n.exec, typeof n.then, Object.isFrozen(n), Object.getPrototypeOf(n)])`);
  guest.answer(["r1", described("device.status", "fs.listDir")]).answer(["r2", described("system.run", "exec")]);
  assert.deepEqual(asked(guest), [
    ["call", { ref: 7, args: { action: "describe", node: "mac" } }], ["call", { ref: 7, args: { action: "describe", node: "UA" } }],
  ]);
  assert.deepEqual(guest.value, [
    [["id", "name", "commands", "invoke", "listDir"], "UA", "mac", ["device.status", "fs.listDir"], "undefined", "undefined", true, null],
    [["id", "name", "commands", "invoke"], "UA", "mac", ["system.run", "exec"], "undefined", "undefined", true, null],
  ]);
});

test("N1 invoke and listDir name the node by its id, and resolve to what the command returned", async () => {
  const guest = await go(`const n = await nodes.get("mac");
    return [await n.invoke("device.status"), await n.invoke("a.b", { __proto__: 1, x: [1] }), await n.listDir("docs"), await n.listDir(), typeof (await n.invoke("void"))]`);
  guest.answer(["r1", described("fs.listDir")]).answer(["r2", { result: 5 }]).answer(["r3", { result: null }])
    .answer(["r4", { result: { entries: [] } }]).answer(["r5", { result: 1 }]).answer(["r6", {}]);
  assert.deepEqual(guest.value, [5, null, { entries: [] }, 1, "undefined"]);
  assert.deepEqual(asked(guest).slice(1).map(([, p]) => p.args), [
    { action: "invoke", node: "UA", command: "device.status", params: {} },
    { action: "invoke", node: "UA", command: "a.b", params: { x: [1] } },
    { action: "invoke", node: "UA", command: "fs.listDir", params: { path: "docs" } },
    { action: "invoke", node: "UA", command: "fs.listDir", params: {} },
    { action: "invoke", node: "UA", command: "void", params: {} },
  ]);
});

test("N1 what can't be meant is refused, and nothing is asked", async (t) => {
  for (const [source, message] of [
    ["nodes.get()", /nodes\.get: the node must be a string/], ["nodes.get('')", /must be a string/], ["nodes.get({ id: 'UA' })", /must be a string/],
    ["n.invoke()", /invoke: the command must be a string/], ["n.invoke(5)", /must be a string/], ["n.invoke('')", /must be a string/],
    ["n.invoke('a', 5)", /invoke: the argument must be an object/], ["n.invoke('a', [])", /not an array/], ["n.invoke('a', { n: 5n })", /can't be encoded as JSON/],
    ["n.invoke('a', { get x() { throw new Error('mine') } })", /mine/], ["n.listDir(5)", /listDir: the path must be a string/],
  ]) {
    await t.test(source, async () => {
      const guest = await go(`const n = await nodes.get("mac");
        let promise; try { promise = ${source} } catch { return "threw" }
        try { await promise } catch (e) { return [e instanceof TypeError, e.message] }`);
      guest.answer(["r1", described("fs.listDir")]);
      assert.equal(guest.value[0], true);
      assert.match(guest.value[1], message);
      assert.equal(guest.requests.length, 1);
    });
  }
});

test("N2 a refusal is the host's, at the line of the call", async () => {
  const guest = await go(`try {\n  await nodes.get("tv")\n} catch (e) { return [e.message, e.code, e.location] }`);
  guest.refuse("r1", { name: "Error", message: 'nodes: there is no node "tv"', code: "invalid_input" });
  const [message, code, location] = guest.value;
  assert.deepEqual([message, code], ['nodes: there is no node "tv"', "invalid_input"]);
  assert.match(location, /codecell:user\.js:2:/);
});

test("G7 nodes and a node are no promises", async () => {
  const guest = await go("const n = await (await nodes).get('mac'); await n; return [typeof nodes.then, String(nodes), String(n), JSON.stringify(n)]");
  guest.answer(["r1", described()]);
  assert.deepEqual(guest.value, ["undefined", "[object nodes]", "[object node]", '{"id":"UA","name":"mac","commands":[]}']);
  assert.equal(guest.requests.length, 1);
});

test("N1 CASES 11: without the tool there are no nodes", async () => {
  const source = `const no = await nodes.get("mac").catch((e) => [e instanceof Error, e.code, e.location, e.effectStatus, e.message]);
    return [typeof nodes, await nodes.list(), typeof (await nodes), no]`;
  for (const without of [{}, { ...install, nodes: undefined }]) {
    const guest = await run(source, { install: without });
    const [kind, list, awaited, refused] = guest.value;
    assert.deepEqual([kind, list, awaited, guest.requests], ["object", [], "object", []]);
    assert.deepEqual(refused.slice(0, 4), [true, "invalid_input", "policy", "not_started"]);
    assert.match(refused[4], /^nodes\.get: this run has no nodes/);
  }
  assert.equal(await valueOf("return typeof nodes", { install: { contract: "2026-07" } }), "undefined");
});

test("N2 programs can't replace or change what they are given", async () => {
  const guest = await go(`Object.prototype.nodes = "evil"; Array.prototype.push = () => { throw 1 }; Promise.prototype.then = () => { throw 2 };
    try { nodes = 5 } catch {} try { nodes.list = 5 } catch {} return typeof nodes.list`);
  assert.deepEqual(guest.value, "function");
});

test("N2 an answer of another shape is nothing", async () => {
  for (const answer of [undefined, null, 5, "x", [], { node: 5 }, { node: null }, { node: { id: 5, commands: [null, 5, { name: 5 }] } }]) {
    const guest = await go(`const n = await nodes.get("mac"); return [n.id, n.name, n.commands]`);
    guest.answer(["r1", answer]);
    assert.deepEqual(guest.value, ["mac", "mac", []], JSON.stringify(answer));
  }
});
