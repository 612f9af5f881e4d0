package schemas

// Usage counts what a provider charges for.
type Usage struct {
	// InputTokens include the CachedTokens; OutputTokens include those of reasoning.
	InputTokens  int64 `msgpack:"input_tokens" json:"inputTokens"`
	CachedTokens int64 `msgpack:"cached_tokens,omitempty" json:"cachedTokens,omitempty"`
	OutputTokens int64 `msgpack:"output_tokens" json:"outputTokens"`
}

// Add adds another's counts.
func (u *Usage) Add(o Usage) {
	u.InputTokens += o.InputTokens
	u.CachedTokens += o.CachedTokens
	u.OutputTokens += o.OutputTokens
}

// Price is what a model costs, in US dollars per million tokens.
type Price struct {
	Input float64 `json:"input"`
	// CachedInput is that of input that the provider had cached; zero means the same as Input.
	CachedInput float64 `json:"cachedInput"`
	Output      float64 `json:"output"`
}

// Cost is what the usage costs, in US dollars.
func (p Price) Cost(u Usage) float64 {
	cached := p.CachedInput
	if cached == 0 {
		cached = p.Input
	}
	return (float64(u.InputTokens-u.CachedTokens)*p.Input + float64(u.CachedTokens)*cached + float64(u.OutputTokens)*p.Output) / 1e6
}

// RunTotals is what a run has come to when it is closed (L5).
type RunTotals struct {
	Searches  int `msgpack:"searches" json:"searches"`
	Describes int `msgpack:"describes" json:"describes"`
	Calls     int `msgpack:"calls" json:"calls"`
	// Called are the tools that were called, in the order of their ids, at most [MaxCalled]; Dropped counts the others.
	Called  []CalledTool `msgpack:"called,omitempty" json:"called,omitempty"`
	Dropped int          `msgpack:"dropped,omitempty" json:"dropped,omitempty"`
}

// MaxCalled is how many tools [RunTotals] lists.
const MaxCalled = 256

// CalledTool counts the calls of one tool of a run, refused ones included.
type CalledTool struct {
	// ID is the catalog's id of the tool.
	ID     string `msgpack:"id" json:"id"`
	Source Source `msgpack:"source" json:"source"`
	Count  int    `msgpack:"count" json:"count"`
}

// How an agent's turn ended.
const (
	// StopAnswered: the model gave its answer.
	StopAnswered = "answered"
	// StopLimit: a bound of the turn was reached.
	StopLimit = "limit"
	// StopCancelled: somebody stopped it.
	StopCancelled = "cancelled"
	// StopFailed: the provider, the bus or the payload's check failed.
	StopFailed = "failed"
)

// TurnEntry is what an agent's turn has come to, in the session's log (L5): how many schemas the model saw first, how
// many searches and describes there were, which tools ran in the end, and from which source.
type TurnEntry struct {
	// Run is the caller's own id of the run; Host and Token address it on the bus.
	Run   string `json:"run"`
	Host  string `json:"host,omitempty"`
	Token string `json:"token,omitempty"`
	Model string `json:"model"`
	Mode  Mode   `json:"mode"`
	// Search is the mode of Tool Search, if the turn had it.
	Search string `json:"search,omitempty"`
	// Tools is how many schemas the model saw first, ToolBytes their JSON in the first request, PromptBytes what the
	// surface adds to the prompt.
	Tools       int          `json:"tools"`
	ToolBytes   int          `json:"toolBytes"`
	PromptBytes int          `json:"promptBytes"`
	CatalogSize int          `json:"catalogSize"`
	Sources     SourceCounts `json:"sources"`
	// Requests counts the requests to the provider, retries included, and RequestBytes their bodies.
	Requests     int       `json:"requests"`
	RequestBytes int64     `json:"requestBytes"`
	Retries      int       `json:"retries,omitempty"`
	Totals       RunTotals `json:"totals"`
	Usage        Usage     `json:"usage"`
	CostUSD      float64   `json:"costUsd,omitempty"`
	// Stop is one of the Stop constants; Error says what failed.
	Stop       string `json:"stop"`
	Error      string `json:"error,omitempty"`
	DurationMs int64  `json:"durationMs"`
}

// TurnStarted says that a model is about to be asked: feed.turn.started.<host>.<run>
type TurnStarted struct {
	At          int64    `msgpack:"at" json:"at"`
	Host        string   `msgpack:"host" json:"host"`
	Run         string   `msgpack:"run" json:"run"`
	Identity    Identity `msgpack:"identity" json:"identity"`
	Model       string   `msgpack:"model" json:"model"`
	Mode        Mode     `msgpack:"mode" json:"mode"`
	Search      string   `msgpack:"search,omitempty" json:"search,omitempty"`
	Tools       int      `msgpack:"tools" json:"tools"`
	PromptBytes int      `msgpack:"prompt_bytes" json:"promptBytes"`
	CatalogSize int      `msgpack:"catalog_size" json:"catalogSize"`
	// Label and Phase are what an agent that was started by another one was started with (G10).
	Label string `msgpack:"label,omitempty" json:"label,omitempty"`
	Phase string `msgpack:"phase,omitempty" json:"phase,omitempty"`
}

// TurnRequested says how one request to a provider went: feed.turn.requested.<host>.<run>
type TurnRequested struct {
	At   int64  `msgpack:"at" json:"at"`
	Host string `msgpack:"host" json:"host"`
	Run  string `msgpack:"run" json:"run"`
	// Request counts from 1; Attempt counts the tries of it from 1.
	Request int `msgpack:"request" json:"request"`
	Attempt int `msgpack:"attempt" json:"attempt"`
	// Bytes is the body, ToolBytes its tools.
	Bytes     int `msgpack:"bytes" json:"bytes"`
	ToolBytes int `msgpack:"tool_bytes" json:"toolBytes"`
	// Status is the HTTP status; 0 if there was none.
	Status     int   `msgpack:"status" json:"status"`
	Failed     bool  `msgpack:"failed,omitempty" json:"failed,omitempty"`
	DurationUs int64 `msgpack:"duration_us" json:"durationUs"`
	Usage      Usage `msgpack:"usage" json:"usage"`
	// ToolCalls is how many tools the answer calls.
	ToolCalls int `msgpack:"tool_calls" json:"toolCalls"`
}

// TurnEnded says how a turn ended: feed.turn.ended.<host>.<run>
type TurnEnded struct {
	At         int64     `msgpack:"at" json:"at"`
	Host       string    `msgpack:"host" json:"host"`
	Run        string    `msgpack:"run" json:"run"`
	Stop       string    `msgpack:"stop" json:"stop"`
	Requests   int       `msgpack:"requests" json:"requests"`
	Totals     RunTotals `msgpack:"totals" json:"totals"`
	Usage      Usage     `msgpack:"usage" json:"usage"`
	CostUSD    float64   `msgpack:"cost_usd,omitempty" json:"costUsd,omitempty"`
	DurationUs int64     `msgpack:"duration_us" json:"durationUs"`
}
