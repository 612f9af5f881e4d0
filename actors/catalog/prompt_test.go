package catalog

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/codecell/codecell/schemas"
)

func TestSpec_A5_ExecDescription(t *testing.T) {
	c := build(t,
		native("core", "undeclared", describedAs("SECRETDESCRIPTION"), taking(`{"properties":{"a":{"type":"string","description":"SECRETDESCRIPTION"}}}`)),
		native("core", "declared", giving(`{"properties":{"n":{"type":"number"}},"required":["n"]}`)),
		mcp("hiddenserver", "hiddentool", describedAs("SECRETDESCRIPTION")), client("hiddenclient", describedAs("SECRETDESCRIPTION")))
	limits := schemas.DefaultLimits()
	limits.Timeout = 2500 * time.Millisecond
	text := c.ExecDescription(limits, 0)
	for _, want := range []string{
		"2.5 s", "catalog.search", "MCP.<server>.<tool>", "Promise.all", "yield_control", "text(", "json(", "waiting", "return", "await", "title", "plain JavaScript",
		"\ndeclared(Record<string, unknown>) -> { n: number }\nundeclared({ a?: string }) -> ?",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	for _, never := range []string{"SECRETDESCRIPTION", "hidden", "%!"} {
		if strings.Contains(text+c.WaitDescription(), never) {
			t.Errorf("%q in\n%s", never, text)
		}
	}
	if text != c.ExecDescription(limits, 0) {
		t.Error("the text changes")
	}
	if n := units(text); n > 2600 {
		t.Errorf("%d characters", n)
	}
	// CASES 66: nothing about MCP where there is none.
	if text := build(t, native("core", "a")).ExecDescription(limits, 0); strings.Contains(strings.ToLower(text), "mcp") {
		t.Errorf("MCP is advertised:\n%s", text)
	}
	if text := build(t).ExecDescription(limits, 0); strings.Contains(text, "->") {
		t.Errorf("an index without tools:\n%s", text)
	}
}

func TestSpec_A5_QuickIndexIsBounded(t *testing.T) {
	var tools []schemas.Tool
	for i := range 200 {
		tool := native("p", fmt.Sprintf("tool_%03d", i), taking(`{"properties":{"path":{"type":"string"},"größe":{"type":"number"}}}`))
		if i%10 == 9 {
			giving(`{"type":"string"}`)(&tool)
		}
		tools = append(tools, tool)
	}
	c := build(t, tools...)
	for budget := 1; budget < 16_000; budget = budget*5/4 + 1 {
		index := c.QuickIndex(budget)
		if n := units(index); n > budget {
			t.Fatalf("%d characters of %d", n, budget)
		}
		lines := strings.Split(strings.TrimSuffix(index, "\n"), "\n")
		shown, omitted := 0, 0
		for i, line := range lines {
			if n, err := fmt.Sscanf(line, "%d additional tool", &omitted); n == 1 && err == nil {
				if i != len(lines)-1 {
					t.Fatalf("%q isn't the last line", line)
				}
				continue
			}
			if line != "" {
				shown++
			}
			if declared := strings.HasSuffix(line, "-> string"); line != "" && declared != (i < 20) {
				t.Fatalf("line %d is %q: declared outputs come first", i, line)
			}
		}
		if shown+omitted != 200 && shown > 0 {
			t.Fatalf("budget %d: %d shown, %d omitted", budget, shown, omitted)
		}
	}
	if index := c.QuickIndex(100_000); strings.Contains(index, "omitted") || strings.Count(index, "\n") != 200 {
		t.Errorf("everything fits, and yet:\n%s", index)
	}
	if n := units(c.QuickIndex(0)); n > IndexBudget || n < IndexBudget-200 {
		t.Errorf("the default index has %d characters", n)
	}
}

func TestSpec_A5_LongHintsAreShortened(t *testing.T) {
	var names []string
	for i := range 100 {
		names = append(names, fmt.Sprintf(`"property_%d"`, i))
	}
	c := build(t, native("p", "tool", taking(monsters()["10,000"]), giving(`{"type":"object","required":[`+strings.Join(names, ",")+`]}`)))
	index := c.QuickIndex(0)
	if !strings.HasPrefix(index, "tool({ /* 10000 more */ }) -> { property_0: unknown; property_1: unknown;") || len(index) > 2*indexHint+20 {
		t.Errorf("%s", index)
	}
	// Optional properties go first, required ones stay.
	long := strings.Repeat("x", 40)
	c = build(t, native("p", "tool", taking(fmt.Sprintf(`{"properties":{"a%[1]s":{},"b%[1]s":{},"c%[1]s":{},"d%[1]s":{},"must":{"type":"string"}},"required":["must"]}`, long))))
	if got := c.QuickIndex(0); got != "tool({ must: string; /* 4 more */ }) -> ?\n" {
		t.Errorf("got %s", got)
	}
}

func TestCut(t *testing.T) {
	for _, tt := range []struct {
		text string
		n    int
		want string
	}{
		{"abc", 3, "abc"}, {"abc", 2, "ab"}, {"a🚀b", 2, "a"}, {"a🚀b", 3, "a🚀"}, {"äöü", 3, "äöü"}, {"äöü", 2, "äö"}, {"a\xffb", 2, "a\uFFFD"}, {"", 0, ""}, {"a", 0, ""},
	} {
		if got := cut(tt.text, tt.n); got != tt.want {
			t.Errorf("cut(%q, %d) = %q, want %q", tt.text, tt.n, got, tt.want)
		}
	}
}

func TestHumanDuration(t *testing.T) {
	for d, want := range map[time.Duration]string{10 * time.Second: "10 s", 2500 * time.Millisecond: "2.5 s", 100 * time.Millisecond: "100 ms", time.Minute: "60 s"} {
		if got := humanDuration(d); got != want {
			t.Errorf("%v is %q, want %q", d, got, want)
		}
	}
}
