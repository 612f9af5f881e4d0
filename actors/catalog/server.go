package catalog

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/codecell/codecell/schemas"
)

// groupServers gives the catalog's MCP servers by name, each with its tools in catalog order.
func groupServers(entries []*Entry, options *Options) []*server {
	byName := make(map[string]*server)
	get := func(name string) *server {
		s := byName[name]
		if s == nil {
			s = &server{name: name, info: options.Servers[name]}
			byName[name] = s
		}
		return s
	}
	for _, e := range entries {
		if e.Source == schemas.SourceMCP {
			e.server = get(e.Owner)
			e.server.tools = append(e.server.tools, e)
		}
	}
	for name, info := range options.Servers {
		if unfitName("name", name) != "" {
			continue
		}
		for _, t := range info.Operations(name) {
			if options.Permit == nil || options.Permit(&t) {
				s := get(name)
				s.operations = append(s.operations, &Entry{Tool: t, server: s})
			}
		}
	}
	servers := make([]*server, 0, len(byName))
	for _, s := range byName {
		servers = append(servers, s)
	}
	slices.SortFunc(servers, func(a, b *server) int { return cmp.Compare(a.name, b.name) })
	return servers
}

// nameServers gives servers and their tools their identifiers (M1).
func nameServers(servers []*server) {
	names := make([]string, len(servers))
	for i, s := range servers {
		names[i] = s.name
	}
	for i, id := range allocate(names, "server", serverReserved) {
		servers[i].identifier = id
	}
	for _, s := range servers {
		names := make([]string, len(s.tools))
		for i, e := range s.tools {
			names[i] = e.Name
		}
		for i, id := range allocate(names, "tool", toolReserved) {
			s.tools[i].identifier = id
			s.tools[i].CallableName = "MCP." + s.identifier + "." + id
		}
	}
}

// allocate gives each of the distinct names its own identifier: the name in camel case, with
// the next free number from 2 on if that is reserved or taken. Names that are what they would
// become come first, then those that are identifiers, then the others by name.
func allocate(names []string, noun string, reserved func(string) bool) []string {
	order := make([]int, len(names))
	camel := make([]string, len(names))
	for i, name := range names {
		order[i] = i
		camel[i] = camelCase(name, noun)
	}
	rank := func(i int) int {
		switch {
		case camel[i] == names[i]:
			return 0
		case identifier(names[i]):
			return 1
		default:
			return 2
		}
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(names[a], names[b])) })

	ids := make([]string, len(names))
	taken := make(map[string]bool, len(names))
	next := make(map[string]int)
	// A first round gives every name that can have it its plain identifier, so that delete, numbered,
	// can't take delete2 from the tool of that name.
	for _, i := range order {
		if !taken[camel[i]] && !reserved(camel[i]) {
			ids[i] = camel[i]
			taken[ids[i]] = true
		}
	}
	for _, i := range order {
		for n := max(next[camel[i]], 2); ids[i] == ""; n++ {
			if id := camel[i] + strconv.Itoa(n); !taken[id] {
				ids[i] = id
				taken[id] = true
			}
			next[camel[i]] = n + 1
		}
	}
	return ids
}

// camelCase joins the parts of a name between characters that identifiers don't have, and
// underscores, with a capital at each seam: list-invoices → listInvoices. Capitals stay.
func camelCase(name, noun string) string {
	var b strings.Builder
	seam := false
	for _, r := range name {
		switch {
		case r == '_' || !letter(r) && !digit(r):
			seam = b.Len() > 0
			continue
		case seam:
			if upper := unicode.ToUpper(r); letter(upper) {
				r = upper
			}
		case b.Len() == 0 && digit(r):
			b.WriteString(noun + "_")
		}
		seam = false
		b.WriteRune(r)
	}
	if b.Len() == 0 {
		return noun
	}
	return b.String()
}

func mcpPath(s *server) string { return "mcp/" + s.identifier + ".d.ts" }
