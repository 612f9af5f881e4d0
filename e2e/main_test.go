// Package e2e tests codecell as its users meet it: the built binary, real NATS, the real engine, and public MCP servers
// and clients from npm. It also proves the shape of the tree. Tests that start processes are named TestReal….
package e2e

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// scratch holds the built binary, for as long as the tests run.
var scratch string

func TestMain(m *testing.M) {
	if os.Getenv(fixtureLog) != "" {
		os.Exit(serveFixture())
	}
	if os.Getenv(suiteServer) != "" {
		os.Exit(serveSuite())
	}
	if os.Getenv(hookBus) != "" {
		os.Exit(serveHook())
	}
	os.Exit(run(m))
}

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "codecell-e2e-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	scratch = dir
	if err := adopt(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	code := m.Run()
	orphans := func() []member { return descendants(os.Getpid()) }
	if !eventually(patience, func() bool { return len(orphans()) == 0 }) {
		fmt.Fprintln(os.Stderr, "FAIL: the tests left processes behind:", orphans())
		return 1
	}
	return code
}

// build builds the binary once, for the first test that needs it.
var build = sync.OnceValues(func() (string, error) {
	path := filepath.Join(scratch, "codecell")
	cmd := exec.Command("go", "build", "-o", path, "./cmd/codecell")
	cmd.Dir = ".."
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return path, nil
})

// binary returns the path of the built codecell.
func binary(t *testing.T) string {
	t.Helper()
	path, err := build()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// npm returns the path of a file below e2e/node_modules. Without `make setup` there is nothing to test against, which is
// a failure: a test that skips itself proves nothing.
func npm(t *testing.T, path string) string {
	t.Helper()
	full, err := filepath.Abs(filepath.Join("node_modules", filepath.FromSlash(path)))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(full); err != nil {
		t.Fatalf("%v (run `make setup`)", err)
	}
	return full
}

// node returns the Node to run npm packages on: the one that came with them, or the machine's own where none did.
func node(t *testing.T) string {
	t.Helper()
	for _, name := range []string{filepath.Join("node_modules", ".bin", "node"), "node"} {
		path, err := exec.LookPath(name)
		if err != nil && !errors.Is(err, exec.ErrDot) {
			continue
		}
		if path, err = filepath.Abs(path); err != nil {
			t.Fatal(err)
		}
		return path
	}
	t.Fatal("no node: install Node 22 or newer, or run `make setup`")
	return ""
}

// Entry points of the npm packages.
const (
	everythingServer = "@modelcontextprotocol/server-everything/dist/index.js"
	filesystemServer = "@modelcontextprotocol/server-filesystem/dist/index.js"
	memoryServer     = "@modelcontextprotocol/server-memory/dist/index.js"
	thinkingServer   = "@modelcontextprotocol/server-sequential-thinking/dist/index.js"
	playwrightServer = "@playwright/mcp/cli.js"
	inspectorClient  = "@modelcontextprotocol/inspector/clients/launcher/build/index.js"
	conformanceSuite = "@modelcontextprotocol/conformance/dist/index.js"
)
