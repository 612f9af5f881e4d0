package schemas

// Source is where a tool comes from, as guests and telemetry see it.
type Source string

const (
	// SourceNative is a tool of codecell's own or of a plugin; its schemas are trusted.
	SourceNative Source = "openclaw"
	// SourceMCP is a tool of an MCP server; its texts are untrusted.
	SourceMCP Source = "mcp"
	// SourceClient is a tool that the caller brought for one run; its texts are untrusted.
	SourceClient Source = "client"
)

// Tier orders tools after policy (C1): lower comes first.
type Tier uint8

const (
	TierCore Tier = iota
	TierBundled
	TierPlugin
	TierMCP
	TierClient
)

// Tool is one callable thing as its executor registered it.
type Tool struct {
	Source Source `msgpack:"source" json:"source"`
	Tier   Tier   `msgpack:"tier" json:"tier"`
	// Owner is "core", a plugin id, or the MCP server's name.
	Owner string `msgpack:"owner" json:"owner"`
	// Name is the tool's own name, any text.
	Name        string `msgpack:"name" json:"name"`
	Label       string `msgpack:"label,omitempty" json:"label,omitempty"`
	Description string `msgpack:"description,omitempty" json:"description,omitempty"`
	// Parameters is the JSON Schema of the input object; empty means any object.
	Parameters JSON `msgpack:"parameters,omitempty" json:"parameters,omitempty"`
	// Output is the JSON Schema of the structured result; empty means undeclared.
	Output JSON `msgpack:"output,omitempty" json:"outputSchema,omitempty"`
	// ReplaySafe: the owner vouches that running it again changes nothing (R1). Ignored for MCP.
	ReplaySafe bool `msgpack:"replay_safe,omitempty" json:"replaySafe,omitempty"`
	// Idempotent: a lost call may be sent again with the same idempotency key.
	Idempotent bool `msgpack:"idempotent,omitempty" json:"idempotent,omitempty"`
	// DirectOnly: the result can't cross a JSON bridge; the model calls it directly.
	DirectOnly bool `msgpack:"direct_only,omitempty" json:"directOnly,omitempty"`
	// OwnerOnly: only for runs whose sender is the owner.
	OwnerOnly bool `msgpack:"owner_only,omitempty" json:"ownerOnly,omitempty"`
	// Sequential: runs alone within its catalog (P4).
	Sequential bool `msgpack:"sequential,omitempty" json:"sequential,omitempty"`
	// Approval: every call needs somebody's approval (P3).
	Approval bool `msgpack:"approval,omitempty" json:"approval,omitempty"`
	// Awaitable: called with awaitResults: true (and not background: true) it makes its cell a required one, which
	// stays until the call has its result (Q4). Ignored for MCP.
	Awaitable bool `msgpack:"awaitable,omitempty" json:"awaitable,omitempty"`
}

// ID is the host-only id of the tool, "<source>:<owner>:<tool>" (C2). It never reaches a
// guest of Code Mode, a prompt or an error; Tool Search answers with it, and is called by it (ch. 19). That of a tool that was brought for a run is "client:caller:<tool>" in every run, so that
// equal sets of tools have equal ids: its owner is the run.
func (t *Tool) ID() string {
	owner := t.Owner
	if t.Source == SourceClient {
		owner = "caller"
	}
	return string(t.Source) + ":" + owner + ":" + t.Name
}

// Registration is what one executor offers under one owner. It is the value of the
// registry bucket; the entry's time to live is the executor's heartbeat.
type Registration struct {
	// Executor is the id of one executor process (or the part of a host that acts as one).
	Executor string `msgpack:"executor" json:"executor"`
	Source   Source `msgpack:"source" json:"source"`
	Owner    string `msgpack:"owner" json:"owner"`
	Tools    []Tool `msgpack:"tools" json:"tools"`
	// Server describes an MCP server (name, version, instructions): untrusted text.
	Server ServerInfo `msgpack:"server,omitempty" json:"server,omitzero"`
	// Namespaces are what the owner of native tools puts before programs besides its tools (K1).
	Namespaces []Namespace `msgpack:"namespaces,omitempty" json:"namespaces,omitempty"`
	// Problem says why there are no tools, or not all: a server that can't start, a bad tool.
	Problems []string `msgpack:"problems,omitempty" json:"problems,omitempty"`
}

// ServerInfo is what an MCP server says of itself.
type ServerInfo struct {
	Title        string `msgpack:"title,omitempty" json:"title,omitempty"`
	Version      string `msgpack:"version,omitempty" json:"version,omitempty"`
	Instructions string `msgpack:"instructions,omitempty" json:"instructions,omitempty"`
	Resources    bool   `msgpack:"resources,omitempty" json:"resources,omitempty"`
	Prompts      bool   `msgpack:"prompts,omitempty" json:"prompts,omitempty"`
}
