package schemas_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/codecell/codecell/schemas"
)

// TestSpec_E1_CodesAreErrors: errors match their codes on both sides of the bus.
func TestSpec_E1_CodesAreErrors(t *testing.T) {
	for _, code := range schemas.Codes {
		b, err := schemas.Encode(schemas.Ack{Err: &schemas.Error{Code: code, Message: "m"}})
		if err != nil {
			t.Fatal(err)
		}
		var ack schemas.Ack
		if err := schemas.Decode(b, &ack); err != nil {
			t.Fatal(err)
		}
		if !errors.Is(ack.Err, code) || ack.Err.Error() != string(code)+": m" {
			t.Errorf("%s: %v", code, ack.Err)
		}
		for _, other := range schemas.Codes {
			if other != code && errors.Is(ack.Err, other) {
				t.Errorf("%s is also %s", code, other)
			}
		}
	}
	if got := (&schemas.Error{Code: schemas.Aborted}).Error(); got != schemas.Aborted.Error() {
		t.Errorf("without a message: %q", got)
	}
}

// TestSpec_E3_CallErrors: what a guest catches is an ordinary error with a code.
func TestSpec_E3_CallErrors(t *testing.T) {
	for want, e := range map[string]*schemas.CallError{
		"no":            {Code: schemas.CallToolError, Message: "no"},
		"TypeError: no": {Code: schemas.CallToolError, Name: "TypeError", Message: "no"},
		"TypeError":     {Code: schemas.CallToolError, Name: "TypeError"},
	} {
		if e.Error() != want || !errors.Is(e, schemas.CallToolError) || errors.Is(e, schemas.CallInvalidInput) {
			t.Errorf("%q, want %q", e.Error(), want)
		}
	}
	if got := schemas.CallToolError.Error(); got != "tool_error" {
		t.Errorf("%q", got)
	}
}

// TestSpec_C2_ToolIDs: ids are made of the three names as they are.
func TestSpec_C2_ToolIDs(t *testing.T) {
	for want, tool := range map[string]schemas.Tool{
		"openclaw:core:message":   {Source: schemas.SourceNative, Owner: "core", Name: "message"},
		"mcp:github:create_issue": {Source: schemas.SourceMCP, Owner: "github", Name: "create_issue"},
	} {
		if got := tool.ID(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestJSONKeepsItsText(t *testing.T) {
	in := struct {
		A schemas.JSON `json:"a"`
		B schemas.JSON `json:"b"`
	}{A: schemas.JSON(`{"z":1.10,"a":12345678901234567890}`)}
	b, err := json.Marshal(in)
	if err != nil || string(b) != `{"a":{"z":1.10,"a":12345678901234567890},"b":null}` {
		t.Fatalf("%s, %v", b, err)
	}
	out := in
	if err := json.Unmarshal(b, &out); err != nil || string(out.A) != string(in.A) || string(out.B) != "null" {
		t.Errorf("%s, %s, %v", out.A, out.B, err)
	}
}
