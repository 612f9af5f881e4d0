// Errors in both directions: what a program threw, as data for the host (E1, E2), and what the host or the controller
// refuses, as an ordinary Error for the program (E3).

const USER_FILE = "codecell:user.js";

// The engine calls every evaluated text <input>. Controller frames carry another name, native ones none, and the place of
// a syntax error has no function: it lies in a text that the program gave to JSON.parse or eval.
const CALL_FRAME = /^ {4}at (.*) \(<input>:(\d+):(\d+)\)$/;

const ERROR = {
  __proto__: null,
  message: 1 << 20, // UTF-16 units of the message; the host's output budget is the tighter bound
  related: 1024, // UTF-16 units of the title of a cause or a member
  frames: 10, // locations an error
  causes: 4, // causes one below another
  members: 5, // members of an AggregateError
};

// program is the text in execution, for locations; its lines are counted when first needed.
let program = "";
let programLines = 0;

function setProgram(source) {
  program = source;
  programLines = 0;
}

function lineCount() {
  if (programLines === 0) {
    programLines = 1;
    for (let at = indexOf(program, "\n"); at >= 0; at = indexOf(program, "\n", at + 1)) programLines++;
  }
  return programLines;
}

// describe returns the errorJSON of anything that was thrown. It runs no code of the program, and sets no code: codes
// are the host's to give.
function describe(reason) {
  if (!isObject(reason) || !isError(reason)) {
    const text = typeof reason === "string" ? bounded(reason, ERROR.message)
      : inspectText(reason, { __proto__: null, left: CONSOLE.values });
    return errorJSON("Thrown value", text, "");
  }
  const stack = stackText(reason);
  let message = errorMessage(reason);
  if (message === "not a function") message += calleeAt(stack);
  const below = userFrames(stack) + related(reason);
  return errorJSON(errorName(reason), bounded(message, ERROR.message), charCodeAt(below, 0) === 0x0a ? slice(below, 1) : below);
}

const errorJSON = (name, message, stack) =>
  '{"name":' + quote(name) + ',"message":' + quote(message) + ',"stack":' + quote(stack) + "}";

const isObject = (value) => (typeof value === "object" && value !== null) || typeof value === "function";
const bounded = (text, max) => (text.length > max ? cut(text, max) + " [error truncated]" : text);

function errorName(error) {
  const name = dataProperty(error, "name");
  return typeof name === "string" && name !== "" ? cut(name, 100) : "Error";
}

function errorMessage(error) {
  const message = dataProperty(error, "message");
  return typeof message === "string" ? message : "";
}

// errorTitle is "Name: message" in at most max UTF-16 units and a mark.
function errorTitle(error, max) {
  const name = errorName(error);
  const message = errorMessage(error);
  const title = message === "" ? name : name + ": " + message;
  return title.length > max ? cut(title, max) + TRUNCATED : title;
}

// related renders causes and members below the locations of an error.
function related(error) {
  let text = "";
  let at = error;
  for (let i = 0; i < ERROR.causes && isObject(at) && isError(at); i++) {
    text += members(at);
    const cause = getOwnPropertyDescriptor(at, "cause");
    if (cause === undefined || !hasOwn(cause, "value")) break;
    at = cause.value;
    text += "\nCaused by: " + titleOf(at);
  }
  return text;
}

function members(error) {
  const errors = dataProperty(error, "errors");
  if (!isObject(errors) || isProxy(errors) || !isArray(errors)) return "";
  let text = "";
  const shown = errors.length < ERROR.members ? errors.length : ERROR.members;
  for (let i = 0; i < shown; i++) {
    text += "\nError " + (i + 1) + " of " + errors.length + ": " + titleOf(dataProperty(errors, i));
  }
  return text;
}

function titleOf(reason) {
  if (!isObject(reason) || !isError(reason)) return inspectText(reason, { __proto__: null, left: 20 });
  const frames = userFrames(stackText(reason));
  return errorTitle(reason, ERROR.related) + (frames === "" ? "" : "\n" + frames);
}

// userFrames keeps the locations of an engine stack that lie in the submitted source, as it was submitted.
function userFrames(stack) {
  let text = "";
  eachUserFrame(stack, (name, line, column) => {
    text += (text === "" ? "" : "\n") + "    at " + name + " (" + USER_FILE + ":" + line + ":" + column + ")";
  });
  return text;
}

// firstLocation is the innermost location of a stack in the submitted source, or "".
function firstLocation(stack) {
  let text = "";
  eachUserFrame(stack, (name, line, column) => {
    if (text === "") text = USER_FILE + ":" + line + ":" + column;
  });
  return text;
}

function eachUserFrame(stack, visit) {
  if (typeof stack !== "string") return;
  for (let i = 0, from = 0; i < ERROR.frames && from < stack.length;) {
    let to = indexOf(stack, "\n", from);
    if (to < 0) to = stack.length;
    const text = to - from > 400 ? "" : slice(stack, from, to);
    from = to + 1;
    const found = execRegExp(CALL_FRAME, text);
    if (found === null) continue;
    const name = cut(found[1], 100);
    if (name === "<eval>") continue; // text that the program itself evaluated
    const line = +found[2];
    if (line > lineCount()) continue;
    const column = nameColumn(line, columnOf(line, +found[3]));
    visit(name, line, column);
    i++;
  }
}

