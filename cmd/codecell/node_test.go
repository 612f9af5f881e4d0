package main

import (
	"encoding/json"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// nodeOf starts a node with a key of its own.
func nodeOf(t *testing.T, url, name, config string, more ...string) *running {
	t.Helper()
	return cli{}.start(t, append([]string{"node", "--name", name, "--bus", url, "--key", filepath.Join(t.TempDir(), "node.key"),
		"--config", write(t, "node.json5", config)}, more...)...)
}

var (
	pairingCode = regexp.MustCompile(`[a-z2-7]{4}-[a-z2-7]{4}`)
	nodeID      = regexp.MustCompile(`U[A-Z2-7]{55}`)
)

const askNodes = `return (await nodes.list()).map((n) => [n.name, n.connected, n.commands])`

// A node is there for programs from its approval to its revocation, which ends it.
func TestSpec_N2_NodeCommands(t *testing.T) {
	_, url := up(t, "--config", write(t, "host.json5", `{ nodes: { enabled: true } }`))
	cli{}.do(t, "nodes", "ls", "--bus", url).want(t, exitCompleted, "there are no nodes")
	node := nodeOf(t, url, "mac", `{ node: { commands: { say: { command: "echo", args: ["{{word}}"], params: { properties: { word: { type: "string" } } } } } } }`)
	line := node.line("ready")
	code, id := pairingCode.FindString(line), nodeID.FindString(line)
	if code == "" || id == "" || !strings.Contains(line, "node mac") || !strings.Contains(line, "codecell nodes approve "+code) {
		t.Fatal(line)
	}
	cli{}.do(t, "nodes", "ls", "--bus", url).want(t, exitCompleted, id, "mac", "pending, connected", "device.status say")
	cli{}.do(t, "exec", "--bus", url, program(t, askNodes)).want(t, exitCompleted, "[]")
	cli{}.do(t, "nodes", "approve", "aaaa-aaaa", "--bus", url).want(t, exitFailed, "no node shows this pairing code")
	cli{}.do(t, "nodes", "approve", "nonsense", "--bus", url).want(t, exitFailed, "no node shows")
	cli{}.do(t, "nodes", "approve", "!", "--bus", url).want(t, exitFailed, "expected the pairing code")
	cli{}.do(t, "nodes", "approve", code, "--bus", url, "--by", "ada").want(t, exitCompleted, "paired mac "+id)
	node.line("paired")
	cli{}.do(t, "nodes", "approve", code, "--bus", url).want(t, exitFailed, "no node shows this pairing code")
	got := cli{}.do(t, "exec", "--json", "--bus", url, program(t, askNodes)).want(t, exitCompleted).object(t)
	if value, err := json.Marshal(got["value"]); err != nil || string(value) != `[["mac",true,["device.status","say"]]]` {
		t.Errorf("%s %v", value, err)
	}
	cli{}.do(t, "exec", "--bus", url, program(t, `const n = await nodes.get("mac"); return [(await n.invoke("say", { word: "hi" })).output, typeof n.listDir, typeof n.exec]`)).
		want(t, exitCompleted, `"hi\n"`, `"undefined"`)
	cli{}.do(t, "nodes", "revoke", "mac", "--bus", url).want(t, exitFailed, "no node with the id")
	if got := (cli{}).do(t, "nodes", "revoke", id, "--json", "--bus", url).want(t, exitCompleted).object(t); got["state"] != "revoked" || got["node"] != id {
		t.Errorf("%v", got)
	}
	<-node.ended
	if node.code != exitFailed {
		t.Errorf("exit code %d", node.code)
	}
	node.errs.await(t, "this node was revoked")
	cli{}.do(t, "exec", "--bus", url, program(t, askNodes)).want(t, exitCompleted, "[]")
	cli{}.do(t, "nodes", "ls", "--bus", url).want(t, exitCompleted, id, "revoked, not connected")
	cli{}.do(t, "nodes", "rm", id, "--bus", url).want(t, exitCompleted, "forgotten "+id)
	cli{}.do(t, "nodes", "rm", id, "--bus", url).want(t, exitFailed, "no node with the id")
}

func TestSpec_N2_NodeAsJSON(t *testing.T) {
	_, url := up(t)
	node := nodeOf(t, url, "mac", `{}`, "--json")
	var ready struct {
		Ready                          bool
		Node, Name, State, PairingCode string
		Expires                        string
	}
	if err := json.Unmarshal([]byte(node.line("ready")), &ready); err != nil || !ready.Ready || ready.State != "pending" || !pairingCode.MatchString(ready.PairingCode) {
		t.Fatalf("%+v %v", ready, err)
	}
	got := cli{}.do(t, "nodes", "approve", ready.PairingCode, "--json", "--bus", url).want(t, exitCompleted).object(t)
	if got["node"] != ready.Node || got["name"] != "mac" || got["state"] != "paired" {
		t.Errorf("%v", got)
	}
	node.errs.await(t, "paired")
	list := cli{}.do(t, "nodes", "ls", "--json", "--bus", url).want(t, exitCompleted).object(t)
	if text, err := json.Marshal(list); err != nil || !strings.Contains(string(text), `"state":"paired"`) || !strings.Contains(string(text), `"name":"device.status"`) {
		t.Errorf("%s %v", text, err)
	}
	if code := node.stop(); code != exitCompleted {
		t.Errorf("exit code %d: %s", code, node.errs)
	}
	// Where a host hasn't got them on, there are none.
	cli{}.do(t, "exec", "--bus", url, program(t, "return await nodes.list()")).want(t, exitCompleted, `[]`)
}

func TestSpec_N1_NodeUsage(t *testing.T) {
	_, url := up(t)
	for config, want := range map[string]string{
		`{}`:                        "needs a name",
		`{ node: { name: "a b" } }`: "node.name: expected 1 to 64",
		`{ node: { folders: { d: "none-here" }, name: "a" } }`:                        "node.folders.d must be a folder",
		`{ node: { commands: { "system.run": { command: "sh" } } } }`:                 "system.run isn't offered by nodes",
		`{ node: { commands: { "device.status": { command: "sh" } } } }`:              "every node has a command of this name",
		`{ node: { commands: { "a b": { command: "sh" } } } }`:                        "names of letters",
		`{ node: { commands: { a: { args: ["x"] } } } }`:                              "command",
		`{ node: { commands: { a: { command: "x", args: ["{{b}}"] } } } }`:            `there is no parameter "b"`,
		`{ node: { commands: { a: { command: "x", params: { type: "string" } } } } }`: "JSON Schema of an object",
		`{ node: { commands: { a: { command: "x", params: { properties: 5 } } } } }`:  "JSON Schema",
		`{ node: { folders: { "../x": "y" } } }`:                                      "expected a name of letters",
		`{ nodes: { enabled: "yes" } }`:                                               "nodes.enabled",
	} {
		cli{}.do(t, "node", "--bus", url, "--key", filepath.Join(t.TempDir(), "key"), "--config", write(t, "node.json5", config)).want(t, exitUsage, want)
	}
	cli{}.do(t, "node", "--name", "mac").want(t, exitUsage, "codecell up --listen")
	cli{}.do(t, "nodes", "ls").want(t, exitUsage, "codecell up --listen")
}
