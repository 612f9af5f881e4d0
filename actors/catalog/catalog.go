package catalog

import (
	"sync"

	"github.com/codecell/codecell/schemas"
)

// Options are what a catalog depends on besides its tools.
type Options struct {
	// Contract is the profile that guests are promised; empty means "current".
	Contract string
	// Languages are those that programs may be written in, for what models read; empty means JavaScript.
	Languages []string
	// Servers describes the enabled MCP servers by name. A server is part of the catalog if it
	// has an admitted tool, or if its entry here offers resources or prompts that Permit lets
	// through. Leave failed servers out: an identifier depends only on the servers that are here.
	Servers map[string]schemas.ServerInfo
	// Permit decides about the operations of servers as policy has decided about the tools (M3);
	// nil permits all.
	Permit func(operation *schemas.Tool) bool
	// Namespaces are those that were registered. Those that aren't [Catalog.Visible] are left out.
	Namespaces []Namespace
	// SearchDefault and SearchMax bound the hits of one search; zero means the limits' defaults (F2).
	SearchDefault int
	SearchMax     int
	// Features are the optional guest globals.
	Features Features
}

// Features says which optional globals a guest has. A false one has no global, but for Nodes, which follows from the tools:
// without any, the global finds none.
type Features struct {
	Nodes      bool `json:"nodes"`
	Namespaces bool `json:"namespaces"`
	Results    bool `json:"results"`
	Store      bool `json:"store"`
	// Skills: programs can read skills, and search them if SkillSearch is set too (G11).
	Skills      bool `json:"skills,omitempty"`
	SkillSearch bool `json:"skillSearch,omitempty"`
	// Swarm: programs can start agents, if the catalog has the native tools for that (G10).
	Swarm bool `json:"-"`
}

// Entry is one admitted tool. Read it, don't change it.
type Entry struct {
	schemas.Tool
	// Ref addresses the tool in its catalog: entries are numbered 0, 1, 2, … in catalog order.
	Ref int
	// CallableName is how a program calls the tool: a global's name, or "MCP.<server>.<tool>".
	CallableName string
	// APIPath is the virtual file that declares the tool (G3).
	APIPath string
	// InputHint and OutputHint are TypeScript hints (C7); empty means that there is none.
	InputHint  string
	OutputHint string

	server     *server // of an MCP tool or operation
	identifier string  // the part of CallableName after the server's

	// Under the contract of 2026-07: an id that tells nothing, and the name as a member of tools, if any.
	publicID, member string
}

// Untrusted tells whether the tool's texts and results come from outside (O5).
func (e *Entry) Untrusted() bool { return e.Source != schemas.SourceNative }

// server is one MCP server of the catalog.
type server struct {
	name       string
	identifier string
	info       schemas.ServerInfo
	tools      []*Entry
	operations []*Entry // what it can be asked besides its tools (M3)
}

// Catalog is a run's admitted tools. Make one with [Build].
type Catalog struct {
	options Options
	entries []*Entry
	// operations are numbered after the entries, and are no part of what is listed, counted
	// and searched.
	operations []*Entry
	servers    []*server    // by name
	namespaces []*namespace // by global
	nodes      *Entry       // the tool behind the global nodes; nil: there is none
	swarm      *swarm       // nil: there is none
	counts     schemas.SourceCounts
	sequential bool // there is a sequential tool

	byCallable map[string]*Entry
	byServer   map[string]*server // by identifier
	install    []byte
	version    string

	index func() *index              // built by the first search
	ids   func() map[string][]*Entry // built by the first look-up by id
	files func() *files              // built by the first look at API
}

