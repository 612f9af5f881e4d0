package e2e

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/codecell/codecell/schemas"
)

// limitRow is a row of the table of limits: setting, default, least and most.
var limitRow = regexp.MustCompile("(?m)^\\| `(\\w+)`: [^|]* \\| ([^|]+) \\| ([^|]+) – ([^|]+) \\|$")

// limitReader is where a limit is set, and what a configuration comes to.
type limitReader struct {
	object string
	of     func(*schemas.Config) int
}

func cellLimit(of func(schemas.Limits) int) limitReader {
	return limitReader{"codeMode", func(c *schemas.Config) int { return of(c.LimitsFor("")) }}
}

func swarmLimit(of func(schemas.Swarm) int) limitReader {
	return limitReader{"swarm", func(c *schemas.Config) int { return of(c.Swarm()) }}
}

// TestDocs_F2_Limits holds the tables of limits to what a configuration comes to that says nothing, too little and too much.
func TestDocs_F2_Limits(t *testing.T) {
	read := map[string]limitReader{
		"timeoutMs":           cellLimit(func(l schemas.Limits) int { return int(l.Timeout / time.Millisecond) }),
		"memoryLimitBytes":    cellLimit(func(l schemas.Limits) int { return l.MemoryBytes }),
		"maxOutputBytes":      cellLimit(func(l schemas.Limits) int { return l.OutputBytes }),
		"maxSnapshotBytes":    cellLimit(func(l schemas.Limits) int { return l.SnapshotBytes }),
		"maxPendingToolCalls": cellLimit(func(l schemas.Limits) int { return l.PendingCalls }),
		"snapshotTtlSeconds":  cellLimit(func(l schemas.Limits) int { return int(l.SnapshotTTL / time.Second) }),
		"searchDefaultLimit":  cellLimit(func(l schemas.Limits) int { return l.SearchDefault }),
		"maxSearchLimit":      cellLimit(func(l schemas.Limits) int { return l.SearchMax }),
		"maxDepth":            swarmLimit(func(s schemas.Swarm) int { return s.Depth }),
		"maxAgents":           swarmLimit(func(s schemas.Swarm) int { return s.Agents }),
		"maxTotal":            swarmLimit(func(s schemas.Swarm) int { return s.Total }),
		"timeoutSeconds":      swarmLimit(func(s schemas.Swarm) int { return int(s.Timeout / time.Second) }),
		"maxRequests":         swarmLimit(func(s schemas.Swarm) int { return s.Requests }),
	}
	for _, row := range limitRow.FindAllStringSubmatch(readDocument(t, "docs/operators.md"), -1) {
		value, ok := read[row[1]]
		if !ok {
			t.Errorf("there is no limit %s, or the tables have it twice", row[1])
			continue
		}
		delete(read, row[1])
		for i, given := range []string{"0", "0.001", "1e12"} {
			config, err := schemas.ParseConfig(fmt.Appendf(nil, `{tools: {%s: {%s: %s}}}`, value.object, row[1], given), "limits")
			if err != nil {
				t.Fatal(err)
			}
			if got, want := value.of(config), quantity(t, row[2+i]); got != want {
				t.Errorf("%s: %s comes to %d, the table says %d", row[1], given, got, want)
			}
		}
	}
	for name := range read {
		t.Errorf("the tables have no row for %s", name)
	}
}

// quantity reads a number with or without a unit, or the name of the limit that is the bound.
func quantity(t *testing.T, text string) int {
	t.Helper()
	if text == "`maxSearchLimit`" {
		return schemas.DefaultLimits().SearchMax
	}
	number, unit, _ := strings.Cut(text, " ")
	n, err := strconv.Atoi(number)
	factor, ok := map[string]int{"": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}[unit]
	if err != nil || !ok {
		t.Fatalf("%q is no quantity", text)
	}
	return n * factor
}
