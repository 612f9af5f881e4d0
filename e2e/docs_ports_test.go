package e2e

import (
	"fmt"
	"net"
	"os"
	"sync/atomic"
	"testing"
)

// ports counts those that were given to documents.
var ports atomic.Uint32

// freeAddress gives an address on which nobody listens, no document but this one, and no connection of anybody: systems take
// the ports of those from a range above.
func freeAddress(t *testing.T) string {
	t.Helper()
	const first, count = 12_000, 8_000
	for range count {
		at := (uint32(os.Getpid())*37 + ports.Add(1)) % count
		l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", fmt.Sprintf("127.0.0.1:%d", first+at))
		if err == nil {
			address := l.Addr().String()
			_ = l.Close()
			return address
		}
	}
	t.Fatal("no port is free")
	return ""
}
