package policy_test

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/codecell/codecell/actors/policy"
	"github.com/codecell/codecell/schemas"
)

func native(name string) schemas.Tool {
	return schemas.Tool{Source: schemas.SourceNative, Tier: schemas.TierCore, Owner: "core", Name: name}
}

func plugin(owner, name string) schemas.Tool {
	return schemas.Tool{Source: schemas.SourceNative, Tier: schemas.TierPlugin, Owner: owner, Name: name}
}

func mcp(server, name string) schemas.Tool {
	return schemas.Tool{Source: schemas.SourceMCP, Tier: schemas.TierMCP, Owner: server, Name: name}
}

func client(name string) schemas.Tool {
	return schemas.Tool{Source: schemas.SourceClient, Tier: schemas.TierClient, Owner: "run", Name: name}
}

// everything is one tool of each kind, and lookalikes.
var everything = []schemas.Tool{
	native("read"), native("exec"), native("apply_patch"), native("secret"), plugin("mail", "send"),
	mcp("github", "create_issue"), mcp("github", "secret"), mcp("evil", "read"), client("look"),
}

func config(t testing.TB, text string) *schemas.Config {
	t.Helper()
	c, err := schemas.ParseConfig([]byte(text), "codecell.json5")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// names lists tools as "owner.name".
func names(tools []schemas.Tool) string {
	list := make([]string, len(tools))
	for i, t := range tools {
		list[i] = t.Owner + "." + t.Name
	}
	return strings.Join(list, " ")
}

const all = "core.read core.exec core.apply_patch core.secret mail.send github.create_issue github.secret evil.read run.look"

func TestSpec_F4_AllowAndDeny(t *testing.T) {
	for _, tc := range []struct{ name, config, want string }{
		{"nothing said", `{}`, all},
		{"everything", `{tools: {allow: ["*"]}}`, all},
		{"nothing", `{tools: {allow: []}}`, ""},
		{"switched off", `{tools: {allow: ["*"], disableTools: true}}`, ""},
		{"one", `{tools: {allow: ["read"]}}`, "core.read"},
		{"a client's", `{tools: {allow: ["look"]}}`, "run.look"},
		{"wildcard", `{tools: {allow: ["re*", "*x*c"]}}`, "core.read core.exec"},
		{"case counts in allow", `{tools: {allow: ["Read"]}}`, ""},
		{"server", `{tools: {allow: ["github"]}}`, "github.create_issue github.secret"},
		{"server's tool", `{tools: {allow: ["github.create_issue"]}}`, "github.create_issue"},
		{"server's tool, other spelling", `{tools: {allow: ["github__create*"]}}`, "github.create_issue"},
		{"all servers", `{tools: {allow: ["bundle-mcp"]}}`, "github.create_issue github.secret evil.read"},
		{"groups", `{tools: {allow: ["group:plugins", "group:client"]}}`, "mail.send run.look"},
		{"core", `{tools: {allow: ["group:core"]}}`, "core.read core.exec core.apply_patch core.secret"},
		{"alias", `{tools: {allow: [" Bash ", "apply-patch"]}}`, "core.exec core.apply_patch"},
		{"deny", `{tools: {deny: ["secret"]}}`, "core.read core.exec core.apply_patch mail.send github.create_issue evil.read run.look"},
		{"deny wins", `{tools: {allow: ["read", "exec"], deny: ["read"]}}`, "core.exec"},
		{"deny in any case", `{tools: {deny: ["SECRET", "Read", "GitHub"]}}`, "core.exec core.apply_patch mail.send run.look"},
		{"deny wildcard", `{tools: {deny: ["*e*"]}}`, ""},
		{"deny alias", `{tools: {deny: ["bash", "mcp"]}}`, "core.read core.apply_patch core.secret mail.send run.look"},
		{"deny server's tool", `{tools: {deny: ["github.secret", "mcp__evil__read"]}}`, "core.read core.exec core.apply_patch core.secret mail.send github.create_issue run.look"},
		{"deny all", `{tools: {deny: ["*"]}}`, ""},
		{"agent narrows", `{tools: {allow: ["read", "exec"]}, agents: {entries: {default: {tools: {allow: ["exec", "send"]}}}}}`, "core.exec"},
		{"agent denies", `{tools: {allow: ["read", "exec"]}, agents: {entries: {default: {tools: {deny: ["exec"]}}}}}`, "core.read"},
		{"agent can't widen", `{tools: {deny: ["exec"]}, agents: {entries: {default: {tools: {allow: ["exec"]}}}}}`, ""},
		{"agent switched off", `{agents: {entries: {default: {tools: {disableTools: true}}}}}`, ""},
		{"other agent", `{agents: {entries: {other: {tools: {allow: []}}}}}`, all},
		{"sandbox lists don't apply", `{tools: {sandbox: {tools: {allow: [], deny: ["*"]}}}}`, all},
		{"disabled server", `{mcpServers: {github: {command: "x", disabled: true}}}`, "core.read core.exec core.apply_patch core.secret mail.send evil.read run.look"},
		{"server's lists", `{mcpServers: {github: {command: "x", excludeTools: ["secret"]}, evil: {command: "x", includeTools: []}}}`, "core.read core.exec core.apply_patch core.secret mail.send github.create_issue run.look"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := policy.Effective(everything, policy.RulesFor(config(t, tc.config), schemas.Identity{}))
			if d := cmp.Diff(tc.want, names(got)); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestSpec_F4_Sandbox(t *testing.T) {
	const ours = "core.read core.apply_patch core.secret mail.send run.look"
	for _, tc := range []struct{ name, config, want string }{
		{"servers stay outside", `{}`, ours},
		{"unless asked for", `{tools: {sandbox: {tools: {alsoAllow: ["bundle-mcp", "exec"]}}}}`, all},
		{"one server", `{tools: {sandbox: {tools: {alsoAllow: ["github"]}}}}`, "core.read core.apply_patch core.secret mail.send github.create_issue github.secret run.look"},
		{"own list", `{tools: {sandbox: {tools: {allow: ["read"], alsoAllow: ["github.secret"]}}}}`, "core.read github.secret"},
		{"empty list", `{tools: {sandbox: {tools: {allow: []}}}}`, ""},
		{"deny wins", `{tools: {sandbox: {tools: {alsoAllow: ["bundle-mcp"], deny: ["evil", "exec", "secret"]}}}}`, "core.read core.apply_patch mail.send github.create_issue run.look"},
		{"can't widen", `{tools: {allow: ["read"], sandbox: {tools: {alsoAllow: ["bundle-mcp"]}}}}`, "core.read"},
		{"agent's list first", `{tools: {sandbox: {tools: {allow: ["read"]}}}, agents: {entries: {default: {tools: {sandbox: {tools: {allow: ["exec"], alsoAllow: ["look"], deny: ["look"]}}}}}}}`, "core.exec"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := policy.Effective(everything, policy.RulesFor(config(t, tc.config), schemas.Identity{Sandbox: "box"}))
			if d := cmp.Diff(tc.want, names(got)); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestSpec_F4_OwnerOnly(t *testing.T) {
	restart := native("restart")
	restart.OwnerOnly = true
	c := config(t, `{tools: {owners: ["ada"]}}`)
	for sender, want := range map[string]bool{"ada": true, "eve": false, "": false, "ADA": false} {
		if got := policy.RulesFor(c, schemas.Identity{Sender: sender}).Decide(&restart) == nil; got != want {
			t.Errorf("sender %q: %v", sender, got)
		}
	}
	if err := policy.RulesFor(config(t, `{}`), schemas.Identity{Sender: "eve"}).Decide(&restart); err == nil {
		t.Error("without owners, a named sender is the owner")
	}
}

// TestCase52_DeniedToolsAreGone: the catalog is made of what Effective leaves, so search, describe,
// call and suggestions can't find the rest; and the executor refuses by itself.
func TestCase52_DeniedToolsAreGone(t *testing.T) {
	for _, text := range []string{
		`{tools: {deny: ["secret"]}}`, `{tools: {deny: ["se*t"]}}`, `{tools: {deny: ["*"]}}`, `{tools: {allow: ["read"]}}`,
		`{agents: {entries: {main: {tools: {allow: ["read"]}}}}}`, `{tools: {deny: ["openclaw:core:secret"]}}`,
	} {
		c := config(t, text)
		id := schemas.Identity{Agent: "main"}
		for _, tool := range policy.Effective(everything, policy.RulesFor(c, id)) {
			if tool.Owner == "core" && tool.Name == "secret" {
				t.Errorf("%s: secret is there", text)
			}
		}
		secret := native("secret")
		if err := policy.Check(c)(&schemas.Call{Identity: id}, &secret); err == nil || strings.Contains(err.Error(), "read") {
			t.Errorf("%s: the executor says %v", text, err)
		}
	}
}

func TestFailsClosed(t *testing.T) {
	read := native("read")
	for name, err := range map[string]error{
		"zero rules":       policy.Rules{}.Decide(&read),
		"no configuration": policy.RulesFor(nil, schemas.Identity{}).Decide(&read),
		"no tool":          policy.RulesFor(&schemas.Config{}, schemas.Identity{}).Decide(nil),
		"no call":          policy.Check(&schemas.Config{})(nil, &read),
		"no config to ask": policy.Check(nil)(&schemas.Call{}, &read),
	} {
		if !errors.Is(err, policy.ErrNoRules) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := policy.Check(&schemas.Config{})(&schemas.Call{}, &read); err != nil {
		t.Errorf("an empty configuration: %v", err)
	}
	if got := policy.Effective(everything, policy.Rules{}); len(got) != 0 {
		t.Errorf("zero rules leave %v", got)
	}
}

// TestSpec_A1_OrderIsKept: policy only leaves out.
func TestSpec_A1_OrderIsKept(t *testing.T) {
	before := append([]schemas.Tool(nil), everything...)
	got := policy.Effective(everything, policy.RulesFor(&schemas.Config{}, schemas.Identity{}))
	if d := cmp.Diff(before, got); d != "" {
		t.Error(d)
	}
	got[0].Name = "changed"
	if d := cmp.Diff(before, everything); d != "" {
		t.Errorf("the given tools changed: %s", d)
	}
}

// TestPatternsAreLinear: a pattern of many stars against a long name of a hostile server.
func TestPatternsAreLinear(t *testing.T) {
	c := config(t, `{tools: {deny: ["`+strings.Repeat("*a", 50)+`b"]}}`)
	tool := mcp("evil", strings.Repeat("a", 100_000))
	start := time.Now()
	if err := policy.RulesFor(c, schemas.Identity{}).Decide(&tool); err != nil {
		t.Error(err)
	}
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("took %v", took)
	}
}

// TestListsOnlyNarrow draws configurations: one more entry of a deny list, and a list where there
// was none, never let a tool in.
func TestListsOnlyNarrow(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	entries := []string{"*", "read", "exec", "bash", "re*", "*e*", "github", "github.*", "evil", "bundle-mcp", "group:core", "group:client", "send", "SECRET", "look", ""}
	draw := func(most int) []string {
		list := make([]string, rnd.IntN(most))
		for i := range list {
			list[i] = entries[rnd.IntN(len(entries))]
		}
		return list
	}
	for range 2000 {
		var c schemas.Config
		var agent schemas.AgentConfig
		for _, list := range []*[]string{&c.Tools.Allow, &c.Tools.Deny, &agent.Tools.Allow, &agent.Tools.Deny, &c.Tools.Sandbox.Tools.Allow, &c.Tools.Sandbox.Tools.AlsoAllow, &c.Tools.Sandbox.Tools.Deny} {
			if rnd.IntN(3) == 0 {
				*list = draw(4)
			}
		}
		c.Agents.Entries = map[string]schemas.AgentConfig{"default": agent}
		id := schemas.Identity{Sandbox: []string{"", "box"}[rnd.IntN(2)]}
		before := policy.Effective(everything, policy.RulesFor(&c, id))

		narrower := c
		if narrower.Tools.Allow == nil && rnd.IntN(2) == 0 {
			narrower.Tools.Allow = draw(4)
		} else {
			narrower.Tools.Deny = append(slices.Clone(c.Tools.Deny), entries[rnd.IntN(len(entries))])
		}
		for _, tool := range policy.Effective(everything, policy.RulesFor(&narrower, id)) {
			if !slices.ContainsFunc(before, func(b schemas.Tool) bool { return b.ID() == tool.ID() }) {
				t.Fatalf("%s came in: %+v, then %+v", tool.ID(), c.Tools, narrower.Tools)
			}
		}
	}
}

func BenchmarkEffective(b *testing.B) {
	tools := make([]schemas.Tool, 1000)
	for i := range tools {
		tools[i] = mcp("server", "tool_"+strconv.Itoa(i))
	}
	c := config(b, `{tools: {allow: ["read", "server"], deny: ["*delete*", "bash", "other.*", "tool_99*"]}}`)
	b.ReportAllocs()
	for b.Loop() {
		if got := policy.Effective(tools, policy.RulesFor(c, schemas.Identity{})); len(got) != 989 {
			b.Fatal(len(got))
		}
	}
}

func FuzzWildcard(f *testing.F) {
	f.Add("a*b", "axxb")
	f.Add("**", "")
	f.Add("*a*", "bab")
	f.Fuzz(func(t *testing.T, pattern, name string) {
		pattern, name = strings.Join(strings.Fields(pattern), ""), strings.Join(strings.Fields(name), "")
		if len(pattern) > 12 || len(name) > 24 || strings.ContainsAny(pattern, ":-") {
			return // groups and aliases have their own tests
		}
		switch strings.ToLower(pattern) {
		case "bash", "shell", "mcp":
			return
		}
		c := &schemas.Config{Tools: schemas.ToolsConfig{Allow: []string{pattern}}}
		tool := native(name)
		got := policy.RulesFor(c, schemas.Identity{}).Decide(&tool) == nil
		if want := naive(pattern, name); got != want {
			t.Errorf("%q against %q: %v, want %v", pattern, name, got, want)
		}
	})
}

// naive is the meaning of a pattern, spelt out.
func naive(pattern, name string) bool {
	if pattern == "" {
		return name == ""
	}
	if pattern[0] == '*' {
		return naive(pattern[1:], name) || name != "" && naive(pattern, name[1:])
	}
	return name != "" && pattern[0] == name[0] && naive(pattern[1:], name[1:])
}

// What a server can be asked besides its tools is allowed with the server, and denied under the name that
// programs write as well as under its own.
func TestSpec_M3_F4_OperationsOfServers(t *testing.T) {
	both := schemas.ServerInfo{Resources: true, Prompts: true}
	offered := slices.Concat(both.Operations("docs"), []schemas.Tool{mcp("docs", "find"), native("read")})
	for _, tc := range []struct{ name, config, want string }{
		{"nothing said", `{}`, "docs.$resources.list docs.$resources.read docs.$prompts.list docs.$prompts.get docs.find core.read"},
		{"server", `{tools: {allow: ["docs"]}}`, "docs.$resources.list docs.$resources.read docs.$prompts.list docs.$prompts.get docs.find"},
		{"all servers denied", `{tools: {deny: ["bundle-mcp"]}}`, "core.read"},
		{"only a tool of the server", `{tools: {allow: ["docs.find"]}}`, "docs.find"},
		{"only ours of that name", `{tools: {allow: ["read", "resources.read", "$resources.read"]}}`, "core.read"},
		{"one operation", `{tools: {allow: ["docs.$resources.read"]}}`, "docs.$resources.read"},
		{"denied as programs write it", `{tools: {deny: ["Docs.resources.*", "docs.prompts.get"]}}`, "docs.$prompts.list docs.find core.read"},
		{"denied by its own name", `{tools: {deny: ["$resources.read", "mcp__docs__$prompts.*"]}}`, "docs.$resources.list docs.find core.read"},
		{"disabled server", `{mcpServers: {docs: {command: "x", disabled: true}}}`, "core.read"},
		{"server's list", `{mcpServers: {docs: {command: "x", includeTools: ["find"]}}}`, "docs.find core.read"},
		{"server's list with operations", `{mcpServers: {docs: {command: "x", includeTools: ["$prompts.list", "$prompts.get"], excludeTools: ["$prompts.get"]}}}`, "docs.$prompts.list core.read"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := policy.Effective(offered, policy.RulesFor(config(t, tc.config), schemas.Identity{}))
			if d := cmp.Diff(tc.want, names(got)); d != "" {
				t.Error(d)
			}
		})
	}
	hidden := both.Operations("docs")[1]
	check := policy.Check(config(t, `{tools: {deny: ["docs.resources.read"]}}`))
	if err := check(&schemas.Call{}, &hidden); err == nil {
		t.Error("an executor runs what its host hides")
	}
}
