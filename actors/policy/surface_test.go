package policy_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/codecell/codecell/actors/policy"
	"github.com/codecell/codecell/schemas"
)

// TestSpec_F1_Activation is the decision in all its parts.
func TestSpec_F1_Activation(t *testing.T) {
	for _, tc := range []struct {
		name, config string
		turn         policy.Turn
		want         schemas.Mode
	}{
		{"nothing said", `{}`, policy.Turn{}, schemas.ModeDirect},
		{"nothing said, preferred model", `{}`, policy.Turn{Preferred: true}, schemas.ModeCode},
		{"on", `{tools: {codeMode: true}}`, policy.Turn{}, schemas.ModeCode},
		{"off for a preferred model", `{tools: {codeMode: false}}`, policy.Turn{Preferred: true}, schemas.ModeDirect},
		{"object without enabled", `{tools: {codeMode: {mode: "only"}}}`, policy.Turn{Preferred: true}, schemas.ModeDirect},
		{"auto", `{tools: {codeMode: {enabled: "auto"}}}`, policy.Turn{}, schemas.ModeDirect},
		{"auto, preferred model", `{tools: {codeMode: "auto"}}`, policy.Turn{Preferred: true}, schemas.ModeCode},
		{"by model", `{agents: {defaults: {models: {"p/m": {codeMode: true}}}}}`, policy.Turn{Model: "p/m"}, schemas.ModeCode},
		{"other model", `{agents: {defaults: {models: {"p/m": {codeMode: true}}}}}`, policy.Turn{Model: "p/n"}, schemas.ModeDirect},
		{"A3: raw call", `{tools: {codeMode: true}}`, policy.Turn{Raw: true}, schemas.ModeDirect},
		{"F3: search", `{tools: {toolSearch: true}}`, policy.Turn{}, schemas.ModeSearch},
		{"F3: code mode wins", `{tools: {codeMode: true, toolSearch: true}}`, policy.Turn{}, schemas.ModeCode},
		{"F3: search where code mode is off", `{tools: {codeMode: false, toolSearch: {mode: "tools"}}}`, policy.Turn{Preferred: true}, schemas.ModeSearch},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := policy.Activation(config(t, tc.config), tc.turn); got != tc.want {
				t.Errorf("%q, want %q", got, tc.want)
			}
		})
	}
	if got := policy.Activation(nil, policy.Turn{Preferred: true}); got != schemas.ModeDirect {
		t.Errorf("without a configuration: %q", got)
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
			direct, catalog := policy.Split(tc.tools, schemas.ModeCode)
			if d := cmp.Diff(tc.direct, names(direct)); d != "" {
				t.Errorf("direct: %s", d)
			}
			if d := cmp.Diff(tc.catalog, names(catalog)); d != "" {
				t.Errorf("catalog: %s", d)
			}
		})
	}
}