// Build admits tools, names them and renders what guests see. It is deterministic for equal sets
// of tools whatever their order (C2). Tools that can't be admitted are left out and each gives
// a problem; the others stay (C4). Direct-only and control tools are absent by contract and
// give no problem (C1).
func Build(tools []schemas.Tool, options Options) (*Catalog, []Problem) {
	defaults := schemas.DefaultLimits()
	if options.Contract == "" {
		options.Contract = "current"
	}
	if options.SearchMax < 1 {
		options.SearchMax = defaults.SearchMax
	}
	if options.SearchDefault < 1 {
		options.SearchDefault = defaults.SearchDefault
	}

	entries, problems := admit(tools)
	c := &Catalog{options: options, entries: entries}
	c.servers = groupServers(entries, &options)
	problems = append(problems, c.addNamespaces(options.Namespaces)...)
	c.swarm = c.findSwarm()
	nameGlobals(entries, c.takenGlobals())
	if c.older() {
		nameMembers(entries)
	}
	nameServers(c.servers)
	c.byCallable = make(map[string]*Entry, len(entries))
	c.byServer = make(map[string]*server, len(c.servers))
	for _, s := range c.servers {
		c.byServer[s.identifier] = s
	}
	c.nodes = c.findNodes()
	c.options.Features.Nodes = c.nodes != nil
	for ref, e := range entries {
		e.Ref = ref
		c.sequential = c.sequential || e.Sequential
		c.byCallable[e.CallableName] = e
		switch e.Source {
		case schemas.SourceNative:
			c.counts.Native++
			e.APIPath = "tools/" + e.CallableName + ".d.ts"
			e.InputHint, e.OutputHint = hints(&e.Tool)
		case schemas.SourceMCP:
			c.counts.MCP++
			e.APIPath = mcpPath(e.server)
		case schemas.SourceClient:
			c.counts.Client++
			e.APIPath = "tools/" + e.CallableName + ".d.ts"
			e.InputHint = unknown
		}
	}
	c.addOperations()
	c.install = c.renderInstall(c.swarm)
	c.version = c.hash()
	c.index = sync.OnceValue(func() *index { return newIndex(c.entries) })
	c.ids = sync.OnceValue(func() map[string][]*Entry { return entriesByID(c.entries) })
	c.files = sync.OnceValue(func() *files { return newFiles(c) })
	return c, problems
}

// Size is the number of tools.
func (c *Catalog) Size() int { return len(c.entries) }

// Counts counts the tools by source (E4).
func (c *Catalog) Counts() schemas.SourceCounts { return c.counts }

// Sequential tells whether a tool must run alone among the calls of a run (P4).
func (c *Catalog) Sequential() bool { return c.sequential }

// Tool gives the tool that a guest names by its ref. A guest may send any number.
func (c *Catalog) Tool(ref int) (*Entry, bool) {
	if ref < 0 || ref >= len(c.entries) {
		return nil, false
	}
	return c.entries[ref], true
}

// Callable gives what a guest's call names by its ref: a tool, or an operation of an MCP server (M3).
// A guest may send any number.
func (c *Catalog) Callable(ref int) (*Entry, bool) {
	if i := ref - len(c.entries); i >= 0 && i < len(c.operations) {
		return c.operations[i], true
	}
	return c.Tool(ref)
}

// Lookup gives the tool with exactly this callable name.
func (c *Catalog) Lookup(callableName string) (*Entry, bool) {
	e, ok := c.byCallable[callableName]
	return e, ok
}

// All gives every tool in catalog order (C1).
func (c *Catalog) All() []*Entry { return append([]*Entry(nil), c.entries...) }

// Version is a hash of everything that a guest or a model can learn from the catalog. Two catalogs
// with one version look alike from inside a cell.
func (c *Catalog) Version() string { return c.version }

// Entries lists the catalog for people, in catalog order.
func (c *Catalog) Entries() []schemas.CatalogEntry {
	out := make([]schemas.CatalogEntry, len(c.entries))
	for i, e := range c.entries {
		out[i] = e.Public()
	}
	return out
}

// Public is the tool as people see it.
func (e *Entry) Public() schemas.CatalogEntry {
	return schemas.CatalogEntry{
		CallableName: e.CallableName,
		ToolName:     e.Name,
		Owner:        e.Owner,
		Source:       e.Source,
		Description:  e.description(),
		Input:        e.InputHint,
		Output:       e.OutputHint,
	}
}
