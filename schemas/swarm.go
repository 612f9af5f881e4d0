package schemas

// The native tools with which agents start agents (G10). Both belong to [SwarmOwner]; a tool of another owner or source that
// has such a name is just a tool.
const (
	SwarmOwner = "agents"
	SpawnTool  = "sessions_spawn"
	AwaitTool  = "agents_wait"
)

// Bounds of what agents are started with, and of what they give.
const (
	// MaxTaskBytes bounds a task, MaxAgentText what is given of an agent's answer, in bytes of UTF-8.
	MaxTaskBytes = 256 << 10
	MaxAgentText = 64 << 10
	// MaxLabel and MaxPhase bound a label and a phase, in characters.
	MaxLabel = 120
	MaxPhase = 120
	// MaxAwaited is how many agents one agents_wait can name.
	MaxAwaited = 64
	// MaxNote bounds the text of a [CellNoted], in characters, and MaxNotes is how many of them a cell tells.
	MaxNote  = 512
	MaxNotes = 256
)

// How long a started agent lives.
const (
	// ScopeRun: until the run that started it is closed. It is the default.
	ScopeRun = "run"
	// ScopeCell: until the cell that started it has ended.
	ScopeCell = "cell"
)

// SpawnArgs are the arguments of [SpawnTool].
type SpawnArgs struct {
	Task string `json:"task"`
	// Label is for people, and has no meaning.
	Label string `json:"label"`
	// Agent is a configured agent; empty is that of the caller. Model is a model of its; empty is the agent's own.
	Agent string `json:"agent"`
	Model string `json:"model"`
	Mode  Mode   `json:"mode"`
	// Phase is what the caller was at.
	Phase string `json:"phase"`
	// Scope is [ScopeRun] or [ScopeCell]; empty is the first.
	Scope string `json:"scope"`
	// TimeoutMs shortens the time that the agent has; 0 leaves what is configured.
	TimeoutMs int64 `json:"timeoutMs"`
}

// Spawned is the result of [SpawnTool].
type Spawned struct {
	ID         string `json:"id"`
	Label      string `json:"label,omitempty"`
	SessionKey string `json:"sessionKey"`
	// Status is "accepted".
	Status string `json:"status"`
}

// AwaitArgs are the arguments of [AwaitTool].
type AwaitArgs struct {
	IDs []string `json:"ids"`
	// AwaitResults waits for all, as long as they may take. Without, TimeoutMs bounds the wait.
	AwaitResults bool   `json:"awaitResults"`
	TimeoutMs    *int64 `json:"timeoutMs"`
	// Background: the wait doesn't keep its cell's exec open (Q4). The tool itself does the same.
	Background bool `json:"background"`
}

// AgentStatus is what has become of a started agent.
type AgentStatus string

const (
	AgentRunning   AgentStatus = "running"
	AgentCompleted AgentStatus = "completed"
	AgentFailed    AgentStatus = "failed"
	AgentCancelled AgentStatus = "cancelled"
)

// AgentResult is one agent in the result of [AwaitTool].
type AgentResult struct {
	ID     string      `json:"id"`
	Label  string      `json:"label,omitempty"`
	Phase  string      `json:"phase,omitempty"`
	Status AgentStatus `json:"status"`
	// Text is what it answered, or, if it didn't get that far, the last that it said.
	Text      string  `json:"text,omitempty"`
	Truncated bool    `json:"truncated,omitempty"`
	Error     string  `json:"error,omitempty"`
	Usage     Usage   `json:"usage"`
	CostUSD   float64 `json:"costUsd,omitempty"`
}

// Awaited is the result of [AwaitTool].
type Awaited struct {
	// Results are in the order of the ids asked for.
	Results []AgentResult `json:"results"`
	// Pending are the ids of those that go on.
	Pending []string `json:"pending"`
}
