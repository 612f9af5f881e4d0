package policy_test

import (
	"strings"
	"testing"

	"github.com/codecell/codecell/actors/policy"
	"github.com/codecell/codecell/schemas"
)

func TestSpec_P3_ListsOfToolsToApprove(t *testing.T) {
	for _, tc := range []struct{ name, config, agent, want string }{
		{"nothing said", `{}`, "", ""},
		{"one of everybody's", `{tools: {approve: ["Apply-Patch"]}}`, "", "core.apply_patch"},
		{"by any name", `{tools: {approve: ["secret", "github.create_*"]}}`, "", "core.secret github.create_issue github.secret"},
		{"groups", `{tools: {approve: ["group:plugins", "bundle-mcp"]}}`, "", "mail.send github.create_issue github.secret evil.read"},
		{"all", `{tools: {approve: ["*"]}}`, "", all},
		{"an agent's", `{agents: {entries: {clerk: {tools: {approve: ["read"]}}}}}`, "clerk", "core.read evil.read"},
		{"another agent's", `{agents: {entries: {clerk: {tools: {approve: ["read"]}}}}}`, "", ""},
		{"both", `{tools: {approve: ["exec"]}, agents: {entries: {clerk: {tools: {approve: ["read"]}}}}}`, "clerk", "core.read core.exec evil.read"},
		{"the default agent's", `{agents: {entries: {default: {tools: {approve: ["exec"]}}}}}`, "", "core.exec"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			asks := policy.Approve(config(t, tc.config))
			if tc.config == `{}` {
				if asks != nil {
					t.Error("every call is looked at for nothing")
				}
				return
			}
			var needed []schemas.Tool
			for _, tool := range everything {
				why := asks(&schemas.Call{Identity: schemas.Identity{Agent: tc.agent}}, &tool)
				if why != "" {
					needed = append(needed, tool)
				}
				if why != "" && !strings.HasSuffix(why, "tools.approve includes it") {
					t.Error(why)
				}
			}
			if got := names(needed); got != tc.want {
				t.Errorf("%s\nwant %s", got, tc.want)
			}
		})
	}
}
