// Encoding of what a program gives away: its final value, text() and json() (G2, G3, O1, X7, X11).
//
//   value                                   JSON
//   undefined, function, symbol             null; dropped as a property; null as an array element
//   NaN, Infinity                           null
//   bigint                                  string of decimal digits
//   Date                                    ISO 8601 string; null if invalid
//   Map                                     array of [key, value] pairs, in order
//   Set                                     array, in order
//   RegExp                                  string, as in source text
//   Error                                   {name, message, ...own enumerable fields, cause?, errors?}
//   typed array                             object with an entry an element: {"0": 1, "1": 2}
//   ArrayBuffer, DataView                   the same, of bytes
//   new String/Number/Boolean, Object(1n)   as the primitive
//   tool handle                             its record, as handle.toJSON() gives it
//   promise                                 a string that says to await it
//   an object inside itself                 "[Circular]"
//   JSON.rawJSON                            the raw JSON text, digit for digit
//
// Everything else is its own enumerable string-keyed properties. Getters run, once; toJSON is never called. Lone
// surrogates are escaped. Nesting deeper than MAX_DEPTH is a RangeError.

const UNAWAITED = "[Promise that was not awaited: use await or Promise.all(...) before you return or emit it]";
const CIRCULAR = "[Circular]";
const MAX_DEPTH = 500; // levels; the engine's default stack has room for a few more

// It writes the text itself: a toJSON would run in JSON.stringify, and the engine's JSON.stringify keeps its place in an
// ordinary array, where setters on Array.prototype see it. (It takes three times as long; strings still go to the built-in.)

// encode returns the JSON text of value. What a getter throws comes out as it is.
function encode(value) {
  try {
    return orNull(serialize(value, 0, null));
  } catch (error) {
    if (error !== TOO_DEEP) throw error;
    // Made here, where the program's own frames are near enough for the stack (E2).
    throw new NativeRangeError("the value is nested deeper than " + MAX_DEPTH + " levels and can't be encoded as JSON");
  }
}

const TOO_DEEP = { __proto__: null };

const NEEDS_ESCAPES = /["\\\x00-\x1f\ud800-\udfff]/;
const LOOK = 40; // UTF-16 units; a longer string is quoted by the built-in sooner than the expression has looked through it

// quote is the JSON text of a string.
function quote(text) {
  return text.length > LOOK || execRegExp(NEEDS_ESCAPES, text) !== null ? stringify(text) : '"' + text + '"';
}

// serialize returns the JSON text of value, or undefined if it has none. path is the list of the objects that value is in.
function serialize(value, depth, path) {
  switch (typeof value) {
    case "string":
      return quote(value);
    case "number":
      return value - value === 0 ? value + "" : "null";
    case "boolean":
      return value ? "true" : "false";
    case "bigint":
      return '"' + bigintText(value) + '"';
    case "object":
      return value === null ? "null" : serializeObject(value, depth, path);
    case "function":
      return isHandle(value) ? serializeFields(recordOf(value), depth, path) : undefined;
    default:
      return undefined;
  }
}

function serializeObject(object, depth, path) {
  if (depth >= MAX_DEPTH) throw TOO_DEEP;
  for (let at = path; at !== null; at = at.up) {
    if (at.object === object) return quote(CIRCULAR);
  }
  const here = { __proto__: null, object, up: path };
  if (isArray(object)) return serializeArray(object, depth + 1, here);
  const prototype = getPrototypeOf(object);
  if (prototype === null) {
    if (isRawJSON(object)) return object.rawJSON;
  } else if (prototype !== ObjectPrototype) {
    const kind = kindOf(object);
    if (kind !== "") {
      const text = serializers[kind](object, depth + 1, here);
      if (text !== undefined) return text;
    }
  }
  return serializeFields(object, depth + 1, here);
}

function serializeArray(array, depth, path) {
  const length = array.length;
  if (length === 0) return "[]";
  let text = "[";
  for (let i = 0; i < length; i++) {
    if (i > 0) text += ",";
    text += orNull(serialize(array[i], depth, path));
  }
  return text + "]";
}

function serializeFields(object, depth, path) {
  const names = keys(object);
  let text = "{";
  for (let i = 0; i < names.length; i++) {
    const name = names[i];
    text = addField(text, name, serialize(object[name], depth, path));
  }
  return text + "}";
}

// addField appends a field to the text of an object that isn't closed yet; nothing if the field has no value.
function addField(text, name, value) {
  if (value === undefined) return text;
  return text + (text.length > 1 ? "," : "") + quote(name) + ":" + value;
}

const orNull = (text) => (text === undefined ? "null" : text);

// One function a kind; undefined means that the object only claims to be of the kind, and is an ordinary one.
const serializers = {
  __proto__: null,
  date: branded((date) => (dateTime(date) - dateTime(date) === 0 ? quote(dateISO(date)) : "null")),
  regexp: branded((regexp) => quote("/" + regexpSource(regexp) + "/" + regexpFlags(regexp))),
  string: branded((boxed) => quote(stringValue(boxed))),
  number: branded((boxed) => serialize(numberValue(boxed), 0, null)),
  boolean: branded((boxed) => serialize(booleanValue(boxed), 0, null)),
  bigint: branded((boxed) => serialize(bigintValue(boxed), 0, null)),
  promise: () => quote(UNAWAITED),
  map(map, depth, path) {
    if (!isBranded(mapSize, map)) return undefined;
    let text = "[";
    mapForEach(map, (value, key) => {
      if (text.length > 1) text += ",";
      text += "[" + orNull(serialize(key, depth + 1, path)) + "," + orNull(serialize(value, depth + 1, path)) + "]";
    });
    return text + "]";
  },
  set(set, depth, path) {
    if (!isBranded(setSize, set)) return undefined;
    let text = "[";
    setForEach(set, (value) => {
      if (text.length > 1) text += ",";
      text += orNull(serialize(value, depth, path));
    });
    return text + "]";
  },
  error(error, depth, path) {
    if (!isError(error)) return undefined;
    const name = error.name;
    const message = error.message;
    let text = '{"name":' + quote(typeof name === "string" ? name : "Error") +
      ',"message":' + quote(typeof message === "string" ? message : "");
    const names = keys(error);
    for (let i = 0; i < names.length; i++) {
      const field = names[i];
      if (field === "stack" || field === "name" || field === "message" || field === "cause" || field === "errors") continue;
      text = addField(text, field, serialize(error[field], depth, path));
    }
    if (hasOwn(error, "cause")) text = addField(text, "cause", serialize(error.cause, depth, path));
    if (hasOwn(error, "errors")) text = addField(text, "errors", serialize(error.errors, depth, path));
    return text + "}";
  },
  typed(array) {
    return typedName(array) === undefined ? undefined : indexed(array);
  },
  buffer: branded((buffer) => indexed(new NativeUint8Array(buffer))),
  view: branded((view) => indexed(new NativeUint8Array(viewBuffer(view), viewByteOffset(view), viewByteLength(view)))),
};

function indexed(array) {
  const length = typedLength(array);
  let text = "{";
  for (let i = 0; i < length; i++) text += (i > 0 ? ',"' : '"') + i + '":' + serialize(array[i], 0, null);
  return text + "}";
}

function isBranded(getter, object) {
  try {
    getter(object);
    return true;
  } catch {
    return false;
  }
}

// branded turns the TypeError of a built-in that was given a foreign object into undefined.
function branded(read) {
  return (object) => {
    try {
      return read(object);
    } catch {
      return undefined;
    }
  };
}
