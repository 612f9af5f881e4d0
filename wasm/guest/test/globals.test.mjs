// The global object, MCP and API.
import test from "node:test";
import assert from "node:assert/strict";
import { ECMASCRIPT } from "./ecmascript.mjs";
import { run, tool, valueOf } from "./harness.mjs";

const HELPERS = ["text", "json", "yield_control", "setTimeout", "clearTimeout", "console", "TextEncoder", "TextDecoder", "catalog", "MCP", "nodes", "API"];

const gh = {
  identifier: "gh", serverName: "git-hub",
  tools: [{ ref: 4, identifier: "createIssue", toolName: "create_issue" }, { ref: 5, identifier: "delete2", toolName: "delete" }],
};

test("G11 CASES 11: the documented globals and ECMAScript, nothing else", async () => {
  const names = await valueOf("return Reflect.ownKeys(globalThis).map(String)");
  assert.deepEqual(names.toSorted(), [...ECMASCRIPT, ...HELPERS].toSorted());
  const types = await valueOf(`return Object.fromEntries(${JSON.stringify(HELPERS)}.map((n) => [n, typeof globalThis[n]]))`);
  for (const name of HELPERS) assert.equal(types[name], /^(console|catalog|MCP|API|nodes)$/.test(name) ? "object" : "function", name);
});

test("G11 nothing of a host, a loader or the controller is in reach", async () => {
  for (const name of ["process", "require", "module", "exports", "std", "os", "fetch", "host", "controller", "api", "performance", "DOMException", "atob", "btoa",
    "queueMicrotask", "InternalError", "structuredClone", "setInterval", "print", "gc", "scriptArgs", "navigator", "crypto", "WebAssembly", "Atomics", "Worker",
    "hostFunction", "settle", "pending", "install", "source", "compiled", "program", "tools"]) {
    assert.deepEqual(await valueOf(`return [typeof ${name}, ${JSON.stringify(name)} in globalThis]`), ["undefined", false], name);
  }
  assert.deepEqual(await valueOf("return ['fileName', 'lineNumber', 'columnNumber'].filter((n) => n in (() => 1))"), []);
});

test("G11 helpers and tools are read-only globals that a program may shadow", async () => {
  const guest = await run(`
    text = json = read = console = catalog = MCP = 1; globalThis.text = 2;
    const failures = [];
    for (const name of ["text", "read", "MCP"]) {
      try { (function () { "use strict"; globalThis[name] = 1 })() } catch (e) { failures.push(e.name) }
      try { Object.defineProperty(globalThis, name, { value: 1 }) } catch (e) { failures.push(e.name) }
      failures.push(delete globalThis[name]);
    }
    { const text = "shadow", read = 2; json([text, read]) }
    text("still"); 
    return [failures, typeof read, typeof catalog.search, Object.keys(globalThis)]`, { install: { tools: [tool(0, "read")] } });
  assert.deepEqual(guest.output.map((o) => o.value), [["shadow", 2], "still"]);
  assert.deepEqual(guest.value, [["TypeError", "TypeError", false, "TypeError", "TypeError", false, "TypeError", "TypeError", false], "function", "function", ["read"]]);
});

test("G11 a program can shadow every helper by its own declarations", async () => {
  assert.deepEqual(await valueOf("const text = 1, json = 2, console = 3; let catalog = 4; var MCP = 5; function API() {} return [text, json, console, catalog, MCP, typeof API]"),
    [1, 2, 3, 4, 5, "function"]);
});

test("C4 a tool never takes the name of a helper or a built-in", async () => {
  const tools = [tool(0, "text"), tool(1, "Map"), tool(2, "toString"), tool(3, "then")];
  const guest = await run("return [typeof text, new Map().size, typeof globalThis.toString, catalog.all().length, await catalog.all()[1](), typeof await then]", { install: { tools } });
  assert.deepEqual(guest.requests.map((r) => r.payload.ref), [1]);
  guest.answer(["r1", "called"]);
  assert.deepEqual(guest.value, ["function", 0, "function", 4, "called", "function"]);
  assert.deepEqual(guest.faults, []);
});

