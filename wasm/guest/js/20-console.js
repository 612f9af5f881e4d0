// console (G5): bounded text of values, made without running any code of the program: no getters, no toJSON, no traps. Fields
// of tools that are getters of ours are shown, and count as read (O5).

const CONSOLE = {
  __proto__: null,
  values: 100, // values a call, at all levels together
  properties: 50, // properties or elements an object
  levels: 4, // objects inside objects
  string: 512, // UTF-16 units of a string or a property name
  message: 4096, // UTF-16 units of a message, without its truncation mark
  total: 16384, // UTF-16 units of all messages as they are serialised, in the cell's whole life
  item: 23, // UTF-16 units that an output item adds to its text: {"type":"text","text":},
};
const TRUNCATED = "…[truncated]";
const CONSOLE_TRUNCATED = "[console output truncated]";

let consoleLeft = CONSOLE.total; // negative once CONSOLE_TRUNCATED has been said

function write(level, values) {
  if (consoleLeft >= 0) say(messageOf(level, values));
}

// messageOf is what console writes of values.
function messageOf(level, values) {
  const inspection = { __proto__: null, left: CONSOLE.values };
  let message = level === "log" ? "" : "[" + level + "] ";
  for (let i = 0; i < values.length; i++) {
    if (i > 0) message += " ";
    if (inspection.left <= 0 || message.length > CONSOLE.message) {
      message += TRUNCATED;
      break;
    }
    message += inspectText(values[i], inspection);
  }
  return message.length > CONSOLE.message ? cut(message, CONSOLE.message) + TRUNCATED : message;
}

function say(message) {
  if (consoleLeft < 0) return;
  const serialised = quote(message);
  const size = serialised.length + CONSOLE.item;
  if (size > consoleLeft) {
    consoleLeft = -1;
    host("output", "console", quote(CONSOLE_TRUNCATED));
    return;
  }
  consoleLeft -= size;
  host("output", "console", serialised);
}

// inspectText returns the text of one value: a string as it is, an object as JSON with placeholders.
function inspectText(value, inspection) {
  const shown = inspect(value, 0, null, inspection);
  return typeof shown === "string" ? shown : shown.json;
}

// inspectJSON is the same inside an object: strings and placeholders are quoted.
function inspectJSON(value, depth, path, inspection) {
  const shown = inspect(value, depth, path, inspection);
  return typeof shown === "string" ? quote(shown) : shown.json;
}

// json marks a text as JSON, to be shown as it is.
const json = (text) => ({ __proto__: null, json: text });
const NULL = json("null");

// inspect returns a string, or json for what isn't one.
function inspect(value, depth, path, inspection) {
  inspection.left--;
  switch (typeof value) {
    case "string":
      return value.length > CONSOLE.string ? cut(value, CONSOLE.string) + TRUNCATED : value;
    case "number":
      return value - value === 0 ? json(value + "") : value + "";
    case "boolean":
      return json(value ? "true" : "false");
    case "undefined":
      return "undefined";
    case "bigint":
      return cut(bigintText(value), CONSOLE.string) + "n";
    case "symbol":
      return cut(symbolText(value), CONSOLE.string);
    case "function":
      return inspectFunction(value);
    default:
      return value === null ? NULL : inspectObject(value, depth, path, inspection);
  }
}

function inspectFunction(fn) {
  if (isProxy(fn)) return "[Proxy]";
  if (isHandle(fn)) return "[Tool " + cut(dataProperty(fn, "callableName") + "", 200) + "]";
  const name = dataProperty(fn, "name");
  return typeof name === "string" && name !== "" ? "[Function: " + cut(name, 100) + "]" : "[Function]";
}

function inspectObject(object, depth, path, inspection) {
  if (isProxy(object)) return "[Proxy]";
  for (let at = path; at !== null; at = at.up) {
    if (at.object === object) return CIRCULAR;
  }
  if (isError(object)) return errorTitle(object, CONSOLE.string);
  const kind = isArray(object) ? "array" : kindOf(object);
  const read = simpleInspectors[kind];
  if (read !== undefined) {
    const simple = read(object);
    if (simple !== undefined) return cut(simple, CONSOLE.string);
  }
  if (depth >= CONSOLE.levels || inspection.left <= 0) return "[truncated]";
  const here = { __proto__: null, object, up: path };
  const elements = elementInspectors[kind];
  if (elements !== undefined) {
    const found = elements(object, depth + 1, here, inspection);
    if (found !== undefined) return json(found);
  }
  return json(inspectFields(object, depth + 1, here, inspection));
}

