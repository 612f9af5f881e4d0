package agent_test

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/codecell/codecell/schemas"
)

// What a turn's tools tell is in memory, and in each of its requests: many requests of many calls must not fill it.
func TestSpec_B4_V4_AConversationIsBounded(t *testing.T) {
	picture := `{"content":[` + strings.TrimSuffix(strings.Repeat(
		`{"type":"image","mimeType":"image/png","data":"`+base64.StdEncoding.EncodeToString(make([]byte, 3<<20))+`"},`, 2), ",") + `]}`
	for name, value := range map[string]schemas.JSON{
		"of texts":    schemas.JSON(`"` + strings.Repeat("x", 250<<10) + `"`),
		"of pictures": schemas.JSON(picture),
	} {
		calling := 64
		if value[0] == '{' {
			calling = 4
		}
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newLab(t)
				l.direct = func(*schemas.Direct) *schemas.Directed {
					return &schemas.Directed{Source: schemas.SourceMCP, Value: value}
				}
				var steps []step
				for n := range 10 {
					many := make([]asks, calling)
					for i := range many {
						many[i] = asks{fmt.Sprint("c", n, ".", i), "twice", fmt.Sprintf(`{"n":%d}`, n)}
					}
					steps = append(steps, calls(many...))
				}
				p := newLine(steps...)
				turn, _, _ := l.turn(p.at())
				turn.Provider.NoStream = true
				ended(t, run(t, turn), schemas.StopLimit, "more than 64 MiB")
			})
		})
	}
}
