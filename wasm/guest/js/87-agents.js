// agents, phase and log (G10): what a program does with other agents, and what it tells of its progress. An agent is started
// and waited for by calls of the native tools, whose refs the catalog gives: the host checks and counts them like any other.

const PHASE_LENGTH = 120; // UTF-16 units
const NOTE_LENGTH = 512; // of the text that those who watch get

let phaseNow = "";

function note(text) {
  host("sync", "note", '{"phase":' + quote(phaseNow) + ',"text":' + quote(text) + "}");
}

function beginPhase(title) {
  if (typeof title !== "string") throw new NativeTypeError("phase: the title must be a string");
  phaseNow = cut(title, PHASE_LENGTH);
  note("");
}

function logValues(...values) {
  const message = messageOf("log", values);
  say(message);
  note(cut(message, NOTE_LENGTH));
}

// spawnArguments is the input of the tool that starts an agent. What the program gives comes last, and wins.
function spawnArguments(task) {
  const what = typeof task === "string" ? "" : notAnObject(task);
  if (what !== "") {
    throw new NativeTypeError(
      'agents.run: the argument must be the task, a string, or an object such as { task: "…" }, not ' + what);
  }
  const given = typeof task === "string" ? '{"task":' + quote(task) + "}" : encodeArguments("agents.run", task);
  const ours = '{"scope":"cell"' + (phaseNow === "" ? "" : ',"phase":' + quote(phaseNow));
  return given === "{}" ? ours + "}" : ours + "," + slice(given, 1);
}

// runAgent is agents.run(task): it starts an agent and waits until it has ended. The wait goes on across parks, and doesn't
// make the cell a required one (Q4).
function runAgent(tools, task) {
  let args;
  try {
    args = spawnArguments(task);
  } catch (error) {
    return refuseArguments(error);
  }
  const error = new NativeError();
  return new NativePromise((resolve, reject) => {
    const call = (ref, text, go) => {
      const take = (answer) => {
        try {
          go(answer);
        } catch (failure) {
          reject(failure);
        }
      };
      send("call", '{"ref":' + ref + ',"args":' + text + "}", take, reject, error);
    };
    call(tools.spawn, args, (spawned) => {
      const id = fieldOf(spawned, "id") + "";
      call(tools.await, '{"ids":[' + quote(id) + '],"awaitResults":true,"background":true}', (answer) => {
        const result = fieldOf(fieldOf(answer, "results"), 0);
        const status = fieldOf(result, "status");
        if (status === "failed" || status === "cancelled") {
          const label = fieldOf(result, "label");
          const message = "agents.run: agent " + (label === undefined ? id : label) + " " + status + ": " +
            fieldOf(result, "error");
          return reject(hostError(error, {
            __proto__: null, message, code: "tool_error", location: "tool", effectStatus: "failed", agent: id,
            text: fieldOf(result, "text"),
          }));
        }
        // A placeholder of a dry run has no result.
        const made = { id };
        for (let i = 0; i < ANSWER_FIELDS.length; i++) {
          const field = ANSWER_FIELDS[i];
          const value = fieldOf(result, field);
          if (value !== undefined || field === "text") setField(made, field, value === undefined ? "" : value);
        }
        resolve(made);
      });
    });
  });
}

const ANSWER_FIELDS = freeze(["label", "text", "truncated", "usage"]);

function installAgents(tools) {
  if (!isObject(tools)) return;
  constant(global, "agents", sealed("agents", [["run", expose("run", 1, (task) => runAgent(tools, task))]]), false);
  constant(global, "phase", expose("phase", 1, beginPhase), false);
  constant(global, "log", expose("log", 0, logValues), false);
}
