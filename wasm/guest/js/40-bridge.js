// The bridge: what a program asks of the host asynchronously. A request is buffered by the host and dispatched when the
// leg ends; the host settles it in a later leg. Budgets, provenance and counters are the host's.

let hostFunction; // set once by controller(): (op, a, b) → string, number or undefined
let host; // the same, or a function that does nothing while no program may reach the host

const pending = new NativeMap(); // request id → {answer, resolve, reject, error}

// One row a kind of request: how the JSON text of its answer becomes the value of the promise.
const ANSWERS = {
  __proto__: null,
  call: parseReply,
  describe: parseAnswer,
  search: (text) => foundTools(parseJSON(text)),
  timer: () => undefined,
  yield: parseAnswer,
  store: () => undefined,
  load: parseAnswer,
  "results.save": parseAnswer,
  "results.load": parseAnswer,
  "results.delete": parseAnswer,
  "skills.list": parseAnswer,
  "skills.read": parseAnswer,
  "skills.search": parseAnswer,
};

function parseAnswer(text) {
  return text === undefined || text === "" ? undefined : parseJSON(text);
}

// parseReply is for what executors answer, which nobody has looked at before.
function parseReply(text) {
  return parseAnswer(text);
}

// unreadable is the data of the error for a reply that can't be parsed: the tool has run all the same (E3).
const unreadable = (error) => ({
  __proto__: null, message: "the tool ran, but its reply can't be read as JSON: " + errorTitle(error, ERROR.related),
  code: "output_contract", location: "output", effectStatus: "done",
});

// request asks the host and returns the promise of the answer. error is a new Error that a refusal would use: its stack
// tells which line of the program made the call. Who is called by the program makes it, since each frame that the engine
// puts into a stack costs as much as making a promise.
function request(kind, payload, error) {
  return new NativePromise((resolve, reject) => {
    send(kind, payload, resolve, reject, error);
  });
}

// send returns the id of the request.
function send(kind, payload, resolve, reject, error) {
  const id = host("request", kind, payload);
  mapSet(pending, id, { __proto__: null, answer: ANSWERS[kind], resolve, reject, error });
  return id;
}

// refuse is a promise rejected with an error of the controller; nothing was requested.
function refuse(error) {
  return new NativePromise((resolve, reject) => reject(error));
}

// settle is api.settle: it settles a request once, and ignores ids that are unknown or settled.
function settle(id, ok, text) {
  const entry = mapGet(pending, id);
  if (entry === undefined) return;
  mapDelete(pending, id);
  let value;
  try {
    value = ok ? entry.answer(text) : hostError(entry.error, parseJSON(text));
  } catch (error) {
    // Parsing an answer can exhaust the guest's stack: the program may catch that like any other failure.
    return entry.reject(ok && entry.answer === parseReply ? hostError(entry.error, unreadable(error)) : error);
  }
  if (ok) entry.resolve(value);
  else entry.reject(value);
}

// ask looks something up in the host at once. It throws the host's error.
function ask(method, payload) {
  const text = host("sync", method, payload);
  const reply = parseJSON(text);
  if (hasOwn(reply, "error")) throw hostError(new NativeError(), reply.error);
  return reply.ok;
}

// forget drops a request that the program gave up, and tells the host.
function forget(id) {
  if (mapDelete(pending, id)) host("cancel", id);
}
