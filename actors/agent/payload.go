package agent

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/param"

	"github.com/codecell/codecell/schemas"
)

// function is a tool as chat completions have it. The parameters are the surface's, byte for byte but for spaces: prompt
// caches live of them, and numbers keep their digits.
type function struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters,omitempty"`
}

// declared gives the surface's tools as they are sent.
func declared(s *schemas.Surface) [][]byte {
	tools := make([][]byte, len(s.Tools))
	for i := range s.Tools {
		t := &s.Tools[i]
		tools[i] = encoded(struct {
			Type     string   `json:"type"`
			Function function `json:"function"`
		}{"function", function{t.Name, t.Description, json.RawMessage(t.InputSchema)}})
	}
	return tools
}

// ToolsJSON is the surface's tools as a turn sends them: the "tools" of its requests, byte for byte. A surface without any is
// [] here, and has no such field there.
func ToolsJSON(s *schemas.Surface) []byte {
	return array(declared(s))
}

func array(items [][]byte) []byte {
	return slices.Concat([]byte("["), bytes.Join(items, []byte(",")), []byte("]"))
}

// offered gives the surface's tools for a request, and the size of the array.
func offered(s *schemas.Surface) (tools []openai.ChatCompletionToolUnionParam, size int) {
	all := declared(s)
	for _, raw := range all {
		tools = append(tools, param.Override[openai.ChatCompletionToolUnionParam](json.RawMessage(raw)))
	}
	return tools, len(array(all))
}

// encoded is JSON without escapes for HTML. What can't be encoded, a schema that isn't JSON, is null, and held against the
// surface later.
func encoded(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(v) != nil {
		return []byte("null")
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// payload is what is looked at of a request as it leaves.
type payload struct {
	tools json.RawMessage
	// more are fields that would bring tools in another way.
	more []string
}

// read reads the body's fields. One that is there twice is refused: who reads it takes one or the other.
func (p *payload) read(body []byte) error {
	d := json.NewDecoder(bytes.NewReader(body))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return errors.New("it isn't a JSON object")
	}
	seen := map[string]bool{}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return err
		}
		field, _ := name.(string)
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return err
		}
		if seen[field] {
			return fmt.Errorf("%q is in it twice", field)
		}
		switch seen[field] = true; field {
		case "tools":
			p.tools = value
		case "functions", "function_call", "web_search_options":
			p.more = append(p.more, field)
		}
	}
	return nil
}

// checkPayload holds a request's body, as it leaves, against the surface (A4): the names, and byte for byte what is said of
// each tool. It gives the size of the tools. Its error is runtime_unavailable.
func checkPayload(s *schemas.Surface, body []byte) (size int, err error) {
	var p payload
	if err := p.read(body); err != nil {
		return 0, mismatch(err.Error())
	}
	if len(p.more) > 0 {
		return 0, mismatch(fmt.Sprintf("%q may not be in it", p.more[0]))
	}
	var sent []struct {
		Type     string           `json:"type"`
		Function *json.RawMessage `json:"function"`
	}
	if len(p.tools) > 0 {
		if err := json.Unmarshal(p.tools, &sent); err != nil {
			return 0, mismatch("its tools can't be read: " + err.Error())
		}
	}
	names, functions := make([]string, len(sent)), make([]function, len(sent))
	for i := range sent {
		if sent[i].Type != "function" || sent[i].Function == nil || json.Unmarshal(*sent[i].Function, &functions[i]) != nil {
			return 0, mismatch(fmt.Sprintf("tool %d isn't a function", i+1))
		}
		names[i] = functions[i].Name
	}
	if err := s.CheckPayload(names); err != nil {
		return 0, err
	}
	for i, name := range names {
		t, _ := s.Tool(name)
		want := encoded(function{t.Name, t.Description, json.RawMessage(t.InputSchema)})
		if !bytes.Equal(*sent[i].Function, want) {
			return 0, mismatch(fmt.Sprintf("what it says of %q isn't what the run says", name))
		}
	}
	return len(p.tools), nil
}

func mismatch(what string) *schemas.Error {
	return &schemas.Error{
		Code: schemas.RuntimeUnavailable, Field: "tools",
		Message: "the request to the provider isn't that of the run's surface: " + what + "; it was stopped so that no tool is shown by mistake",
	}
}
