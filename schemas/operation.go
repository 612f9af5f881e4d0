package schemas

import (
	"slices"
	"strings"
)

// Names of what an MCP server can be asked besides its tools (M3). On the bus, in policy and in
// facts they stand where a tool's name does, so that one path serves both; no tool of an MCP
// server may have such a name (see [IsOperation]). In programs they are
// MCP.<server>.resources.list and so on.
const (
	ListResources = "$resources.list"
	ReadResource  = "$resources.read"
	ListPrompts   = "$prompts.list"
	GetPrompt     = "$prompts.get"
)

// Groups of operations: the part of a name between the dollar sign and the dot.
const (
	ResourcesGroup = "resources"
	PromptsGroup   = "prompts"
)

// The inputs of the operations. They are strict: what a server would ignore is a mistake.
const (
	listInput = `{"type":"object","properties":{},"additionalProperties":false}`
	readInput = `{"type":"object","properties":{"uri":{"type":"string","description":"The resource's URI."}},` +
		`"required":["uri"],"additionalProperties":false}`
	getInput = `{"type":"object","properties":{"name":{"type":"string","description":"The prompt's name."},` +
		`"arguments":{"type":"object","additionalProperties":{"type":"string"},"description":"The prompt's arguments, all of them texts."}},` +
		`"required":["name"],"additionalProperties":false}`
)

// operations are all there are, in the order in which programs see them.
var operations = []struct {
	group, name string
	input       JSON
}{
	{ResourcesGroup, ListResources, JSON(listInput)},
	{ResourcesGroup, ReadResource, JSON(readInput)},
	{PromptsGroup, ListPrompts, JSON(listInput)},
	{PromptsGroup, GetPrompt, JSON(getInput)},
}

// Operations gives what the server of this name can be asked besides its tools, described as tools:
// policy decides about them, and executors check their input, as if they were. A server that
// announces neither resources nor prompts has none.
func (s ServerInfo) Operations(server string) []Tool {
	var out []Tool
	for _, o := range operations {
		if o.group == ResourcesGroup && s.Resources || o.group == PromptsGroup && s.Prompts {
			out = append(out, Tool{Source: SourceMCP, Tier: TierMCP, Owner: server, Name: o.name, Parameters: o.input})
		}
	}
	return out
}

// SplitOperation gives the parts of an operation's name, such as "resources" and "list".
func SplitOperation(name string) (group, member string, ok bool) {
	if !IsOperation(name) {
		return "", "", false
	}
	return strings.Cut(name[1:], ".")
}

// IsOperation tells whether a name is reserved for the operations of MCP servers, those that there
// may be one day included.
func IsOperation(name string) bool {
	return strings.HasPrefix(name, "$"+ResourcesGroup+".") || strings.HasPrefix(name, "$"+PromptsGroup+".")
}

// Offers tells whether the entry lets a tool, or an operation, of its server be used.
func (s MCPServer) Offers(name string) bool {
	return !s.Disabled && !slices.Contains(s.ExcludeTools, name) &&
		(s.IncludeTools == nil || slices.Contains(s.IncludeTools, name))
}
