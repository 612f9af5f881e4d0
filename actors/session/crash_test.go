package session

import (
	"math/rand/v2"
	"os"
	"testing"
	"time"
)

// TestSpec_T2_Case87_KillLosesNothing kills a process at any moment while it appends and commits: what it has
// acknowledged is there when the next one reads the folder.
func TestSpec_T2_Case87_KillLosesNothing(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	var acked []int
	const kills = 5
	for range kills {
		w := startWorker(t, self, dir, nil)
		w.until(t, "acked")
		time.Sleep(rand.N(100 * time.Millisecond)) // real: a moment that the child doesn't know of
		w.kill()
		acked = append(acked, w.acked...)
		keepsAcked(t, dir, acked)
	}
	if len(acked) < kills {
		t.Errorf("%d acknowledged in all", len(acked))
	}
}
