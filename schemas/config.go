package schemas

import (
	"slices"
	"time"
)

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
	// Services are the NATS micro services of others whose endpoints are tools, by name (U3).
	Services []string `json:"services"`
	// Hooks are asked about calls, in this order (P1).
	Hooks     []HookConfig    `json:"hooks"`
	Approvals ApprovalsConfig `json:"approvals"`
	History   HistoryConfig   `json:"history"`
	Skills    SkillsConfig    `json:"skills"`
	// Nodes says what programs may do with nodes, Node what a process lets others do that is one itself.
	Nodes NodesConfig `json:"nodes"`
	Node  NodeConfig  `json:"node"`
	// Provider is whom turns of agents ask, Turns what bounds them (V4), Models what is known of models, by pattern of
	// "provider/model"; take that from [Config.TraitsOf].
	Provider ProviderConfig         `json:"provider"`
	Turns    TurnConfig             `json:"turns"`
	Models   map[string]ModelTraits `json:"models"`
}

// SkillsConfig says which skills programs can read (G11).
type SkillsConfig struct {
	// Folders hold a folder for each skill, with a file SKILL.md in it. Without any, programs have no skills.
	Folders []string `json:"folders"`
	// Search lets programs search skills by words.
	Search bool `json:"search"`
}

// HookConfig names one hook: a process, or a function of the program that embeds codecell, which is asked about calls.
// A configured hook that isn't there, or doesn't answer in time, fails closed.
type HookConfig struct {
	// Name is the hook's own name, of letters, digits, "_" and "-".
	Name string `json:"name"`
	// Phase is [BeforeToolCall] or [AfterToolCall].
	Phase string `json:"phase"`
	// Tools are the tools that it's asked about, as in tools.deny; nil means all, and programs as well. "exec" is
	// both the shell tool and a program.
	Tools     []string `json:"tools"`
	TimeoutMs *float64 `json:"timeoutMs"`
}

// Timeout is how long the hook may take: 5 s unless configured, from 10 ms to a minute.
func (h *HookConfig) Timeout() time.Duration {
	return time.Duration(limit(5000, 10, 60_000, h.TimeoutMs)) * time.Millisecond
}

// ApprovalsConfig says how calls are approved; tools.approve says which.
type ApprovalsConfig struct {
	TimeoutSeconds *float64 `json:"timeoutSeconds"`
}

// Timeout is how long an approval waits for a decision: 300 s unless configured, from 1 s to a day.
func (a *ApprovalsConfig) Timeout() time.Duration {
	return time.Duration(limit(300, 1, 86_400, a.TimeoutSeconds)) * time.Second
}

// RedactCredentials is a value of [HistoryConfig.Redact].
const RedactCredentials = "credentials"

// HistoryConfig says what sessions keep.
type HistoryConfig struct {
	// Redact is [RedactCredentials], or empty to keep programs as they were submitted (P7, P8).
	Redact string `json:"redact"`
	// Secrets are texts to mask wherever they stand, Patterns regular expressions (RE2) of further ones: in logs
	// always (P7), in programs that are kept if Redact says so (P8).
	Secrets  []string `json:"secrets"`
	Patterns []string `json:"patterns"`
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
	// Approve lists tools whose calls need somebody's approval, besides those that say so themselves.
	Approve []string `json:"approve"`
	// DisableTools: no tools at all.
	DisableTools bool `json:"disableTools"`
	// Owners are the senders who may use owner-only tools. Global only.
	Owners  []string      `json:"owners"`
	Sandbox SandboxConfig `json:"sandbox"`
	// Restricted holds what applies to the calls of restricted runs in addition (A6).
	Restricted RestrictedTools `json:"restricted"`
	// Swarm lets agents start agents (G10). Global only.
	Swarm *SwarmConfig `json:"swarm"`
}

// RestrictedTools are the lists for the calls of runs for background work. Nil for Allow means all.
type RestrictedTools struct {
	Allow []string `json:"allow"`
	Deny  []string `json:"deny"`
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
	// Model is the model of its turns, as [ProviderConfig].Model, and Instructions what the model is told first.
	Model        string `json:"model"`
	Instructions string `json:"instructions"`
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
	// Env are names of further environment variables that the commands of exec get.
	Env []string `json:"env"`
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
