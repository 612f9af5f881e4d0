package wasm

// Leg is what happened in one stretch of guest computation, in the order of the program.
type Leg struct {
	// Requests are to be dispatched now. Empty if Overflow is set.
	Requests []Request
	// Unsent are those of a leg that didn't end by itself. They must not be dispatched.
	Unsent []Request
	// Cancelled are the IDs of requests of earlier legs that the program no longer wants (timers).
	Cancelled []string
	// Output was appended by the program. After a stop, it's what was accepted before.
	Output []Output
	// OmittedBytes counts the payload bytes of this leg's output that Limits.OutputBytes and LegOutputBytes left no room for.
	OmittedBytes int64
	// DroppedValues and DroppedTexts count the output items of which nothing was kept: those of kind json, and the others.
	DroppedValues, DroppedTexts int
	// Overflow says that the program made more requests than Limits.Requests or Limits.RequestBytes allow. The excess call
	// threw a RangeError in the program; but none of this leg's requests may run, so the guest is poisoned.
	Overflow bool
	// Settled says that the main program has ended, in this leg or an earlier one. Requests may still be unanswered then.
	Settled bool
	// Value is the main program's value as JSON, in the leg in which it ended well.
	Value []byte
	// Err is the error that ended the main program, in the leg in which it did.
	Err *GuestError
	// Unhandled is the first rejection that had no handler when the leg ended. A handler may still come in a later leg.
	Unhandled *GuestError
	// Effort measures how much was computed, whatever the machine's load: in stretches of a few thousand loop turns of the
	// engine, each a fraction of a millisecond at most. A leg that only takes an answer and asks again has a handful.
	Effort int
}

// Request is something the program asks of its host.
type Request struct {
	ID      string // unique within the guest's life, snapshots included
	Kind    string // "call", "timer", …: the controller's vocabulary
	Payload []byte // JSON
}

// Output is one item that the program printed.
type Output struct {
	Kind string // "text", "json" or "console"
	// Payload is JSON: a string, for kind json any value. If OmittedBytes isn't 0, it's only the beginning of the JSON text,
	// not ending within a character.
	Payload      []byte
	OmittedBytes int64
}

// Answer settles one request.
type Answer struct {
	ID string
	OK bool
	// Body is JSON: if OK the value, empty standing for undefined; else an error's fields {"name","message",…}.
	Body []byte
}
