package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// serverScenarios are those of the MCP conformance suite that apply to `codecell mcp --http`. conformance.md lists all,
// with the reason for each that isn't here; TestReal_V1_ConformanceIsAccountedFor compares them.
var serverScenarios = []string{
	"server-initialize",
	"ping",
	"tools-list",
	"server-sse-multiple-streams",
	"dns-rebinding-protection",
	// By direct tools of a server that has the suite's.
	"tools-call-simple-text",
	"tools-call-image",
	"tools-call-audio",
	"tools-call-embedded-resource",
	"tools-call-mixed-content",
	"tools-call-error",
	"json-schema-2020-12",
}

// clientScenarios are those that apply to the MCP executor, with the program that makes it do what they look for.
var clientScenarios = map[string]string{
	"initialize": `return typeof MCP`,
	"tools_call": `return (await MCP.conformance.addNumbers({ a: 5, b: 3 })).content`,
	"sse-retry":  `return (await MCP.conformance.testReconnection({})).content`,
}

// TestReal_V1_ConformanceServer runs the conformance suite's server scenarios.
func TestReal_V1_ConformanceServer(t *testing.T) {
	t.Parallel()
	url := serveHTTP(t, suiteConfig(t))
	for _, scenario := range serverScenarios {
		t.Run(scenario, func(t *testing.T) {
			conformance(t, "server", "--url", url, "--scenario", scenario)
		})
	}
}

// TestReal_M7_ConformanceClient runs its client scenarios: the suite plays the server, and starts codecell with its URL.
func TestReal_M7_ConformanceClient(t *testing.T) {
	t.Parallel()
	for scenario, source := range clientScenarios {
		t.Run(scenario, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			script := writeFile(t, filepath.Join(dir, "client.sh"), fmt.Sprintf(`
printf '{"mcpServers":{"conformance":{"url":"%%s"}}}' "$1" >'%[1]s/codecell.json5'
exec '%[2]s' exec --json --wait --config '%[1]s/codecell.json5' --title conformance '%[3]s'
`, dir, binary(t), program(t, source)))
			conformance(t, "client", "--command", "sh "+script, "--scenario", scenario)
		})
	}
}

// TestReal_V1_ConformanceIsAccountedFor compares the suite's own list with conformance.md.
func TestReal_V1_ConformanceIsAccountedFor(t *testing.T) {
	t.Parallel()
	list := do(t, command{path: node(t), args: []string{npm(t, conformanceSuite), "list"}}, "")
	notes, err := os.ReadFile("conformance.md")
	if err != nil {
		t.Fatal(err)
	}
	said := map[string]bool{} // scenario → runs
	for _, row := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\| (runs)?").FindAllStringSubmatch(string(notes), -1) {
		said[row[1]] = row[2] == "runs"
	}
	run := map[string]bool{}
	for _, scenario := range serverScenarios {
		run[scenario] = true
	}
	for scenario := range clientScenarios {
		run[scenario] = true
	}
	listed := regexp.MustCompile(`(?m)^  - (\S+)`).FindAllStringSubmatch(list.stdout, -1)
	if len(listed) == 0 {
		t.Fatalf("the suite lists nothing:\n%s%s", list.stdout, list.stderr)
	}
	for _, row := range listed {
		name := row[1]
		if runs, ok := said[name]; !ok {
			t.Errorf("conformance.md doesn't mention %s", name)
		} else if runs != run[name] {
			t.Errorf("conformance.md says runs=%v of %s, the tests say %v", runs, name, run[name])
		}
		delete(said, name)
	}
	for name := range said {
		t.Errorf("conformance.md mentions %s, which the suite doesn't have", name)
	}
}

// serveHTTP starts `codecell mcp --http` on a free port and returns its URL.
func serveHTTP(t *testing.T, config string) string {
	t.Helper()
	p := start(t, codecell(t, "mcp", "--config", config, "--http", "127.0.0.1:0"))
	var url string
	address := regexp.MustCompile(`http://[0-9.:]+(/\S*)?`)
	if !eventually(patience, func() bool {
		url = address.FindString(p.stderr.String())
		return url != ""
	}) {
		t.Fatalf("codecell mcp --http doesn't say where it serves:\n%s", p.stderr.String())
	}
	return url
}

// conformance runs one scenario, and looks at the single checks as well: a scenario without any proves nothing.
func conformance(t *testing.T, args ...string) {
	t.Helper()
	out := t.TempDir()
	got := do(t, command{path: node(t), args: append([]string{npm(t, conformanceSuite)}, append(args, "--output-dir", out)...)}, "")
	reports, err := filepath.Glob(filepath.Join(out, "*", "checks.json"))
	if err != nil || len(reports) != 1 {
		t.Fatalf("exit code %d, reports %v\n%s%s", got.code, reports, got.stdout, got.stderr)
	}
	text, err := os.ReadFile(reports[0])
	if err != nil {
		t.Fatal(err)
	}
	var checks []struct {
		ID, Status, ErrorMessage string
		Details                  json.RawMessage
	}
	if err := json.Unmarshal(text, &checks); err != nil {
		t.Fatal(err)
	}
	passed, late := 0, false
	for _, check := range checks {
		var measured struct{ SlightlyLate bool }
		_ = json.Unmarshal(check.Details, &measured) // of a check that measures nothing, they are anything
		switch {
		case check.Status == "SUCCESS":
			passed++
		case measured.SlightlyLate && check.Status == "WARNING": // which tells of the machine, as the suite itself says
			t.Logf("%s: %s", check.ID, check.ErrorMessage)
			late = true
		case check.Status == "FAILURE", check.Status == "WARNING":
			t.Errorf("%s: %s %s", check.ID, check.Status, check.ErrorMessage)
		}
	}
	if got.code != 0 && !late {
		t.Errorf("exit code %d\n%s%s", got.code, got.stdout, got.stderr)
	}
	if passed == 0 {
		t.Errorf("no check succeeded:\n%s", got.stdout)
	}
}
