// Namespaces (K1–K3): what plugins put before programs, frozen data and functions that call tools of the catalog. The host
// has checked the scope and made refs of the tools' names; a call of a function is a call of the tool, like any other.

const NAMESPACE = { __proto__: null, tool: "$tool", arg: "$arg" };

// installNamespaces makes a global of each, and `namespaces` of all. They come before the tools, which leave them their names.
function installNamespaces(features, installed) {
  if (features.namespaces !== true) return;
  const members = [];
  for (let i = 0; i < installed.length; i++) {
    const made = makeScope(installed[i].name, installed[i].scope);
    setField(members, i, [installed[i].name, made]);
    constant(global, installed[i].name, made, true);
  }
  constant(global, "namespaces", sealed("namespaces", members), false);
}

// makeScope is one value of a scope: path is how the program reaches it.
function makeScope(path, scope) {
  if (!isObject(scope)) return scope;
  if (isArray(scope)) {
    const made = [];
    for (let i = 0; i < scope.length; i++) setField(made, i, makeScope(path + "[" + i + "]", scope[i]));
    return freeze(made);
  }
  if (hasOwn(scope, NAMESPACE.tool)) return freeze(makeScopeCall(path, scope));
  const names = keys(scope);
  const members = [];
  for (let i = 0; i < names.length; i++) {
    setField(members, i, [names[i], makeScope(path + "." + names[i], scope[names[i]])]);
  }
  return sealed(path, members);
}

// makeScopeCall is a callable: its argument is the tool's input, or what the template makes of its arguments.
function makeScopeCall(path, marker) {
  const ref = marker[NAMESPACE.tool];
  if (!hasOwn(marker, "input")) return expose(path, 1, partial(callOperation, undefined, ref, path));
  const template = marker.input;
  return expose(path, 1, (...args) => {
    let input;
    try {
      input = fill(path, template, args);
    } catch (error) {
      return refuseArguments(error);
    }
    return callTool(ref, path, input);
  });
}

// fill is a template with the arguments in it. What wasn't given is left out.
function fill(path, template, args) {
  if (!isObject(template)) return template;
  if (isArray(template)) {
    const made = [];
    for (let i = 0; i < template.length; i++) setField(made, i, fill(path, template[i], args));
    return made;
  }
  if (hasOwn(template, NAMESPACE.arg)) return argumentAt(path, args, template[NAMESPACE.arg]);
  const made = {};
  const names = keys(template);
  for (let i = 0; i < names.length; i++) {
    const value = fill(path, template[names[i]], args);
    if (value !== undefined) setField(made, names[i], value);
  }
  return made;
}

// argumentAt refuses what JSON would lose (G2).
function argumentAt(path, args, index) {
  const value = index < args.length ? args[index] : undefined;
  const kind = typeof value;
  let what = "";
  if (kind === "function" || kind === "symbol") what = "a " + kind;
  else if (isObject(value) && !isProxy(value)) what = lostInJSON(value);
  if (what !== "") throw new NativeTypeError(path + ": argument " + (index + 1) + " must be JSON data, not " + what);
  return value;
}
