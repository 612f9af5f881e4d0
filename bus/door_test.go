package bus_test

import (
	"io"
	"net"
	"sync"
	"testing"
)

// door is an address that a test has from its beginning to its end, whatever stands behind it. A port that is given back,
// for a server to take it, may be another's by then.
type door struct {
	listener net.Listener
	// knocked is told that somebody came while nothing stood behind it.
	knocked chan struct{}

	mu     sync.Mutex
	behind string
	conns  map[net.Conn]struct{}
	closed bool
	work   sync.WaitGroup
}

func newDoor(t *testing.T) *door {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	d := &door{listener: listener, knocked: make(chan struct{}, 1), conns: map[net.Conn]struct{}{}}
	d.work.Go(d.serve)
	t.Cleanup(d.close)
	return d
}

func (d *door) url() string { return "nats://" + d.listener.Addr().String() }

// lead opens the door to an address; "" shuts it for those who come from now on.
func (d *door) lead(address string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.behind = address
}

func (d *door) close() {
	d.listener.Close()
	d.mu.Lock()
	d.closed = true
	for c := range d.conns {
		c.Close()
	}
	d.mu.Unlock()
	d.work.Wait()
}

func (d *door) serve() {
	for {
		in, err := d.listener.Accept()
		if err != nil {
			return // closed
		}
		d.mu.Lock()
		behind := d.behind
		d.mu.Unlock()
		out, err := net.Dial("tcp", behind) //nolint:noctx // of this machine
		if err != nil || !d.keep(in, out) {
			in.Close()
			select {
			case d.knocked <- struct{}{}:
			default:
			}
			continue
		}
		d.work.Go(func() { pass(out, in) })
		d.work.Go(func() { pass(in, out) })
	}
}

// keep notes connections that close ends; false: it has been called.
func (d *door) keep(conns ...net.Conn) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, c := range conns {
		if d.closed {
			c.Close()
			continue
		}
		d.conns[c] = struct{}{}
	}
	return !d.closed
}

// pass takes what comes on one connection to the other, and closes both at the end of either.
func pass(to, from net.Conn) {
	_, _ = io.Copy(to, from)
	to.Close()
	from.Close()
}
