package schemas

// Open asks any host for a run. Opening a run whose identity is already open on a host
// attaches to it.
type Open struct {
	Identity Identity `msgpack:"identity"`
	// Ephemeral: the run ends by itself when its last cell has ended and no call is open.
	Ephemeral bool `msgpack:"ephemeral,omitempty"`
	// Bind records the run in the transcript of its identity's session, and gives its programs store and load (T1).
	Bind bool `msgpack:"bind,omitempty"`
	// DryRun: only replay-safe tools are really called; every other call is answered by a placeholder.
	DryRun bool `msgpack:"dry_run,omitempty"`
	// LeaseMs, if set, is for how many milliseconds the run outlives its caller: it is closed, with its cells, when for so
	// long nobody has sent it an [Exec], [Wait], [Direct], [Hold] or this again. From a second to a day.
	LeaseMs int64 `msgpack:"lease_ms,omitempty"`
	// Mode is how a model is to reach the tools (F1, F3). Empty is for callers that run programs by themselves: Code Mode,
	// whatever the configuration says and however few tools there are. [ModeAuto] leaves it to the configuration; the
	// others stand for what it would say. A run without tools is always [ModeDirect] then (A3).
	Mode Mode `msgpack:"mode,omitempty"`
	// Model is the model's key in the configuration, "provider/model".
	Model string `msgpack:"model,omitempty"`
	// Raw: a plain model call, without tools (A3).
	Raw bool `msgpack:"raw,omitempty"`
	// Front: whoever asks shows the tools to others, whose model it may not know and who may list them once. Without a Model,
	// Code Mode is on wherever the configuration leaves that to the model; and the control tools are there before any other
	// tool is.
	Front bool `msgpack:"front,omitempty"`
}

// Opened answers [Open].
type Opened struct {
	Host string `msgpack:"host"`
	// Run is the token that addresses the run on the bus.
	Run     string  `msgpack:"run"`
	Surface Surface `msgpack:"surface"`
	Err     *Error  `msgpack:"err,omitempty"`
}

// Exec runs a program in a new cell of a run.
type Exec struct {
	// CallID is the model's tool-call id; nested calls carry it as their parent.
	CallID string `msgpack:"call_id"`
	// Input is the exec input as the model gave it: {title, code, restartSafe?, awaitResults?}.
	// The host validates it, so that every way in answers alike.
	Input JSON `msgpack:"input"`
	// TraceParent is the caller's W3C trace context, handed on to every nested call (P2).
	TraceParent string `msgpack:"trace_parent,omitempty"`
	// Recovers is the call id of an interrupted exec that this one runs again (R2).
	Recovers string `msgpack:"recovers,omitempty"`
}

// Direct calls a tool that the surface shows as direct: one whose result can't cross the JSON bridge of a cell (A2), a
// tool of Tool Search (L2), or, in direct mode, any.
type Direct struct {
	CallID string `msgpack:"call_id"`
	// Name is the tool's name on the [Surface].
	Name        string `msgpack:"name"`
	Args        JSON   `msgpack:"args"`
	TraceParent string `msgpack:"trace_parent,omitempty"`
}

// Directed answers [Direct]: Value, or why there is none. Call is the tool's own failure, Err a
// request that couldn't be made.
type Directed struct {
	// Source says how to read Value: that of an MCP tool is its native result. What a tool of Tool Search answers is
	// codecell's own, also where it holds such a result.
	Source Source     `msgpack:"source,omitempty"`
	Value  JSON       `msgpack:"value,omitempty"`
	Call   *CallError `msgpack:"call,omitempty"`
	Err    *Error     `msgpack:"err,omitempty"`
	// Untrusted: Value or Call holds text of an MCP server or of a client (O5, M6).
	Untrusted bool `msgpack:"untrusted,omitempty"`
	// Telemetry is the run's, with the answers of Tool Search (L5); nil otherwise.
	Telemetry *Telemetry `msgpack:"telemetry,omitempty"`
}

// Wait continues a parked cell.
type Wait struct {
	// CallID is the model's tool-call id: the same id twice is one wait delivered twice (W5).
	CallID   string   `msgpack:"call_id"`
	Identity Identity `msgpack:"identity"`
	// RunID is the runId of a waiting result.
	RunID string `msgpack:"run_id"`
}

// Cancel ends a cell. It is answered by [Ack] when the guest has stopped.
type Cancel struct {
	Identity Identity `msgpack:"identity"`
	// Operator: asked by an operator, who needn't be the cell's owner. Subject permissions
	// decide who may send it.
	Operator bool   `msgpack:"operator,omitempty"`
	Reason   string `msgpack:"reason,omitempty"`
}

// Close ends a run and every cell in it, or, with a CallID, only the cell that this exec started.
type Close struct {
	Identity Identity `msgpack:"identity"`
	Reason   string   `msgpack:"reason,omitempty"`
	// CallID is that of an [Exec] whose answer nobody waits for any more.
	CallID string `msgpack:"call_id,omitempty"`
}

// Ack answers [Cancel] and [Close].
type Ack struct {
	Err *Error `msgpack:"err,omitempty"`
	// Totals is what a run that was closed has come to (L5).
	Totals *RunTotals `msgpack:"totals,omitempty"`
}

// Hold tells a run that its caller is still there. It is answered by [Ack].
type Hold struct {
	Identity Identity `msgpack:"identity"`
}

// Describe asks for the run's surface and catalog as they are for a new cell.
type Describe struct {
	// Known is the version of the surface that the caller has, if any. The host then answers when the
	// surface has another, or after a while, whichever comes first: a caller learns of changes without
	// asking all the time, and misses none.
	Known string `msgpack:"known,omitempty"`
}

// Described answers [Describe].
type Described struct {
	Surface Surface        `msgpack:"surface"`
	Catalog []CatalogEntry `msgpack:"catalog"`
	// Problems are tools and servers that could not be admitted, with the reason.
	Problems []string `msgpack:"problems,omitempty"`
	Err      *Error   `msgpack:"err,omitempty"`
}

// CatalogEntry is one admitted tool as people see it.
type CatalogEntry struct {
	CallableName string `msgpack:"callable_name" json:"callableName"`
	ToolName     string `msgpack:"tool_name" json:"toolName"`
	Owner        string `msgpack:"owner" json:"owner"`
	Source       Source `msgpack:"source" json:"source"`
	Description  string `msgpack:"description,omitempty" json:"description,omitempty"`
	Input        string `msgpack:"input,omitempty" json:"input,omitempty"`
	Output       string `msgpack:"output,omitempty" json:"output,omitempty"`
}

// Search looks a query up in a run's catalog.
type Search struct {
	Query string `msgpack:"query"`
	// Limit is the number of hits wanted; 0 means the configured default.
	Limit int `msgpack:"limit,omitempty"`
}

// Found answers [Search], best first.
type Found struct {
	Hits []CatalogEntry `msgpack:"hits"`
	Err  *Error         `msgpack:"err,omitempty"`
}
