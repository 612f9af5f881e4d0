package session

import (
	"context"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/codecell/codecell/bus"
)

// front is the address of a server that is started again: on a port that was free before, another may listen by then.
type front struct {
	url string
	to  atomic.Pointer[bus.Server]
}

func newFront(t *testing.T) *front {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f := &front{url: "nats://" + l.Addr().String()}
	var passing sync.WaitGroup
	passing.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			passing.Go(func() { f.pass(c) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		passing.Wait() // both ends are closed by then
	})
	return f
}

// lead has further connections go to a server, and to nobody with nil.
func (f *front) lead(s *bus.Server) { f.to.Store(s) }

// pass joins a connection to the server until either end is closed. Without a server it is closed at once.
func (f *front) pass(c net.Conn) {
	defer c.Close()
	server := f.to.Load()
	if server == nil {
		return
	}
	to, err := new(net.Dialer).DialContext(context.Background(), "tcp", strings.TrimPrefix(server.URL(), "nats://"))
	if err != nil {
		return
	}
	defer to.Close()
	back := make(chan struct{})
	go func() {
		defer close(back)
		_, _ = io.Copy(to, c) // ends with either
		to.Close()
	}()
	_, _ = io.Copy(c, to)
	c.Close()
	<-back
}