// Kinds that are one text, or undefined if the object only claims the kind.
const simpleInspectors = {
  __proto__: null,
  date: branded((date) => (dateTime(date) - dateTime(date) === 0 ? dateISO(date) : "Invalid Date")),
  regexp: branded((regexp) => "/" + regexpSource(regexp) + "/"),
  string: branded(stringValue),
  number: branded((boxed) => numberValue(boxed) + ""),
  boolean: branded((boxed) => (booleanValue(boxed) ? "true" : "false")),
  bigint: branded((boxed) => bigintText(bigintValue(boxed)) + "n"),
  promise: () => "[Promise]",
  buffer: branded((buffer) => "[ArrayBuffer " + typedLength(new NativeUint8Array(buffer)) + "]"),
  view: branded((view) => "[DataView " + viewByteLength(view) + "]"),
};

// Kinds that hold elements: {"Map(2)": [[key, value], …]}.
const elementInspectors = {
  __proto__: null,
  array(array, depth, path, inspection) {
    return inspectElements(array, array.length, depth, path, inspection);
  },
  typed(array, depth, path, inspection) {
    const name = typedName(array);
    if (name === undefined) return undefined;
    const length = typedLength(array);
    return labelled(name, length, inspectElements(array, length, depth, path, inspection));
  },
  map(map, depth, path, inspection) {
    if (!isBranded(mapSize, map)) return undefined;
    let text = "[";
    let shown = 0;
    mapForEach(map, (value, key) => {
      if (!hasRoom(shown, inspection)) return;
      text += (shown++ > 0 ? ",[" : "[") + inspectJSON(key, depth, path, inspection) + "," +
        inspectJSON(value, depth, path, inspection) + "]";
    });
    return labelled("Map", mapSize(map), text + more(shown, mapSize(map)));
  },
  set(set, depth, path, inspection) {
    if (!isBranded(setSize, set)) return undefined;
    let text = "[";
    let shown = 0;
    setForEach(set, (value) => {
      if (hasRoom(shown, inspection)) text += (shown++ > 0 ? "," : "") + inspectJSON(value, depth, path, inspection);
    });
    return labelled("Set", setSize(set), text + more(shown, setSize(set)));
  },
};

const hasRoom = (shown, inspection) => shown < CONSOLE.properties && inspection.left > 0;

// more closes the text of a list of which shown elements of size are in it.
function more(shown, size) {
  return shown < size ? (shown > 0 ? "," : "") + quote("… " + (size - shown) + " more") + "]" : "]";
}

const labelled = (name, size, elements) => "{" + quote(name + "(" + size + ")") + ":" + elements + "}";

function inspectElements(array, length, depth, path, inspection) {
  let text = "[";
  let i = 0;
  for (; i < length && hasRoom(i, inspection); i++) {
    text += (i > 0 ? "," : "") + inspectProperty(array, i, depth, path, inspection);
  }
  return text + more(i, length);
}

function inspectFields(object, depth, path, inspection) {
  const names = keys(object);
  let text = "{";
  let i = 0;
  for (; i < names.length && hasRoom(i, inspection); i++) {
    const name = names[i];
    const short = name.length > CONSOLE.string ? cut(name, CONSOLE.string) + TRUNCATED : name;
    text = addField(text, short, inspectProperty(object, name, depth, path, inspection));
  }
  if (i < names.length) text = addField(text, "…", quote(names.length - i + " more"));
  return text + "}";
}

function inspectProperty(object, name, depth, path, inspection) {
  const found = getOwnPropertyDescriptor(object, name);
  if (found === undefined) return quote("[empty]");
  if (hasOwn(found, "value")) return inspectJSON(found.value, depth, path, inspection);
  const said = heardOf(found);
  if (said !== undefined) return inspectJSON(said, depth, path, inspection);
  inspection.left--;
  if (found.set === undefined) return quote("[Getter]");
  return quote(found.get === undefined ? "[Setter]" : "[Getter/Setter]");
}

function makeConsole(levels) {
  const made = {};
  for (let i = 0; i < levels.length; i++) {
    const level = levels[i];
    constant(made, level, expose(level, 0, (...values) => write(level, values)), true);
  }
  return freeze(made);
}
