package bus

import (
	"errors"
	"fmt"
)

var (
	// ErrNoResponders says that nobody listens on the subject now. Nothing was received by anyone.
	ErrNoResponders = errors.New("nobody listens on this subject")
	// ErrTooLarge says that the message is over the limit for values, or over the payload limit
	// of a bus without an object store. Nothing was sent.
	ErrTooLarge = errors.New("message too large")
	// ErrBusy says that as many large values are on their way as may be; nothing was sent.
	ErrBusy = errors.New("too many large values on their way")
	// ErrDisconnected says that the connection to the bus is down.
	ErrDisconnected = errors.New("disconnected from the bus")
	// ErrMalformed says that what arrived doesn't decode, or that its sender couldn't send.
	ErrMalformed = errors.New("malformed message")
)

// Reason says what became of a message, for programs and models: in the words of the errors above, where it is one of them, and
// in those of the first cause otherwise, without the subject, which is nothing to them (E2).
func Reason(err error) string {
	if e, ok := errors.AsType[*sizeError](err); ok {
		return e.Error()
	}
	for _, known := range []error{ErrNoResponders, ErrTooLarge, ErrBusy, ErrDisconnected, ErrMalformed} {
		if errors.Is(err, known) {
			return known.Error()
		}
	}
	for cause := err; cause != nil; cause = errors.Unwrap(cause) { // what wraps it names the subject
		err = cause
	}
	return err.Error()
}

// sizeError is an [ErrTooLarge] that knows the bound, in bytes.
type sizeError struct{ size, limit int64 }

func (e *sizeError) Error() string {
	return fmt.Sprintf("%v: %d bytes, at most %d may travel", ErrTooLarge, e.size, e.limit)
}

func (e *sizeError) Is(target error) bool { return target == ErrTooLarge }

func noResponders(subject string) error { return fmt.Errorf("%s: %w", subject, ErrNoResponders) }
