package schemas

// Status is the state of a cell in a [Result].
type Status string

const (
	// StatusCompleted: nothing is pending and the value is final (X11).
	StatusCompleted Status = "completed"
	// StatusWaiting: the cell is parked and can be resumed (X12).
	StatusWaiting Status = "waiting"
	// StatusFailed: the cell has ended, or was never started.
	StatusFailed Status = "failed"
)

// Reasons of a waiting result.
const (
	ReasonPendingTools = "pending_tools"
	ReasonYield        = "yield"
)

// Result answers exec and wait: one of three shapes, told apart by Status.
type Result struct {
	Status Status `msgpack:"status"`
	// Completed.
	Value    JSON     `msgpack:"value,omitempty"`
	Warnings []string `msgpack:"warnings,omitempty"`
	// Waiting.
	RunID   string        `msgpack:"run_id,omitempty"`
	Reason  string        `msgpack:"reason,omitempty"`
	Pending []PendingCall `msgpack:"pending,omitempty"`
	// Failed. Error is the text for the model; Code says where the failure arose.
	Error string `msgpack:"error,omitempty"`
	Code  Code   `msgpack:"code,omitempty"`

	Output     []OutputItem `msgpack:"output,omitempty"`
	ReplaySafe bool         `msgpack:"replay_safe,omitempty"`
	Telemetry  Telemetry    `msgpack:"telemetry"`
	// Untrusted: data of an MCP server or of a client took part; the model-facing text is wrapped (O5).
	Untrusted bool `msgpack:"untrusted,omitempty"`
	// DryRun lists the calls of a dry run, in order of issue; nil for a real one.
	DryRun *DryRun `msgpack:"dry_run,omitempty"`
}

// DryRun is what a program of a dry run called, or would have.
type DryRun struct {
	// Calls are the first calls, at most [MaxDryCalls]. A call is listed also if it was refused.
	Calls []DryCall `msgpack:"calls" json:"calls"`
	// Dropped counts the calls that aren't listed.
	Dropped int `msgpack:"dropped,omitempty" json:"dropped,omitempty"`
}

// Bounds of what a result lists of a dry run.
const (
	MaxDryCalls = 256
	// MaxDryArgs is how many bytes of arguments are listed in all.
	MaxDryArgs = 64 << 10
)

// DryCall is one of its calls.
type DryCall struct {
	ID string `msgpack:"id" json:"id"`
	// Tool is the callable name.
	Tool string `msgpack:"tool" json:"tool"`
	// Args are the arguments as the program gave them; null, with OmittedBytes set, if the list was full.
	Args         JSON `msgpack:"args" json:"args"`
	OmittedBytes int  `msgpack:"omitted_bytes,omitempty" json:"omittedBytes,omitempty"`
	// Placeholder: the tool was not called; the program got a placeholder of the shape that it declares, or was told
	// what is wrong with the arguments.
	Placeholder bool `msgpack:"placeholder,omitempty" json:"placeholder,omitempty"`
}

// PendingCall is one unsettled request of a parked cell (W4).
type PendingCall struct {
	ID string `msgpack:"id" json:"id"`
	// Kind is the request kind: "call", "timer", "yield", "search", ….
	Kind string `msgpack:"kind" json:"kind"`
	// Tool is the callable name of a pending call.
	Tool string `msgpack:"tool,omitempty" json:"tool,omitempty"`
	// State is "queued", "sent", "started" or "awaiting_approval".
	State string `msgpack:"state" json:"state"`
}

// OutputItem is one thing that the guest emitted (O1).
type OutputItem struct {
	// Type is "text" or "json".
	Type string `msgpack:"type"`
	// Text is the emitted text, for type "text".
	Text string `msgpack:"text,omitempty"`
	// Value is the emitted value, for type "json".
	Value JSON `msgpack:"value,omitempty"`
}

// Telemetry goes with every result (E4). It holds counts and names, never arguments,
// results or secrets.
type Telemetry struct {
	CatalogSize   int          `msgpack:"catalog_size" json:"catalogSize"`
	Sources       SourceCounts `msgpack:"sources" json:"sources"`
	CounterScope  string       `msgpack:"counter_scope" json:"counterScope"`
	SearchCount   int          `msgpack:"search_count" json:"searchCount"`
	DescribeCount int          `msgpack:"describe_count" json:"describeCount"`
	CallCount     int          `msgpack:"call_count" json:"callCount"`
	VisibleTools  []string     `msgpack:"visible_tools" json:"visibleTools"`
	// Calls lists this cell's nested calls with their outcome, when the cell failed (E5).
	Calls []CallOutcome `msgpack:"calls,omitempty" json:"calls,omitempty"`
}

// SourceCounts counts the catalog's tools by source.
type SourceCounts struct {
	Native int `msgpack:"openclaw" json:"openclaw"`
	MCP    int `msgpack:"mcp" json:"mcp"`
	Client int `msgpack:"client" json:"client"`
}

// Add counts one tool.
func (c *SourceCounts) Add(source Source) {
	switch source {
	case SourceNative:
		c.Native++
	case SourceMCP:
		c.MCP++
	case SourceClient:
		c.Client++
	}
}

// CallOutcome is how one nested call ended.
type CallOutcome struct {
	ID      string  `msgpack:"id" json:"id"`
	Tool    string  `msgpack:"tool" json:"tool"`
	Outcome Outcome `msgpack:"outcome" json:"outcome"`
}
