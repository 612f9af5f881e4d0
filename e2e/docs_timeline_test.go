package e2e

import (
	"regexp"
	"strings"
)

// ofExecutors are lines of a timeline that executors tell.
var ofExecutors = regexp.MustCompile(` call\.(started|progressed|ended) `)

// told gives what a server must have printed: all in one, or of a timeline what hosts tell, and each line that executors do,
// since they don't know of each other.
func told(v *server) [][]string {
	if !strings.HasPrefix(v.command, "codecell tail") {
		return [][]string{v.want}
	}
	var hosts []string
	var executors [][]string
	for _, line := range v.want {
		if ofExecutors.MatchString(line) {
			executors = append(executors, []string{"…", line})
			line = "…"
		}
		hosts = append(hosts, line)
	}
	// Between any two of a host's lines there may be one of an executor's.
	hosts = strings.Split(strings.Join(hosts, "\n…\n"), "\n")
	return append([][]string{hosts}, executors...)
}
