// Runs the controller in the real engine, through the engine's own npm package, with a small host in place of Go's.
import { readFileSync, readdirSync } from "node:fs";
import { QuickJS } from "quickjs-wasi";

const here = new URL("../", import.meta.url);
const read = (path) => readFileSync(new URL(path, here), "utf8");
const engine = await WebAssembly.compile(readFileSync(new URL(import.meta.resolve("quickjs-wasi/quickjs.wasm"))));

export const controllerSource = readdirSync(new URL("js/", here))
  .filter((name) => name.endsWith(".js")).sort()
  .map((name) => read("js/" + name)).join("\n");

// tool makes a row of the installed catalog.
export const tool = (ref, name, more = {}) => ({
  ref, callableName: name, toolName: name, description: `The tool ${name}.`, source: "openclaw", ...more,
});

const defaults = { contract: "current", tools: [], mcp: [], features: {} };

// Guest is one machine with a controller. Its fields show what the program asked of the host.
export class Guest {
  requests = []; // {id, kind, payload}
  cancelled = [];
  output = []; // {kind, value}
  faults = [];
  syncs = [];
  settled = []; // {kind, value}
  rejections = new Map(); // promise identity → reason handle

  static async create({ install = {}, sync = () => ({ ok: null }), memoryLimit = 64 << 20 } = {}) {
    const guest = new Guest();
    guest.sync = sync;
    guest.options = { wasm: engine, memoryLimit, maxStackSize: 512 << 10, onUnhandledRejection: (...args) => guest.rejection(...args) };
    guest.vm = await QuickJS.create(guest.options);
    const host = guest.vm.newFunction("host", (...args) => guest.host(...args));
    const controller = guest.vm.evalCode(controllerSource, "codecell:controller.js");
    guest.api = guest.vm.callFunction(controller, guest.vm.undefined, host, guest.vm.newString(JSON.stringify({ ...defaults, ...install })));
    return guest;
  }

  // restore is this guest's snapshot in another machine, with what it asked for so far.
  async restore() {
    const guest = new Guest();
    Object.assign(guest, this, { cancelled: [...this.cancelled], output: [...this.output], rejections: new Map() });
    guest.options = { ...this.options, onUnhandledRejection: (...args) => guest.rejection(...args) };
    const pointer = this.api.ptr;
    guest.vm = await QuickJS.restore(this.vm.snapshot(), guest.options);
    guest.vm.registerHostCallback("host", (...args) => guest.host(...args));
    guest.api = Object.assign(guest.vm.newObject(), { ptr: pointer });
    return guest;
  }

  rejection(promise, reason, handled) {
    const key = this.vm._getExports().qjs_get_value_ptr(promise.ptr);
    if (handled) this.rejections.delete(key);
    else this.rejections.set(key, this.call("describeError", reason));
  }

  host(...args) {
    const { vm } = this;
    const [op, a, b] = args.map((v) => (v.isUndefined ? undefined : v.toString()));
    switch (op) {
      case "request": {
        const id = "r" + (this.requests.length + 1);
        this.requests.push({ id, kind: a, payload: JSON.parse(b), text: b });
        return vm.newString(id);
      }
      case "cancel":
        this.cancelled.push(a);
        return vm.undefined;
      case "output":
        this.output.push({ kind: a, value: JSON.parse(b), text: b });
        return vm.undefined;
      case "settled":
        this.settled.push({ kind: a, value: JSON.parse(b), text: b });
        return vm.undefined;
      case "sync":
        this.syncs.push({ method: a, payload: JSON.parse(b) });
        return vm.newString(JSON.stringify(this.sync(a, JSON.parse(b))));
      case "fault":
        this.faults.push(a);
        return vm.undefined;
      default:
        throw new Error("unknown host op " + op);
    }
  }

  call(name, ...args) {
    const { vm } = this;
    const values = args.map((a) => (typeof a === "string" ? vm.newString(a) : a === true ? vm.true : a === false ? vm.false : a === undefined ? vm.undefined : a));
    const result = vm.callFunction(this.api.getProp(name), vm.undefined, ...values);
    return result.isUndefined ? undefined : result.toString();
  }

  // start runs a program to its first rest.
  start(source) {
    this.call("start", source);
    this.drain();
    return this;
  }

  // answer settles requests, each [id, value], in order, and runs the program on.
  answer(...answers) {
    for (const [id, value] of answers) this.call("settle", id, true, value === undefined ? undefined : JSON.stringify(value));
    this.drain();
    return this;
  }

  refuse(id, error) {
    this.call("settle", id, false, JSON.stringify(error));
    this.drain();
    return this;
  }

  drain() {
    while (this.vm.executePendingJobs() > 0);
  }

  // value is the final value of a program that completed.
  get value() {
    const [end] = this.settled;
    if (end?.kind !== "value") throw new Error("the program gave no value: " + JSON.stringify(this.settled));
    return end.value;
  }

  get error() {
    const [end] = this.settled;
    if (end?.kind !== "error") throw new Error("the program did not fail: " + JSON.stringify(this.settled));
    return end.value;
  }

  get unhandled() {
    return [...this.rejections.values()].map((text) => JSON.parse(text));
  }
}

// run starts one program in a machine of its own.
export async function run(source, options) {
  const guest = await Guest.create(options);
  return guest.start(source);
}

// valueOf is the final value of a program that makes no requests.
export async function valueOf(source, options) {
  return (await run(source, options)).value;
}
