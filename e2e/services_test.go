package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestReal_U3_ServicesInGoAndJavaScript runs the two examples as processes beside a host, and calls their endpoints as tools.
func TestReal_U3_ServicesInGoAndJavaScript(t *testing.T) {
	t.Parallel()
	host := startHost(t, writeJSON(t, filepath.Join(t.TempDir(), "codecell.json5"), map[string]any{
		"services": []string{"weather", "warehouse"},
	}))
	inGo := start(t, command{path: goExample(t), args: []string{host.url}})
	inJS := start(t, command{path: node(t), args: []string{jsExample(t), host.url}})
	inGo.line("serving")
	inJS.line("serving")
	awaitServiceTools(t, host, "function", "function")

	got, code := execute(t, `
		const fail = async (call) => { try { await call } catch (e) { return [e.code, e.effectStatus, e.message] } };
		const [found] = await catalog.search("weather of a city", { limit: 1 });
		return [
			await forecast({ city: "Bern" }), await found({ city: "Chur", days: 1 }), await stock_level({ article: "bolt" }),
			found.source, found.input, found.output,
			await fail(forecast({ city: "Atlantis" })), await fail(stock_level({ article: "gold" })), (await fail(forecast({ town: "Bern" }))).slice(0, 2),
		]`, "--bus", host.url)
	want := `[{"city":"Bern","days":["sun","rain","sun"]},{"city":"Chur","days":["sun"]},{"pieces":1200},` +
		`"openclaw","{ city: string; days?: number }","{ city: string; days: string[] }",` +
		`["tool_error","failed","forecast: no weather station in Atlantis (404)"],["tool_error","failed","stock_level: no article gold (404)"],` +
		`["input_contract","not_started"]]`
	if code != 0 || string(got.Value) != want {
		t.Errorf("exit code %d, %s\n%s\nwant\n%s", code, got.Error, got.Value, want)
	}
	// What its owner calls replay-safe may be in a program that can be repeated (R1).
	if got, code := execute(t, `return (await stock_level({ article: "nut" })).pieces`, "--bus", host.url, "--restart-safe"); code != 0 || string(got.Value) != "0" {
		t.Errorf("restart-safe: exit code %d, %s %s", code, got.Error, got.Value)
	}
	// A service that has gone is no tool any more; the other one stays.
	inJS.stop(syscall.SIGKILL)
	awaitServiceTools(t, host, "undefined", "function")
}

// awaitServiceTools waits until new programs see the two tools like this.
func awaitServiceTools(t *testing.T, host hostProcess, forecast, stock string) {
	t.Helper()
	want := `["` + forecast + `","` + stock + `"]`
	var last string
	if !eventually(patience, func() bool {
		got, _ := execute(t, `return [typeof forecast, typeof stock_level]`, "--bus", host.url)
		if last = string(got.Value); last != want {
			time.Sleep(200 * time.Millisecond) // real: NATS tells nobody that a service has come or gone
		}
		return last == want
	}) {
		t.Fatalf("forecast and stock_level are %s, want %s", last, want)
	}
}

// goExample builds examples/service.
func goExample(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "service")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-o", path, "./examples/service")
	cmd.Dir = ".."
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return path
}

// jsExample puts examples/service.mjs beside the packages that it imports.
func jsExample(t *testing.T) string {
	t.Helper()
	npm(t, "@nats-io/transport-node/package.json")
	npm(t, "@nats-io/services/package.json")
	dir := t.TempDir()
	source, err := os.ReadFile(filepath.Join("..", "examples", "service.mjs"))
	if err != nil {
		t.Fatal(err)
	}
	packages, err := filepath.Abs("node_modules")
	if err == nil {
		err = os.Symlink(packages, filepath.Join(dir, "node_modules"))
	}
	path := filepath.Join(dir, "service.mjs")
	if err == nil {
		err = os.WriteFile(path, []byte(strings.TrimSpace(string(source))), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}
