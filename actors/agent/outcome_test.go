package agent

import (
	"strings"
	"testing"

	"github.com/codecell/codecell/schemas"
)

// Many calls at once may each be answered with megabytes: of what can't be told to the model anyway nothing is kept, nor taken apart.
func TestSpec_B4_V4_HugeAnswersOfToolsTakeNoMemory(t *testing.T) {
	blocks := `{"content":[` + strings.TrimSuffix(strings.Repeat("{},", 1<<20), ",") + `]}`
	text := `{"content":[{"type":"text","text":"` + strings.Repeat("x", 1<<20) + `"}]}`
	for name, d := range map[string]*schemas.Directed{
		"blocks": {Source: schemas.SourceMCP, Value: schemas.JSON(blocks)},
		"text":   {Source: schemas.SourceMCP, Value: schemas.JSON(text)},
		"value":  {Source: schemas.SourceNative, Value: schemas.JSON(`"` + strings.Repeat("x", 1<<20) + `"`)},
	} {
		o := directOutcome(d)
		if !o.cut || len(o.text) > maxToolText+1000 || len(o.same) > maxToolText {
			t.Errorf("%s: %d bytes are told, %d compared, cut %v", name, len(o.text), len(o.same), o.cut)
		}
		if name == "blocks" && !strings.Contains(o.text, `{"content":[{},{}`) {
			t.Errorf("it was taken apart: %.300s", o.text)
		}
		again, other := directOutcome(d), *d
		other.Value = append(schemas.JSON{}, d.Value...)
		other.Value[len(other.Value)-20] = '9'
		if again.same != o.same || directOutcome(&other).same == o.same {
			t.Errorf("%s: equal answers differ, or others don't", name)
		}
	}
}
