package session

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/codecell/codecell/bus/bustest"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, bustest.Clock())
}
