// The contract of 2026-07 (J2) and skills (G11), as programs that tamper with built-ins see them.
import test from "node:test";
import assert from "node:assert/strict";
import { run } from "./harness.mjs";

const row = (ref, name, more = {}) => ({ ref, id: "tool_" + ref, name, description: `The tool ${name}.`, source: "openclaw", ...more });
const install = {
  contract: "2026-07",
  tools: [row(0, "read", { member: "read" }), row(1, "a-b"), row(2, "search"), row(3, "delete", { member: "delete" })],
  mcp: [{ identifier: "gh", serverName: "git-hub", tools: [{ ref: 4, id: "tool_4", identifier: "createIssue", toolName: "create_issue" }] }],
  features: { skills: true, skillSearch: true },
};
const go = (source) => run(source, { install });
const tamper = `
  Object.defineProperty(Object.prototype, "member", { get() { return "evil" }, set() { throw 1 } });
  for (const name of ["get", "set"]) Map.prototype[name] = () => { throw 2 };
  Promise.prototype.then = () => { throw 3 }; Array.prototype[Symbol.iterator] = () => { throw 4 };`;

test("J2 calls go by id, by member and through MCP", async () => {
  const guest = await go(`${tamper}
    tools.call("tool_1", { n: 1 }); tools.read({ n: 2 }); tools.delete(); MCP.gh.createIssue({ n: 3 }); tools.call("read", {}); tools.describe("tool_4");
    return [Object.keys(tools), typeof catalog, typeof read, ALL_TOOLS.length]`);
  assert.deepEqual(guest.requests.map((r) => [r.kind, r.text]), [
    ["call", '{"ref":1,"args":{"n":1}}'], ["call", '{"ref":0,"args":{"n":2}}'], ["call", '{"ref":3,"args":{}}'], ["call", '{"ref":4,"args":{"n":3}}'],
    ["call", '{"ref":0,"args":{}}'], ["describe", '{"ref":4}'],
  ]);
  assert.deepEqual(guest.value, [["search", "describe", "call", "read", "delete"], "undefined", "undefined", 4]);
});

test("J2 what a search finds is plain, frozen data without what is the guest's own", async () => {
  const guest = await go(`const found = await tools.search("x", { limit: 2 }); return [found, Object.isFrozen(found), Object.isFrozen(found[0])]`);
  assert.deepEqual(guest.requests[0].payload, { query: "x", limit: 2 });
  guest.answer(["r1", [row(0, "read", { member: "read" }), row(4, "create_issue", { source: "mcp", sourceName: "git-hub" })]]);
  assert.deepEqual(guest.value, [[
    { id: "tool_0", name: "read", description: "The tool read.", source: "openclaw" },
    { id: "tool_4", name: "create_issue", description: "The tool create_issue.", source: "mcp", sourceName: "git-hub" },
  ], true, true]);
});

test("J2 MCP tools and unknown ids are refused without a call", async () => {
  const guest = await go(`const said = [];
    for (const id of ["tool_4", "tool_9", "__proto__", "constructor", "call", 4]) try { await tools.call(id, {}) } catch (e) { said.push(e.name + " " + e.message) }
    return said`);
  assert.equal(guest.requests.length, 0);
  assert.match(guest.value[0], /^TypeError tools\.call: MCP tools are called through MCP: MCP\.gh\.createIssue\(/);
  for (const said of guest.value.slice(1, 5)) assert.match(said, /^Error tools\.call: there is no tool "/);
  assert.match(guest.value[5], /^TypeError .*must be a string/);
});

test("G11 skills ask the host", async () => {
  const guest = await go(`${tamper} skills.list(); skills.read("a\\"b"); skills.search("q", { limit: 3 }); return [Object.keys(skills), Object.isFrozen(skills)]`);
  assert.deepEqual(guest.requests.map((r) => [r.kind, r.text]), [
    ["skills.list", "{}"], ["skills.read", '{"name":"a\\"b"}'], ["skills.search", '{"query":"q","limit":3}'],
  ]);
  assert.deepEqual(guest.value, [["list", "read", "search"], true]);
});
