package agent

import "fmt"

// Payload is how much of requests and answers a [Debug] shows.
type Payload string

const (
	PayloadNone Payload = ""
	// PayloadTools shows the tools of requests.
	PayloadTools Payload = "tools"
	// PayloadFull shows bodies, with what looks like a credential masked.
	PayloadFull Payload = "full-redacted"
)

// SSE is how much of a stream a [Debug] shows.
type SSE string

const (
	SSENone SSE = ""
	// SSEEvents counts events as they come, by kind.
	SSEEvents SSE = "events"
	// SSEPeek shows the beginning of each.
	SSEPeek SSE = "peek"
)

// Debug says what a turn logs beyond its faults, at the level of information.
type Debug struct {
	// CodeMode tells how the surface was chosen, what was shown, and what each call of a control tool did.
	CodeMode bool
	// Transport tells of each request: its size, status, time, tries.
	Transport bool
	Payload   Payload
	SSE       SSE
	// Redact masks credentials in what is shown; nil shows no body at all.
	Redact func(string) string
}

// DebugOf reads the environment: CODECELL_DEBUG_CODE_MODE and CODECELL_DEBUG_MODEL_TRANSPORT are on when they are neither
// empty nor 0; CODECELL_DEBUG_MODEL_PAYLOAD is "tools" or "full-redacted", CODECELL_DEBUG_SSE "events" or "peek".
func DebugOf(env func(string) string) (Debug, error) {
	on := func(name string) bool { v := env(name); return v != "" && v != "0" && v != "false" }
	d := Debug{CodeMode: on("CODECELL_DEBUG_CODE_MODE"), Transport: on("CODECELL_DEBUG_MODEL_TRANSPORT")}
	switch p := Payload(env("CODECELL_DEBUG_MODEL_PAYLOAD")); p {
	case PayloadNone, PayloadTools, PayloadFull:
		d.Payload = p
	default:
		return d, fmt.Errorf("CODECELL_DEBUG_MODEL_PAYLOAD must be tools or full-redacted, not %q", p)
	}
	switch s := SSE(env("CODECELL_DEBUG_SSE")); s {
	case SSENone, SSEEvents, SSEPeek:
		d.SSE = s
	default:
		return d, fmt.Errorf("CODECELL_DEBUG_SSE must be events or peek, not %q", s)
	}
	return d, nil
}

// Any tells whether something is to be shown.
func (d *Debug) Any() bool {
	return d.CodeMode || d.Transport || d.Payload != PayloadNone || d.SSE != SSENone
}
