// Compiling and running the program, and the functions that the host calls.

// Both wrappers have one length, so that columns of line 1 can be put right, and keep the program on its own lines.
const BODY_PREFIX = '              ({async ""(){';
const PROOF_PREFIX = "throw 0;0?async function(){";
const PREFIX_LENGTH = PROOF_PREFIX.length;

let compiled = null; // {source, run}: what the last check found, for the start that follows it

// compile makes the source the body of an async function, or throws the error of its syntax. It runs nothing.
//
// A body that closes its wrapper early, such as `}); x(); (async()=>{`, must not pass. After the brace that closes the
// function, BODY (a method of an object literal) goes on only with `,` or `}`, and PROOF (the middle of a conditional)
// only with an operator or `:`. So a text that parses in both closes neither. PROOF throws before it does anything; it is
// parsed first, and whatever comes to BODY after it can only be one method, or a syntax error. A text without `}` closes
// nothing, and one without `super` means the same in a method as in a function.
function compile(source) {
  if (indexOf(source, "}") >= 0 || indexOf(source, "super") >= 0) {
    try {
      evaluate(PROOF_PREFIX + source + "\n}:0");
    } catch (error) {
      if (error !== 0) throw error;
    }
  }
  return evaluate(BODY_PREFIX + source + '\n}})')[""];
}

// check is api.check: undefined, or the errorJSON of a syntax error with its place in the source (X5).
function check(source) {
  setProgram(source);
  compiled = null;
  const fence = trimStart(source);
  if (slice(fence, 0, 3) === "```") {
    return syntaxError("the program begins with a Markdown code fence; submit the JavaScript alone", source.length - fence.length);
  }
  try {
    compiled = { __proto__: null, source, run: compile(source) };
    return undefined;
  } catch (error) {
    return describeSyntax(error);
  }
}

const PLACE = /<input>:(\d+):(\d+)/;

function describeSyntax(error) {
  if (!isObject(error) || !isError(error) || getPrototypeOf(error) !== SyntaxErrorPrototype) {
    return describe(error); // such as exhausted memory or stack
  }
  const found = execRegExp(PLACE, stackText(error));
  const message = errorMessage(error);
  let line = found === null ? 1 : +found[1];
  let column = found === null ? 1 : +found[2] - (line === 1 ? PREFIX_LENGTH : 0);
  if (line > lineCount()) {
    // The text ended too early: the engine stumbled over the wrapper's own brace.
    line = lineCount();
    column = lineAt(line).length + 1;
    return syntaxAt("unexpected end of the program (" + message + ")", line, column);
  }
  return syntaxAt(message, line, column < 1 ? 1 : column);
}

const SyntaxErrorPrototype = NativeSyntaxError.prototype;

function lineAt(line) {
  let start = 0;
  for (let i = 1; i < line; i++) start = indexOf(program, "\n", start) + 1;
  const end = indexOf(program, "\n", start);
  return slice(program, start, end < 0 ? program.length : end);
}

function syntaxError(message, offset) {
  let line = 1;
  let start = 0;
  for (let at = indexOf(program, "\n"); at >= 0 && at < offset; at = indexOf(program, "\n", at + 1)) {
    line++;
    start = at + 1;
  }
  return syntaxAt(message, line, offset - start + 1);
}

function syntaxAt(message, line, column) {
  return stringify({
    __proto__: null, name: "SyntaxError", message, line, column,
    stack: "    at " + USER_FILE + ":" + line + ":" + column, code: "invalid_input",
  });
}

// start is api.start: it runs the program to its first await. What it comes to is told by host("settled", …), once.
function start(source) {
  if (compiled === null || compiled.source !== source) {
    const error = check(source);
    if (error !== undefined) {
      host("settled", "error", error);
      return;
    }
  }
  if (takenNames !== "") host("fault", "tools whose global names are taken: " + takenNames);
  const run = compiled.run;
  compiled = null;
  after(apply(run, undefined, []), succeed, fail);
}

// succeed encodes the final value; getters in it are still part of the program, and may emit, request and throw.
function succeed(value) {
  let text;
  try {
    text = encode(value);
  } catch (error) {
    return fail(error);
  }
  host("settled", "value", text);
}

function fail(reason) {
  host("settled", "error", describe(reason));
}

// guarded keeps a failure of the controller's own, such as exhausted memory, from being taken for the program's.
function guarded(name, fn) {
  return (a, b, c) => {
    try {
      return fn(a, b, c);
    } catch (error) {
      host("fault", name + ": " + describe(error));
      return undefined;
    }
  };
}

// controller is called once in the life of an image. It returns the functions of the host's side; see the guest ABI in
// the package documentation.
function controller(hostFunction, installText) {
  host = hostFunction;
  installGlobals(parseJSON(installText));
  return freeze({
    __proto__: null,
    start: guarded("start", start),
    settle: guarded("settle", settle),
    check: guarded("check", check),
    describeError: guarded("describeError", describe),
  });
}

return controller;
})()
