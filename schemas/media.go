package schemas

import (
	"bytes"
	"encoding/json"
)

// LiftMedia takes the images and sounds out of the native result of an MCP tool in an answer of tool_call (L2), so that a
// model can see them instead of reading them in base64: a front has a way of its own for that. take gets what each
// block has, in their order, and says what stands in the place of its data. All else stays as it is, to the digit; an
// answer that holds no such result is given back. failed: the result says that its tool failed (M2).
func LiftMedia(answer JSON, take func(kind, mimeType, data string) string) (lifted JSON, failed bool) {
	var envelope struct {
		Tool   struct{ Source Source }
		Result struct {
			Content []json.RawMessage
			IsError bool
		}
	}
	if json.Unmarshal(answer, &envelope) != nil || envelope.Tool.Source != SourceMCP {
		return answer, false
	}
	rest := answer
	for _, raw := range envelope.Result.Content {
		var block struct{ Type, MimeType string }
		var data struct{ Data json.RawMessage }
		var text string
		if json.Unmarshal(raw, &block) != nil || block.Type != "image" && block.Type != "audio" ||
			json.Unmarshal(raw, &data) != nil || json.Unmarshal(data.Data, &text) != nil || text == "" {
			continue
		}
		instead, err := json.Marshal(take(block.Type, block.MimeType, text))
		if err != nil {
			continue
		}
		// A raw message is a piece of its text as it is, and blocks come one after the other.
		before, after, _ := bytes.Cut(rest, raw)
		lifted, rest = append(append(lifted, before...), bytes.Replace(raw, data.Data, instead, 1)...), after
	}
	return append(lifted, rest...), envelope.Result.IsError
}
