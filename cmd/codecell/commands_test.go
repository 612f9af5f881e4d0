package main

import (
	"strings"
	"testing"
)

// TestSpec_V2_Usage: each mistake on the command line has one clear error that says what to do, and exit code 2; with
// --json it is the one object.
func TestSpec_V2_Usage(t *testing.T) {
	dead := "nats://127.0.0.1:1"
	source := program(t, "return 1")
	bad := write(t, "bad.json5", `{ tools: { codeMode: { enabled: "yes", timeoutMS: 5 } }, slots: "many" }`)
	nowhere := write(t, "nowhere.json5", `{ workspace: { root: "no-such-folder" } }`)
	for _, c := range []struct {
		args string
		want []string
	}{
		{"nonsense", []string{`unknown command "nonsense"`}},
		{"exex", []string{"exec"}},
		{"exec", []string{"FILE", "codecell exec --help"}},
		{"exec a b", []string{"got 2"}},
		{"exec --nonsense", []string{"--nonsense", "codecell exec --help"}},
		{"exec no-such.js", []string{"no-such.js"}},
		{"exec " + source + " --bus " + dead, []string{dead, "codecell up --listen"}},
		{"exec " + source + " --bus nonsense://x", []string{"nonsense"}},
		{"exec " + source + " --config " + bad, []string{"tools.codeMode.enabled", `"timeoutMs"`, "slots"}},
		{"exec " + source + " --config no-such.json5", []string{"no-such.json5"}},
		{"exec " + source + " --config " + nowhere, []string{"workspace.root", "no-such-folder"}},
		{"exec " + source + " --agent nobody", []string{"--agent nobody", "agents.entries"}},
		{"mcp --config " + bad, []string{"tools.codeMode.enabled"}},
		{"mcp --bus " + dead, []string{dead}},
		{"up --bus nats://127.0.0.1:1", []string{"127.0.0.1:1"}},
		{"up --bus nats://127.0.0.1:1 --listen 127.0.0.1:0", []string{"--listen"}},
		{"up --listen nonsense", []string{"nonsense"}},
		{"up extra", []string{"extra"}},
		{"executor", []string{"codecell up --listen"}},
		{"cancel x", []string{"codecell up --listen"}},
		{"slots", []string{"codecell up --listen"}},
		{"tail", []string{"codecell up --listen"}},
		{"tail cell.exploded", []string{"cell.exploded", "cell.ended"}},
		{"search", []string{"arg"}},
		{"search x --limit 0", []string{"--limit"}},
		{"config check no-such.json5", []string{"no-such.json5"}},
		{"config nonsense", []string{"nonsense"}},
		{"version extra", []string{"extra"}},
	} {
		t.Run(c.args, func(t *testing.T) {
			t.Parallel()
			args := strings.Fields(c.args)
			got := cli{}.do(t, args...).want(t, exitUsage, c.want...)
			if got.out != "" {
				t.Errorf("errors are for standard error, but this was on standard output: %s", got.out)
			}
			for line := range strings.SplitSeq(strings.TrimSpace(got.err), "\n") {
				if !strings.HasPrefix(line, "codecell: ") && line != "" && line != "Did you mean this?" && !strings.HasPrefix(line, "\t") {
					t.Errorf("not a clear line: %q", line)
				}
			}
			if args[0] == "mcp" {
				return // its standard output is the protocol's
			}
			object := cli{}.do(t, append(args, "--json")...).want(t, exitUsage).object(t)
			e, _ := object["error"].(map[string]any)
			code, _ := e["code"].(string)
			if text, _ := e["message"].(string); len(object) != 1 || code == "" || !strings.Contains(text, c.want[0]) {
				t.Errorf("%v", object)
			}
		})
	}
}

func TestCommands_Version(t *testing.T) {
	cli{}.do(t, "version").want(t, exitCompleted, "codecell "+version)
	cli{}.do(t, "--version").want(t, exitCompleted, version)
	if object := (cli{}).do(t, "version", "--json").want(t, exitCompleted).object(t); object["version"] != version {
		t.Errorf("%v", object)
	}
}

func TestCommands_Completion(t *testing.T) {
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		cli{}.do(t, "completion", shell).want(t, exitCompleted, "codecell")
	}
	got := cli{}.do(t, "__complete", "tail", "cell.").want(t, exitCompleted, "cell.ended", "cell.parked")
	if strings.Contains(got.out, "run.opened") {
		t.Errorf("offers what doesn't fit: %s", got.out)
	}
	cli{}.do(t, "__complete", "exec", "--aw").want(t, exitCompleted, "--await-results")
}

// TestSpec_V2_Help: every command says what it does, and every flag what it is for.
func TestSpec_V2_Help(t *testing.T) {
	root := (&app{}).command()
	for _, c := range append(root.Commands(), root) {
		if c.Short == "" || strings.HasSuffix(c.Short, ".") {
			t.Errorf("%s: Short %q", c.Name(), c.Short)
		}
		if c.Name() == "help" || c.Name() == "completion" {
			continue
		}
		help := cli{}.do(t, c.Name(), "--help")
		if c == root {
			help = cli{}.do(t, "--help")
		}
		help.want(t, exitCompleted, "Usage:", "--json")
		for line := range strings.SplitSeq(help.out, "\n") {
			if len(line) > 160 {
				t.Errorf("%s: a line of %d characters: %s", c.Name(), len(line), line)
			}
		}
	}
}

func TestSpec_F_ConfigCheck(t *testing.T) {
	good := write(t, "good.json5", `{ /* fine */ slots: 3, }`)
	bad := write(t, "bad.json5", "{ slots: 'many',\n nope: 1 }")
	cli{}.do(t, "config", "check", good).want(t, exitCompleted, "good.json5: ok")
	cli{env: map[string]string{"CODECELL_CONFIG": good}}.do(t, "config", "check").want(t, exitCompleted, "ok")
	cli{}.do(t, "config", "check", "--config", bad).want(t, exitUsage, "bad.json5:1:", "slots", "bad.json5:2:", "nope")
	object := cli{}.do(t, "config", "check", "--json", bad).want(t, exitUsage).object(t)
	if problems, _ := object["problems"].([]any); object["ok"] != false || len(problems) != 2 {
		t.Errorf("%v", object)
	}
	object = cli{}.do(t, "config", "check", "--json", good).want(t, exitCompleted).object(t)
	if problems, _ := object["problems"].([]any); object["ok"] != true || problems == nil || len(problems) != 0 {
		t.Errorf("%v", object)
	}
	t.Chdir(t.TempDir())
	cli{}.do(t, "config", "check").want(t, exitUsage, configHere)
	cli{}.do(t, "tools").want(t, exitCompleted, "no tools")
}
