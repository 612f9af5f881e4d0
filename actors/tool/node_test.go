package tool

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/codecell/codecell/bus"
	"github.com/codecell/codecell/bus/bustest"
	"github.com/codecell/codecell/schemas"
)

// machine is a node of a test, beside an executor with the nodes tool.
type machine struct {
	t        *testing.T
	node     *Node
	key      *bus.NodeKey
	book     *bus.NodeBook
	caller   *caller
	standing chan bus.NodeStanding
}

// newMachine starts a node of this configuration and pairs it.
func newMachine(t *testing.T, config schemas.NodeConfig, pipeline Pipeline) *machine {
	t.Helper()
	server := bustest.Server(t)
	conn := bustest.Connect(t, server)
	start(t, conn, Options{Providers: []Provider{Nodes(conn)}, Pipeline: pipeline})
	m := &machine{t: t, book: bus.NewNodeBook(conn), caller: newCaller(t, conn), standing: make(chan bus.NodeStanding, 10)}
	var err error
	if m.key, err = bus.LoadNodeKey(filepath.Join(t.TempDir(), "node.key")); err != nil {
		t.Fatal(err)
	}
	config.Name = "mac"
	m.node, err = StartNode(t.Context(), bustest.Connect(t, server), NodeOptions{
		Key: m.key, Config: config, Version: "1", Logger: quiet, Standing: func(s bus.NodeStanding) { m.standing <- s },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.node.Close(soon(t)); err != nil {
			t.Error(err)
		}
	})
	if _, err := m.book.Approve(t.Context(), (<-m.standing).Code, "ada"); err != nil {
		t.Fatal(err)
	}
	if s := <-m.standing; s.State != bus.NodePaired {
		t.Fatalf("%+v", s)
	}
	return m
}

// send calls the nodes tool.
func (m *machine) send(args map[string]any) *flight {
	m.t.Helper()
	text, err := json.Marshal(args)
	if err != nil {
		m.t.Fatal(err)
	}
	return m.caller.send(NodesOwner, "nodes", string(text))
}

// invoke calls a command.
func (m *machine) invoke(command string, params any) schemas.Answer {
	m.t.Helper()
	args := map[string]any{"action": "invoke", "node": "mac", "command": command}
	if params != nil {
		args["params"] = params
	}
	return m.send(args).end()
}

// returns wants a value of a command.
func (m *machine) returns(command string, params any, want string) {
	m.t.Helper()
	if a := m.invoke(command, params); a.State != schemas.AnswerDone || string(a.Value) != `{"result":`+want+`}` {
		m.t.Errorf("%s %v: %s %+v, want %s", command, params, a.Value, a.Err, want)
	}
}

// fails wants a failure of a call.
func (m *machine) fails(a schemas.Answer, effect schemas.Outcome, text string) {
	m.t.Helper()
	if a.State != schemas.AnswerFailed || a.Err.Effect != effect || !strings.Contains(a.Err.Message, text) {
		m.t.Errorf("%s %+v, want an effect of %s and %q", a.Value, a.Err, effect, text)
	}
}

func object(properties string) schemas.JSON {
	return schemas.JSON(`{"type":"object","properties":{` + properties + `},"additionalProperties":false}`)
}

func TestSpec_N1_NodesAreListedAndDescribed(t *testing.T) {
	m := newMachine(t, schemas.NodeConfig{
		Folders:  map[string]string{"docs": t.TempDir()},
		Commands: map[string]schemas.NodeCommandConfig{"say": {Command: "echo", Description: "Says it.", Params: object(`"word":{"type":"string"}`)}},
	}, Pipeline{})
	a := m.send(map[string]any{"action": "list"}).end()
	list := decode[struct {
		Nodes []struct {
			ID, Name, Platform string
			Connected          bool
			Commands           []string
		}
	}](t, a.Value)
	if len(list.Nodes) != 1 || list.Nodes[0].ID != m.key.ID() || list.Nodes[0].Name != "mac" || !list.Nodes[0].Connected ||
		!strings.Contains(list.Nodes[0].Platform, "/") || fmt.Sprint(list.Nodes[0].Commands) != "[device.status fs.listDir say]" {
		t.Errorf("%s", a.Value)
	}
	for _, who := range []string{"mac", m.key.ID()} {
		a = m.send(map[string]any{"action": "describe", "node": who}).end()
		one := decode[struct{ Node node }](t, a.Value)
		if one.Node.ID != m.key.ID() || len(one.Node.Commands) != 3 || one.Node.Commands[2].Description != "Says it." ||
			string(one.Node.Commands[2].Params) != `{"additionalProperties":false,"properties":{"word":{"type":"string"}},"type":"object"}` &&
				string(one.Node.Commands[2].Params) != string(object(`"word":{"type":"string"}`)) {
			t.Errorf("%s", a.Value)
		}
	}
	m.fails(m.send(map[string]any{"action": "describe"}).end(), schemas.NotStarted, "node: describe needs it")
	m.fails(m.send(map[string]any{"action": "describe", "node": "tv"}).end(), schemas.NotStarted, `there is no node "tv"`)
	m.fails(m.send(map[string]any{"action": "exec", "node": "mac"}).end(), schemas.NotStarted, "action")
	m.fails(m.send(map[string]any{"action": "invoke", "node": "mac"}).end(), schemas.NotStarted, "command: invoke needs it")
	m.fails(m.invoke("system.run", map[string]any{"command": []string{"id"}}), schemas.NotStarted, `no command "system.run"`)
}

