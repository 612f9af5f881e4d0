package policy

import (
	"errors"
	"slices"

	"github.com/codecell/codecell/schemas"
)

// Rules are what applies to one run. They refer to the configuration that they were made from,
// which must not change. The zero Rules allow nothing.
type Rules struct {
	made    bool
	disable bool
	owner   bool
	deny    []list
	allow   []allowList
	servers map[string]schemas.MCPServer
}

// list is a list of the configuration and the key under which it stands.
type list struct {
	key     string
	entries []string
}

// allowList holds the only tools that there are, plus some.
type allowList struct {
	list
	// also are entries that count besides; base is asked where the list itself isn't given.
	also list
	base func(t *schemas.Tool) bool
}

// RulesFor gathers what applies to an identity: the whole configuration's lists, its agent's, and,
// if it is in a sandbox, those for sandboxes, and if it is restricted, those for background work. A tool must pass
// each of them (F4, A6).
func RulesFor(c *schemas.Config, id schemas.Identity) Rules {
	if c == nil {
		return Rules{}
	}
	agent := c.Agent(id.Agent).Tools
	r := Rules{
		made: true, disable: c.Tools.DisableTools || agent.DisableTools,
		owner: c.IsOwner(id), servers: c.MCPServers,
	}
	r.add("tools", &c.Tools, id.Sandbox != "")
	r.add("the agent's tools", &agent, id.Sandbox != "")
	if id.Sandbox != "" {
		r.addSandbox(c.Tools.Sandbox.Tools, agent.Sandbox.Tools)
	}
	if id.Restricted {
		r.addLists("tools.restricted", c.Tools.Restricted.Allow, c.Tools.Restricted.Deny)
		r.addLists("the agent's tools.restricted", agent.Restricted.Allow, agent.Restricted.Deny)
	}
	return r
}

func (r *Rules) add(where string, t *schemas.ToolsConfig, sandboxed bool) {
	r.addLists(where, t.Allow, t.Deny)
	if sandboxed {
		r.addLists(where+".sandbox.tools", nil, t.Sandbox.Tools.Deny)
	}
}

// addLists adds the lists of one place. Nil for allow means all.
func (r *Rules) addLists(where string, allow, deny []string) {
	if len(deny) > 0 {
		r.deny = append(r.deny, list{where + ".deny", deny})
	}
	if allow != nil {
		r.allow = append(r.allow, allowList{list: list{where + ".allow", allow}})
	}
}

// addSandbox adds the one list for sandboxes: the agent's before the global one. Where neither is
// given it has all tools but those of MCP servers and the core tools that act, which run outside of every sandbox;
// alsoAllow of both places adds to it.
func (r *Rules) addSandbox(global, agent schemas.SandboxTools) {
	entries := agent.Allow
	if entries == nil {
		entries = global.Allow
	}
	a := allowList{
		list: list{"tools.sandbox.tools.allow", entries},
		also: list{"tools.sandbox.tools.alsoAllow", slices.Concat(global.AlsoAllow, agent.AlsoAllow)},
	}
	if entries == nil {
		a.base = func(t *schemas.Tool) bool { return t.Source != schemas.SourceMCP && !acts(t) }
	}
	r.allow = append(r.allow, a)
}

// acts tells whether it is a core tool that changes the machine of its executor, which is outside of every sandbox.
func acts(t *schemas.Tool) bool {
	return t.Source == schemas.SourceNative && t.Tier == schemas.TierCore &&
		slices.Contains([]string{"write", "edit", "exec", "process", "nodes"}, t.Name)
}

// ErrNoRules is the answer of the zero [Rules].
var ErrNoRules = errors.New("no rules were made for this run")

// None tells whether no tool whatever may be used: they are switched off, or a list of the only ones is empty (A3).
func (r Rules) None() bool {
	return !r.made || r.disable || slices.ContainsFunc(r.allow, func(a allowList) bool {
		return len(a.entries) == 0 && len(a.also.entries) == 0 && a.base == nil
	})
}

// Decide tells whether the run may use the tool; nil is yes. The error names the setting that says
// no and nothing of its content. The executor asks it again for every call.
func (r Rules) Decide(t *schemas.Tool) error {
	switch {
	case !r.made || t == nil:
		return ErrNoRules
	case r.disable:
		return errors.New("tools are switched off (disableTools)")
	case t.OwnerOnly && !r.owner:
		return errors.New("only the owner may use it")
	}
	if err := r.server(t); err != nil {
		return err
	}
	if len(r.deny) > 0 {
		names := deniable(t)
		for _, l := range r.deny {
			if slices.ContainsFunc(l.entries, func(e string) bool { return denies(e, t, names) }) {
				return errors.New(l.key + " excludes it")
			}
		}
	}
	for _, l := range r.allow {
		if !l.has(t) {
			return errors.New(l.key + " doesn't include it")
		}
	}
	return nil
}

func (l *allowList) has(t *schemas.Tool) bool {
	return Includes(l.entries, t) || Includes(l.also.entries, t) || l.base != nil && l.base(t)
}

// server applies what the server's entry in mcpServers says of its tools.
func (r Rules) server(t *schemas.Tool) error {
	if t.Source != schemas.SourceMCP {
		return nil
	}
	s, ok := r.servers[t.Owner]
	switch {
	case !ok:
		return nil // an executor somewhere else brought it
	case s.Disabled:
		return errors.New("its server is disabled")
	case slices.Contains(s.ExcludeTools, t.Name):
		return errors.New("its server's excludeTools excludes it")
	case s.IncludeTools != nil && !slices.Contains(s.IncludeTools, t.Name):
		return errors.New("its server's includeTools doesn't include it")
	}
	return nil
}

// Effective gives those of the tools that the rules allow, in the same order.
func Effective(tools []schemas.Tool, r Rules) []schemas.Tool {
	out := make([]schemas.Tool, 0, len(tools))
	for i := range tools {
		if r.Decide(&tools[i]) == nil {
			out = append(out, tools[i])
		}
	}
	return out
}

// Check is the executor's own check of a call, by the identity that the call carries. Callers on
// the bus are only as honest as their permissions: what the host has hidden is refused here too.
func Check(c *schemas.Config) func(call *schemas.Call, t *schemas.Tool) error {
	return func(call *schemas.Call, t *schemas.Tool) error {
		if call == nil {
			return ErrNoRules
		}
		return RulesFor(c, call.Identity).Decide(t)
	}
}
