// The tools of the contract of 2026-07 (J2): ALL_TOOLS, and `tools` with search, describe, call, and a member for each tool
// whose name is no other's. What it lists and finds is plain data; MCP tools are called through MCP.

const OLDER_FIELDS = freeze(["id", "name", "label", "description", "source", "sourceName"]);
const toolsByName = new NativeMap(); // id or member → {ref, name, mcp}, mcp being how an MCP tool is called

// olderRecord is a tool as data. What a search found is marked already.
function olderRecord(tool, found) {
  const record = {};
  const outside = !found && tool.source === "client";
  for (let i = 0; i < OLDER_FIELDS.length; i++) {
    const field = OLDER_FIELDS[i];
    if (!hasOwn(tool, field)) continue;
    if (outside && SPOKEN_FIELDS[field]) spoken(record, field, tool[field]);
    else setField(record, field, tool[field]);
  }
  return freeze(record);
}

function olderRecords(tools, found) {
  const all = [];
  for (let i = 0; i < tools.length; i++) setField(all, i, olderRecord(tools[i], found));
  return freeze(all);
}

// findTool is what a program names in describe and call, or an error to reject with: that of a call that wasn't made (E3).
function findTool(name, id) {
  if (typeof id !== "string") return new NativeTypeError(name + ": the first argument must be a string, the id of a tool");
  const tool = mapGet(toolsByName, id);
  if (tool !== undefined) return tool;
  const shown = id.length > 80 ? cut(id, 80) + "…" : id;
  return hostError(new NativeError(), {
    __proto__: null, message: name + ": there is no tool " + quote(shown) + ": take an id from ALL_TOOLS or tools.search(query)",
    code: "invalid_input", location: "input", effectStatus: "not_started",
  });
}

function describeById(id) {
  const tool = findTool("tools.describe", id);
  return isError(tool) ? refuse(tool) : describeTool(tool.ref);
}

function callById(id, args) {
  const tool = findTool("tools.call", id);
  if (isError(tool)) return refuse(tool);
  if (tool.mcp !== "") return refuse(new NativeTypeError("tools.call: MCP tools are called through MCP: " + tool.mcp + "({ … })"));
  return callTool(tool.ref, tool.name, args);
}

function nameTool(key, ref, name, mcp) {
  mapSet(toolsByName, key, { __proto__: null, ref, name, mcp });
}

function installOlderTools(tools, servers) {
  foundTools = (tools) => olderRecords(tools, true);
  const members = [
    ["search", expose("search", 2, partial(searchTools, undefined, "tools.search"))],
    ["describe", expose("describe", 1, describeById)],
    ["call", expose("call", 2, callById)],
  ];
  for (let i = 0; i < tools.length; i++) {
    const { ref, member, name } = tools[i];
    if (member === undefined) continue;
    nameTool(member, ref, name, "");
    setField(members, members.length, [member, expose(member, 1, partial(callOperation, undefined, ref, "tools." + member))]);
  }
  for (let i = 0; i < tools.length; i++) nameTool(tools[i].id, tools[i].ref, tools[i].name, "");
  for (let i = 0; i < servers.length; i++) {
    const of = servers[i].tools || [];
    for (let j = 0; j < of.length; j++) {
      nameTool(of[j].id, of[j].ref, of[j].toolName, "MCP." + servers[i].identifier + "." + of[j].identifier);
    }
  }
  constant(global, "tools", sealed("tools", members), false);
  constant(global, "ALL_TOOLS", olderRecords(tools, false), false);
}
