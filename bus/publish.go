package bus

import (
	"errors"
	"fmt"
	"sync"

	"github.com/nats-io/nats.go"

	"github.com/codecell/codecell/schemas"
)

// pooledBytes is the largest buffer that is kept for the next message.
const pooledBytes = 64 << 10

var buffers = sync.Pool{New: func() any { return new([]byte) }}

// encode runs use with the message's bytes, which are valid during the call only.
func encode(msg any, use func(b []byte) error) error {
	p := buffers.Get().(*[]byte)
	b, err := schemas.Append((*p)[:0], msg)
	if err == nil {
		err = use(b)
	}
	if cap(b) <= pooledBytes {
		*p = b[:0]
		buffers.Put(p)
	}
	return err
}

// Publish sends a message; answers to it, or word that nobody listens, go to reply unless it
// is empty. It doesn't wait: nil says that the message is on its way, not that it arrived.
//
// A message above the payload limit goes by the object store in the background (U6). If that
// fails, a notice takes its place, which the receiver's handler sees as an error. Errors:
// [ErrTooLarge], [ErrBusy], [ErrDisconnected].
func (c *Conn) Publish(subject, reply string, msg any) error {
	return encode(msg, func(b []byte) error {
		err := c.publishBytes(subject, reply, b)
		if errors.Is(err, nats.ErrMaxPayload) {
			return c.values.sendLater(subject, reply, append([]byte(nil), b...))
		}
		return err
	})
}

// publishBytes keeps nothing of b. It gives nats.ErrMaxPayload for too many of them.
func (c *Conn) publishBytes(subject, reply string, b []byte) error {
	var err error
	if reply == "" {
		err = c.nats.Publish(subject, b)
	} else {
		err = c.nats.PublishRequest(subject, reply, b)
	}
	return c.publishError(subject, err)
}

func (c *Conn) publishError(subject string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, nats.ErrMaxPayload):
		return err
	case errors.Is(err, nats.ErrConnectionClosed), errors.Is(err, nats.ErrReconnectBufExceeded), errors.Is(err, nats.ErrConnectionDraining):
		return fmt.Errorf("publish on %s: %w: %w", subject, ErrDisconnected, err)
	}
	return fmt.Errorf("publish on %s: %w", subject, err)
}
