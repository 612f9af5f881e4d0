// Compiling and running the program, and the functions that the host calls.

// The wrappers keep the program on its own lines, and have one length, so that columns of line 1 can be put right.
const HEAD = "async function(){";
const TAIL = "\n}";
const EVALUATE = "           (";
const NEEDS_COLON = "throw 0;  0?";
const NEEDS_COMMA = "throw 0;         ({async x(){";
const PREFIX_LENGTH = NEEDS_COMMA.length;

let compiled = null; // {source, run}: what the last check found, for the start that follows it

// compile makes the source the body of an async function, or throws the error of its syntax.
//
// A source that closes its wrapper early, such as `}); x(); (async()=>{`, must not pass. The function's own text is the
// proof: it ends with the brace that closes it, so it is the whole wrapper only if the source is a whole body. What such a
// source runs meanwhile, and the jobs it leaves, can't reach the host.
function compile(source) {
  const text = HEAD + source + TAIL;
  host = unreachable;
  let run;
  try {
    run = evaluate(EVALUATE + text + ")");
  } catch (error) {
    if (isSyntaxError(error)) throw error;
  }
  if (typeof run !== "function" || isProxy(run) || functionText(run) !== text) throw earlyClose(source);
  host = hostFunction;
  return run;
}

const unreachable = () => undefined;

// earlyClose finds the place where a program closes its wrapper: the error of the first wrapper that can't go on there.
// After the closing brace one wants an operator or `:`, the other `,` or `}`; both throw before they do anything.
function earlyClose(source) {
  try {
    evaluate(NEEDS_COLON + HEAD + source + TAIL + ":0");
  } catch (error) {
    if (error !== 0) return error;
  }
  try {
    evaluate(NEEDS_COMMA + source + TAIL + "})");
  } catch (error) {
    if (error !== 0) return error;
  }
  return new NativeSyntaxError("unexpected token: '}'");
}

// check is api.check: undefined, or the errorJSON of a syntax error with its place in the source (X5).
function check(source) {
  setProgram(source);
  compiled = null;
  host = hostFunction;
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
  if (!isSyntaxError(error)) return describe(error); // such as exhausted memory or stack
  const found = execRegExp(PLACE, stackText(error));
  const message = errorMessage(error);
  let line = found === null ? 1 : +found[1];
  let column = found === null ? 1 : columnOf(line, +found[2]);
  const stray = strayBrace(line > lineCount() ? program.length : lineStart(line) + column - 1);
  if (stray >= 0) return syntaxError("unexpected token: '}'", stray);
  if (line > lineCount()) {
    // The text ended too early: the engine stumbled over the wrapper's own brace.
    line = lineCount();
    column = lineAt(line).length + 1;
    return syntaxAt("unexpected end of the program (" + message + ")", line, column);
  }
  return syntaxAt(message, line, column);
}

// strayBrace finds the brace that closes nothing of the program: the engine takes it for the wrapper's, and stumbles over
// what comes next, at offset. What stands before such a brace is a whole program, and isn't one with it. -1 is none.
function strayBrace(offset) {
  let at = offset - 1;
  while (at >= 0 && charCodeAt(program, at) <= 0x20) at--;
  if (at < 0 || charCodeAt(program, at) !== 0x7d || !compiles(slice(program, 0, at))) return -1;
  return compiles(slice(program, 0, at + 1)) ? -1 : at;
}

// compiles tells whether a part of the program is a program. What a part may have run, and left, can't reach the host either.
function compiles(part) {
  try {
    compile(part);
    return true;
  } catch {
    return false;
  } finally {
    host = unreachable;
  }
}

const SyntaxErrorPrototype = NativeSyntaxError.prototype;
const isSyntaxError = (error) => isObject(error) && isError(error) && getPrototypeOf(error) === SyntaxErrorPrototype;

function lineAt(line) {
  const start = lineStart(line);
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
  return '{"name":"SyntaxError","message":' + quote(message) + ',"line":' + line + ',"column":' + column +
    ',"stack":' + quote("    at " + USER_FILE + ":" + line + ":" + column) + ',"code":"invalid_input"}';
}

// start is api.start: it runs the program to its first await. What it comes to is told by host("settled", …), once.
function start(source) {
  if (compiled === null || compiled.source !== source) {
    const error = check(source);
    if (error !== undefined) {
      hostFunction("settled", "error", error);
      return;
    }
  }
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
  hostFunction("settled", "value", text);
}

function fail(reason) {
  hostFunction("settled", "error", describe(reason));
}

// guarded keeps a failure of the controller's own, such as exhausted memory, from being taken for the program's.
function guarded(name, fn) {
  return (a, b, c) => {
    try {
      return fn(a, b, c);
    } catch (error) {
      hostFunction("fault", name + ": " + describe(error));
      return undefined;
    }
  };
}

// controller is called once in the life of an image, with the host function and the JSON text of the admitted catalog:
//
//   {"tools": [{"ref", "callableName", "toolName", "label"?, "description", "source", "input"?, "output"?, "apiPath"?}],
//    "mcp": [{"identifier", "serverName", "tools": [{"ref", "identifier", "toolName", "odd"?}],
//             "resources"?: {name: ref}, "prompts"?: {name: ref}}],
//    "features": {"store"?, "results"?, "namespaces"?, "skills"?, "skillSearch"?},
//    "namespaces"?: [{"name", "scope"}],
//    "nodes"?: the ref of the native nodes tool,
//    "agents"?: {"spawn", "await"}, the refs of the native tools of the swarm}
//
// With "contract": "2026-07" a tool is {"ref", "member"?, "id", "name", "label"?, "description", "source", "sourceName"?}, and
// one of a server has an "id" too. With "contract": "tool-search" there is nothing else.
//
// It returns the functions of the host's side. Each but check and describeError is followed by running all jobs; the
// settles of one resume come together, in the order in which the answers arrived.
function controller(theHost, installText) {
  host = hostFunction = theHost;
  installCatalog(parseJSON(installText));
  return freeze({
    __proto__: null,
    start: guarded("start", start),
    settle: guarded("settle", settle),
    check: guarded("check", check),
    describeError: guarded("describeError", describe),
  });
}

installGlobals();
return controller;
})()
