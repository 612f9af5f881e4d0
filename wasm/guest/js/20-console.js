// console (G5): bounded text of values, made without running any code of the program: no getters, no toJSON, no traps.

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
  if (consoleLeft < 0) return;
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
  if (message.length > CONSOLE.message) message = cut(message, CONSOLE.message) + TRUNCATED;
  const serialised = stringify(message);
  const size = serialised.length + CONSOLE.item;
  if (size > consoleLeft) {
    consoleLeft = -1;
    host("output", "console", stringify(CONSOLE_TRUNCATED));
    return;
  }
  consoleLeft -= size;
  host("output", "console", serialised);
}

// inspectText returns the text of one value: a string as it is, an object as JSON with placeholders.
function inspectText(value, inspection) {
  const plain = inspect(value, 0, null, inspection);
  return typeof plain === "object" && plain !== null ? stringify(plain) : plain + "";
}

// inspect returns value as JSON data without prototypes, with placeholders for what JSON or the bounds leave out.
function inspect(value, depth, path, inspection) {
  inspection.left--;
  switch (typeof value) {
    case "string":
      return value.length > CONSOLE.string ? cut(value, CONSOLE.string) + TRUNCATED : value;
    case "number":
      return value - value === 0 ? value : value + "";
    case "boolean":
      return value;
    case "undefined":
      return "undefined";
    case "bigint":
      return cut(bigintText(value), CONSOLE.string) + "n";
    case "symbol":
      return cut(symbolText(value), CONSOLE.string);
    case "function":
      return inspectFunction(value);
    default:
      return value === null ? null : inspectObject(value, depth, path, inspection);
  }
}

function inspectFunction(fn) {
  if (isProxy(fn)) return "[Proxy]";
  const record = weakGet(records, fn);
  if (record !== undefined) return "[Tool " + record.callableName + "]";
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
    if (simple !== undefined) return typeof simple === "string" ? cut(simple, CONSOLE.string) : simple;
  }
  if (depth >= CONSOLE.levels || inspection.left <= 0) return "[truncated]";
  const here = { __proto__: null, object, up: path };
  const elements = elementInspectors[kind];
  if (elements !== undefined) {
    const found = elements(object, depth + 1, here, inspection);
    if (found !== undefined) return found;
  }
  return inspectFields(object, depth + 1, here, inspection);
}

// Kinds that are one text, or undefined if the object only claims the kind.
const simpleInspectors = {
  __proto__: null,
  date: branded((date) => (dateTime(date) - dateTime(date) === 0 ? dateISO(date) : "Invalid Date")),
  regexp: branded((regexp) => "/" + regexpSource(regexp) + "/"),
  string: branded(stringValue),
  number: branded((boxed) => numberValue(boxed) + ""),
  boolean: branded(booleanValue),
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
    const out = list();
    mapForEach(map, (value, key) => {
      if (!hasRoom(out, inspection)) return;
      const pair = list();
      pair[0] = inspect(key, depth, path, inspection);
      pair[1] = inspect(value, depth, path, inspection);
      out[out.length] = pair;
    });
    return labelled("Map", mapSize(map), out);
  },
  set(set, depth, path, inspection) {
    if (!isBranded(setSize, set)) return undefined;
    const out = list();
    setForEach(set, (value) => {
      if (hasRoom(out, inspection)) out[out.length] = inspect(value, depth, path, inspection);
    });
    return labelled("Set", setSize(set), out);
  },
};

const hasRoom = (out, inspection) => out.length < CONSOLE.properties && inspection.left > 0;

function labelled(name, size, elements) {
  const out = { __proto__: null };
  out[name + "(" + size + ")"] = elements;
  return out;
}

function inspectElements(array, length, depth, path, inspection) {
  const out = list();
  let i = 0;
  for (; i < length && hasRoom(out, inspection); i++) {
    out[i] = inspectProperty(array, i, depth, path, inspection);
  }
  if (i < length) out[i] = "… " + (length - i) + " more";
  return out;
}

function inspectFields(object, depth, path, inspection) {
  const out = { __proto__: null };
  const names = keys(object);
  let i = 0;
  for (; i < names.length && i < CONSOLE.properties && inspection.left > 0; i++) {
    const name = names[i];
    const short = name.length > CONSOLE.string ? cut(name, CONSOLE.string) + TRUNCATED : name;
    out[short] = inspectProperty(object, name, depth, path, inspection);
  }
  if (i < names.length) out["…"] = names.length - i + " more";
  return out;
}

function inspectProperty(object, name, depth, path, inspection) {
  const found = getOwnPropertyDescriptor(object, name);
  if (found === undefined) return "[empty]";
  if (hasOwn(found, "value")) return inspect(found.value, depth, path, inspection);
  inspection.left--;
  if (found.set === undefined) return "[Getter]";
  return found.get === undefined ? "[Setter]" : "[Getter/Setter]";
}

function makeConsole() {
  const made = {};
  for (let i = 0; i < LEVELS.length; i++) {
    const level = LEVELS[i];
    constant(made, level, expose(level, 0, (...values) => write(level, values)), true);
  }
  return freeze(made);
}
const LEVELS = ["log", "info", "warn", "error", "debug"];
