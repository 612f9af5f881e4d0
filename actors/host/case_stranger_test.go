package host_test

import (
	"strings"
	"testing"

	"github.com/codecell/codecell/schemas"
)

// Case 36c: what exec can't have returned is as unavailable as what has ended, and whoever can ask the process tool is told so.
func TestSpec_W2_W3_Case36_IdsThatExecNeverReturned(t *testing.T) {
	for name, c := range map[string]struct {
		config *schemas.Config
		polls  bool
	}{
		"with a process tool": {shellConfig(t, 5000, ""), true},
		"without":             {nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			run := open(t, node(t, c.config), "a")
			for id, told := range map[string]bool{
				"cell_123": true, run.ID: true, run.Host + "-" + strings.Repeat("A", 26): true, // the run knows the process tool
				"no such cell": false, "a.*.>": false, "": false, strings.Repeat("x", 4000): false, // no subject could have these
			} {
				got, err := run.Wait(t.Context(), id)
				if err != nil {
					t.Fatal(err)
				}
				mustFail(t, got, schemas.InvalidInput, "unavailable or expired")
				mustFail(t, got, schemas.InvalidInput, "look at the earlier results")
				if names := strings.Contains(got.Error, `process({action: "poll"`); names != (c.polls && told) {
					t.Errorf("%.40q names the process tool: %v: %s", id, names, got.Error)
				}
			}
		})
	}
}

// Case 37: a run is all of its identity: nobody else of the same session and run id can go on with its cells, or end them.
func TestSpec_A6_W2_Case37_AnotherSenderIsAnotherRun(t *testing.T) {
	_, n, run := labNode(t, nil)
	parked := exec(t, run, `await yield_control(); return "mine"`)
	for name, change := range map[string]func(*schemas.Identity){
		"sender":     func(id *schemas.Identity) { id.Sender = "eve" },
		"channel":    func(id *schemas.Identity) { id.Channel = "elsewhere" },
		"sandbox":    func(id *schemas.Identity) { id.Sandbox = "box" },
		"restricted": func(id *schemas.Identity) { id.Restricted = true },
		"depth":      func(id *schemas.Identity) { id.Depth = 1 },
	} {
		id := run.Identity
		change(&id)
		result, err := n.Client().Wait(t.Context(), schemas.Wait{CallID: name, Identity: id, RunID: parked.RunID})
		if err != nil {
			t.Fatal(err)
		}
		mustFail(t, result, schemas.InvalidInput, "different agent run")
		if err := n.Client().Cancel(t.Context(), parked.RunID, schemas.Cancel{Identity: id}); err == nil {
			t.Errorf("%s: a stranger has ended the cell", name)
		}
	}
	mustComplete(t, wait(t, n, "a", "w", parked.RunID), `"mine"`)
}
