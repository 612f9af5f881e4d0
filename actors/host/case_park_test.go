package host_test

import (
	"strings"
	"testing"

	"github.com/codecell/codecell/schemas"
)

// Case 75: what a cell says after its output was cut comes with the wait during which it said it, as far as there is room.
func TestSpec_O2_Case75_OutputAfterCutOutput(t *testing.T) {
	_, n, run := labNode(t, config(t, small))
	first := exec(t, run, `text("a".repeat(3000)); await yield_control(); text("b"); await yield_control(); text("c"); return 1`)
	mustWait(t, first, schemas.ReasonYield)
	markerOf(t, first.Output[0].Value)
	second := wait(t, n, "a", "w1", first.RunID)
	mustWait(t, second, schemas.ReasonYield)
	third := wait(t, n, "a", "w2", first.RunID)
	mustComplete(t, third, "1")
	if texts(second) != "b" || texts(third) != "c" || spent(t, first)+spent(t, second)+spent(t, third) > 1024 {
		t.Errorf("%s, then %s, then %s", told(first), told(second), told(third))
	}

	whole := strings.Repeat("a", 600)
	first = exec(t, run, `text("a".repeat(600)); await yield_control(); return 1`)
	mustWait(t, first, schemas.ReasonYield)
	if texts(first) != whole {
		t.Errorf("cut, within the budget: %s", told(first))
	}
	mustComplete(t, wait(t, n, "a", "w3", first.RunID), "1")
}

// Case 72: a restart-safe program may be run again however it ended, and each of its results says so.
func TestSpec_R2_Case72_EveryResultOfARestartSafeCellSaysSo(t *testing.T) {
	_, n, run := labNode(t, config(t, small))
	first := execAs(t, run, "e1", map[string]any{"restartSafe": true, "code": `await yield_control(); throw new Error("no")`})
	mustWait(t, first, schemas.ReasonYield)
	last := wait(t, n, "a", "w", first.RunID)
	mustFail(t, last, schemas.InternalError, "Error: no")
	refused := execAs(t, run, "e2", map[string]any{"restartSafe": true, "code": `await write({})`})
	mustFail(t, refused, schemas.InternalError, "not marked replay-safe")
	plain := exec(t, run, `throw new Error("no")`)
	if !first.ReplaySafe || !last.ReplaySafe || !refused.ReplaySafe || plain.ReplaySafe {
		t.Errorf("%v, %v, %v and %v for one without", first.ReplaySafe, last.ReplaySafe, refused.ReplaySafe, plain.ReplaySafe)
	}
}
