// The smallest controller that exercises the whole contract: globals `call`, `text`, `sync`, `now` and timers.
(function () {
  "use strict";
  const AsyncFunction = (async () => {}).constructor;
  const { stringify, parse } = JSON;
  const P = Promise;
  const then = Function.prototype.call.bind(Promise.prototype.then);
  return function controller(host, installText) {
    const pending = Object.create(null);
    const request = (kind, payload) =>
      new P((resolve, reject) => {
        const id = host("request", kind, payload);
        pending[id] = { resolve, reject };
      });
    const describe = (e) =>
      e !== null && typeof e === "object"
        ? stringify({ name: String(e.name), message: String(e.message), code: e.code })
        : stringify({ name: "Thrown", message: String(e) });
    globalThis.catalog = parse(installText);
    globalThis.call = (args) => request("call", stringify(args));
    globalThis.sleep = (delayMs) => request("timer", stringify({ delayMs }));
    globalThis.later = () => {
      const id = host("request", "timer", "{}");
      pending[id] = { resolve() {}, reject() {} };
      return id;
    };
    globalThis.cancel = (id) => host("cancel", id);
    globalThis.text = (s) => host("output", "text", stringify(String(s)));
    globalThis.raw = (s) => host("output", "text", s);
    globalThis.lookUp = (m, p) => parse(host("sync", m, stringify(p)));
    globalThis.now = () => host("now");
    globalThis.fault = (t) => host("fault", t);
    const compile = (src) => new AsyncFunction(src);
    const syntax = (e) => stringify({ name: e.name, message: e.message, code: "invalid_input", line: 1, column: 1 });
    return {
      start(src) {
        let f;
        try {
          f = compile(src);
        } catch (e) {
          host("settled", "error", syntax(e));
          return;
        }
        then(
          f(),
          (v) => host("settled", "value", v === undefined ? "null" : stringify(v)),
          (e) => host("settled", "error", describe(e)),
        );
      },
      settle(id, ok, body) {
        const p = pending[id];
        if (!p) return;
        delete pending[id];
        if (ok) p.resolve(body === "" ? undefined : parse(body));
        else p.reject(Object.assign(new Error(parse(body).message), parse(body)));
      },
      check(src) {
        try {
          compile(src);
        } catch (e) {
          return syntax(e);
        }
      },
      describeError: describe,
    };
  };
})()
