// The controller: the guest's own JavaScript. The host joins the files of this folder in name order into one
// expression whose value is the function `controller(host, install)` of 90-main.js.
//
// Guest programs are hostile and share the realm. Rules that every file keeps:
//   - Take built-ins from this file only. They are copied before any guest code runs, and methods are called through
//     `uncurry`, never looked up on a guest-reachable prototype. So: no `for…of`, no spread, no array destructuring,
//     no `.push`, `.call`, `.then` and the like, no template with an object in it.
//   - Write an element only to a list without prototype (`list()`), and give every descriptor and record
//     `__proto__: null`: otherwise a setter or a getter on Array.prototype or Object.prototype would see it.
//   - No controller object but a finished, frozen value goes to the guest; `host` and `api` never do.
//   - The host trusts nothing that comes from here. What these rules protect is a program from its own mistakes,
//     and a legible answer for whoever reads the result.
(function () {
"use strict";

const global = globalThis;
const { apply, construct, ownKeys } = Reflect;
const {
  create, defineProperty, freeze, getOwnPropertyDescriptor, getPrototypeOf, hasOwn, keys, preventExtensions,
  setPrototypeOf,
} = Object;
const { isArray } = Array;
const { isRawJSON, parse: parseJSON, stringify } = JSON;
const { isError } = Error;
const { isView } = ArrayBuffer;
const { ceil } = Math;
const { fromCharCode } = String;
const { isInteger } = Number;
const { atob, btoa, decodeURIComponent, encodeURIComponent, escape, unescape } = global;
const evaluate = eval; // Called by this name it is an indirect eval: global scope, sloppy mode.
const NativeError = Error;
const NativeMap = Map;
const NativePromise = Promise;
const NativeProxy = Proxy;
const NativeSyntaxError = SyntaxError;
const NativeRangeError = RangeError;
const NativeTypeError = TypeError;
const NativeUint8Array = Uint8Array;
const NativeWeakMap = WeakMap;
const NativeWeakSet = WeakSet;
const toStringTag = Symbol.toStringTag;
const toPrimitive = Symbol.toPrimitive;

const { bind, call } = Function.prototype;

// uncurry(method)(receiver, ...arguments) calls method without looking anything up.
const uncurry = bind.bind(call);

// partial(fn, receiver, ...leading) is fn.bind: the result has no prototype and shows no source to the guest.
const partial = uncurry(bind);

const getterOf = (prototype, name) => uncurry(getOwnPropertyDescriptor(prototype, name).get);
const TypedArrayPrototype = getPrototypeOf(Uint8Array.prototype);

const charCodeAt = uncurry(String.prototype.charCodeAt);
const indexOf = uncurry(String.prototype.indexOf);
const slice = uncurry(String.prototype.slice);
const trimStart = uncurry(String.prototype.trimStart);
const toWellFormed = uncurry(String.prototype.toWellFormed);
const toLowerCase = uncurry(String.prototype.toLowerCase);
const trim = uncurry(String.prototype.trim);
const execRegExp = uncurry(RegExp.prototype.exec);

const functionText = uncurry(Function.prototype.toString);
const bigintText = uncurry(BigInt.prototype.toString);
const symbolText = uncurry(Symbol.prototype.toString);
const bigintValue = uncurry(BigInt.prototype.valueOf);
const booleanValue = uncurry(Boolean.prototype.valueOf);
const numberValue = uncurry(Number.prototype.valueOf);
const stringValue = uncurry(String.prototype.valueOf);
const dateTime = uncurry(Date.prototype.getTime);
const dateISO = uncurry(Date.prototype.toISOString);
const regexpSource = getterOf(RegExp.prototype, "source");
const regexpFlags = getterOf(RegExp.prototype, "flags");
const mapForEach = uncurry(Map.prototype.forEach);
const setForEach = uncurry(Set.prototype.forEach);
const mapSize = getterOf(Map.prototype, "size");
const setSize = getterOf(Set.prototype, "size");
const mapGet = uncurry(Map.prototype.get);
const mapSet = uncurry(Map.prototype.set);
const mapDelete = uncurry(Map.prototype.delete);
const weakGet = uncurry(WeakMap.prototype.get);
const weakSet = uncurry(WeakMap.prototype.set);
const weakAdd = uncurry(WeakSet.prototype.add);
const weakHas = uncurry(WeakSet.prototype.has);
const typedLength = getterOf(TypedArrayPrototype, "length");
const typedBuffer = getterOf(TypedArrayPrototype, "buffer");
const typedByteOffset = getterOf(TypedArrayPrototype, "byteOffset");
const typedByteLength = getterOf(TypedArrayPrototype, "byteLength");
const typedSet = uncurry(Uint8Array.prototype.set);
const bytesToBase64 = uncurry(Uint8Array.prototype.toBase64);
const bytesFromBase64 = Uint8Array.fromBase64;
const typedName = getterOf(TypedArrayPrototype, toStringTag);
const viewBuffer = getterOf(DataView.prototype, "buffer");
const viewByteOffset = getterOf(DataView.prototype, "byteOffset");
const viewByteLength = getterOf(DataView.prototype, "byteLength");
const stackText = getterOf(Error.prototype, "stack"); // what the engine recorded, whatever the program assigned
const promiseThen = uncurry(Promise.prototype.then);

const ArrayPrototype = Array.prototype;
const ObjectPrototype = Object.prototype;

// list() is an array without a prototype: indexed writes to it always make own elements.
const list = () => setPrototypeOf([], null);

// Which built-in a prototype belongs to, for telling values apart without calling into them.
const KIND = new NativeWeakMap();
weakSet(KIND, Date.prototype, "date");
weakSet(KIND, Map.prototype, "map");
weakSet(KIND, Set.prototype, "set");
weakSet(KIND, Promise.prototype, "promise");
weakSet(KIND, RegExp.prototype, "regexp");
weakSet(KIND, Error.prototype, "error");
weakSet(KIND, TypedArrayPrototype, "typed");
weakSet(KIND, DataView.prototype, "view");
weakSet(KIND, ArrayBuffer.prototype, "buffer");
weakSet(KIND, SharedArrayBuffer.prototype, "buffer");
weakSet(KIND, String.prototype, "string");
weakSet(KIND, Number.prototype, "number");
weakSet(KIND, Boolean.prototype, "boolean");
weakSet(KIND, BigInt.prototype, "bigint");

const MAX_PROTOTYPES = 64; // A chain of prototypes longer than this is not followed.

// kindOf names the built-in that value descends from, or "" for anything else. A prototype says what an object claims,
// not what it is: callers still expect the brand check of the built-in to throw. Traps of proxies are not run.
function kindOf(value) {
  for (let i = 0, at = value; i < MAX_PROTOTYPES; i++) {
    if (isProxy(at)) return "";
    at = getPrototypeOf(at);
    if (at === null || at === ObjectPrototype || at === ArrayPrototype) return "";
    const kind = weakGet(KIND, at);
    if (kind !== undefined) return kind;
  }
  return "";
}

// A proxy can't be told from its target in JavaScript, except by having watched it being made.
const proxies = new NativeWeakSet();
const isProxy = (value) => weakHas(proxies, value);

function watchProxies() {
  const revocable = NativeProxy.revocable;
  defineProperty(NativeProxy, "revocable", {
    __proto__: null,
    value: expose("revocable", 2, (target, handler) => {
      const made = revocable(target, handler);
      weakAdd(proxies, made.proxy);
      return made;
    }),
    writable: true, enumerable: false, configurable: true,
  });
  const watched = new NativeProxy(NativeProxy, freeze({
    __proto__: null,
    construct(target, args, newTarget) {
      const proxy = construct(target, args, newTarget === watched ? target : newTarget);
      weakAdd(proxies, proxy);
      return proxy;
    },
  }));
  defineProperty(global, "Proxy", {
    __proto__: null, value: watched, writable: true, enumerable: false, configurable: true,
  });
}

// expose makes a function fit to be given to the guest: it has the name and length of a built-in, and no source text.
function expose(name, length, fn) {
  const exposed = partial(fn, undefined);
  rename(exposed, name);
  defineProperty(exposed, "length", { __proto__: null, value: length, configurable: true });
  return exposed;
}

function rename(fn, name) {
  NAME.value = name;
  defineProperty(fn, "name", NAME);
}
const NAME = { __proto__: null, value: "", configurable: true };

// constant defines a property that can't be changed or removed.
function constant(target, name, value, enumerable) {
  CONSTANT.value = value;
  CONSTANT.enumerable = enumerable;
  defineProperty(target, name, CONSTANT);
  CONSTANT.value = undefined;
}
const CONSTANT = { __proto__: null, value: undefined, writable: false, enumerable: false, configurable: false };

// dataProperty reads target[name] through the prototype chain, without running getters or traps: they read as undefined.
function dataProperty(target, name) {
  for (let i = 0, at = target; i < MAX_PROTOTYPES && at !== null && !isProxy(at); i++) {
    const found = getOwnPropertyDescriptor(at, name);
    if (found !== undefined) return hasOwn(found, "value") ? found.value : undefined;
    at = getPrototypeOf(at);
  }
  return undefined;
}

// cut returns the first max UTF-16 units of text, one less if a surrogate pair would be split.
function cut(text, max) {
  if (text.length <= max) return text;
  const last = charCodeAt(text, max - 1);
  return slice(text, 0, last >= 0xd800 && last <= 0xdbff ? max - 1 : max);
}
