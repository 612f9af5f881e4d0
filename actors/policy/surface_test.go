package policy_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/codecell/codecell/actors/policy"
	"github.com/codecell/codecell/schemas"
)

// TestSpec_F1_Activation is the decision in all its parts.
func TestSpec_F1_Activation(t *testing.T) {
	some := []schemas.Tool{native("read")}
	for _, tc := range []struct {
		name, config string
		turn         policy.Turn
		want         policy.Mode
	}{
		{"nothing said", `{}`, policy.Turn{Tools: some}, policy.Direct},
		{"nothing said, preferred model", `{}`, policy.Turn{Tools: some, Preferred: true}, policy.CodeMode},
		{"on", `{tools: {codeMode: true}}`, policy.Turn{Tools: some}, policy.CodeMode},
		{"off for a preferred model", `{tools: {codeMode: false}}`, policy.Turn{Tools: some, Preferred: true}, policy.Direct},
		{"object without enabled", `{tools: {codeMode: {mode: "only"}}}`, policy.Turn{Tools: some, Preferred: true}, policy.Direct},
		{"auto", `{tools: {codeMode: {enabled: "auto"}}}`, policy.Turn{Tools: some}, policy.Direct},
		{"auto, preferred model", `{tools: {codeMode: "auto"}}`, policy.Turn{Tools: some, Preferred: true}, policy.CodeMode},
		{"by model", `{agents: {defaults: {models: {"p/m": {codeMode: true}}}}}`, policy.Turn{Model: "p/m", Tools: some}, policy.CodeMode},
		{"other model", `{agents: {defaults: {models: {"p/m": {codeMode: true}}}}}`, policy.Turn{Model: "p/n", Tools: some}, policy.Direct},
		{"A3: no tools", `{tools: {codeMode: true, toolSearch: true}}`, policy.Turn{}, policy.Direct},
		{"A3: raw call", `{tools: {codeMode: true}}`, policy.Turn{Tools: some, Raw: true}, policy.Direct},
		{"F3: search", `{tools: {toolSearch: true}}`, policy.Turn{Tools: some}, policy.ToolSearch},
		{"F3: code mode wins", `{tools: {codeMode: true, toolSearch: true}}`, policy.Turn{Tools: some}, policy.CodeMode},
		{"F3: search where code mode is off", `{tools: {codeMode: false, toolSearch: {mode: "tools"}}}`, policy.Turn{Tools: some, Preferred: true}, policy.ToolSearch},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := policy.Activation(config(t, tc.config), tc.turn); got != tc.want {
				t.Errorf("%q, want %q", got, tc.want)
			}
		})
	}
	if got := policy.Activation(nil, policy.Turn{Tools: some, Preferred: true}); got != policy.Direct {
		t.Errorf("without a configuration: %q", got)
	}
}

// TestSpec_A3_EmptyAllowList: policy leaves no tools, so nothing engages.
func TestSpec_A3_EmptyAllowList(t *testing.T) {
	for _, text := range []string{`{tools: {codeMode: true, allow: []}}`, `{tools: {codeMode: true, disableTools: true}}`} {
		c := config(t, text)
		tools := policy.Effective(everything, policy.RulesFor(c, schemas.Identity{}))
		if got := policy.Activation(c, policy.Turn{Tools: tools}); got != policy.Direct {
			t.Errorf("%s: %q", text, got)
		}
	}
}

func directOnly(t schemas.Tool) schemas.Tool {
	t.DirectOnly = true
	return t
}

func TestSpec_A2_C1_Split(t *testing.T) {
	for _, tc := range []struct {
		name            string
		tools           []schemas.Tool
		direct, catalog string
	}{
		{"none", nil, "", ""},
		{"ordinary", []schemas.Tool{native("read"), mcp("fs", "read")}, "", "core.read fs.read"},
		{"message stays visible", []schemas.Tool{native("message"), native("read")}, "core.message", "core.message core.read"},
		{"message of a plugin", []schemas.Tool{plugin("chat", "message")}, "chat.message", "chat.message"},
		{"lookalikes of message", []schemas.Tool{mcp("evil", "message"), client("message"), directOnly(mcp("evil", "message"))}, "", "evil.message run.message"},
		{"direct-only", []schemas.Tool{directOnly(native("computer")), directOnly(mcp("cam", "photo"))}, "core.computer cam.photo", ""},
		{"control tools", []schemas.Tool{native("wait"), native("tool_search"), native("tool_describe"), native("tool_call"), native("dispatch_action"), native("tool_search_code")}, "", ""},
		{"control names from elsewhere", []schemas.Tool{mcp("x", "wait"), client("tool_call")}, "", "x.wait run.tool_call"},
		{"X9: the shell tool is callable", []schemas.Tool{native("exec")}, "", "core.exec"},
		{"nothing takes the place of exec", []schemas.Tool{directOnly(mcp("evil", "exec")), directOnly(native("exec")), directOnly(client("wait"))}, "", ""},
		{"one of a name, ours first", []schemas.Tool{directOnly(mcp("evil", "computer")), directOnly(native("computer")), directOnly(client("computer"))}, "core.computer", ""},
		{"one of a name, then the first", []schemas.Tool{directOnly(mcp("a", "photo")), directOnly(mcp("b", "photo"))}, "a.photo", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			direct, catalog := policy.Split(tc.tools)
			if d := cmp.Diff(tc.direct, names(direct)); d != "" {
				t.Errorf("direct: %s", d)
			}
			if d := cmp.Diff(tc.catalog, names(catalog)); d != "" {
				t.Errorf("catalog: %s", d)
			}
			payload := []string{policy.Exec, policy.Wait}
			for _, d := range direct {
				payload = append(payload, d.Name)
			}
			if err := policy.CheckPayload(payload, direct); err != nil {
				t.Errorf("what Split shows isn't a payload: %v", err)
			}
		})
	}
}

func TestSpec_A4_CheckPayload(t *testing.T) {
	direct := []schemas.Tool{native("message"), directOnly(native("computer"))}
	for payload, words := range map[string]string{
		"exec wait":                  "",
		"wait exec message":          "",
		"exec message wait computer": "",
		"":                           `"exec" is missing`,
		"exec":                       `"wait" is missing`,
		"wait":                       `"exec" is missing`,
		"exec exec wait":             `"exec" is in it twice`,
		"exec wait wait":             `"wait" is in it twice`,
		"exec wait message message":  `"message" is in it twice`,
		"exec wait read":             `"read" may not be in it`,
		"Exec wait":                  `"Exec" may not be in it`,
	} {
		err := policy.CheckPayload(strings.Fields(payload), direct)
		if words == "" {
			if err != nil {
				t.Errorf("%q: %v", payload, err)
			}
			continue
		}
		if !errors.Is(err, schemas.RuntimeUnavailable) || !strings.Contains(err.Error(), words) {
			t.Errorf("%q: %v, want %s", payload, err, words)
		}
	}
}
