package host_test

import (
	"testing"
	"time"

	"github.com/codecell/codecell/schemas"
)

// TestSpec_S8_G10_ARunEndsWithItsLease: a run whose caller is gone without a word is closed with its cells, and one that is
// held, or used, isn't.
func TestSpec_S8_G10_ARunEndsWithItsLease(t *testing.T) {
	g := make(gate)
	n := node(t, config(t, short), g.tool("gated"))
	lost := openIn(t, n.Client(), "lost", schemas.Open{LeaseMs: 1})
	const lease = 3 * time.Second // of the one that is held: more than a busy machine stands still
	kept := openIn(t, n.Client(), "held", schemas.Open{LeaseMs: lease.Milliseconds()})
	if r := exec(t, lost, `const r = gated({n: 1}); await yield_control(); await r`); r.Status != schemas.StatusWaiting {
		t.Fatalf("%+v", r)
	}
	has := func(id string) bool {
		ok, err := n.Client().HasRun(t.Context(), n.Host().ID(), id)
		if err != nil {
			t.Fatal(err)
		}
		return ok
	}
	other := *kept
	other.Identity.SessionID = "another"
	if err := other.Hold(t.Context()); err == nil {
		t.Error("a stranger holds the run")
	}
	for begun := time.Now(); time.Since(begun) < lease+lease/2 || has(lost.ID) && time.Since(begun) < 10*lease; {
		if err := kept.Hold(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(50 * time.Millisecond) // real: a lease has at least a second, on a real host
	}
	if has(lost.ID) || !has(kept.ID) {
		t.Errorf("lost is there: %v, held is there: %v", has(lost.ID), has(kept.ID))
	}
	until(t, "nothing is held", func() bool { slots, cells := held(t, n); return slots+cells == 0 })
	if err := lost.Hold(t.Context()); err == nil {
		t.Error("a run that is gone can be held")
	}
}
