package policy

import (
	"slices"
	"strings"

	"github.com/codecell/codecell/schemas"
)

// Names that stand for several tools.
const (
	// AllMCP stands for the tools of all MCP servers.
	AllMCP = "bundle-mcp"
	// AllCore, AllPlugins and AllClient stand for the other sources.
	AllCore    = "group:core"
	AllPlugins = "group:plugins"
	AllClient  = "group:client"
)

// aliases are other names of tools, as people write them in lists.
var aliases = map[string]string{
	"bash":        "exec",
	"shell":       "exec",
	"apply-patch": "apply_patch",
	"mcp":         AllMCP,
}

// resolve gives the name that an entry of a list stands for.
func resolve(entry string) string {
	entry = strings.TrimSpace(entry)
	if name, ok := aliases[strings.ToLower(entry)]; ok {
		return name
	}
	return entry
}

// Includes tells whether a list means the tool, by the names that tools.allow takes. A nil list means none.
func Includes(entries []string, t *schemas.Tool) bool {
	return slices.ContainsFunc(entries, func(e string) bool { return allows(e, t) })
}

// Means tells whether a list of tools to be guarded means the tool, under any name that a deny list would know it by: of two
// readings of an entry the one that guards more is taken. A nil list means none.
func Means(entries []string, t *schemas.Tool) bool {
	names := deniable(t)
	return slices.ContainsFunc(entries, func(e string) bool { return denies(e, t, names) })
}

// allows tells whether an entry of an allow list means the tool. A tool of an MCP server is meant
// only by its server: through the server's name, or as "<server>.<tool>" or "<server>__<tool>". By
// its own name alone it isn't, or a server could slip a tool called "read" under an entry that
// was written for ours.
func allows(entry string, t *schemas.Tool) bool {
	entry = resolve(entry)
	if entry == "*" || isGroup(entry, t) {
		return true
	}
	if t.Source != schemas.SourceMCP {
		return wild(entry, t.Name)
	}
	return wild(entry, t.Owner) || wild(entry, t.Owner+"."+t.Name) || wild(entry, t.Owner+"__"+t.Name)
}

// denies tells whether an entry of a deny list means the tool with these [deniable] names. Here
// every name counts, and upper and lower case are the same: whatever name a list may have been
// written against, the tool is gone.
func denies(entry string, t *schemas.Tool, names []string) bool {
	entry = resolve(entry)
	if isGroup(entry, t) {
		return true
	}
	entry = strings.ToLower(entry)
	return slices.ContainsFunc(names, func(name string) bool { return wild(entry, name) })
}

// deniable are all names under which a tool can be denied, in lower case.
func deniable(t *schemas.Tool) []string {
	name, owner := strings.ToLower(t.Name), strings.ToLower(t.Owner)
	names := []string{name, strings.ToLower(t.ID())}
	if t.Source == schemas.SourceMCP {
		names = append(names, owner, owner+"."+name, owner+"__"+name, "mcp__"+owner+"__"+name)
		if schemas.IsOperation(t.Name) {
			names = append(names, owner+"."+name[1:]) // as programs write it
		}
	}
	return names
}

func isGroup(entry string, t *schemas.Tool) bool {
	switch strings.ToLower(entry) {
	case AllMCP:
		return t.Source == schemas.SourceMCP
	case AllClient:
		return t.Source == schemas.SourceClient
	case AllCore:
		return t.Source == schemas.SourceNative && t.Tier == schemas.TierCore
	case AllPlugins:
		return t.Source == schemas.SourceNative && t.Tier != schemas.TierCore
	default:
		return false
	}
}

// wild matches a whole name against a pattern in which each * stands for any text. Names of tools
// may have any length and come from outside: the work is at most the product of the lengths.
func wild(pattern, name string) bool {
	p, n, star, mark := 0, 0, -1, 0
	for n < len(name) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, mark = p, n
			p++
		case p < len(pattern) && pattern[p] == name[n]:
			p++
			n++
		case star >= 0: // let the last * take one more
			mark++
			p, n = star+1, mark
		default:
			return false
		}
	}
	return strings.Trim(pattern[p:], "*") == ""
}
