// setTimeout and clearTimeout (G4). The host keeps the time; ids are small numbers of the guest's own.

const MAX_DELAY = 2147483647; // ms; longer delays are cut to it
const timers = new NativeMap(); // timer number → {request, cleared}
let lastTimer = 0;

function startTimer(callback, delay, args) {
  if (typeof callback !== "function") {
    throw new NativeTypeError("setTimeout: the callback must be a function");
  }
  const ms = delayOf(delay);
  const number = ++lastTimer;
  const timer = { __proto__: null, request: "", cleared: false };
  const error = new NativeError();
  const due = new NativePromise((resolve, reject) => {
    timer.request = send("timer", '{"delayMs":' + ms + "}", resolve, reject, error);
  });
  mapSet(timers, number, timer);
  // The callback runs as a job of its own. What it throws rejects the promise of that job, which nobody handles:
  // the host sees an unhandled rejection, as for any other (E3). So does a timer that the host rejects.
  after(due, () => {
    if (timer.cleared) return;
    mapDelete(timers, number);
    apply(callback, undefined, args);
  });
  return number;
}

// stopTimer ignores what isn't the number of a timer that still waits.
function stopTimer(number) {
  const timer = mapGet(timers, number);
  if (timer === undefined) return;
  mapDelete(timers, number);
  timer.cleared = true; // It may be due already, behind the job that clears it.
  forget(timer.request);
}

function delayOf(delay) {
  const ms = typeof delay === "symbol" || typeof delay === "bigint" ? 0 : +delay;
  return ms > 0 ? ceil(ms < MAX_DELAY ? ms : MAX_DELAY) : 0;
}

// after is promise.then(fulfilled, rejected) for a promise of the controller's own: constructor and species, which the
// program may have redefined, aren't looked up.
function after(promise, fulfilled, rejected) {
  defineProperty(promise, "constructor", { __proto__: null, value: undefined });
  return promiseThen(promise, fulfilled, rejected);
}
