package schemas

import (
	"fmt"
	"os"
	"regexp"
)

// MinSecretBytes is the shortest text of history.secrets, in bytes: shorter ones stand in too much that is none.
const MinSecretBytes = 4

// history puts the environment into history.secrets, and refuses what could mask nothing (P7, P8).
func (p *problems) history(h *HistoryConfig) {
	for i, secret := range h.Secrets {
		at := join("history.secrets", i)
		out, unset := expand(secret, os.LookupEnv)
		switch {
		case unset != "":
			p.add(at, "the environment variable "+unset+" isn't set: set it, or take this entry out")
		case len(out) < MinSecretBytes:
			p.add(at, fmt.Sprintf("expected a secret of at least %d bytes", MinSecretBytes))
		}
		h.Secrets[i] = out
	}
	for i, pattern := range h.Patterns {
		if _, err := regexp.Compile(pattern); err != nil {
			p.add(join("history.patterns", i), "expected a regular expression in the syntax of RE2: "+err.Error())
		}
	}
}
