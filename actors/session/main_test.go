package session

import (
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/codecell/codecell/bus/bustest"
)

// workerFolder names the folder of a child process, which then is a worker instead of a test.
const workerFolder = "CODECELL_TEST_WORKER"

func TestMain(m *testing.M) {
	if dir := os.Getenv(workerFolder); dir != "" {
		if err := work(dir, os.Stdin, os.Stdout); err != nil {
			fmt.Println("broken", err) //nolint:forbidigo // the worker's way to tell its parent
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m, bustest.Clock())
}
