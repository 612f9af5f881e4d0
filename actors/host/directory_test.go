package host

import (
	"fmt"
	"testing"

	"github.com/codecell/codecell/schemas"
)

// Anybody may open runs of agents that nobody has configured.
func TestSpec_B4_AdmissionsAreBounded(t *testing.T) {
	config := &schemas.Config{}
	d := newDirectory(nil, config)
	for i := range 3 * admissionsKept {
		o := newOpening(config, &schemas.Open{Mode: schemas.ModeDirect, Identity: schemas.Identity{Agent: fmt.Sprint(i), Sandbox: fmt.Sprint(i)}})
		if _, err := d.admit(o); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(d.admissions); n > admissionsKept {
		t.Errorf("%d admissions are kept", n)
	}
}
