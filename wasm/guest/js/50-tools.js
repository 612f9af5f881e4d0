// Tools as the program sees them: callable handles (C7) and `catalog` (C5, C6).

const handles = new NativeMap(); // ref → handle of a native or client tool
let allHandles;

// makeHandle returns the function that calls a tool. Nothing of it makes a request but calling it and describe(). Images
// hold hundreds of these. So a handle is two functions and its fields, and what it is follows from its prototype, which it
// has from callTool. Fields are born constant: a later change would give each handle a layout of its own in the engine.
function makeHandle(tool) {
  const handle = partial(callTool, undefined, tool.ref, tool.callableName);
  rename(handle, tool.callableName);
  const outside = tool.source === "client" || (hasOwn(tool, "odd") && tool.odd === true);
  for (let i = 0; i < RECORD_FIELDS.length; i++) {
    const field = RECORD_FIELDS[i];
    if (!hasOwn(tool, field)) continue;
    if (outside && SPOKEN_FIELDS[field]) spoken(handle, field, tool[field]);
    else constant(handle, field, tool[field], true);
  }
  constant(handle, "describe", partial(describeTool, undefined, tool.ref), true);
  return preventExtensions(handle);
}

// What others than the host's owner say of their tools is data from outside: the host learns when a program first reads any of
// it that came with the globals, so that what the model sees is marked (M6, O5).
const spokenTexts = new NativeMap(); // getter → what it gives
const SPOKEN_FIELDS = { __proto__: null, name: true, toolName: true, label: true, description: true };
let heard = false;

function hear(text) {
  if (!heard) ask("outside", "{}");
  heard = true;
  return text;
}

// heardOf is what a getter gives that spoken has made, or undefined: no other getter runs. found is an accessor's descriptor.
function heardOf(found) {
  const text = mapGet(spokenTexts, found.get);
  return text === undefined ? undefined : hear(text);
}

function spoken(target, field, text) {
  const get = partial(hear, undefined, text);
  mapSet(spokenTexts, get, text);
  defineProperty(target, field, { __proto__: null, get, enumerable: true, configurable: false });
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
    const found = getOwnPropertyDescriptor(handle, field);
    const value = hasOwn(found, "value") ? found.value : heardOf(found);
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
      return refuseArguments(error);
    }
  }
  return request("call", '{"ref":' + ref + ',"args":' + text + "}", new NativeError());
}

// refuseArguments is refuse for arguments that the host hasn't seen: the program reads the same fields as of those that
// the host finds wrong (E3).
function refuseArguments(error) {
  if (isObject(error) && isError(error)) {
    setField(error, "code", "input_contract");
    setField(error, "location", "input");
    setField(error, "effectStatus", "not_started");
  }
  return refuse(error);
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
  let text;
  try {
    text = stringify(value);
  } catch (error) {
    const refusal = new NativeTypeError(
      name + ": the " + role + " can't be encoded as JSON: " + (isObject(error) && isError(error)
        ? errorTitle(error, ERROR.related)
        : inspectText(error, { __proto__: null, left: 20 })));
    setHidden(refusal, "cause", error);
    throw refusal;
  }
  if (text !== undefined && indexOf(text, "{}") > 0 && isObject(value)) {
    const lost = lostWithin(value, "", 0, { __proto__: null, left: LOST_VALUES });
    if (lost !== "") throw new NativeTypeError(name + ": the " + role + " can't be encoded as JSON: " + lost);
  }
  return text;
}

const LOST_DEPTH = 128; // levels; the host takes no more
const LOST_VALUES = 10000; // values that are looked at; what comes later passes as JSON has it

// lostWithin finds what JSON has made {} of inside of a value that it could encode, such as a promise that nobody awaited,
// and says where it is, or "". It runs no code of the program: what getters and toJSON gave is left as it is.
function lostWithin(object, path, depth, budget) {
  if (depth > LOST_DEPTH || isProxy(object) || kindOf(object) === "typed") return "";
  if (typeof dataProperty(object, "toJSON") === "function") return "";
  const what = lostInJSON(object);
  if (what !== "") return (path === "" ? "it" : path) + " is " + what;
  const list = isArray(object);
  const names = list ? undefined : keys(object);
  const length = list ? object.length : names.length;
  for (let i = 0; i < length && budget.left > 0; i++) {
    budget.left--;
    const name = list ? i : names[i];
    const found = getOwnPropertyDescriptor(object, name);
    if (found === undefined || !hasOwn(found, "value") || typeof found.value !== "object" || found.value === null) continue;
    const lost = lostWithin(found.value, list ? path + "[" + i + "]" : path === "" ? name : path + "." + name, depth + 1, budget);
    if (lost !== "") return lost;
  }
  return "";
}

// notAnObject names what was passed in place of an object of arguments, or is "".
function notAnObject(value) {
  if (value === null || value === undefined) return value + "";
  if (typeof value !== "object") return "a " + typeof value;
  if (isProxy(value)) return "";
  if (isArray(value)) return "an array";
  if (getPrototypeOf(value) === ObjectPrototype) return "";
  return kindOf(value) === "date" ? "a Date" : lostInJSON(value);
}

// lostInJSON names an object of which JSON keeps nothing, or is "".
function lostInJSON(object) {
  const what = LOST[kindOf(object)];
  return what !== undefined && keys(object).length === 0 ? what : "";
}

const LOST = {
  __proto__: null,
  promise: "a promise (await it first)",
  map: "a Map (use Object.fromEntries)",
  set: "a Set (use Array.from)",
  regexp: "a RegExp (use its source)",
  error: "an Error (use its message)",
  buffer: "an ArrayBuffer (use Array.from(new Uint8Array(buffer)))",
  view: "a DataView",
};

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