func TestSpec_N1_DeviceStatus(t *testing.T) {
	m := newMachine(t, schemas.NodeConfig{}, Pipeline{})
	var got struct{ Result nodeStatus }
	value := m.invoke("device.status", nil).Value
	known := json.NewDecoder(bytes.NewReader(value))
	known.DisallowUnknownFields() // and so nothing that names the machine
	if err := known.Decode(&got); err != nil || got.Result.Platform != runtime.GOOS || got.Result.Arch != runtime.GOARCH ||
		got.Result.CPUs < 1 || got.Result.Version != "1" {
		t.Errorf("%s %v", value, err)
	}
	m.fails(m.invoke("device.status", map[string]any{"x": 1}), schemas.NotStarted, "x")
	m.fails(m.invoke("fs.listDir", nil), schemas.NotStarted, "no command") // no folder is shared
}

// Only what is below the shared folders can be listed, whatever the path and whatever links are there.
func TestSpec_N1_ListDirIsConfined(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	for _, name := range []string{"sub/a", "b"} {
		if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte("xyz"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{"out": outside, "up": ".."} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Skip(err)
		}
	}
	m := newMachine(t, schemas.NodeConfig{Folders: map[string]string{"docs": dir, "more": outside}}, Pipeline{})
	list := func(path string) schemas.Answer {
		t.Helper()
		return m.invoke("fs.listDir", map[string]any{"path": path})
	}
	for _, root := range []string{"", "/", "."} {
		if a := list(root); string(a.Value) != `{"result":{"path":"","entries":[{"name":"docs","type":"folder"},{"name":"more","type":"folder"}]}}` {
			t.Errorf("%q: %s %v", root, a.Value, a.Err)
		}
	}
	m.returns("fs.listDir", map[string]any{"path": "docs/sub"}, `{"path":"docs/sub","entries":[{"name":"a","type":"file","bytes":3}]}`)
	m.returns("fs.listDir", map[string]any{"path": "docs", "limit": 1}, `{"path":"docs","entries":[{"name":"b","type":"file","bytes":3}],"next":1}`)
	m.returns("fs.listDir", map[string]any{"path": "/docs/", "offset": 3}, `{"path":"/docs/","entries":[{"name":"up","type":"link"}]}`)
	for path, text := range map[string]string{
		"etc": "in no folder", "..": "in no folder", "/etc/passwd": "in no folder", "docs/..": "leads out", "docs/../more": "leads out", "docs/sub/../..": "leads out",
		"docs/out": "leads out", "docs/up": "leads out", "docs//etc": "absolute", "docs/b": "no folder", "docs/none": "doesn't exist", "docs/\x00": "NUL",
	} {
		a := list(path)
		m.fails(a, schemas.Failed, text)
		if a.Err != nil && (strings.Contains(a.Err.Message, dir) || strings.Contains(a.Err.Message, outside)) {
			t.Errorf("%q tells where the folder is: %s", path, a.Err.Message)
		}
	}
}

