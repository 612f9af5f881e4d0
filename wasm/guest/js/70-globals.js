// The global object as the program finds it: ECMAScript and chapter G of the contract, nothing else (G11).

const ECMASCRIPT_GLOBALS = freeze([
  "globalThis", "Infinity", "NaN", "undefined",
  "eval", "isFinite", "isNaN", "parseFloat", "parseInt",
  "decodeURI", "decodeURIComponent", "encodeURI", "encodeURIComponent", "escape", "unescape",
  "AggregateError", "Array", "ArrayBuffer", "AsyncDisposableStack", "BigInt", "BigInt64Array", "BigUint64Array",
  "Boolean", "DataView", "Date", "DisposableStack", "Error", "EvalError", "FinalizationRegistry", "Float16Array",
  "Float32Array", "Float64Array", "Function", "Int8Array", "Int16Array", "Int32Array", "Iterator", "Map", "Number",
  "Object", "Promise", "Proxy", "RangeError", "ReferenceError", "RegExp", "Set", "SharedArrayBuffer", "String",
  "SuppressedError", "Symbol", "SyntaxError", "TypeError", "Uint8Array", "Uint8ClampedArray", "Uint16Array",
  "Uint32Array", "URIError", "WeakMap", "WeakRef", "WeakSet",
  "Atomics", "JSON", "Math", "Reflect",
]);

// removeExtras deletes what the engine adds to ECMAScript. Error.prepareStackTrace must go before a program runs: its
// call sites would give the program the controller's functions.
function removeExtras() {
  const known = { __proto__: null };
  for (let i = 0; i < ECMASCRIPT_GLOBALS.length; i++) known[ECMASCRIPT_GLOBALS[i]] = true;
  const names = ownKeys(global);
  for (let i = 0; i < names.length; i++) {
    if (typeof names[i] !== "string" || known[names[i]] !== true) delete global[names[i]];
  }
  delete NativeError.prepareStackTrace;
  delete NativeError.stackTraceLimit;
  const functionPrototype = getPrototypeOf(TextEncoder);
  delete functionPrototype.fileName;
  delete functionPrototype.lineNumber;
  delete functionPrototype.columnNumber;
}

// emitText is text(value): a string as it is, anything else as its JSON text, without quotes if that is a string.
function emitText(value) {
  let text = typeof value === "string" ? quote(value) : encode(value);
  if (charCodeAt(text, 0) !== 0x22) text = quote(text);
  host("output", "text", text);
}

function emitJSON(value) {
  host("output", "json", encode(value));
}

// yieldControl is yield_control(reason?): the cell parks, and the promise resolves when it is waited for (G6).
function yieldControl(reason) {
  if (reason === undefined || reason === null) return request("yield", "{}", new NativeError());
  if (typeof reason !== "string") return refuse(new NativeTypeError("yield_control: the reason must be a string"));
  return request("yield", '{"reason":' + quote(reason) + "}", new NativeError());
}

// HELPERS are the globals that every program has but those of Tool Search.
const HELPERS = freeze(["text", "json", "yield_control", "setTimeout", "clearTimeout", "console", "TextEncoder", "TextDecoder", "API"]);
const SEALED = { __proto__: null, configurable: false };

// installGlobals puts in place what nearly all catalogs share. It is part of the image of all images; each seals the
// helpers or deletes them, which costs it less memory than to make them.
function installGlobals() {
  removeExtras();
  replaceStacks();
  watchProxies();
  const made = [
    expose("text", 1, emitText), expose("json", 1, emitJSON), expose("yield_control", 1, yieldControl),
    expose("setTimeout", 2, (callback, delay, ...args) => startTimer(callback, delay, args)), expose("clearTimeout", 1, stopTimer),
    makeConsole(["log", "info", "warn", "error", "debug"]), TextEncoder, TextDecoder, makeAPI(),
  ];
  for (let i = 0; i < HELPERS.length; i++) {
    defineProperty(global, HELPERS[i], { __proto__: null, value: made[i], writable: false, enumerable: false, configurable: true });
  }
}

// installCatalog adds the admitted tools. Helpers are there already: a tool never takes the name of one.
function installCatalog(install) {
  if (install.contract === "tool-search") return installToolSearch();
  for (let i = 0; i < HELPERS.length; i++) defineProperty(global, HELPERS[i], SEALED);
  constant(global, "MCP", makeMCP(install.mcp || []), false);
  installStore(install.features || {});
  installSkills(install.features || {});
  if (install.contract !== "2026-07") installNodes(install.nodes);
  installAgents(install.agents);
  installNamespaces(install.features || {}, install.namespaces || []);
  if (install.contract === "2026-07") {
    installOlderTools(install.tools || [], install.mcp || []);
  } else {
    constant(global, "catalog", makeCatalog(), false);
    installTools(install.tools || []);
  }
}