// columnOf turns a column of the engine, which counts the bytes of UTF-8 and on line 1 the wrapper too, into the column of
// the submitted source, in UTF-16 units like indexes of strings. The engine places what fails before it has noted any
// place, such as a pattern that takes null apart, at the function's own beginning: for the program's, that is the wrapper.
const BEYOND_ASCII = /[^\x00-\x7f]/;

function columnOf(line, column) {
  const bytes = column - (line === 1 ? PREFIX_LENGTH : 0);
  if (bytes <= 1) return 1;
  const start = lineStart(line);
  if (execRegExp(BEYOND_ASCII, slice(program, start, start + bytes)) === null) return bytes;
  let at = start;
  for (let counted = 1; counted < bytes && at < program.length; at++) {
    const unit = charCodeAt(program, at);
    counted += unit < 0x80 ? 1 : unit < 0x800 || (unit >= 0xd800 && unit <= 0xdfff) ? 2 : 3;
  }
  return at - start + 1;
}

const NAME_START = /^[A-Za-z_$]/;

// nameColumn moves a column to the name that follows it: the engine gives the place before a called name for calls on the
// line where their function begins, and the place of the name for others.
function nameColumn(line, column) {
  const start = lineStart(line) + column;
  const isName = column > 0 && execRegExp(NAME_START, slice(program, start - 1, start)) !== null;
  return !isName && execRegExp(NAME_START, slice(program, start, start + 1)) !== null ? column + 1 : column;
}

function lineStart(line) {
  let start = 0;
  for (let i = 1; i < line; i++) start = indexOf(program, "\n", start) + 1;
  return start;
}

// The engine's "not a function" doesn't say what isn't; the source text at the place of the call does.
const OWNER = /(?:[A-Za-z_$][\w$]*\s*\??\.\s*)*$/;
const CALLED = /^[A-Za-z_$][\w$]*(?=\s*(?:\?\.)?\s*\()/;

function calleeAt(stack) {
  let callee = "";
  let first = true;
  eachUserFrame(stack, (name, line, column) => {
    if (!first) return;
    first = false;
    const start = lineStart(line);
    const at = start + column - 1;
    const called = execRegExp(CALLED, slice(program, at, at + 200));
    if (called === null) return;
    callee = ": " + execRegExp(OWNER, slice(program, at - 100 > start ? at - 100 : start, at))[0] + called[0];
  });
  return callee;
}

// guestStack is what the program sees as the stack of an error: as other engines write it, with its own frames only.
function guestStack(error) {
  const frames = userFrames(stackText(error));
  return errorTitle(error, ERROR.message) + (frames === "" ? "" : "\n" + frames);
}

// replaceStacks puts guestStack in the place of the engine's text, which names the controller's functions and counts
// columns of the wrapped source.
function replaceStacks() {
  const prototype = NativeError.prototype;
  const native = getOwnPropertyDescriptor(prototype, "stack");
  defineProperty(prototype, "stack", {
    __proto__: null,
    get() {
      return isObject(this) && isError(this) ? guestStack(this) : undefined;
    },
    set: native.set, enumerable: false, configurable: true,
  });
  // Error classes that are written for other engines call this one.
  setHidden(NativeError, "captureStackTrace", expose("captureStackTrace", 2, (target) => {
    const here = new NativeError();
    const title = isObject(target) && isError(target) ? errorTitle(target, ERROR.message) : "Error";
    const frames = userFrames(stackText(here));
    setHidden(target, "stack", title + (frames === "" ? "" : "\n" + frames));
  }));
}

const HOST_ERRORS = {
  __proto__: null,
  TypeError: NativeTypeError.prototype, RangeError: NativeRangeError.prototype, SyntaxError: NativeSyntaxError.prototype,
};

// hostError makes error, which was created where the program made its call, the host's error: data is its plain fields.
function hostError(error, data) {
  setHidden(error, "message", data.message);
  const kind = hasOwn(data, "name") ? data.name : "Error";
  const prototype = HOST_ERRORS[kind];
  if (prototype !== undefined) setPrototypeOf(error, prototype);
  else if (typeof kind === "string" && kind !== "Error") setHidden(error, "name", kind);
  const names = keys(data);
  for (let i = 0; i < names.length; i++) {
    const name = names[i];
    if (name !== "name" && name !== "message" && name !== "stack") setField(error, name, data[name]);
  }
  if (!hasOwn(error, "location")) {
    const location = firstLocation(stackText(error));
    if (location !== "") setField(error, "location", location);
  }
  return error;
}

function setField(object, name, value) {
  defineProperty(object, name, { __proto__: null, value, writable: true, enumerable: true, configurable: true });
}

function setHidden(object, name, value) {
  defineProperty(object, name, { __proto__: null, value, writable: true, enumerable: false, configurable: true });
}
