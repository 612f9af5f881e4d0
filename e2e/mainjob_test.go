package e2e

import (
	"path/filepath"
	"regexp"
	"testing"
)

// TestReal_MainJob does what `make run` does, and reads what a newcomer would.
func TestReal_MainJob(t *testing.T) {
	t.Parallel()
	script, err := filepath.Abs(filepath.Join("..", "examples", "main-job.sh"))
	if err != nil {
		t.Fatal(err)
	}
	npm(t, everythingServer)
	got := do(t, command{path: script, env: []string{"CODECELL_BINARY=" + binary(t)}}, "")
	if got.code != 0 {
		t.Fatalf("exit code %d\n%s%s", got.code, got.stdout, got.stderr)
	}
	for _, want := range []string{
		`MCP\.files\.`,                         // the catalog was searched
		`readTextFile`,                         // a declaration was read
		`\$912\.30[\s\S]*\$971\.60`,            // the data was joined
		`yield`,                                // the cell was parked
		`The sum of 91230 and 97160 is 188390`, // it went on with its memory
		`\$2320\.10`,                           // and ended
		`cell\.parked[\s\S]*cell\.resumed[\s\S]*cell\.ended`,
	} {
		if !regexp.MustCompile(want).MatchString(got.stdout) {
			t.Errorf("nothing matches %s in:\n%s", want, got.stdout)
		}
	}
}
