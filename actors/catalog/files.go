package catalog

import (
	"slices"
	"strings"
	"sync"

	"github.com/codecell/codecell/schemas"
)

// file is one virtual declaration file (G3).
type file struct {
	path        string
	description string
	untrusted   bool
	content     func() string // renders once
}

// files is what API lists and reads.
type files struct {
	byPath map[string]*file
	order  []*file // by path
}

// measuredFiles is the number of files up to which a listing says how long they are: the length
// is known only after rendering.
const measuredFiles = 1000

func newFiles(c *Catalog) *files {
	f := &files{byPath: make(map[string]*file)}
	add := func(path, description string, untrusted bool, render func() string) {
		it := &file{path: path, description: description, untrusted: untrusted, content: sync.OnceValue(render)}
		f.byPath[path] = it
		f.order = append(f.order, it)
	}
	for _, e := range c.entries {
		if e.Source != schemas.SourceMCP {
			add(e.APIPath, "", e.Untrusted(), func() string {
				if c.older() {
					return declareMember(e)
				}
				return declareGlobal(e)
			})
		}
	}
	if len(c.servers) > 0 {
		add("mcp/index.d.ts", "the MCP servers of this run", true, func() string { return declareServers(c.servers) })
	}
	for _, s := range c.servers {
		add(mcpPath(s), "MCP server "+quoteShort(s.name)+": "+s.summary(), true, func() string { return declareServer(s) })
	}
	for _, n := range c.namespaces {
		add(namespacePath(n), oneLine(n.Description, untrustedDescription), false, func() string { return declareNamespace(n) })
	}
	if kept := c.options.Features; kept.keeps() {
		add(keptPath, "what programs can keep for later ones", false, func() string { return declareKept(kept) })
	}
	if c.swarm != nil {
		add(agentsPath, "other agents, and how to show progress", false, func() string { return declaredAgents })
	}
	slices.SortFunc(f.order, func(a, b *file) int { return strings.Compare(a.path, b.path) })
	return f
}

// listed is one row of API.list, and with content the record of API.read.
type listed struct {
	Path        string  `json:"path"`
	Description string  `json:"description,omitempty"`
	Content     *string `json:"content,omitempty"`
	Bytes       *int    `json:"bytes,omitempty"`
}

// list gives the files below a prefix: the start of a path, or a folder with or without its slash.
func (f *files) list(prefix string) (rows []listed, untrusted bool) {
	var found []*file
	for _, it := range f.order {
		if strings.HasPrefix(it.path, prefix) {
			found = append(found, it)
		}
	}
	rows = make([]listed, len(found))
	for i, it := range found {
		rows[i] = listed{Path: it.path, Description: it.description}
		if len(found) <= measuredFiles {
			n := len(it.content())
			rows[i].Bytes = &n
		}
		untrusted = untrusted || it.untrusted
	}
	return rows, untrusted
}

// read gives one file.
func (f *files) read(path string) (row listed, untrusted, ok bool) {
	it, ok := f.byPath[path]
	if !ok {
		return listed{}, false, false
	}
	content := it.content()
	n := len(content)
	return listed{Path: it.path, Description: it.description, Content: &content, Bytes: &n}, it.untrusted, true
}
