package bus

import (
	"errors"
	"fmt"
)

var (
	// ErrNoResponders: nobody listens on the subject now. Nothing was received by anyone.
	ErrNoResponders = errors.New("nobody listens on this subject")
	// ErrTooLarge: the message is over the limit for values, or over the payload limit of a
	// bus without an object store. Nothing was sent.
	ErrTooLarge = errors.New("message too large")
	// ErrBusy: as many large values are on their way as may be; nothing was sent.
	ErrBusy = errors.New("too many large values on their way")
	// ErrDisconnected: the connection to the bus is down.
	ErrDisconnected = errors.New("disconnected from the bus")
	// ErrMalformed: what arrived doesn't decode, or its sender reports that it couldn't send.
	ErrMalformed = errors.New("malformed message")
)

func noResponders(subject string) error { return fmt.Errorf("%s: %w", subject, ErrNoResponders) }
