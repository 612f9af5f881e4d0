package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// fixtureLog names the variable that turns the test binary into an MCP server over stdio, and the file that the server
// writes a line to for each call it receives. What ran, and how often, is read there and not taken from anybody's word.
const fixtureLog = "E2E_FIXTURE_LOG"

// recordParams are the arguments of the fixture's one tool.
type recordParams struct {
	N  int `json:"n" jsonschema:"what to record"`
	Ms int `json:"ms,omitempty" jsonschema:"how long the call takes, in milliseconds"`
}

// serveFixture serves the tool "record" until stdin ends.
func serveFixture() int {
	server := mcp.NewServer(&mcp.Implementation{Name: "fixture", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "record", Description: "Records a number"}, record)
	if err := server.Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		fmt.Fprintln(os.Stderr, "fixture:", err)
		return 1
	}
	return 0
}

func record(ctx context.Context, _ *mcp.CallToolRequest, p recordParams) (*mcp.CallToolResult, any, error) {
	log, err := os.OpenFile(os.Getenv(fixtureLog), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, nil, err
	}
	defer log.Close()
	if _, err := fmt.Fprintf(log, "%d %d %d\n", os.Getppid(), os.Getpid(), p.N); err != nil {
		return nil, nil, err
	}
	select {
	case <-time.After(time.Duration(p.Ms) * time.Millisecond):
	case <-ctx.Done():
		return nil, nil, ctx.Err()
	}
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: strconv.Itoa(p.N)}}}, nil, nil
}

// recorded is one call that a fixture received.
type recorded struct {
	parent, server int // ids of the executor's and of the server's process
	n              int
}

// fixture is a log that any number of fixture servers write to.
type fixture struct{ log string }

func newFixture(t *testing.T) fixture {
	t.Helper()
	return fixture{log: filepath.Join(t.TempDir(), "calls")}
}

// server returns the config entry of one more server.
func (f fixture) server(t *testing.T) map[string]any {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return map[string]any{"command": self, "env": map[string]string{fixtureLog: f.log}}
}

// calls returns what the servers received until now.
func (f fixture) calls() []recorded {
	text, err := os.ReadFile(f.log)
	if err != nil {
		return nil
	}
	var all []recorded
	for _, row := range regexp.MustCompile(`(?m)^(\d+) (\d+) (\d+)$`).FindAllStringSubmatch(string(text), -1) {
		var r recorded
		r.parent, _ = strconv.Atoi(row[1])
		r.server, _ = strconv.Atoi(row[2])
		r.n, _ = strconv.Atoi(row[3])
		all = append(all, r)
	}
	return all
}

// awaitCalls waits until the servers have received so many calls.
func (f fixture) awaitCalls(t *testing.T, n int) []recorded {
	t.Helper()
	if !eventually(patience, func() bool { return len(f.calls()) >= n }) {
		t.Fatalf("%d calls reached the servers, want %d", len(f.calls()), n)
	}
	return f.calls()
}
