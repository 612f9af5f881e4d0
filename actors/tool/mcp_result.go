package tool

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/codecell/codecell/schemas"
)

// nativeResult gives what a guest sees of a tools/call result (M2): content,
// structuredContent and isError as the server wrote them. Top-level _meta and what else
// the protocol keeps there is left out; a null structuredContent is no structuredContent.
func nativeResult(raw json.RawMessage) (schemas.JSON, error) {
	var r struct {
		Content    json.RawMessage `json:"content"`
		Structured json.RawMessage `json:"structuredContent"`
		IsError    *bool           `json:"isError"`
	}
	if err := json.Unmarshal(raw, &r); err != nil {
		// The decoder's words are about Go.
		return nil, errors.New("the server's result is no tool result: it must be an object with content, an array, and isError, true or false")
	}
	content := bytes.TrimSpace(r.Content)
	switch {
	case len(content) == 0 || string(content) == "null":
		content = []byte("[]")
	case content[0] != '[':
		return nil, fmt.Errorf("the server's result has content that is no array")
	}
	var buf bytes.Buffer
	buf.WriteString(`{"content":`)
	buf.Write(content)
	if s := bytes.TrimSpace(r.Structured); len(s) > 0 && string(s) != "null" {
		buf.WriteString(`,"structuredContent":`)
		buf.Write(s)
	}
	if r.IsError != nil {
		fmt.Fprintf(&buf, `,"isError":%t`, *r.IsError)
	}
	buf.WriteByte('}')
	return validText(buf.Bytes()), nil
}

// structuredPart gives the part of an MCP result that its output schema is about. There is
// none in a failure and in a result of text alone, which stays usable.
func structuredPart(value schemas.JSON) (schemas.JSON, bool) {
	var r struct {
		Structured json.RawMessage `json:"structuredContent"`
		IsError    bool            `json:"isError"`
	}
	if err := json.Unmarshal(value, &r); err != nil || r.IsError || len(r.Structured) == 0 {
		return nil, false
	}
	return schemas.JSON(r.Structured), true
}

// wireTool is one entry of tools/list, its schemas as the server wrote them.
type wireTool struct {
	Name         string          `json:"name"`
	Title        string          `json:"title"`
	Description  string          `json:"description"`
	InputSchema  json.RawMessage `json:"inputSchema"`
	OutputSchema json.RawMessage `json:"outputSchema"`
	Annotations  struct {
		Title string `json:"title"`
	} `json:"annotations"`
}

// wirePage is one page of tools/list. A cursor that is there and empty is a cursor.
type wirePage struct {
	Tools      []json.RawMessage `json:"tools"`
	NextCursor *string           `json:"nextCursor"`
}

// Bounds of one MCP tool's metadata.
const (
	maxNameBytes        = 128
	maxDescriptionBytes = 16 << 10
	maxSchemaBytes      = 256 << 10
)

// admit turns an entry of tools/list into a tool, or says why it can't be one. Bad
// entries don't harm the others.
func admit(owner string, raw json.RawMessage) (schemas.Tool, error) {
	var w wireTool
	if err := json.Unmarshal(raw, &w); err != nil {
		return schemas.Tool{}, fmt.Errorf("a tool can't be read: %w", err)
	}
	short := clip(w.Name, 40)
	switch {
	case w.Name == "":
		return schemas.Tool{}, fmt.Errorf("a tool has no name")
	case len(w.Name) > maxNameBytes:
		return schemas.Tool{}, fmt.Errorf("tool %q: its name has %d bytes, over the limit of %d", short, len(w.Name), maxNameBytes)
	case !utf8.ValidString(w.Name) || strings.ContainsFunc(w.Name, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return schemas.Tool{}, fmt.Errorf("tool %q: its name has control characters", short)
	case schemas.IsOperation(w.Name):
		return schemas.Tool{}, fmt.Errorf("tool %q: its name is reserved for resources and prompts", short)
	case len(w.InputSchema) > maxSchemaBytes || len(w.OutputSchema) > maxSchemaBytes:
		return schemas.Tool{}, fmt.Errorf("tool %q: its schema is over the limit of %d bytes", short, maxSchemaBytes)
	}
	t := schemas.Tool{
		Source: schemas.SourceMCP, Tier: schemas.TierMCP, Owner: owner, Name: w.Name,
		Label: w.Title, Description: clip(w.Description, maxDescriptionBytes),
		Parameters: schemaText(w.InputSchema), Output: schemaText(w.OutputSchema),
	}
	if t.Label == "" {
		t.Label = w.Annotations.Title
	}
	t.Label = clip(t.Label, maxNameBytes)
	return t, nil
}

// schemaText gives a schema compactly, or nothing for null.
func schemaText(raw json.RawMessage) schemas.JSON {
	var buf bytes.Buffer
	if len(raw) == 0 || json.Compact(&buf, raw) != nil || buf.String() == "null" {
		return nil
	}
	return slices.Clip(bytes.ToValidUTF8(buf.Bytes(), []byte("\uFFFD")))
}
