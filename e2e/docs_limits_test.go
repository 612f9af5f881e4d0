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

// TestDocs_F2_Limits holds the table of limits to what a configuration comes to that says nothing, too little and too much.
func TestDocs_F2_Limits(t *testing.T) {
	read := map[string]func(schemas.Limits) int{
		"timeoutMs":           func(l schemas.Limits) int { return int(l.Timeout / time.Millisecond) },
		"memoryLimitBytes":    func(l schemas.Limits) int { return l.MemoryBytes },
		"maxOutputBytes":      func(l schemas.Limits) int { return l.OutputBytes },
		"maxSnapshotBytes":    func(l schemas.Limits) int { return l.SnapshotBytes },
		"maxPendingToolCalls": func(l schemas.Limits) int { return l.PendingCalls },
		"snapshotTtlSeconds":  func(l schemas.Limits) int { return int(l.SnapshotTTL / time.Second) },
		"searchDefaultLimit":  func(l schemas.Limits) int { return l.SearchDefault },
		"maxSearchLimit":      func(l schemas.Limits) int { return l.SearchMax },
	}
	for _, row := range limitRow.FindAllStringSubmatch(readDocument(t, "docs/operators.md"), -1) {
		value := read[row[1]]
		if value == nil {
			t.Errorf("there is no limit %s, or the table has it twice", row[1])
			continue
		}
		delete(read, row[1])
		for i, given := range []string{"0", "0.001", "1e12"} {
			config, err := schemas.ParseConfig(fmt.Appendf(nil, `{tools: {codeMode: {%s: %s}}}`, row[1], given), "limits")
			if err != nil {
				t.Fatal(err)
			}
			if got, want := value(config.LimitsFor("")), quantity(t, row[2+i]); got != want {
				t.Errorf("%s: %s comes to %d, the table says %d", row[1], given, got, want)
			}
		}
	}
	for name := range read {
		t.Errorf("the table has no row for %s", name)
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