// Programs run without a shell, with the parameters as they are, and in bounds.
func TestSpec_N1_ConfiguredPrograms(t *testing.T) {
	short := 300.0
	t.Setenv("NODE_TEST_SECRET", "s3cret")
	t.Setenv("NODE_TEST_SHARED", "shared")
	m := newMachine(t, schemas.NodeConfig{
		Env: []string{"NODE_TEST_SHARED"},
		Commands: map[string]schemas.NodeCommandConfig{
			"say": {Command: "printf", Args: []string{"%s|", "{{word}}", "n={{n}}", "--", "{{rest}}"},
				Params: object(`"word":{"type":"string","default":"hi"},"n":{"type":"integer"},"rest":{"type":"string"}`)},
			"fail":  {Command: "sh", Args: []string{"-c", "echo no >&2; exit 3"}},
			"none":  {Command: "codecell-no-such-program"},
			"slow":  {Command: "sleep", Args: []string{"30"}, TimeoutMs: &short},
			"flood": {Command: "sh", Args: []string{"-c", "yes | head -c 3000000"}},
			"env":   {Command: "env"},
		},
	}, Pipeline{})
	type result struct {
		Result struct {
			Status, Output, FailureKind string
			ExitCode                    *int
			Truncated, TimedOut         bool
			Bytes                       int64
		}
	}
	run := func(command string, params any) result {
		t.Helper()
		a := m.invoke(command, params)
		if a.Err != nil {
			t.Fatalf("%s: %+v", command, a.Err)
		}
		return decode[result](t, a.Value)
	}
	for want, params := range map[string]map[string]any{
		"hi|n=|--|":               {},
		"$(id); `id`|n=-5|--|-x|": {"word": "$(id); `id`", "n": -5, "rest": "-x"}, // behind --
		"é\n*|n=|--|a b|":         {"word": "é\n*", "rest": "a b"},
	} {
		if got := run("say", params); got.Result.Output != want || got.Result.ExitCode == nil || *got.Result.ExitCode != 0 {
			t.Errorf("%v: %+v, want %q", params, got, want)
		}
	}
	m.fails(m.invoke("say", map[string]any{"word": "-v"}), schemas.NotStarted, "params.word: expected a text that doesn't begin")
	m.fails(m.invoke("say", map[string]any{"word": "a\x00b"}), schemas.NotStarted, "NUL")
	m.fails(m.invoke("say", map[string]any{"wrod": "x"}), schemas.NotStarted, "wrod")
	m.fails(m.invoke("say", map[string]any{"n": 1.5}), schemas.NotStarted, "n: expected an integer")
	if got := run("fail", nil); got.Result.Status != "completed" || *got.Result.ExitCode != 3 || got.Result.Output != "no\n" {
		t.Errorf("%+v", got)
	}
	m.fails(m.invoke("none", nil), schemas.NotStarted, "could not be started")
	if got := run("slow", nil); got.Result.Status != "failed" || !got.Result.TimedOut || got.Result.FailureKind != "timeout" {
		t.Errorf("%+v", got)
	}
	if got := run("flood", nil); !got.Result.Truncated || got.Result.Bytes != 3000000 || len(got.Result.Output) > 60<<10 {
		t.Errorf("%d of %d bytes", len(got.Result.Output), got.Result.Bytes)
	}
	if got := run("env", nil).Result.Output; strings.Contains(got, "s3cret") || !strings.Contains(got, "NODE_TEST_SHARED=shared") {
		t.Errorf("the environment: %s", got)
	}
}

// started waits until a program of the node has written the file.
func started(t *testing.T, path string) {
	t.Helper()
	for range 1200 {
		if _, err := os.Stat(path); err == nil {
			return
		}
		time.Sleep(25 * time.Millisecond) // real: a program of the system starts
	}
	t.Fatal("the program didn't start")
}

// What runs ends with the call, with its time, and with the pairing.
func TestSpec_N2_ProgramsEndWithTheirCall(t *testing.T) {
	dir := t.TempDir()
	mark := func(name string) string { return filepath.Join(dir, name) }
	m := newMachine(t, schemas.NodeConfig{Commands: map[string]schemas.NodeCommandConfig{
		"hold": {Command: "sh", Args: []string{"-c", `echo $$ > "$0.tmp"; mv "$0.tmp" "$0"; sleep 60; touch "$0.late"`, "{{mark}}"}, Params: object(`"mark":{"type":"string"}`)},
	}}, Pipeline{})
	hold := func(name string, timeoutMs int) *flight {
		t.Helper()
		f := m.send(map[string]any{"action": "invoke", "node": "mac", "command": "hold", "params": map[string]any{"mark": mark(name)}, "timeoutMs": timeoutMs})
		started(t, mark(name))
		return f
	}
	ended := func(name string) {
		t.Helper()
		pid, err := os.ReadFile(mark(name))
		if err != nil {
			t.Fatal(err)
		}
		for range 1200 {
			if _, err := os.Stat("/proc/" + strings.TrimSpace(string(pid))); err != nil {
				return
			}
			time.Sleep(25 * time.Millisecond) // real: a program of the system ends
		}
		t.Errorf("%s goes on", name)
	}
	m.fails(hold("timeout", 3000).end(), schemas.Unknown, "has not answered within 3s") // by then it has started
	ended("timeout")

	hold("stopped", 60_000).stop()
	ended("stopped")

	revoked := hold("revoked", 60_000)
	if err := m.book.Revoke(t.Context(), m.key.ID(), "ada"); err != nil {
		t.Fatal(err)
	}
	a := revoked.end()
	if a.State != schemas.AnswerFailed || !strings.Contains(a.Err.Message, "isn't paired any more") {
		t.Errorf("%+v", a.Err)
	}
	ended("revoked")
	m.fails(m.invoke("hold", nil), schemas.NotStarted, `there is no node "mac"`)
}

// A call passes the pipeline like any other: policy, and approvals.
func TestSpec_N2_PolicyBeforeTheNode(t *testing.T) {
	m := newMachine(t, schemas.NodeConfig{}, Pipeline{
		Policy: func(call *schemas.Call, _ *schemas.Tool) error {
			if strings.Contains(string(call.Args), "device.status") {
				return fmt.Errorf("not this one")
			}
			return nil
		},
	})
	if a := m.send(map[string]any{"action": "list"}).end(); a.State != schemas.AnswerDone {
		t.Errorf("%+v", a.Err)
	}
	m.fails(m.invoke("device.status", nil), schemas.NotStarted, "blocked by policy: not this one")
}
