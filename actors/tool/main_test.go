package tool

import (
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/codecell/codecell/bus/bustest"
	"github.com/codecell/codecell/schemas"
)

// TestMain runs the tests, or, in a child process of one, a small MCP server.
func TestMain(m *testing.M) {
	if kind := os.Getenv(serverKindEnv); kind != "" {
		os.Exit(runTestServer(kind))
	}
	goleak.VerifyTestMain(m, bustest.Clock())
}

var quiet = slog.New(slog.DiscardHandler)

// soon is a context for things that take no time at all on a machine that isn't busy.
func soon(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// callOf makes a call of one tool.
func callOf(tool, id, args string) *schemas.Call {
	return &schemas.Call{
		ID: id, Tool: tool, Args: schemas.JSON(args), ParentID: "toolu_1",
		Address:  schemas.Address{Host: "h", Run: "r", Cell: "c"},
		Identity: schemas.Identity{Agent: "main", SessionID: "s", SessionKey: "k", Run: "r1"},
	}
}

// decode reads a JSON value into T.
func decode[T any](t testing.TB, b schemas.JSON) T {
	t.Helper()
	var v T
	if err := json.Unmarshal(b, &v); err != nil {
		t.Fatalf("not JSON: %v: %.200s", err, b)
	}
	return v
}
