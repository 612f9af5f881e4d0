package schemas

import "strings"

// Error is a refused request: what was wrong, where, and what to do about it. It travels
// whole, and errors.Is matches it with its [Code].
type Error struct {
	Code Code `msgpack:"code" json:"code"`
	// Message is a full sentence that names the field, what was expected and what to do.
	Message string `msgpack:"message" json:"message"`
	// Field is the path of the offending field, if there is one ("mcpServers.fs.command").
	Field string `msgpack:"field,omitempty" json:"field,omitempty"`
}

// Errorf-style constructors would hide the field; callers build the struct.
var _ error = (*Error)(nil)

// Error gives the code and the message.
func (e *Error) Error() string {
	if e.Message == "" {
		return string(e.Code)
	}
	return string(e.Code) + ": " + e.Message
}

// Is matches the error with its code.
func (e *Error) Is(target error) bool { return target == error(e.Code) }

// Refuse makes an invalid_input error.
func Refuse(field, message string) *Error {
	return &Error{Code: InvalidInput, Field: field, Message: message}
}

// CallError is a nested call's failure as the guest sees it: plain data on an ordinary
// Error (E2, E3).
type CallError struct {
	Code CallCode `msgpack:"code" json:"code"`
	// Name is the JavaScript error name; empty means "Error".
	Name    string `msgpack:"name,omitempty" json:"name,omitempty"`
	Message string `msgpack:"message" json:"message"`
	// Location names where the failure arose: "input", "policy", "hook", "approval", "tool", "output", "transport".
	Location string `msgpack:"location,omitempty" json:"location,omitempty"`
	// Effect says whether the tool may have acted.
	Effect Outcome `msgpack:"effect,omitempty" json:"effectStatus,omitempty"`
}

// Error gives the message.
func (e *CallError) Error() string {
	if e.Name == "" {
		return e.Message
	}
	return strings.TrimSuffix(e.Name+": "+e.Message, ": ")
}

// Is matches the error with its code.
func (e *CallError) Is(target error) bool { return target == error(e.Code) }
