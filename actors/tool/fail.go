package tool

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/codecell/codecell/schemas"
)

// Where a call's failure arose: the values of [schemas.CallError.Location].
const (
	atInput     = "input"
	atPolicy    = "policy"
	atHook      = "hook"
	atApproval  = "approval"
	atTool      = "tool"
	atOutput    = "output"
	atTransport = "transport"
)

// maxMessageBytes bounds the message of a tool's own error: enough for a compiler's
// complaint, too little to fill a cell's memory with.
const maxMessageBytes = 8 << 10

// refused is a call that was not handed to its tool.
func refused(code schemas.CallCode, location, format string, args ...any) *schemas.CallError {
	return &schemas.CallError{
		Code: code, Location: location, Effect: schemas.NotStarted, Message: fmt.Sprintf(format, args...),
	}
}

// lost is a call that was handed over and whose end nobody knows.
func lost(format string, args ...any) *schemas.CallError {
	return &schemas.CallError{
		Code: schemas.CallToolError, Location: atTransport, Effect: schemas.Unknown, Message: fmt.Sprintf(format, args...),
	}
}

// toolFailure turns what a provider returned into what the guest sees. Fields that the
// provider left empty say that the tool itself failed.
func toolFailure(tool string, err error) *schemas.CallError {
	if known, ok := errors.AsType[*schemas.CallError](err); ok {
		c := *known
		c.Message = clip(c.Message, maxMessageBytes)
		if c.Code == "" {
			c.Code = schemas.CallToolError
		}
		if c.Location == "" {
			c.Location = atTool
		}
		if c.Effect == "" {
			c.Effect = schemas.Failed
		}
		return &c
	}
	message := clip(err.Error(), maxMessageBytes)
	switch {
	case errors.Is(err, context.Canceled):
		message = fmt.Sprintf("%s was cancelled while it ran", tool)
	case message == "":
		message = fmt.Sprintf("%s failed without saying why", tool)
	}
	return &schemas.CallError{Code: schemas.CallToolError, Location: atTool, Effect: schemas.Failed, Message: message}
}

// clip bounds a text to limit bytes of valid UTF-8, and says so when it cuts.
func clip(s string, limit int) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= limit {
		return s
	}
	const mark = " [truncated]"
	cut := limit - len(mark)
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + mark
}
