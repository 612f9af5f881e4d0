// MCP: one object a server, one method a tool (M1, M3), and API: the virtual declaration files (G3).

function makeMCP(servers) {
  const members = [];
  for (let i = 0; i < servers.length; i++) {
    setField(members, i, [servers[i].identifier, makeServer(servers[i])]);
  }
  return sealed("MCP", members);
}

function makeServer(server) {
  const tools = server.tools || [];
  const members = [["$serverName", server.serverName]];
  for (let i = 0; i < tools.length; i++) {
    const tool = tools[i];
    const handle = makeHandle({
      __proto__: null,
      ref: tool.ref,
      callableName: "MCP." + server.identifier + "." + tool.identifier,
      toolName: tool.toolName,
      odd: tool.odd,
      source: "mcp",
      apiPath: "mcp/" + server.identifier + ".d.ts",
    });
    setField(members, members.length, [tool.identifier, handle]);
  }
  setField(members, members.length, ["$api", expose("$api", 1, partial(serverAPI, undefined, server.identifier))]);
  addOperations(members, server, "resources");
  addOperations(members, server, "prompts");
  return sealed("MCP." + server.identifier, members);
}

// addOperations adds what the host lets a program ask of the server besides its tools: server[group] gives the refs by
// their names (M3). They are plain functions and no handles: no search finds them, and nothing describes them but the
// server's declaration.
function addOperations(members, server, group) {
  const refs = server[group];
  if (refs === undefined) return;
  const label = "MCP." + server.identifier + "." + group;
  const names = keys(refs);
  const operations = [];
  for (let i = 0; i < names.length; i++) {
    const name = names[i];
    const operation = partial(callOperation, undefined, refs[name], label + "." + name);
    setField(operations, i, [name, expose(name, name === "list" ? 0 : 1, operation)]);
  }
  setField(members, members.length, [group, sealed(label, operations)]);
}

const callOperation = (ref, name, args) => callTool(ref, name, args);

// serverAPI is $api(tool?, {schema?}): the declaration of a server or of one tool, without a bridge request.
function serverAPI(server, tool, options) {
  let payload = '{"server":' + quote(server);
  if (tool !== undefined && tool !== null) {
    if (typeof tool !== "string") throw new NativeTypeError("$api: the tool must be a string, its name");
    payload += ',"tool":' + quote(tool);
  }
  if (options !== undefined && options !== null && options.schema) payload += ',"schema":true';
  return ask("mcp.api", payload + "}");
}

function listFiles(prefix) {
  if (prefix === undefined || prefix === null) return ask("api.list", "{}");
  if (typeof prefix !== "string") throw new NativeTypeError("API.list: the prefix must be a string");
  return ask("api.list", '{"prefix":' + quote(prefix) + "}");
}

function readFile(path) {
  if (typeof path !== "string") throw new NativeTypeError("API.read: the path must be a string");
  return ask("api.read", '{"path":' + quote(path) + "}");
}

function makeAPI() {
  return sealed("API", [
    ["list", expose("list", 1, listFiles)],
    ["read", expose("read", 1, readFile)],
  ]);
}
