package schemas

// Code is the closed list of reasons why a cell or a request fails (E1). A Code is
// decided by where the failure arose, never by the text of a message, and is itself an
// error, so that errors.Is(err, schemas.Timeout) works on both sides of the bus.
type Code string

const (
	// InvalidInput: what was asked can't be done as asked; nothing was started by it.
	InvalidInput Code = "invalid_input"
	// RuntimeUnavailable: no guest can be had (engine missing, altered or broken, host gone).
	RuntimeUnavailable Code = "runtime_unavailable"
	// Aborted: the caller, the run or a drain cancelled the work.
	Aborted Code = "aborted"
	// Timeout: guest computation used up its budget.
	Timeout Code = "timeout"
	// OutputLimitExceeded: output could not be kept within maxOutputBytes.
	OutputLimitExceeded Code = "output_limit_exceeded"
	// SnapshotLimitExceeded: a checkpoint is larger than maxSnapshotBytes.
	SnapshotLimitExceeded Code = "snapshot_limit_exceeded"
	// InternalError: the guest's own failure (an uncaught throw), or ours.
	InternalError Code = "internal_error"
)

// Codes lists every [Code] in a fixed order.
var Codes = [...]Code{
	InvalidInput, RuntimeUnavailable, Aborted, Timeout, OutputLimitExceeded, SnapshotLimitExceeded, InternalError,
}

// Error makes a Code an error.
func (c Code) Error() string { return string(c) }

// CallCode is the closed list of reasons why one nested call rejects (E3).
type CallCode string

const (
	// CallInputContract: the arguments don't fit the tool's input schema; it was not called.
	CallInputContract CallCode = "input_contract"
	// CallOutputContract: the tool ran, and what it returned doesn't fit its output schema.
	CallOutputContract CallCode = "output_contract"
	// CallInvalidContract: the tool's own schema is invalid; it was not called.
	CallInvalidContract CallCode = "invalid_contract"
	// CallInvalidInput: the call can't be made (unknown tool, refused by policy, too many calls).
	CallInvalidInput CallCode = "invalid_input"
	// CallToolError: the tool failed, or the way to it did.
	CallToolError CallCode = "tool_error"
)

// Error makes a CallCode an error.
func (c CallCode) Error() string { return string(c) }

// Outcome says how far a nested call came (E5).
type Outcome string

const (
	// NotStarted: the call was never handed to a tool.
	NotStarted Outcome = "not_started"
	// Started: the call was handed to a tool and hasn't ended.
	Started Outcome = "started"
	// Done: the tool returned.
	Done Outcome = "done"
	// Failed: the tool, or a check before it, said no.
	Failed Outcome = "failed"
	// Unknown: the call was handed over and the answer is lost; it may have run.
	Unknown Outcome = "unknown"
)
