package schemas_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/codecell/codecell/schemas"
)

func parse(t *testing.T, text string) *schemas.Config {
	t.Helper()
	c, err := schemas.ParseConfig([]byte(text), "codecell.json5")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestSpec_F1_CodeModeShapes(t *testing.T) {
	for text, want := range map[string]schemas.Switch{
		`{}`:                                                    schemas.SwitchAuto,
		`{tools: {}}`:                                           schemas.SwitchAuto,
		`{tools: {codeMode: true}}`:                             schemas.SwitchOn,
		`{tools: {codeMode: false}}`:                            schemas.SwitchOff,
		`{tools: {codeMode: "auto"}}`:                           schemas.SwitchAuto,
		`{tools: {codeMode: {}}}`:                               schemas.SwitchOff,
		`{tools: {codeMode: {timeoutMs: 1e9}}}`:                 schemas.SwitchOff,
		`{tools: {codeMode: {mode: "only"}}}`:                   schemas.SwitchOff,
		`{tools: {codeMode: {enabled: true}}}`:                  schemas.SwitchOn,
		`{tools: {codeMode: {enabled: false, timeoutMs: 500}}}`: schemas.SwitchOff,
		`{tools: {codeMode: {enabled: "auto"}}}`:                schemas.SwitchAuto,
	} {
		if got := parse(t, text).CodeModeFor("default", "p/m"); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

// TestSpec_F1_Precedence walks the four places: the first that says something wins.
func TestSpec_F1_Precedence(t *testing.T) {
	for _, tc := range []struct {
		agentModel, agent, defaultModel, global string
		want                                    schemas.Switch
	}{
		{"", "", "", "", schemas.SwitchAuto},
		{"", "", "", "true", schemas.SwitchOn},
		{"", "", "false", "true", schemas.SwitchOff},
		{"", "true", "false", "false", schemas.SwitchOn},
		{"false", "true", "true", "true", schemas.SwitchOff},
		{"true", "false", "false", "false", schemas.SwitchOn},
		{"", `"auto"`, "false", "false", schemas.SwitchAuto},
		{"", "{timeoutMs: 500}", "", "true", schemas.SwitchOn},
		{"", "{timeoutMs: 500}", "", "", schemas.SwitchOff},
		{"", "{timeoutMs: 500}", "true", "", schemas.SwitchOn},
	} {
		set := func(key, v string) string {
			if v == "" {
				return "{}"
			}
			return "{" + key + ": " + v + "}"
		}
		text := `{tools: ` + set("codeMode", tc.global) + `, agents: {
			defaults: {models: {"p/m": ` + set("codeMode", tc.defaultModel) + `}},
			entries: {main: {tools: ` + set("codeMode", tc.agent) + `, models: {"p/m": ` + set("codeMode", tc.agentModel) + `}}}}}`
		c := parse(t, text)
		if got := c.CodeModeFor("main", "p/m"); got != tc.want {
			t.Errorf("%+v: %q", tc, got)
		}
	}
	c := parse(t, `{tools: {codeMode: true}, agents: {entries: {quiet: {tools: {codeMode: false}}}}}`)
	if a, b := c.CodeModeFor("nobody", ""), c.CodeModeFor("quiet", "other/model"); a != schemas.SwitchOn || b != schemas.SwitchOff {
		t.Errorf("an unknown agent: %q; an agent with an unknown model: %q", a, b)
	}
}

// TestSpec_F2_Limits is case 31: whatever a limit says, there is no "unlimited".
func TestSpec_F2_Limits(t *testing.T) {
	get := map[string]func(schemas.Limits) int{
		"timeoutMs":           func(l schemas.Limits) int { return int(l.Timeout / time.Millisecond) },
		"memoryLimitBytes":    func(l schemas.Limits) int { return l.MemoryBytes },
		"maxOutputBytes":      func(l schemas.Limits) int { return l.OutputBytes },
		"maxSnapshotBytes":    func(l schemas.Limits) int { return l.SnapshotBytes },
		"maxPendingToolCalls": func(l schemas.Limits) int { return l.PendingCalls },
		"snapshotTtlSeconds":  func(l schemas.Limits) int { return int(l.SnapshotTTL / time.Second) },
		"searchDefaultLimit":  func(l schemas.Limits) int { return l.SearchDefault },
		"maxSearchLimit":      func(l schemas.Limits) int { return l.SearchMax },
	}
	for _, tc := range []struct {
		key            string
		def, low, high int
	}{
		{"timeoutMs", 10000, 100, 60000},
		{"memoryLimitBytes", 67108864, 1048576, 1073741824},
		{"maxOutputBytes", 65536, 1024, 10485760},
		{"maxSnapshotBytes", 10485760, 1024, 268435456},
		{"maxPendingToolCalls", 16, 1, 128},
		{"snapshotTtlSeconds", 900, 1, 86400},
		{"searchDefaultLimit", 8, 1, 50},
		{"maxSearchLimit", 50, 1, 50},
	} {
		for value, want := range map[string]int{
			"":                       tc.def,
			"0":                      tc.def,
			"-0":                     tc.def,
			"-5":                     tc.def,
			"NaN":                    tc.def,
			"-Infinity":              tc.def,
			"Infinity":               tc.high,
			"1e300":                  tc.high,
			"1e400":                  tc.high,
			"-1e400":                 tc.def,
			"0.0001":                 tc.low,
			"0x7fffffff":             tc.high,
			"0x7fffffffffffffffffff": tc.high,
		} {
			field := ""
			if value != "" {
				field = tc.key + ": " + value
			}
			for where, text := range map[string]string{
				"global": `{tools: {codeMode: {` + field + `}}}`,
				"agent":  `{tools: {codeMode: true}, agents: {entries: {default: {tools: {codeMode: {` + field + `}}}}}}`,
			} {
				if got := get[tc.key](parse(t, text).LimitsFor("")); got != want {
					t.Errorf("%s: %s %s: %d, want %d", where, tc.key, value, got, want)
				}
			}
		}
	}
}

func TestSpec_F2_SearchDefaultFollowsTheMaximum(t *testing.T) {
	l := parse(t, `{tools: {codeMode: {maxSearchLimit: 3}}}`).LimitsFor("")
	if l.SearchMax != 3 || l.SearchDefault != 3 {
		t.Errorf("%+v", l)
	}
	l = parse(t, `{tools: {codeMode: {maxSearchLimit: 10, searchDefaultLimit: 30}}}`).LimitsFor("")
	if l.SearchDefault != 10 {
		t.Errorf("%+v", l)
	}
}

func TestSpec_F2_AgentOverridesGlobal(t *testing.T) {
	c := parse(t, `{tools: {codeMode: {timeoutMs: 5000, maxOutputBytes: 2048}}, agents: {entries: {fast: {tools: {codeMode: {timeoutMs: 200, parking: "live"}}}}}}`)
	if l := c.LimitsFor("fast"); l.Timeout != 200*time.Millisecond || l.OutputBytes != 2048 {
		t.Errorf("fast: %+v", l)
	}
	if l := c.LimitsFor("other"); l.Timeout != 5*time.Second {
		t.Errorf("other: %+v", l)
	}
	if a, b := c.ParkingFor("fast"), c.ParkingFor("other"); a != schemas.ParkLive || b != schemas.ParkSnapshot {
		t.Errorf("parking: %q, %q", a, b)
	}
	var zero schemas.Config
	if l := zero.LimitsFor("any"); l != schemas.DefaultLimits() {
		t.Errorf("an empty configuration: %+v", l)
	}
	if n := zero.SlotLimit(); n != 64 {
		t.Errorf("slots: %d", n)
	}
}

func TestSpec_F3_ToolSearch(t *testing.T) {
	def := schemas.ToolSearch{Mode: "code", CodeTimeout: 10 * time.Second, SearchDefault: 8, SearchMax: 20}
	on := def
	on.Enabled = true
	directory := on
	directory.Mode, directory.SearchMax, directory.SearchDefault = "directory", 3, 3
	for text, want := range map[string]schemas.ToolSearch{
		`{}`:                                      def,
		`{tools: {toolSearch: false}}`:            def,
		`{tools: {toolSearch: true}}`:             on,
		`{tools: {toolSearch: {}}}`:               on,
		`{tools: {toolSearch: {enabled: false}}}`: def,
		`{tools: {toolSearch: {mode: "directory", maxSearchLimit: 3}}}`:  directory,
		`{tools: {toolSearch: {maxSearchLimit: NaN, codeTimeoutMs: 0}}}`: on,
	} {
		if d := cmp.Diff(want, parse(t, text).ToolSearchFor("")); d != "" {
			t.Errorf("%s:\n%s", text, d)
		}
	}
	c := parse(t, `{tools: {toolSearch: true}, agents: {entries: {a: {tools: {toolSearch: false}}}}}`)
	if c.ToolSearchFor("a").Enabled {
		t.Error("an agent can't turn it off")
	}
}

func TestSpec_F6_OtherKeys(t *testing.T) {
	c := parse(t, `
		// A whole file, with everything that JSON5 allows.
		{
		  '$schema': "x",
		  contract: "2026-07", slots: 8, /* few */
		  bus: {listen: "127.0.0.1:4222", storeDir: "/var/lib/cc"},
		  workspace: {root: "/srv", tools: {exec: false}},
		  tools: {allow: ["read", "mcp*",], deny: [], disableTools: false, owners: ["ada"], sandbox: {tools: {alsoAllow: ["bundle-mcp"]}}},
		}`)
	if c.Contract != schemas.Contract202607 || c.SlotLimit() != 8 || !c.Bus.Embedded() || c.Bus.Listen == "" {
		t.Errorf("%+v", c)
	}
	if c.Workspace.Enabled("exec", true) || !c.Workspace.Enabled("read", true) || c.Workspace.Enabled("write", false) {
		t.Errorf("workspace: %+v", c.Workspace)
	}
	if d := cmp.Diff([]string{"read", "mcp*"}, c.Tools.Allow); d != "" || c.Tools.Deny == nil {
		t.Errorf("allow: %s", d)
	}
	if !c.IsOwner(schemas.Identity{Sender: "ada"}) || c.IsOwner(schemas.Identity{Sender: "eve"}) || c.IsOwner(schemas.Identity{}) {
		t.Error("owners")
	}
	var zero schemas.Config
	if !zero.IsOwner(schemas.Identity{}) || zero.IsOwner(schemas.Identity{Sender: "eve"}) {
		t.Error("without owners, only a run that names no sender is the owner's")
	}
}

func TestConfigProblems(t *testing.T) {
	for _, tc := range []struct {
		name, text string
		want       []string // "field | part of the message" in order
	}{
		{"empty", "", []string{" | 1:1"}},
		{"syntax", "{\n  tools: {\n    allow: [1 2]\n  }\n}", []string{" | x.json5:3:15: invalid character '2' after array element"}},
		{"unterminated", "{tools: {", []string{" | unexpected end of the file"}},
		{"non-ASCII key", "{tööls: 1}", []string{" | x.json5:1:3: unexpected character 'ö'"}},
		{"not an object", "[]", []string{" | expected an object"}},
		{"unknown key", "{tool: {}}", []string{`tool | x.json5:1:2: tool: there is no such key: did you mean "tools"?`}},
		{"misspelt deep key", "{\n tools: {codeMode: {enabled: true,\n  timeoutMS: 5}}}", []string{`tools.codeMode.timeoutMS | x.json5:3:3: tools.codeMode.timeoutMS: there is no such key: did you mean "timeoutMs"?`}},
		{"wrong type", `{tools: {codeMode: {timeoutMs: "10s"}}}`, []string{"tools.codeMode.timeoutMs | expected a number, got a string"}},
		{"wrong short form", `{tools: {codeMode: "on"}}`, []string{`tools.codeMode | expected true or false or an object, or "auto"`}},
		{"wrong kind", `{tools: {codeMode: 1}}`, []string{"tools.codeMode | expected true or false, a string or an object, got a number"}},
		{"wrong mode", `{tools: {codeMode: {mode: "both"}}}`, []string{`tools.codeMode.mode | expected "only"`}},
		{"contract", `{contract: "2026-7"}`, []string{`contract | expected one of "current", "2026-07": did you mean "2026-07"?`}},
		{"twice", `{slots: 1, slots: 2}`, []string{"slots | x.json5:1:12: slots: this key stands there twice"}},
		{"retired", `{tools: {codeMode: {language: "typescript"}}, mcp: {servers: {}}}`, []string{"tools.codeMode.language | retired", "mcp | mcpServers"}},
		{"agents list", `{agents: {list: []}}`, []string{"agents.list | entries"}},
		{"wildcard model", `{agents: {defaults: {models: {"openai/*": {codeMode: true}, "plain": {}}}}}`, []string{
			`agents.defaults.models["openai/*"] | wildcards`, `agents.defaults.models.plain | provider/model`}},
		{"model switch is a boolean", `{agents: {defaults: {models: {"a/b": {codeMode: "auto"}}}}}`, []string{`agents.defaults.models["a/b"].codeMode | expected true or false, got a string`}},
		{"all at once", "{\n slots: 'x',\n tools: {allow: 'read', deny: [1]},\n extra: 1\n}", []string{
			"slots | x.json5:2:2", "tools.allow | x.json5:3:10", "tools.deny[0] | x.json5:3:32", "extra | x.json5:4:2"}},
		{"no command", `{mcpServers: {fs: {args: []}}}`, []string{"mcpServers.fs | expected command"}},
		{"both", `{mcpServers: {fs: {command: "x", url: "http://h"}}}`, []string{"mcpServers.fs | not both"}},
		{"misspelt", `{mcpServers: {fs: {command: "x", arg: []}}}`, []string{`mcpServers.fs.arg | did you mean "args"?`}},
		{"our own service", `{services: ["weather", "core"]}`, []string{`services[1] | codecell's own name`}},
		{"no service's name", `{services: ["a b"]}`, []string{"services[0] | expected"}},
		{"sse", `{mcpServers: {fs: {type: "sse", url: "http://h/sse"}}}`, []string{"mcpServers.fs.type | retired"}},
		{"scheme", `{mcpServers: {fs: {url: "ftp://h"}}}`, []string{"mcpServers.fs.url | http://"}},
		{"type against shape", `{mcpServers: {a: {type: "http", command: "x"}, b: {type: "stdio", url: "http://h"}}}`, []string{"mcpServers.a.type | url", "mcpServers.b.type | command"}},
		{"place of a renamed key", "{mcpServers: {\n a: {serverUrl: 'ftp://h'}}}", []string{"mcpServers.a.url | x.json5:2:2"}},
		{"said twice", `{mcpServers: {a: {url: "http://h", httpUrl: "http://h"}}}`, []string{`mcpServers.a.httpUrl | "url": remove one`}},
		{"no host", `{mcpServers: {a: {url: "https:///x"}, b: {url: "http://[::1"}}}`, []string{"mcpServers.a.url | with a host", "mcpServers.b.url | this isn't one"}},
		{"blank command", `{mcpServers: {a: {command: " "}}}`, []string{"mcpServers.a.command | name of a program"}},
		{"blank name", `{mcpServers: {" ": {command: "x"}}}`, []string{`mcpServers[" "] | server name`}},
		{"unknown type", `{mcpServers: {a: {command: "x", type: "pipe"}, b: {command: "x", type: 5}}}`, []string{"mcpServers.a.type | stdio", "mcpServers.b.type | expected a string"}},
		{"bus secrets", `{bus: {token: "${CODECELL_NOT_SET}"}}`, []string{"bus.token | CODECELL_NOT_SET isn't set"}},
		{"no-break space", "{\n\u00a0slots: 1}", []string{" | x.json5:2:1: unexpected character '\\u00a0'"}},
		{"comments", "{ /* a */ // b\n tools /* c */ : /* d } */ {\n\t x: 1 } }", []string{"tools.x | x.json5:3:3"}},
		{"env file", `{mcpServers: {fs: {command: "x", envFile: ".env"}}}`, []string{"mcpServers.fs.envFile | env files"}},
		{"number as command", `{mcpServers: {fs: {command: 5}}}`, []string{"mcpServers.fs.command | expected a string, got a number"}},
		{"unset variable", `{mcpServers: {fs: {command: "x", env: {K: "${CODECELL_NOT_SET}"}}}}`, []string{"mcpServers.fs.env.K | CODECELL_NOT_SET isn't set"}},
		{"vs code file", `{servers: {}, inputs: []}`, []string{"servers | mcpServers", "inputs | ${VAR}"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := schemas.Check([]byte(tc.text), "x.json5")
			if len(got) != len(tc.want) {
				t.Fatalf("%d problems, want %d: %v", len(got), len(tc.want), got)
			}
			for i, e := range got {
				field, message, _ := strings.Cut(tc.want[i], " | ")
				if e.Field != field || !strings.Contains(e.Message, message) || e.Code != schemas.InvalidInput {
					t.Errorf("got %q %q, want %q", e.Field, e.Message, tc.want[i])
				}
			}
		})
	}
}

func TestParseConfigSaysHowManyMore(t *testing.T) {
	_, err := schemas.ParseConfig([]byte(`{a: 1, b: 2}`), "x.json5")
	var e *schemas.Error
	if !errors.As(err, &e) || !errors.Is(err, schemas.InvalidInput) || !strings.Contains(e.Message, "and 1 more") {
		t.Errorf("%v", err)
	}
}

func TestLoadConfig(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "codecell.json5")
	if _, err := schemas.LoadConfig(path); !errors.Is(err, schemas.InvalidInput) {
		t.Errorf("no file: %v", err)
	}
	text := "\ufeff{workspace: {root: '.'}, bus: {storeDir: 'data', credentials: '~/me.creds'}, mcpServers: {fs: {command: 'x', cwd: 'sub'}, other: {command: 'y'}}}"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	t.Setenv("HOME", home)
	c, err := schemas.LoadConfig(path)
	if err != nil {
		t.Fatal(err)
	}
	got := []string{c.Workspace.Root, c.Bus.StoreDir, c.Bus.Credentials, c.MCPServers["fs"].Cwd, c.MCPServers["other"].Cwd}
	want := []string{dir, filepath.Join(dir, "data"), filepath.Join(home, "me.creds"), filepath.Join(dir, "sub"), ""}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if err := os.WriteFile(path, make([]byte, schemas.MaxConfigBytes+5), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := schemas.LoadConfig(path); !errors.Is(err, schemas.InvalidInput) || !strings.Contains(err.Error(), "at most") {
		t.Errorf("a huge file: %v", err)
	}
}

func FuzzParseConfig(f *testing.F) {
	f.Add([]byte("{tools: {codeMode: {enabled: true, timeoutMs: NaN}}, // x\n mcpServers: {'a b': {command: \"x\", env: {A: 1}}}}"))
	f.Add([]byte("{a: [1, {b: 'x\\'y'}], \"\\u0061\": 2, /* } */ }"))
	f.Add([]byte("{agents: {entries: {x: {tools: {allow: ['*']}, models: {'a/b': {}}}}}}"))
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := schemas.ParseConfig(b, "x")
		if (c == nil) == (err == nil) {
			t.Fatalf("config %v with error %v", c, err)
		}
		if problems := schemas.Check(b, "x"); (len(problems) == 0) != (err == nil) {
			t.Fatalf("Check says %v, ParseConfig %v", problems, err)
		}
	})
}

func TestSpec_F6_Workspace(t *testing.T) {
	c := parse(t, `{workspace: {root: "/srv", tools: {write: true, exec: true}, env: ["GOPATH", "_x1"]}}`)
	if !c.Workspace.Enabled("exec", false) || c.Workspace.Enabled("edit", false) || len(c.Workspace.Env) != 2 {
		t.Errorf("workspace: %+v", c.Workspace)
	}
	for text, want := range map[string]string{
		`{workspace: {tools: {wirte: true}}}`: "workspace.tools.wirte",
		`{workspace: {tools: {exec: "yes"}}}`: "workspace.tools.exec",
		`{workspace: {env: ["A=b"]}}`:         "workspace.env[0]",
		`{workspace: {env: "PATH"}}`:          "workspace.env",
	} {
		if _, err := schemas.ParseConfig([]byte(text), "c"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}
