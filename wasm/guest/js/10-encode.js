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
const MAX_DEPTH = 1000; // levels

// encode returns the JSON text of value. What a getter throws comes out as it is.
function encode(value) {
  const plain = normalize(value, 0, null);
  return plain === undefined ? "null" : stringify(plain);
}

// normalize returns value as JSON data whose objects and arrays have no prototype, so that JSON.stringify finds no
// toJSON on them; undefined if value has no JSON form. path is the list of the objects that value is in.
function normalize(value, depth, path) {
  switch (typeof value) {
    case "string":
    case "boolean":
      return value;
    case "number":
      return value - value === 0 ? value : null;
    case "bigint":
      return bigintText(value);
    case "object":
      return value === null ? null : normalizeObject(value, depth, path);
    case "function":
      return weakGet(records, value);
    default:
      return undefined;
  }
}

function normalizeObject(object, depth, path) {
  if (depth >= MAX_DEPTH) {
    throw guestError(NativeRangeError, "the value is nested deeper than " + MAX_DEPTH + " levels and can't be encoded as JSON");
  }
  for (let at = path; at !== null; at = at.up) {
    if (at.object === object) return CIRCULAR;
  }
  const here = { __proto__: null, object, up: path };
  if (isArray(object)) return normalizeArray(object, depth + 1, here);
  const prototype = getPrototypeOf(object);
  if (prototype === null) {
    if (isRawJSON(object)) return object;
  } else if (prototype !== ObjectPrototype) {
    const kind = kindOf(object);
    if (kind !== "") {
      const normal = normalizers[kind](object, depth + 1, here);
      if (normal !== undefined) return normal;
    }
  }
  return normalizeFields(object, depth + 1, here, { __proto__: null });
}

function normalizeArray(array, depth, path) {
  const out = list();
  const length = array.length;
  for (let i = 0; i < length; i++) {
    const item = normalize(array[i], depth, path);
    out[i] = item === undefined ? null : item;
  }
  return out;
}

function normalizeFields(object, depth, path, out) {
  const names = keys(object);
  for (let i = 0; i < names.length; i++) {
    const name = names[i];
    const field = normalize(object[name], depth, path);
    if (field !== undefined) out[name] = field;
  }
  return out;
}

// One function a kind; undefined means that the object only claims to be of the kind, and is an ordinary one.
const normalizers = {
  __proto__: null,
  date: branded((date) => (dateTime(date) - dateTime(date) === 0 ? dateISO(date) : null)),
  regexp: branded((regexp) => "/" + regexpSource(regexp) + "/" + regexpFlags(regexp)),
  string: branded(stringValue),
  number: branded((boxed) => normalize(numberValue(boxed), 0, null)),
  boolean: branded(booleanValue),
  bigint: branded((boxed) => bigintText(bigintValue(boxed))),
  promise: () => UNAWAITED,
  map(map, depth, path) {
    if (!isBranded(mapSize, map)) return undefined;
    const out = list();
    mapForEach(map, (value, key) => {
      const pair = list();
      pair[0] = absentAsNull(normalize(key, depth + 1, path));
      pair[1] = absentAsNull(normalize(value, depth + 1, path));
      out[out.length] = pair;
    });
    return out;
  },
  set(set, depth, path) {
    if (!isBranded(setSize, set)) return undefined;
    const out = list();
    setForEach(set, (value) => {
      out[out.length] = absentAsNull(normalize(value, depth, path));
    });
    return out;
  },
  error(error, depth, path) {
    if (!isError(error)) return undefined;
    const out = { __proto__: null };
    const name = error.name;
    out.name = typeof name === "string" ? name : "Error";
    const message = error.message;
    out.message = typeof message === "string" ? message : "";
    const names = keys(error);
    for (let i = 0; i < names.length; i++) {
      const field = names[i];
      if (field === "stack" || field === "name" || field === "message" || field === "cause" || field === "errors") continue;
      const value = normalize(error[field], depth, path);
      if (value !== undefined) out[field] = value;
    }
    normalizeOwn(error, "cause", depth, path, out);
    normalizeOwn(error, "errors", depth, path, out);
    return out;
  },
  typed(array) {
    return typedName(array) === undefined ? undefined : indexed(array);
  },
  buffer: branded((buffer) => indexed(new NativeUint8Array(buffer))),
  view: branded((view) => indexed(new NativeUint8Array(viewBuffer(view), viewByteOffset(view), viewByteLength(view)))),
};

function normalizeOwn(object, name, depth, path, out) {
  if (!hasOwn(object, name)) return;
  const value = normalize(object[name], depth, path);
  if (value !== undefined) out[name] = value;
}

function indexed(array) {
  const out = { __proto__: null };
  const length = typedLength(array);
  for (let i = 0; i < length; i++) out[i] = normalize(array[i], 0, null);
  return out;
}

const absentAsNull = (value) => (value === undefined ? null : value);

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
