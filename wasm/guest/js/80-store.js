// What outlives a program: the session's values (T1) and the run's saved results (T4). The host keeps both, and refuses
// what is too large.

const KEY_LENGTH = 256; // UTF-16 units

// storeValue is store(key, value): a value of undefined deletes the key.
function storeValue(key, value) {
  let payload;
  try {
    payload = '{"key":' + encodeKey("store", key);
    if (value !== undefined) payload += ',"value":' + encodeKept("store", value);
  } catch (error) {
    return refuse(error);
  }
  return request("store", payload + "}", new NativeError());
}

function loadValue(key) {
  let text;
  try {
    text = encodeKey("load", key);
  } catch (error) {
    return refuse(error);
  }
  return request("load", '{"key":' + text + "}", new NativeError());
}

function saveResult(value) {
  let text;
  try {
    text = encodeKept("results.save", value);
  } catch (error) {
    return refuse(error);
  }
  return request("results.save", '{"value":' + text + "}", new NativeError());
}

// askResult is results.load(id) and results.delete(id).
function askResult(kind, id) {
  if (typeof id !== "string") {
    return refuse(new NativeTypeError(kind + ": the id must be a string, the id of what results.save(value) resolved to"));
  }
  return request(kind, '{"id":' + quote(id) + "}", new NativeError());
}

// encodeKey refuses a lone surrogate: outside of JavaScript it would be the same key as any other one.
function encodeKey(name, key) {
  if (typeof key !== "string" || key === "") throw new NativeTypeError(name + ": the key must be a non-empty string");
  if (key.length > KEY_LENGTH) {
    throw new NativeTypeError(name + ": the key must have at most " + KEY_LENGTH + " characters; it has " + key.length);
  }
  if (toWellFormed(key) !== key) throw new NativeTypeError(name + ": the key must be well-formed; it has half of a surrogate pair");
  return quote(key);
}

// encodeKept is as strict as encodeArguments about what JSON would lose whole (G2).
function encodeKept(name, value) {
  const what = typeof value === "object" && value !== null ? lostInJSON(value) : "";
  const text = what === "" ? encodeStrict(name, "value", value) : undefined;
  if (text === undefined) {
    throw new NativeTypeError(name + ": the value must be JSON data, not " + (what === "" ? nameOf(value) : what));
  }
  return text;
}

const nameOf = (value) => (value === undefined ? "undefined" : typeof value === "object" ? "an object without a JSON value" : "a " + typeof value);

// installStore makes the globals of those features that the catalog has.
function installStore(features) {
  if (features.store === true) {
    constant(global, "store", expose("store", 2, storeValue), false);
    constant(global, "load", expose("load", 1, loadValue), false);
  }
  if (features.results === true) {
    constant(global, "results", sealed("results", [
      ["save", expose("save", 1, saveResult)],
      ["load", expose("load", 1, partial(askResult, undefined, "results.load"))],
      ["delete", expose("delete", 1, partial(askResult, undefined, "results.delete"))],
    ]), false);
  }
}
