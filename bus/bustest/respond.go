package bustest

import (
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/codecell/codecell/bus"
)

// Respond answers each message on a subject with bytes, whatever they are, until the test ends; without ok it says nothing.
// It is there when Respond returns.
func Respond(t testing.TB, c *bus.Conn, subject string, answer func(body []byte) (reply []byte, ok bool)) {
	t.Helper()
	sub, err := c.NATS().Subscribe(subject, func(m *nats.Msg) {
		if reply, ok := answer(m.Data); ok {
			_ = m.Respond(reply) // who asked may be gone
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = sub.Unsubscribe() }) // fails only if closed already
	if err := c.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
}
