package bus_test

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/codecell/codecell/bus"
	"github.com/codecell/codecell/bus/bustest"
)

func TestSpec_U1_TwoServersNeverShareAFolder(t *testing.T) {
	dir := t.TempDir()
	first := bustest.Start(t, bus.ServerOptions{StoreDir: dir})
	_, err := bus.Start(t.Context(), bus.ServerOptions{StoreDir: dir, Logger: slog.New(slog.DiscardHandler)})
	if err == nil || !strings.Contains(err.Error(), "another process uses bus.storeDir "+dir) || !strings.Contains(err.Error(), "--bus") {
		t.Fatalf("a second server on the folder: %v", err)
	}
	first.Close()
	bustest.Start(t, bus.ServerOptions{StoreDir: dir})
}

func TestSpec_S6_Case87_LostTranscriptsAreNoNewFolder(t *testing.T) {
	dir := t.TempDir()
	bustest.Start(t, bus.ServerOptions{StoreDir: dir}).Close()
	streams, err := filepath.Glob(filepath.Join(dir, "jetstream", "*", "streams", "CODECELL_SESSIONS"))
	if err != nil || len(streams) != 1 {
		t.Fatalf("streams %v (%v)", streams, err)
	}
	if err := os.RemoveAll(streams[0]); err != nil {
		t.Fatal(err)
	}
	_, err = bus.Start(t.Context(), bus.ServerOptions{StoreDir: dir, Logger: slog.New(slog.DiscardHandler)})
	if err == nil || !strings.Contains(err.Error(), "restore the folder from a backup") || !strings.Contains(err.Error(), "codecell-sessions") {
		t.Fatalf("a folder without its transcripts: %v", err)
	}
	if err := os.Remove(filepath.Join(dir, "codecell-sessions")); err != nil { // as the error says
		t.Fatal(err)
	}
	bustest.Start(t, bus.ServerOptions{StoreDir: dir})
}
