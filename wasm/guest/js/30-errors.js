// Errors in both directions: what a program threw, as data for the host (E1, E2), and what the host or the controller
// refuses, as an ordinary Error for the program (E3).

const USER_FILE = "codecell:user.js";

// The engine calls every evaluated text <input>. Controller frames carry another name, native ones none.
const CALL_FRAME = /^ {4}at (.*) \(<input>:(\d+):(\d+)\)$/;
const PARSE_FRAME = /^ {4}at <input>:(\d+):(\d+)$/;

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
  const out = { __proto__: null, name: "Thrown value", message: "", stack: "" };
  if (isObject(reason) && isError(reason)) {
    out.name = errorName(reason);
    out.message = errorMessage(reason);
    const stack = stackText(reason);
    out.stack = userFrames(stack) + related(reason);
    if (charCodeAt(out.stack, 0) === 0x0a) out.stack = slice(out.stack, 1);
    if (out.message === "not a function") out.message += calleeAt(stack);
    out.message = bounded(out.message, ERROR.message);
  } else {
    out.message = inspectText(reason, { __proto__: null, left: CONSOLE.values });
  }
  return stringify(out);
}

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
    text += (text === "" ? "" : "\n") + "    at " + (name === "" ? "" : name + " (") +
      USER_FILE + ":" + line + ":" + column + (name === "" ? "" : ")");
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
    const called = execRegExp(CALL_FRAME, text);
    const found = called === null ? execRegExp(PARSE_FRAME, text) : called;
    if (found === null) continue;
    const name = called === null ? "" : cut(found[1], 100);
    if (name === "<eval>") continue; // text that the program itself evaluated
    const line = +found[called === null ? 1 : 2];
    let column = +found[called === null ? 2 : 3];
    if (line === 1) column -= PREFIX_LENGTH;
    if (line > lineCount() || column < 1) continue;
    visit(name, line, column);
    i++;
  }
}

// The engine's "not a function" doesn't say what isn't; the source text at the place of the call does.
const CALLEE = /^(?:await\s+|new\s+)?([A-Za-z_$][\w$]*(?:\s*\??\.\s*[A-Za-z_$][\w$]*)*)\s*(?:\?\.)?\(/;

function calleeAt(stack) {
  let callee = "";
  let first = true;
  eachUserFrame(stack, (name, line, column) => {
    if (!first) return;
    first = false;
    let start = 0;
    for (let i = 1; i < line; i++) start = indexOf(program, "\n", start) + 1;
    const found = execRegExp(CALLEE, slice(program, start + column - 1, start + column + 200));
    if (found !== null) callee = ": " + found[1];
  });
  return callee;
}

// guestError makes an error of the controller for the program.
function guestError(Constructor, message) {
  return withUserStack(new Constructor(message));
}

// withUserStack gives an error a stack that names the program's own frames only.
function withUserStack(error) {
  setHidden(error, "stack", userFrames(stackText(error)));
  return error;
}

const HOST_ERRORS = {
  __proto__: null,
  TypeError: NativeTypeError.prototype, RangeError: NativeRangeError.prototype, SyntaxError: NativeSyntaxError.prototype,
};

// hostError makes error, which was created where the program made its call, the host's error: text is its plain data.
function hostError(error, text) {
  const data = parseJSON(text);
  setHidden(error, "message", data.message);
  const prototype = HOST_ERRORS[data.name];
  if (prototype !== undefined) setPrototypeOf(error, prototype);
  else if (typeof data.name === "string" && data.name !== "Error") setHidden(error, "name", data.name);
  const names = keys(data);
  for (let i = 0; i < names.length; i++) {
    const name = names[i];
    if (name !== "name" && name !== "message" && name !== "stack") setField(error, name, data[name]);
  }
  if (!hasOwn(error, "location")) {
    const location = firstLocation(stackText(error));
    if (location !== "") setField(error, "location", location);
  }
  return withUserStack(error);
}

function setField(object, name, value) {
  defineProperty(object, name, { __proto__: null, value, writable: true, enumerable: true, configurable: true });
}

function setHidden(object, name, value) {
  defineProperty(object, name, { __proto__: null, value, writable: true, enumerable: false, configurable: true });
}