test("G7 CASES 10: nothing is thenable, and printing asks the host nothing", async () => {
  const mcp = [{ identifier: "gh", serverName: "gh", tools: [{ ref: 1, identifier: "then", toolName: "then" }, { ref: 2, identifier: "then2", toolName: "then" }, { ref: 3, identifier: "toJSON2", toolName: "toJSON" }] },
    { identifier: "then", serverName: "then", tools: [] }];
  const guest = await run(`
    const c = await catalog, m = await MCP, s = await MCP.gh, f = await rec, a = await API, t = await then;
    const all = [typeof c.search, typeof m.gh, typeof s.then2, typeof f, typeof a.list, typeof t, typeof MCP.then];
    all.push(String(MCP), \`\${MCP.gh}\`, String(catalog), JSON.stringify(MCP).length > 50, MCP + "", Object.prototype.toString.call(API));
    return all`, { install: { tools: [tool(0, "rec"), tool(9, "then")], mcp } });
  assert.deepEqual(guest.value, ["function", "object", "function", "function", "function", "function", "object",
    "[object MCP]", "[object MCP.gh]", "[object catalog]", true, "[object MCP]", "[object API]"]);
  assert.deepEqual([guest.requests, guest.syncs], [[], []]);
});

test("M1 MCP tools are methods of their server only", async () => {
  const guest = await run(`
    const { createIssue } = MCP.gh;
    const made = await createIssue({ title: "t" });
    return [made, Object.keys(MCP), Object.keys(MCP.gh), MCP.gh.$serverName, typeof globalThis.createIssue, createIssue, await MCP.gh.delete2(),
      Object.isFrozen(MCP), Object.isFrozen(MCP.gh), (MCP.other = 1, MCP.other), Object.getPrototypeOf(MCP.gh), MCP.nope, MCP.gh.constructor]`, { install: { mcp: [gh] } });
  assert.deepEqual(guest.requests[0].payload, { ref: 4, args: { title: "t" } });
  guest.answer(["r1", { content: [], isError: true }]).answer(["r2", null]);
  assert.deepEqual(guest.value, [{ content: [], isError: true }, ["gh"], ["$serverName", "createIssue", "delete2", "$api"], "git-hub", "undefined",
    { callableName: "MCP.gh.createIssue", toolName: "create_issue", source: "mcp", apiPath: "mcp/gh.d.ts" }, null, true, true, null, null, null, null]);
});

test("M3 $api looks the declaration up at once", async () => {
  const options = { install: { mcp: [gh] }, sync: (method, payload) => (payload.tool === "nope" ? { error: { name: "Error", message: "no tool nope", code: "invalid_input" } } : { ok: { header: "h", method } }) };
  const guest = await run(`
    const errors = [];
    for (const bad of ["nope", 5]) try { MCP.gh.$api(bad) } catch (e) { errors.push([e.name, e.message, e.code]) }
    return [MCP.gh.$api().header, await MCP.gh.$api("createIssue", { schema: true }), errors]`, options);
  assert.deepEqual(guest.value, ["h", { header: "h", method: "mcp.api" }, [["Error", "no tool nope", "invalid_input"], ["TypeError", "$api: the tool must be a string, its name", null]]]);
  assert.deepEqual(guest.syncs.map((s) => s.payload), [{ server: "gh", tool: "nope" }, { server: "gh" }, { server: "gh", tool: "createIssue", schema: true }]);
  assert.deepEqual(guest.requests, []);
});

