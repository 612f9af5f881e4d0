// openclaw.tools, all that a program of Tool Search has besides console and ECMAScript (L1). The host knows the ids of
// tools: the image has none, and is the same for every catalog.

// withTool goes on with the ref of a tool. Ids that the host doesn't know reject with its suggestions.
function withTool(name, id, go) {
  if (typeof id !== "string" || id === "") return refuse(new NativeTypeError(name + ": the first argument must be a string, the id of a tool"));
  let ref;
  try {
    ref = ask("tool.find", '{"id":' + quote(id) + "}");
  } catch (error) {
    return refuse(error);
  }
  return go(ref);
}

function installToolSearch() {
  for (let i = 0; i < HELPERS.length; i++) delete global[HELPERS[i]];
  foundTools = (found) => found;
  constant(global, "console", makeConsole(["log", "warn", "error"]), false);
  constant(global, "openclaw", sealed("openclaw", [["tools", sealed("openclaw.tools", [
    ["search", expose("search", 2, partial(searchTools, undefined, "openclaw.tools.search"))],
    ["describe", expose("describe", 1, (id) => withTool("openclaw.tools.describe", id, describeTool))],
    ["call", expose("call", 2, (id, args) => withTool("openclaw.tools.call", id, (ref) => callTool(ref, "openclaw.tools.call", args)))],
  ])]]), false);
}
