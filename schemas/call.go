package schemas

// Call is one nested call on its way to an executor. The answer goes to the message's
// reply subject.
type Call struct {
	// ID is unique within the cell; Address names the cell.
	ID      string  `msgpack:"id"`
	Address Address `msgpack:"address"`
	// Owner and Tool are the registered names (not subject tokens).
	Source Source `msgpack:"source"`
	Owner  string `msgpack:"owner"`
	Tool   string `msgpack:"tool"`
	// Args is the JSON object of arguments.
	Args JSON `msgpack:"args"`
	// Identity of the run, and the tool-call id of the exec that the cell came from (P2, W1).
	Identity Identity `msgpack:"identity"`
	ParentID string   `msgpack:"parent_id"`
	// TraceParent is a W3C trace context, if the caller gave one.
	TraceParent string `msgpack:"trace_parent,omitempty"`
	// IdempotencyKey is the same for every delivery of one call to an idempotent tool.
	IdempotencyKey string `msgpack:"idempotency_key,omitempty"`
	// BudgetMs is what was left of the budget of the cell's current exec or wait when the call was sent, in
	// milliseconds: a tool that can go on in the background does so before it is used up (Q5). 0 means unknown.
	BudgetMs int64 `msgpack:"budget_ms,omitempty"`
	// Bound: the run is recorded in its session.
	Bound bool `msgpack:"bound,omitempty"`
}

// AnswerState says what an [Answer] tells.
type AnswerState string

const (
	// AnswerAccepted: an executor holds the call; nothing has settled. Sent only for calls that
	// take longer than a moment.
	AnswerAccepted AnswerState = "accepted"
	// AnswerAwaiting: the call waits for somebody's approval, and hasn't reached its tool. What follows is
	// accepted, when it was approved, or failed (S6).
	AnswerAwaiting AnswerState = "awaiting_approval"
	// AnswerDone: the tool returned Value.
	AnswerDone AnswerState = "done"
	// AnswerFailed: the call rejects with Err.
	AnswerFailed AnswerState = "failed"
)

// Answer tells the cell about one of its calls.
type Answer struct {
	ID       string      `msgpack:"id"`
	Executor string      `msgpack:"executor"`
	State    AnswerState `msgpack:"state"`
	// Value is the structured result; empty means undefined.
	Value JSON       `msgpack:"value,omitempty"`
	Err   *CallError `msgpack:"err,omitempty"`
	// Untrusted marks data of an MCP server or a client (O5).
	Untrusted bool `msgpack:"untrusted,omitempty"`
}

// Stop tells the executors that nobody waits for a call any more. The subject names it.
type Stop struct {
	Reason string `msgpack:"reason,omitempty"`
}

// Ping asks one executor whether it is alive and still holds the named calls.
type Ping struct {
	// Calls are "<cell>.<call>" keys.
	Calls []string `msgpack:"calls,omitempty"`
}

// Pong answers [Ping] with those of the named calls that the executor doesn't hold.
type Pong struct {
	Executor string   `msgpack:"executor"`
	Gone     []string `msgpack:"gone,omitempty"`
}
