package host_test

import (
	"context"
	"strings"
	"testing"

	"github.com/codecell/codecell/actors/host"
	"github.com/codecell/codecell/schemas"
)

// TestSpec_U5_ConnectionLostForGood: a host whose connection isn't coming back says so, rather than to live on unreachable.
func TestSpec_U5_ConnectionLostForGood(t *testing.T) {
	n, err := host.Up(t.Context(), host.NodeOptions{Config: &schemas.Config{}, CacheDir: cache})
	if err != nil {
		t.Fatal(err)
	}
	// What can't be sent any more can't be flushed either.
	defer func() { _ = n.Close(context.Background()) }()
	if err := n.Conn().NATS().Publish(strings.Repeat("x", 5000), nil); err != nil {
		t.Fatal(err)
	}
	if err := <-n.Host().Failed(); err == nil || !strings.Contains(err.Error(), "the bus ended the connection") {
		t.Errorf("got %v, want that the connection is lost", err)
	}
}
