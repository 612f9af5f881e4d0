// Package bustest helps to test what runs on the bus: a server for a test, a recorder of
// transcripts, and hostile bytes.
//
// Importing it makes embedded servers live in testing/synctest bubbles: the access clock of
// their stores, one goroutine a process with a channel from outside of any bubble, runs from
// the start. In a bubble the store must be in memory: file stores read that clock, so their
// messages don't age in virtual time.
package bustest

import (
	"log/slog"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats-server/v2/server/ats"
	"go.uber.org/goleak"

	"github.com/codecell/codecell/bus"
)

func init() { ats.Register() }

// Server starts a server in memory, without a port, that ends with the test.
func Server(t testing.TB) *bus.Server {
	t.Helper()
	return Start(t, bus.ServerOptions{})
}

// Start starts a server that ends with the test. Its log is discarded unless o has a logger.
func Start(t testing.TB, o bus.ServerOptions) *bus.Server {
	t.Helper()
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	emptyPools(t)
	s, err := bus.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// emptyPools takes away, when a bubble ends, what its connections have left in pools of the whole process: the client
// library keeps timers for the next one who waits, and ends the process if a timer of a bubble is set outside of it.
func emptyPools(t testing.TB) {
	t.Helper()
	if time.Now().Year() != 2000 { // where the time of bubbles begins
		return
	}
	t.Cleanup(func() {
		synctest.Wait() // whoever used the server has ended as well
		runtime.GC()    // takes out of pools what the second one frees
		runtime.GC()
	})
}

// Connect gives a connection that ends with the test.
func Connect(t testing.TB, s *bus.Server) *bus.Conn {
	t.Helper()
	c, err := s.Connect(t.Name())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// Conn gives a connection to a server of its own.
func Conn(t testing.TB) *bus.Conn {
	t.Helper()
	return Connect(t, Server(t))
}

// Clock is the goroutine that this package starts, for goleak.
func Clock() goleak.Option {
	return goleak.IgnoreTopFunction("github.com/nats-io/nats-server/v2/server/ats.Register.func1")
}
