package main

import (
	"encoding/json"
	"net"
	"slices"
	"strings"
	"testing"

	"github.com/codecell/codecell/schemas"
)

// TestSpec_V2_Up: one line says that the host is ready and where; it ends well on a signal.
func TestSpec_V2_Up(t *testing.T) {
	server := newToolServer(t)
	for name, flag := range map[string]string{"words": "", "json": "--json"} {
		t.Run(name, func(t *testing.T) {
			args := []string{"up", "--listen", "127.0.0.1:0", "--config", configOf(t, map[string]string{"lab": server.url, "gone": "http://127.0.0.1:1"})}
			if flag != "" {
				args = append(args, flag)
			}
			host := cli{}.start(t, args...)
			line := host.line("ready")
			host.errs.await(t, `MCP server "gone" can't be used`)
			if flag != "" {
				var ready struct {
					Ready     bool
					Host, Bus string
					Problems  []string
				}
				if err := json.Unmarshal([]byte(line), &ready); err != nil || !ready.Ready || ready.Host == "" || len(ready.Problems) != 1 {
					t.Errorf("%v: %s", err, line)
				}
			}
			_, rest, _ := strings.Cut(line, "nats://")
			url := "nats://" + strings.FieldsFunc(rest, func(r rune) bool { return r == '"' || r == ' ' })[0]
			cli{}.do(t, "exec", "--bus", url, program(t, `return (await MCP.lab.echo({ text: "hi" })).content[0].text`)).want(t, exitCompleted, `"hi"`)
			cli{}.until(t, prints("host ", "slots 0/"), "slots", "--bus", url).want(t, exitCompleted)
			if code := host.stop(); code != exitCompleted {
				t.Errorf("exit code %d: %s", code, host.errs)
			}
			if _, more := <-host.lines; more {
				t.Error("more than one line on standard output")
			}
			cli{}.do(t, "slots", "--bus", url).want(t, exitUsage)
		})
	}
}

// TestSpec_S8_UpDrains: on a signal a running program may end; what waits is aborted with the host.
func TestSpec_S8_UpDrains(t *testing.T) {
	server := newToolServer(t)
	host, url := up(t, "--config", configOf(t, map[string]string{"lab": server.url}))
	cell := cli{}.start(t, "exec", "--json", "--bus", url, program(t, `return (await MCP.lab.hold({ text: "last" })).content[0].text`))
	next(t, server.held)
	tail := cli{}.start(t, "tail", "--bus", url, "--json", "host")
	tail.errs.await(t, "listening")
	host.cancel()
	// The host is draining when it takes no new programs.
	for {
		got := cli{}.do(t, "exec", "--bus", url, "--session", "late", program(t, `return 1`))
		if got.code != exitCompleted {
			got.want(t, got.code, "shutting down")
			break
		}
	}
	close(server.open)
	if line := cell.line("status"); !strings.Contains(line, `"value":"last"`) {
		t.Errorf("the running program: %s", line)
	}
	if code := host.wait(); code != exitCompleted {
		t.Errorf("exit code %d: %s", code, host.errs)
	}
	tail.line("host.stopped")
}

func TestUp_AddressInUse(t *testing.T) {
	taken, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	cli{}.do(t, "up", "--listen", taken.Addr().String()).want(t, exitUsage, taken.Addr().String())
}

// A host on the bus of others says which one it is, without what logs in there.
func TestSpec_V2_UpOnAnotherBus(t *testing.T) {
	_, url := up(t)
	at := strings.Replace(url, "nats://", "nats://me:hidden@", 1)
	host := cli{}.start(t, "up", "--bus", at)
	if line := host.line("ready"); !strings.Contains(line, "bus at ") || !strings.Contains(line, url[len("nats://"):]) || strings.Contains(line, "hidden") {
		t.Error(line)
	}
	if code := host.stop(); code != exitCompleted {
		t.Errorf("exit code %d: %s", code, host.errs)
	}
}

// TestSpec_U2_Executor: tools of another process are there while it is, and calls in flight end before it does.
func TestSpec_U2_Executor(t *testing.T) {
	server := newToolServer(t)
	_, url := up(t)
	config := configOf(t, map[string]string{"lab": server.url, "other": server.url})
	executor := cli{}.start(t, "executor", "--bus", url, "--config", config, "--only", "lab", "--json")
	var ready struct{ Owners []string }
	if err := json.Unmarshal([]byte(executor.line("ready")), &ready); err != nil || !slices.Equal(ready.Owners, []string{"lab"}) {
		t.Errorf("%v: %v", err, ready)
	}
	out := cli{}.until(t, prints("MCP.lab.echo", "Says it again."), "tools", "--bus", url).want(t, exitCompleted).out // once the host has heard of it
	if strings.Contains(out, "MCP.other") {
		t.Errorf("more than was asked for: %s", out)
	}
	cell := cli{}.start(t, "exec", "--json", "--bus", url, program(t, `return (await MCP.lab.hold({ text: "x" })).content[0].text`))
	next(t, server.held)
	executor.cancel()
	close(server.open)
	if line := cell.line("status"); !strings.Contains(line, `"value":"x"`) {
		t.Errorf("the call in flight: %s", line)
	}
	if code := executor.wait(); code != exitCompleted {
		t.Errorf("exit code %d: %s", code, executor.errs)
	}
	cli{}.until(t, prints("no tools"), "tools", "--bus", url).want(t, exitCompleted)
}

func TestExecutor_Refuses(t *testing.T) {
	_, url := up(t)
	config := configOf(t, map[string]string{"lab": "http://127.0.0.1:1"})
	cli{}.do(t, "executor", "--bus", url).want(t, exitUsage, "there are no tools to run")
	cli{}.do(t, "executor", "--bus", url, "--config", config, "--only", "nobody").want(t, exitUsage, "--only nobody")
}

func TestExecutor_Restrict(t *testing.T) {
	config := func() *schemas.Config {
		return &schemas.Config{
			MCPServers: map[string]schemas.MCPServer{"a": {}, "b": {}},
			Workspace:  schemas.WorkspaceConfig{Root: "/data"},
		}
	}
	for _, c := range []struct {
		only    string
		servers int
		root    string
	}{{"", 2, "/data"}, {"a", 1, ""}, {"core", 0, "/data"}, {"a,b,core", 2, "/data"}} {
		got := config()
		if err := restrict(got, strings.FieldsFunc(c.only, func(r rune) bool { return r == ',' })); err != nil {
			t.Error(err)
		}
		if len(got.MCPServers) != c.servers || got.Workspace.Root != c.root {
			t.Errorf("--only %s: %v, root %q", c.only, got.MCPServers, got.Workspace.Root)
		}
	}
}
