package policy

import (
	"slices"

	"github.com/codecell/codecell/schemas"
)

// Approve says why a call needs somebody's approval by a configuration, empty if it needs none: tools.approve of all or
// of the call's agent includes its tool, under any name that a deny list would know it by (P3). The function is nil if
// no tool needs one.
func Approve(c *schemas.Config) func(call *schemas.Call, t *schemas.Tool) string {
	listed := len(c.Tools.Approve) > 0
	for _, agent := range c.Agents.Entries {
		listed = listed || len(agent.Tools.Approve) > 0
	}
	if !listed {
		return nil
	}
	return func(call *schemas.Call, t *schemas.Tool) string {
		names := deniable(t)
		for _, l := range []list{
			{"tools.approve", c.Tools.Approve}, {"the agent's tools.approve", c.Agent(call.Identity.Agent).Tools.Approve},
		} {
			if slices.ContainsFunc(l.entries, func(e string) bool { return denies(e, t, names) }) {
				return l.key + " includes it"
			}
		}
		return ""
	}
}
