package main

import (
	"encoding/json"
	"fmt"
	"strings"
)

// schema is what of a JSON Schema says how to make a value.
type schema struct {
	Type       any               `json:"type"`
	Properties map[string]schema `json:"properties"`
	Required   []string          `json:"required"`
	Items      *schema           `json:"items"`
	MinItems   int               `json:"minItems"`
	MinLength  int               `json:"minLength"`
	Minimum    *float64          `json:"minimum"`
	Enum       []any             `json:"enum"`
	Const      any               `json:"const"`
	Default    any               `json:"default"`
	Format     string            `json:"format"`
	AnyOf      []schema          `json:"anyOf"`
	OneOf      []schema          `json:"oneOf"`
	Ref        string            `json:"$ref"`

	Defs        map[string]schema `json:"$defs"`
	Definitions map[string]schema `json:"definitions"`
}

// maxDepth bounds values of schemas that contain themselves.
const maxDepth = 8

// arguments makes the smallest arguments that fit a tool's parameters.
func arguments(parameters json.RawMessage) (json.RawMessage, error) {
	if len(parameters) == 0 {
		return json.RawMessage(`{}`), nil
	}
	var s schema
	if err := json.Unmarshal(parameters, &s); err != nil {
		return nil, fmt.Errorf("parameters: %w", err)
	}
	return json.Marshal(s.value(&s, 0))
}

// value makes a value for a part of the schema root.
func (s *schema) value(root *schema, depth int) any {
	if s.Ref != "" {
		s = root.find(s.Ref)
	}
	switch {
	case depth > maxDepth:
		return nil
	case s.Const != nil:
		return s.Const
	case len(s.Enum) > 0:
		return s.Enum[0]
	case s.Default != nil:
		return s.Default
	case len(s.AnyOf) > 0:
		return s.AnyOf[0].value(root, depth+1)
	case len(s.OneOf) > 0:
		return s.OneOf[0].value(root, depth+1)
	}
	switch s.kind() {
	case "integer", "number":
		if s.Minimum != nil {
			return *s.Minimum
		}
		return 1
	case "boolean":
		return true
	case "null":
		return nil
	case "string":
		return s.text()
	case "array":
		list := []any{}
		for s.Items != nil && len(list) < s.MinItems {
			list = append(list, s.Items.value(root, depth+1))
		}
		return list
	}
	object := map[string]any{}
	for _, name := range s.Required {
		p := s.Properties[name]
		object[name] = p.value(root, depth+1)
	}
	return object
}

// kind is the first of the types.
func (s *schema) kind() any {
	if list, ok := s.Type.([]any); ok && len(list) > 0 {
		return list[0]
	}
	if s.Type == nil && s.Properties == nil {
		return "string"
	}
	return s.Type
}

func (s *schema) text() string {
	switch s.Format {
	case "uri":
		return "https://example.com"
	case "date":
		return "2026-01-01"
	case "date-time":
		return "2026-01-01T00:00:00Z"
	case "email":
		return "a@example.com"
	}
	const word = "text"
	return word + strings.Repeat(".", max(0, s.MinLength-len(word)))
}

// find follows a reference to a definition; others are anything.
func (s *schema) find(ref string) *schema {
	for prefix, definitions := range map[string]map[string]schema{"#/$defs/": s.Defs, "#/definitions/": s.Definitions} {
		if len(ref) > len(prefix) && ref[:len(prefix)] == prefix {
			if d, ok := definitions[ref[len(prefix):]]; ok {
				return &d
			}
		}
	}
	return &schema{Type: "string"}
}
