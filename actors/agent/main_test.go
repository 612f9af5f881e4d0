package agent_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/codecell/codecell/bus/bustest"
)

// cache keeps the compiled engine from one test to the next.
var cache string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "codecell-agent-")
	if err != nil {
		panic(err)
	}
	cache = dir
	goleak.VerifyTestMain(m, bustest.Clock(), goleak.Cleanup(func(code int) {
		os.RemoveAll(dir)
		os.Exit(code)
	}))
}
