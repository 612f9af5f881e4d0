package agent

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/codecell/codecell/schemas"
)

// maxToolText bounds what a model is told of one call, in bytes.
const maxToolText = 256 << 10

// outcome is what became of a call.
type outcome struct {
	// text is for the model; cut says that it is the beginning of a longer one.
	text   string
	cut    bool
	failed bool
	images []image
	// same is what two outcomes have in common that tell the model the same.
	same string
	// moving: it is a state of something that goes on.
	moving bool
	// gone: nobody can go on with the run.
	gone error
}

// failure is the outcome of a call that came to nothing.
func failure(text string) outcome { return outcome{text: text, same: brief(text), failed: true} }

// brief is a text, or what stands for one that is too long to be kept for a comparison.
func brief(text string) string {
	if len(text) <= maxToolText {
		return text
	}
	sum := sha256.Sum256([]byte(text))
	return string(sum[:])
}

// resultOutcome is what a program or a part of it came to.
func resultOutcome(r *schemas.Result) outcome {
	o := outcome{text: schemas.ModelText(*r, rand.Text()), failed: r.Status == schemas.StatusFailed, moving: r.Status == schemas.StatusWaiting}
	if len(o.text) > maxToolText {
		inner := *r
		inner.Untrusted = false
		o.text, o.cut = outsideText("JSON", schemas.ModelText(inner, ""), r.Untrusted), true
	}
	told := *r // without what differs from one call to the next
	told.Telemetry, told.RunID, told.Untrusted = schemas.Telemetry{}, "", false
	o.same = brief(schemas.ModelText(told, ""))
	if r.Code == schemas.RuntimeUnavailable {
		o.gone = &schemas.Error{Code: r.Code, Message: r.Error}
	}
	return o
}

// directOutcome is what a direct tool gave, or one that tool_call has called.
func directOutcome(d *schemas.Directed, called bool) outcome {
	if d.Call != nil {
		o := failure(string(d.Call.Code) + ": " + d.Call.Error())
		o.cut = len(o.text) > maxToolText
		o.text = outsideText("text", o.text, d.Untrusted)
		return o
	}
	if d.Source == schemas.SourceMCP {
		if o, ok := nativeOutcome(d.Value); ok {
			return o
		}
	}
	o := outcome{same: brief(string(d.Value))}
	if few := (&shape{}).holds(d.Value); called && few {
		d.Value, o.failed = schemas.LiftMedia(d.Value, func(kind, mime, data string) string { return o.addImage(kind, image{mime, data}) })
	}
	text := string(d.Value)
	if text == "" {
		text = "null"
	}
	o.text, o.cut = outsideText("JSON", text, d.Untrusted || d.Source == schemas.SourceMCP), len(text) > maxToolText
	return o
}

// outsideText is a text for the model, not too long, and wrapped if it is from outside (O5).
func outsideText(what, text string, untrusted bool) string {
	if len(text) > maxToolText {
		text = fmt.Sprintf("%s\n[cut: %d bytes in all]", schemas.Prefix(text, maxToolText), len(text))
	}
	if untrusted {
		return schemas.Untrusted(what, text, rand.Text())
	}
	return text
}

// nativeOutcome reads the result of an MCP tool (M2): its texts, and its images, which can't be in a tool's message. It
// tells whether it is one, and small enough to be taken apart.
func nativeOutcome(value schemas.JSON) (outcome, bool) {
	var r struct {
		Content    []json.RawMessage `json:"content"`
		Structured json.RawMessage   `json:"structuredContent"`
		IsError    bool              `json:"isError"`
	}
	if few := (&shape{}).holds(value); !few || json.Unmarshal(value, &r) != nil {
		return outcome{}, false
	}
	o := outcome{failed: r.IsError, same: brief(string(value))}
	structured := compact(r.Structured)
	var parts []string
	for _, raw := range r.Content {
		var block struct {
			Type     string `json:"type"`
			Text     string `json:"text"`
			MimeType string `json:"mimeType"`
			Data     string `json:"data"`
		}
		if json.Unmarshal(raw, &block) != nil {
			return outcome{}, false
		}
		switch block.Type {
		case "text":
			if parts = append(parts, block.Text); structured != "" && compact([]byte(block.Text)) == structured {
				structured = "" // the same once more, as servers do for clients that know no structure
			}
		case "image", "audio":
			parts = append(parts, o.addImage(block.Type, image{block.MimeType, block.Data}))
		default:
			parts = append(parts, compact(raw))
		}
	}
	if structured != "" {
		parts = append(parts, structured)
	}
	text := strings.Join(parts, "\n")
	if o.cut = len(text) > maxToolText; r.IsError {
		text = "The tool says that it failed.\n" + text
	}
	o.text = outsideText("text", text, true)
	return o, true
}

// compact is JSON without spaces; empty if it is none, or null.
func compact(raw []byte) string {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil || b.String() == "null" {
		return ""
	}
	return b.String()
}
