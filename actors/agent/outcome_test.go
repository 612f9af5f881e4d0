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
		"called": {Source: schemas.SourceNative, Value: schemas.JSON(`{"tool":{"source":"mcp"},"result":` + blocks + `}`)},
		"value":  {Source: schemas.SourceNative, Value: schemas.JSON(`"` + strings.Repeat("x", 1<<20) + `"`)},
	} {
		o := directOutcome(d, true)
		if !o.cut || len(o.text) > maxToolText+1000 || len(o.same) > maxToolText {
			t.Errorf("%s: %d bytes are told, %d compared, cut %v", name, len(o.text), len(o.same), o.cut)
		}
		if name == "blocks" && !strings.Contains(o.text, `{"content":[{},{}`) {
			t.Errorf("it was taken apart: %.300s", o.text)
		}
		again, other := directOutcome(d, true), *d
		other.Value = append(schemas.JSON{}, d.Value...)
		other.Value[len(other.Value)-20] = '9'
		if again.same != o.same || directOutcome(&other, true).same == o.same {
			t.Errorf("%s: equal answers differ, or others don't", name)
		}
	}
}

// An image of a tool that tool_call has called is shown, and its base64 isn't read.
func TestSpec_L2_M2_ImagesOfCalledTools(t *testing.T) {
	answer := schemas.JSON(`{"tool":{"id":"mcp:web:shot","name":"shot","source":"mcp"},"result":{"content":[` +
		`{"type":"image","mimeType":"image/png","data":"UE5H"},{"type":"audio","mimeType":"audio/wav","data":"UE5H"},{"type":"text","text":"a page"}]}}`)
	o := directOutcome(&schemas.Directed{Source: schemas.SourceNative, Value: answer, Untrusted: true}, true)
	if len(o.images) != 1 || o.images[0] != (image{"image/png", "UE5H"}) || strings.Contains(o.text, "UE5H") {
		t.Errorf("%+v", o)
	}
	for _, want := range []string{`{"tool":{"id":"mcp:web:shot"`, "it follows in the next message", "audio/wav, 4 bytes in base64: it can't be shown", "a page", "[[outside-data "} {
		if !strings.Contains(o.text, want) {
			t.Errorf("%s is not in %s", want, o.text)
		}
	}
	// A tool of another kind that answers in the same shape is told as it is.
	if o := directOutcome(&schemas.Directed{Source: schemas.SourceNative, Value: answer}, false); o.text != string(answer) || len(o.images) > 0 {
		t.Errorf("%+v", o)
	}
}

// A tool that fails in tool_call has failed for whoever watches the turn.
func TestSpec_L2_M2_CalledToolsThatFail(t *testing.T) {
	answer := schemas.JSON(`{"tool":{"id":"mcp:web:shot","name":"shot","source":"mcp"},"result":{"content":[],"isError":true}}`)
	if o := directOutcome(&schemas.Directed{Source: schemas.SourceNative, Value: answer, Untrusted: true}, true); !o.failed {
		t.Errorf("%+v", o)
	}
}
