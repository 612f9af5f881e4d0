package agent_test

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/codecell/codecell/schemas"
)

// What a turn's tools tell is in memory, and in each of its requests: many requests of many calls must not fill it. An
// answer's images and texts come to more than half of the bound, so two of them are too much, and one isn't.
func TestSpec_B4_V4_AConversationIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		image := fmt.Sprintf(`{"type":"image","mimeType":"image/png","data":%q},`, base64.StdEncoding.EncodeToString(make([]byte, 3<<20)))
		value := schemas.JSON(`{"content":[` + image + image + `{"type":"text","text":"` + strings.Repeat("x", 200<<10) + `"}]}`)
		l := newLab(t)
		l.direct = func(*schemas.Direct) *schemas.Directed {
			return &schemas.Directed{Source: schemas.SourceMCP, Value: value}
		}
		var steps []step
		for n := range 3 {
			var many []asks
			for i := range 4 {
				many = append(many, asks{fmt.Sprint("c", n, ".", i), "twice", fmt.Sprintf(`{"n":%d}`, n)})
			}
			steps = append(steps, calls(many...))
		}
		p := newLine(steps...)
		turn, _, _ := l.turn(p.at())
		ended(t, run(t, turn), schemas.StopLimit, "more than 64 MiB")
		if n := len(p.requests()); n != 2 {
			t.Errorf("asked %d times", n)
		}
	})
}
