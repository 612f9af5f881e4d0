package schemas

import "slices"

// Config is a whole configuration file (F1–F6). The zero value is a usable configuration that
// says nothing. Read one with [LoadConfig]; ask it through its methods, which know defaults,
// clamps and precedence, rather than through its fields.
type Config struct {
	Tools ToolsConfig `json:"tools"`
	// MCPServers is the block that every MCP client uses, by server name (F5).
	MCPServers map[string]MCPServer `json:"mcpServers"`
	Agents     AgentsConfig         `json:"agents"`
	// Contract is the behaviour that guests see: [ContractCurrent] (also when empty) or [Contract202607].
	Contract string    `json:"contract"`
	Bus      BusConfig `json:"bus"`
	// Slots is how many continuations a host may hold; take it from [Config.SlotLimit].
	Slots *float64 `json:"slots"`
	// Workspace is what the core tools work on.
	Workspace WorkspaceConfig `json:"workspace"`
}

// Contracts.
const (
	ContractCurrent = "current"
	Contract202607  = "2026-07"
)

// ToolsConfig says which tools there are and how a model reaches them, for everyone or for one agent.
type ToolsConfig struct {
	CodeMode   *CodeModeConfig   `json:"codeMode"`
	ToolSearch *ToolSearchConfig `json:"toolSearch"`
	// Allow lists the only tools there are; nil means all, an empty list none (A3).
	Allow []string `json:"allow"`
	// Deny lists tools there aren't. It wins over every other list.
	Deny []string `json:"deny"`
	// Direct lists tools that the model sees and calls itself, beside exec and wait: those whose results
	// programs can't use, such as images. They are in no catalog.
	Direct []string `json:"direct"`
	// DisableTools: no tools at all.
	DisableTools bool `json:"disableTools"`
	// Owners are the senders who may use owner-only tools. Global only.
	Owners  []string      `json:"owners"`
	Sandbox SandboxConfig `json:"sandbox"`
}

// SandboxConfig holds what applies to runs in a sandbox in addition.
type SandboxConfig struct {
	Tools SandboxTools `json:"tools"`
}

// SandboxTools are the lists for sandboxed runs. AlsoAllow adds to Allow.
type SandboxTools struct {
	Allow     []string `json:"allow"`
	AlsoAllow []string `json:"alsoAllow"`
	Deny      []string `json:"deny"`
}

// AgentsConfig holds the agents and what they share.
type AgentsConfig struct {
	Defaults AgentDefaults          `json:"defaults"`
	Entries  map[string]AgentConfig `json:"entries"`
}

// AgentDefaults are for agents that don't say otherwise. Models is by "provider/model".
type AgentDefaults struct {
	Models map[string]ModelConfig `json:"models"`
}

// AgentConfig is one agent.
type AgentConfig struct {
	Tools  ToolsConfig            `json:"tools"`
	Models map[string]ModelConfig `json:"models"`
}

// ModelConfig is what is set for one model. CodeMode is nil if nothing is said.
type ModelConfig struct {
	CodeMode *bool `json:"codeMode"`
}

// BusConfig says where messages travel. Without URLs a server is embedded in the process.
type BusConfig struct {
	// Listen is "host:port" at which the embedded server takes clients; empty opens no port.
	Listen string `json:"listen"`
	// StoreDir is where the embedded server keeps its streams; empty keeps them in memory.
	StoreDir string `json:"storeDir"`
	// URLs are the servers of a cluster to use instead of the embedded one.
	URLs []string `json:"urls"`
	// Credentials is the path of a NATS credentials file. Token, User and Password are the other ways to log in.
	Credentials string `json:"credentials"`
	Token       string `json:"token"`
	User        string `json:"user"`
	Password    string `json:"password"`
}

// Embedded tells whether the process brings its own server.
func (b BusConfig) Embedded() bool { return len(b.URLs) == 0 }

// WorkspaceConfig is the folder of the core tools and which of them are on.
type WorkspaceConfig struct {
	// Root is a folder; empty means that there are no core file tools.
	Root string `json:"root"`
	// Tools switches single core tools by name.
	Tools map[string]bool `json:"tools"`
}

// Enabled tells whether the core tool is on; def is the answer where nothing is said.
func (w WorkspaceConfig) Enabled(tool string, def bool) bool {
	if on, said := w.Tools[tool]; said {
		return on
	}
	return def
}

// DefaultAgent is the agent of an identity that names none.
const DefaultAgent = "default"

// Agent is the entry of an agent; one that isn't configured has an empty entry.
func (c *Config) Agent(id string) AgentConfig {
	if id == "" {
		id = DefaultAgent
	}
	return c.Agents.Entries[id]
}

// IsOwner tells whether the identity's sender may use owner-only tools: one of tools.owners, or,
// where none are configured, whoever runs codecell on this machine without naming a sender.
func (c *Config) IsOwner(id Identity) bool {
	if len(c.Tools.Owners) == 0 {
		return id.Sender == ""
	}
	return slices.Contains(c.Tools.Owners, id.Sender)
}
