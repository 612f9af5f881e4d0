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

func noResponders(subject string) error { return fmt.Errorf("%s: %w", subject, ErrNoResponders) }
