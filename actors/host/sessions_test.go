package host

import (
	"context"
	"errors"
	"log/slog"
	"testing"

	"github.com/codecell/codecell/bus/bustest"
)

// While the store of sessions is being opened on a bus that doesn't answer, the host's state can be had, and the host can
// end; a store that was opened meanwhile isn't left open.
func TestSpec_T3_OpeningSessionsHoldsNobodyUp(t *testing.T) {
	s := &sessions{conn: bustest.Conn(t), log: slog.New(slog.DiscardHandler)}
	s.opening.Lock() // as by a program whose bus is silent
	late := make(chan error, 1)
	go func() { _, err := s.open(context.Background()); late <- err }()
	if found := s.problems(); len(found) > 0 {
		t.Error(found)
	}
	if err := s.close(t.Context()); err != nil {
		t.Error(err)
	}
	s.opening.Unlock()
	if err := <-late; !errors.Is(err, errClosing) {
		t.Errorf("got %v, want that the host is shutting down", err)
	}
}
