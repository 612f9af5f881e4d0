package catalog

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"regexp"
	"strconv"

	"github.com/codecell/codecell/schemas"
)

// record is a tool as a guest holds it: a handle's fields (C7).
type record struct {
	Ref          int            `json:"ref"`
	CallableName string         `json:"callableName"`
	ToolName     string         `json:"toolName"`
	Label        string         `json:"label,omitempty"`
	Description  string         `json:"description"`
	Source       schemas.Source `json:"source"`
	APIPath      string         `json:"apiPath,omitempty"`
	Input        string         `json:"input,omitempty"`
	Output       string         `json:"output,omitempty"`
}

func (e *Entry) record() record {
	return record{
		Ref:          e.Ref,
		CallableName: e.CallableName,
		ToolName:     e.Name,
		Label:        e.label(),
		Description:  e.description(),
		Source:       e.Source,
		APIPath:      e.APIPath,
		Input:        e.InputHint,
		Output:       e.OutputHint,
	}
}

type installServer struct {
	Identifier string        `json:"identifier"`
	ServerName string        `json:"serverName"`
	Tools      []installTool `json:"tools"`
	// Resources and Prompts give the refs of the server's operations by their names there (M3).
	Resources map[string]int `json:"resources,omitempty"`
	Prompts   map[string]int `json:"prompts,omitempty"`
}

type installTool struct {
	Ref        int    `json:"ref"`
	Identifier string `json:"identifier"`
	ToolName   string `json:"toolName"`
	Odd        bool   `json:"odd,omitempty"` // the name is more than a word: its server could say something by it
	ID         string `json:"id,omitempty"`  // under the contract of 2026-07
}

// spokenSafe is a name that says nothing but what it names, as the protocol recommends.
var spokenSafe = regexp.MustCompile(`^[\w./-]{1,64}$`)

// record is a tool as the guests of this catalog get it.
func (c *Catalog) record(e *Entry) any {
	switch {
	case c.older():
		return e.olderRecord()
	case c.searching():
		return e.toolHit(0)
	}
	return e.record()
}

type installNamespace struct {
	Name  string          `json:"name"`
	Scope json.RawMessage `json:"scope"`
}

// Install is the text that makes a guest's globals: native and client tools with their handle
// records, MCP servers with names only, and the features. Equal catalogs give equal bytes. The
// caller must not change it.
func (c *Catalog) Install() []byte { return c.install }

// renderInstall makes the text, with this swarm or none.
func (c *Catalog) renderInstall(with *swarm) []byte {
	if c.searching() {
		return []byte(toolSearchInstall)
	}
	tools := make([]any, 0, len(c.entries))
	for _, e := range c.entries {
		if e.Source != schemas.SourceMCP {
			tools = append(tools, c.record(e))
		}
	}
	servers := make([]installServer, len(c.servers))
	for i, s := range c.servers {
		servers[i] = installServer{Identifier: s.identifier, ServerName: s.name, Tools: make([]installTool, len(s.tools))}
		for j, e := range s.tools {
			servers[i].Tools[j] = installTool{
				Ref: e.Ref, Identifier: e.identifier, ToolName: e.Name, Odd: !spokenSafe.MatchString(e.Name), ID: e.publicID,
			}
		}
		servers[i].Resources = s.refs(schemas.ResourcesGroup)
		servers[i].Prompts = s.refs(schemas.PromptsGroup)
	}
	namespaces := make([]installNamespace, len(c.namespaces))
	for i, n := range c.namespaces {
		namespaces[i] = installNamespace{Name: n.Global, Scope: n.scope.install()}
	}
	return encode(struct {
		Contract string          `json:"contract"`
		Tools    []any           `json:"tools"`
		MCP      []installServer `json:"mcp"`
		Features Features        `json:"features"`

		Namespaces []installNamespace `json:"namespaces,omitempty"`
		Nodes      *int               `json:"nodes,omitempty"`
		Agents     *installAgents     `json:"agents,omitempty"`
	}{c.options.Contract, tools, servers, c.options.Features, namespaces, c.nodesRef(), with.install()})
}

// HandleRecord gives the record from which a guest makes the tool's handle; a ref that isn't in
// the catalog gives nothing.
func (c *Catalog) HandleRecord(ref int) schemas.JSON {
	e, ok := c.Tool(ref)
	if !ok {
		return nil
	}
	return encode(c.record(e))
}

// hash covers what [Catalog.Version] promises: the install text, what search and describe say beyond
// it, and the bounds of search.
func (c *Catalog) hash() string {
	h := sha256.New()
	part := func(b []byte) {
		h.Write(strconv.AppendInt(nil, int64(len(b)), 10))
		h.Write([]byte{':'})
		h.Write(b)
	}
	part(c.install)
	for _, e := range c.entries {
		part([]byte(e.ID()))
		part([]byte(e.Owner))
		part([]byte(e.Label))
		part([]byte(e.Description))
		part(e.Parameters)
		part(e.Output)
	}
	for _, s := range c.servers {
		part(encode(s.info))
	}
	for _, n := range c.namespaces {
		part(encode(n.Namespace.Namespace))
	}
	part(encode(c.options.Languages))
	part(encode([]int{c.options.SearchDefault, c.options.SearchMax}))
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// encode gives v as compact JSON with <, > and & as they are. Every v here can be encoded.
func encode(v any) schemas.JSON {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic("catalog: " + err.Error())
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