test("M3 resources and prompts are asked like tools", async () => {
  const server = { ...gh, resources: { list: 9, read: 10 }, prompts: { get: 12, list: 11 } };
  const guest = await run(`
    const { resources, prompts } = MCP.gh;
    return [await resources.list(), await resources.read({ uri: "a:b" }), await prompts.list({}), await prompts.get({ name: "p", arguments: { n: "1", none: undefined } })]`,
  { install: { mcp: [server] } });
  const answers = [{ resources: [] }, { contents: [] }, { prompts: [] }, { messages: [] }];
  answers.forEach((answer, i) => guest.answer(["r" + (i + 1), answer]));
  assert.deepEqual(guest.requests.map(({ kind, payload }) => [kind, payload]), [
    ["call", { ref: 9, args: {} }], ["call", { ref: 10, args: { uri: "a:b" } }], ["call", { ref: 11, args: {} }],
    ["call", { ref: 12, args: { name: "p", arguments: { n: "1" } } }],
  ]);
  assert.deepEqual(guest.value, answers);
});

test("M3 resources and prompts are there as far as the server has them, and are no handles", async () => {
  const mcp = [gh, { identifier: "docs", serverName: "docs", tools: [], resources: { list: 7 } }];
  const guest = await run(`
    const { resources } = await MCP.docs;
    const errors = [];
    for (const ask of [() => MCP.gh.resources.list(), () => resources.read({ uri: "a" })]) try { await ask() } catch (e) { errors.push(e.name) }
    for (const args of ["a:b", ["a:b"], null, 5n]) await resources.list(args).catch((e) => errors.push(e.message));
    return [Object.keys(MCP.gh), Object.keys(MCP.docs), typeof MCP.gh.prompts, typeof (await resources).list, String(resources), [resources.list.name, resources.list.length],
      Object.isFrozen(resources), Object.getPrototypeOf(resources), Object.getPrototypeOf(resources.list) === Function.prototype, resources.list.describe, resources, errors]`, { install: { mcp } });
  const refusal = (what) => `MCP.docs.resources.list: the argument must be an object such as { key: value }, not ${what}`;
  assert.deepEqual(guest.value, [["$serverName", "createIssue", "delete2", "$api"], ["$serverName", "$api", "resources"], "undefined", "function", "[object MCP.docs.resources]", ["list", 0],
    true, null, true, null, {}, ["TypeError", "TypeError", refusal("a string"), refusal("an array"), refusal("null"), refusal("a bigint")]]);
  assert.deepEqual([guest.requests, guest.faults], [[], []]);
});

test("G3 API.list and API.read", async () => {
  const files = { "tools/read.d.ts": "declare function read(): void;" };
  const sync = (method, { prefix = "", path }) => {
    if (method === "api.list") return { ok: { files: Object.keys(files).filter((f) => f.startsWith(prefix)).map((f) => ({ path: f, bytes: files[f].length })) } };
    return path in files ? { ok: { path, content: files[path], bytes: files[path].length } } : { error: { name: "Error", message: `unknown API file "${path}"` } };
  };
  const guest = await run(`
    const bad = [];
    for (const path of ["nope.d.ts", 5, undefined]) try { API.read(path) } catch (e) { bad.push([e.name, e.message, e.location]) }
    try { API.list({}) } catch (e) { bad.push(e.message) }
    const first = API.list(); first.files.length = 0;
    return [API.list("tools/"), (await API.list("x")).files, API.read("tools/read.d.ts").content, API.list().files.length, bad]`, { sync });
  assert.deepEqual(guest.value, [{ files: [{ path: "tools/read.d.ts", bytes: 30 }] }, [], files["tools/read.d.ts"], 1, [
    ["Error", 'unknown API file "nope.d.ts"', "codecell:user.js:3:68"], ["TypeError", "API.read: the path must be a string", null],
    ["TypeError", "API.read: the path must be a string", null], "API.list: the prefix must be a string"]]);
  assert.deepEqual(guest.requests, []);
});

test("G11 helpers show no source text", async () => {
  assert.deepEqual(await valueOf(`
    const fns = [text, json, yield_control, setTimeout, clearTimeout, console.log, catalog.search, catalog.all, API.read, MCP.gh.$api, MCP.gh.createIssue, Proxy, Proxy.revocable];
    return fns.filter((f) => !String(f).includes("[native code]")).map((f) => f.name)`, { install: { mcp: [gh] } }), []);
});
