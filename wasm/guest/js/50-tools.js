// Tools as the program sees them: callable handles (C7) and `catalog` (C5, C6).

const handles = new NativeMap(); // ref → handle of a native or client tool
let allHandles;

// makeHandle returns the function that calls a tool. Nothing of it asks the host but calling it and describe(). Images
// hold hundreds of these. So a handle is two functions and its fields, and what it is follows from its prototype, which it
// has from callTool. Fields are born constant: a later change would give each handle a layout of its own in the engine.
function makeHandle(tool) {
  const handle = partial(callTool, undefined, tool.ref, tool.callableName);
  rename(handle, tool.callableName);
  for (let i = 0; i < RECORD_FIELDS.length; i++) {
    const field = RECORD_FIELDS[i];
    if (hasOwn(tool, field)) constant(handle, field, tool[field], true);
  }
  constant(handle, "describe", partial(describeTool, undefined, tool.ref), true);
  return preventExtensions(handle);
}

const HandlePrototype = create(Function.prototype);
setHidden(HandlePrototype, "toJSON", function toJSON() {
  return isHandle(this) ? recordOf(this) : undefined;
});
freeze(HandlePrototype);

const isHandle = (value) => typeof value === "function" && !isProxy(value) && getPrototypeOf(value) === HandlePrototype;

const RECORD_FIELDS = freeze(["callableName", "toolName", "label", "description", "source", "apiPath", "input", "output"]);

// recordOf is a handle as data: what serialising it gives.
function recordOf(handle) {
  const record = {};
  for (let i = 0; i < RECORD_FIELDS.length; i++) {
    const field = RECORD_FIELDS[i];
    if (!hasOwn(handle, field)) continue;
    const value = dataProperty(handle, field);
    if (typeof value === "string") setField(record, field, value);
  }
  return record;
}

// callTool is an async function by contract: it never throws, and a call without argument is a call with {}.
function callTool(ref, name, args) {
  let text = "{}";
  if (args !== undefined) {
    try {
      text = encodeArguments(name, args);
    } catch (error) {
      return refuse(error);
    }
  }
  return request("call", '{"ref":' + ref + ',"args":' + text + "}", new NativeError());
}

// encodeArguments is strict where JSON.stringify would lose what the program meant to pass (G2).
function encodeArguments(name, args) {
  const what = notAnObject(args);
  if (what !== "") {
    throw new NativeTypeError(name + ": the argument must be an object such as { key: value }, not " + what);
  }
  const text = encodeStrict(name, "argument", args);
  if (text === undefined || charCodeAt(text, 0) !== 0x7b) {
    throw new NativeTypeError(name + ": the argument's toJSON must give an object");
  }
  return text;
}

// encodeStrict returns the JSON text of a value, or undefined if it has none. A TypeError says why it can't be encoded;
// role is what the value is to name.
function encodeStrict(name, role, value) {
  try {
    return stringify(value);
  } catch (error) {
    const refusal = new NativeTypeError(
      name + ": the " + role + " can't be encoded as JSON: " + (isObject(error) && isError(error)
        ? errorTitle(error, ERROR.related)
        : inspectText(error, { __proto__: null, left: 20 })));
    setHidden(refusal, "cause", error);
    throw refusal;
  }
}

// notAnObject names what was passed in place of an object of arguments, or is "".
function notAnObject(value) {
  if (value === null) return "null";
  if (typeof value !== "object") return "a " + typeof value;
  if (isProxy(value)) return "";
  if (isArray(value)) return "an array";
  if (getPrototypeOf(value) === ObjectPrototype) return "";
  return kindOf(value) === "date" ? "a Date" : lostInJSON(value);
}

// lostInJSON names an object of which JSON keeps nothing, or is "".
function lostInJSON(object) {
  switch (kindOf(object)) {
    case "promise": return "a promise (await it first)";
    case "map": return "a Map (use Object.fromEntries)";
    case "set": return "a Set";
    default: return "";
  }
}

setPrototypeOf(callTool, HandlePrototype);

function describeTool(ref) {
  return request("describe", '{"ref":' + ref + "}", new NativeError());
}

// searchTools is catalog.search, or tools.search where that is its name.
const searchTools = (name, query, options) => requestSearch("search", name, query, options);

// requestSearch asks for what fits a query.
function requestSearch(kind, name, query, options) {
  if (typeof query !== "string") {
    return refuse(new NativeTypeError(name + ": the query must be a string"));
  }
  let limit;
  try {
    limit = options === undefined || options === null ? undefined : options.limit;
  } catch (error) {
    return refuse(error);
  }
  let payload = '{"query":' + quote(query);
  if (limit !== undefined && limit !== null) {
    if (!isInteger(limit) || limit < 1) {
      return refuse(new NativeRangeError(name + ": limit must be a positive integer"));
    }
    payload += ',"limit":' + limit;
  }
  return request(kind, payload + "}", new NativeError());
}

let foundTools = handlesOf; // how what a search found becomes its result

// handlesOf turns the records of a search into a frozen array of handles; tools that are globals keep their identity.
function handlesOf(found) {
  const out = [];
  for (let i = 0; i < found.length; i++) {
    const tool = found[i];
    const known = mapGet(handles, tool.ref);
    setField(out, i, known === undefined ? makeHandle(tool) : known);
  }
  return freeze(out);
}

// installTools makes the handles of native and client tools, and their globals. The catalog gives no tool the name of a
// built-in or a helper (C4); if it did, the tool would only be reachable by its handle.
function installTools(tools) {
  const all = [];
  for (let i = 0; i < tools.length; i++) {
    const tool = tools[i];
    const handle = makeHandle(tool);
    mapSet(handles, tool.ref, handle);
    setField(all, i, handle);
    if (!hasOwn(global, tool.callableName)) constant(global, tool.callableName, handle, true);
  }
  allHandles = freeze(all);
}

function makeCatalog() {
  return sealed("catalog", [
    ["search", expose("search", 2, partial(searchTools, undefined, "catalog.search"))],
    ["all", expose("all", 0, () => allHandles)],
  ]);
}

// sealed makes an object that is safe to await, print and serialise (G7): it inherits nothing, has no `then`, and
// nothing about it changes. members are [name, value] pairs.
function sealed(label, members) {
  const made = { __proto__: null };
  for (let i = 0; i < members.length; i++) {
    if (members[i][0] !== "then" || typeof members[i][1] !== "function") constant(made, members[i][0], members[i][1], true);
  }
  constant(made, toStringTag, label, false);
  constant(made, toPrimitive, expose("toString", 0, () => "[object " + label + "]"), false);
  return freeze(made);
}
