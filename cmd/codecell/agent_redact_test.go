package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// A program of a turn is in the session twice: in the model's message, and where it ran.
func TestSpec_P8_V4_SessionsOfTurnsAreMasked(t *testing.T) {
	const password = "hunter2hunter2"
	for redact, want := range map[string]int{"": 2, `, history: { redact: "credentials" }`: 0} {
		m := newModel(t, func(n int, _ *question) words {
			if n == 1 {
				return execs("call_1", "Log in", `const password = "`+password+`"; return 3`)
			}
			return words{text: "Done."}
		})
		config := write(t, "codecell.json5", withTools(t, fmt.Sprintf(`bus: { storeDir: %q }%s`, filepath.Join(t.TempDir(), "store"), redact)))
		cli{}.do(t, "agent", "--config", config, "--session", "desk", "--provider-url", m.url, "--model", "m", "--mode", "code", "Log in").want(t, exitCompleted)
		kept := cli{}.do(t, "session", "export", "--config", config, "desk").want(t, exitCompleted)
		if got := strings.Count(kept.out, password); got != want || strings.Count(kept.out, "const password") != 2 {
			t.Errorf("with %q the password is there %d times: %s", redact, got, kept.out)
		}
	}
}
