// Nodes: paired machines (N1). All that a program does with one is a call of the native nodes tool, whose ref the
// catalog gives: the host checks, counts and refuses it like any other call (N2).

const LIST_DIR = "fs.listDir";

// callNodes calls the tool, and resolves to what view makes of the answer. view runs no code of the program; what it
// throws rejects the call.
function callNodes(ref, args, view, error) {
  return new NativePromise((resolve, reject) => {
    const take = (answer) => {
      let value;
      try {
        value = view(answer);
      } catch (failure) {
        return reject(failure);
      }
      resolve(value);
    };
    send("call", '{"ref":' + ref + ',"args":' + args + "}", take, reject, error);
  });
}

const fieldOf = (answer, name) => (isObject(answer) && hasOwn(answer, name) ? answer[name] : undefined);

const listNodes = (ref) => callNodes(ref, '{"action":"list"}', listedNodes, new NativeError());

// A placeholder of a dry run may say nothing.
function listedNodes(answer) {
  const found = fieldOf(answer, "nodes");
  return isArray(found) ? found : [];
}

function getNode(ref, idOrName) {
  if (typeof idOrName !== "string" || idOrName === "") {
    return refuse(new NativeTypeError("nodes.get: the node must be a string, its id or its name"));
  }
  const view = (answer) => makeNode(ref, fieldOf(answer, "node"), idOrName);
  return callNodes(ref, '{"action":"describe","node":' + quote(idOrName) + "}", view, new NativeError());
}

// makeNode is the handle of a node: data and functions, and never a way to its shell.
function makeNode(ref, found, asked) {
  const text = (name) => {
    const value = fieldOf(found, name);
    return typeof value === "string" ? value : asked;
  };
  const id = text("id");
  const commands = fieldOf(found, "commands");
  const names = [];
  let lists = false;
  for (let i = 0; isArray(commands) && i < commands.length; i++) {
    const name = fieldOf(commands[i], "name");
    if (typeof name !== "string") continue;
    lists = lists || name === LIST_DIR;
    setField(names, names.length, name);
  }
  const members = [
    ["id", id],
    ["name", text("name")],
    ["commands", freeze(names)],
    ["invoke", expose("invoke", 2, (command, params) => invokeNode(ref, id, command, params))],
  ];
  if (lists) setField(members, members.length, ["listDir", expose("listDir", 1, (path) => listDirOf(ref, id, path))]);
  return sealed("node", members);
}

const resultOf = (answer) => fieldOf(answer, "result");

function invokeNode(ref, id, command, params) {
  if (typeof command !== "string" || command === "") {
    return refuse(new NativeTypeError("invoke: the command must be a string, such as \"device.status\""));
  }
  let text = "{}";
  if (params !== undefined) {
    try {
      text = encodeArguments("invoke", params);
    } catch (error) {
      return refuseArguments(error);
    }
  }
  return invokeWith(ref, id, quote(command), text, new NativeError());
}

function listDirOf(ref, id, path) {
  if (path !== undefined && typeof path !== "string") return refuse(new NativeTypeError("listDir: the path must be a string"));
  const text = path === undefined ? "{}" : '{"path":' + quote(path) + "}";
  return invokeWith(ref, id, quote(LIST_DIR), text, new NativeError());
}

function invokeWith(ref, id, command, params, error) {
  const args = '{"action":"invoke","node":' + quote(id) + ',"command":' + command + ',"params":' + params + "}";
  return callNodes(ref, args, resultOf, error);
}

// installNodes makes the global. Where the catalog hasn't the tool there are no nodes, and it says so without a call.
function installNodes(ref) {
  const known = isInteger(ref);
  constant(global, "nodes", sealed("nodes", [
    ["list", expose("list", 0, () => (known ? listNodes(ref) : none()))],
    ["get", expose("get", 1, (idOrName) => (known ? getNode(ref, idOrName) : refuseNode()))],
  ]), false);
}

const none = () => new NativePromise((resolve) => resolve([]));

function refuseNode() {
  return refuse(hostError(new NativeError(), {
    __proto__: null, message: "nodes.get: this run has no nodes: they are switched off, or not for this agent",
    code: "invalid_input", location: "policy", effectStatus: "not_started",
  }));
}
