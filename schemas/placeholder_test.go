package schemas_test

import (
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/codecell/codecell/schemas"
)

func TestPlaceholder_FitsItsSchema(t *testing.T) {
	for schema, want := range map[string]string{
		`{"type":"object","properties":{"id":{"type":"string"},"n":{"type":"integer"}},"required":["id"]}`: `{"id":"placeholder","n":0}`,
		`{}`:                                            `"placeholder"`,
		`true`:                                          `"placeholder"`,
		`{"const":{"a":1.50}}`:                          `{"a":1.50}`,
		`{"enum":["open","closed"]}`:                    `"open"`,
		`{"type":["null","boolean"]}`:                   `false`,
		`{"type":"null"}`:                               `null`,
		`{"type":"string","format":"date-time"}`:        `"1970-01-01T00:00:00Z"`,
		`{"type":"string","minLength":14}`:              `"placeholderpla"`,
		`{"type":"string","maxLength":3}`:               `"pla"`,
		`{"type":"string","pattern":"^[A-Z]{3}-\\d+$"}`: `"AAA-0"`,
		`{"type":"string","pattern":"^[a-f0-9]+$","minLength":4}`:                                                    `"aaaa"`,
		`{"type":"string","pattern":"(?=x)y"}`:                                                                       `"placeholder"`,
		`{"type":"integer","minimum":3}`:                                                                             `3`,
		`{"type":"integer","maximum":-3}`:                                                                            `-3`,
		`{"type":"integer","minimum":5,"maximum":5}`:                                                                 `5`,
		`{"type":"integer","exclusiveMinimum":2,"multipleOf":5}`:                                                     `5`,
		`{"type":"integer","minimum":90071992547409930}`:                                                             `9.007199254740994e+16`,
		`{"type":"number","exclusiveMinimum":0,"exclusiveMaximum":0.3}`:                                              `0.09999999999999999`,
		`{"$schema":"http://json-schema.org/draft-04/schema#","type":"integer","minimum":1,"exclusiveMinimum":true}`: `2`,
		`{"type":"array","items":{"type":"integer"}}`:                                                                `[0]`,
		`{"type":"array","items":{"type":"integer"},"maxItems":0}`:                                                   `[]`,
		`{"type":"array","items":{"type":"string"},"minItems":2,"uniqueItems":true}`:                                 `["placeholder","placeholder1"]`,
		`{"type":"array","prefixItems":[{"type":"integer"},{"type":"boolean"}],"items":false}`:                       `[0,false]`,
		`{"type":"array","contains":{"const":7},"minItems":2}`:                                                       `[7,7]`,
		`{"type":"object","minProperties":2}`:                                                                        `{"placeholder1":"placeholder","placeholder2":"placeholder"}`,
		`{"type":"object","required":["__proto__"],"properties":{"__proto__":{"type":"integer"}}}`:                   `{"__proto__":0}`,
		`{"anyOf":[false,{"type":"integer"}]}`:                                                                       `0`,
		`{"anyOf":[{"type":"string"},{"type":"integer"}],"not":{"type":"string"}}`:                                   `0`,
		`{"oneOf":[{"type":"integer"},{"type":"integer","minimum":0},{"type":"string"}]}`:                            `"placeholder"`,
		`{"type":"object","properties":{"k":{"type":"string"}},"oneOf":[{"required":["k"],"properties":{"k":{"const":"a"}}},{"properties":{"k":{"const":"b"}}}]}`:                                  `{"k":"a"}`,
		`{"allOf":[{"type":"object","required":["a"],"properties":{"a":{"type":"integer","minimum":2}}},{"required":["b"],"properties":{"a":{"minimum":4},"b":{"type":"boolean"}}}]}`:              `{"a":4,"b":false}`,
		`{"$ref":"#/$defs/node","$defs":{"node":{"type":"object","properties":{"v":{"type":"integer"},"children":{"type":"array","items":{"$ref":"#/$defs/node"}}},"required":["v","children"]}}}`: `{"children":[],"v":0}`,
		`{"$ref":"#/$defs/list","$defs":{"list":{"type":"object","required":["next"],"properties":{"next":{"anyOf":[{"$ref":"#/$defs/list"},{"type":"null"}]}}}}}`:                                 `{"next":null}`,
		`{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}},"dependentRequired":{"a":["c"]}}`:                                                                             `{}`,
		`{"type":"object","properties":{"a":{"type":"string","default":"x"}}}`:                                                                                                                     `{"a":"x"}`,
		`{"type":"object","properties":{"never":false},"additionalProperties":false}`:                                                                                                              `{}`,
	} {
		s, err := schemas.Compile(schemas.JSON(schema))
		if err != nil {
			t.Fatalf("%s: %v", schema, err)
		}
		got, ok := s.Placeholder()
		if !ok || string(got) != want {
			t.Errorf("%s\n gives %s, %v\n want  %s", schema, got, ok, want)
		}
		if bad := s.Validate(got); len(bad) > 0 {
			t.Errorf("%s: %s doesn't fit: %s", schema, got, schemas.Violations(bad))
		}
	}
}

// What can't be satisfied, or not by a small value, has no placeholder, and finding that out takes no time.
func TestPlaceholder_GivesUp(t *testing.T) {
	wide := `{"type":"object","properties":{` + strings.Repeat(`"a":{"type":"string"},`, 10) + `"z":{"type":"string","minLength":100000}},"required":["z"]}`
	fields := make([]string, 40)
	for i := range fields {
		fields[i] = `"` + strings.Repeat("f", i+1) + `":{"$ref":"#/$defs/a"}`
	}
	bushy := `{"$ref":"#/$defs/b","$defs":{"a":{"type":"array","minItems":60,"items":{"type":"array","minItems":60,"items":{"type":"array","minItems":60}}},` +
		`"b":{"type":"object","required":["f"],"properties":{` + strings.Join(fields, ",") + `}}}}`
	for _, schema := range []string{
		`false`, `{"not":{}}`, `{"enum":[]}`, `{"type":"string","minLength":5,"maxLength":2}`, `{"type":"integer","minimum":3,"maximum":2}`,
		`{"$ref":"#"}`, `{"type":"object","required":["self"],"properties":{"self":{"$ref":"#"}}}`, `{"type":"array","minItems":1000000000}`,
		`{"type":"object","minProperties":1000000000}`, `{"type":"string","minLength":1000000000}`, `{"type":"object","required":["a"],"additionalProperties":false}`,
		`{"type":"string","pattern":"[^\\x00-\\x{10FFFF}]"}`, `{"anyOf":[{"$ref":"#"},{"$ref":"#"}]}`, wide, bushy,
	} {
		s, err := schemas.Compile(schemas.JSON(schema))
		if err != nil {
			continue // a schema that is refused at once is none
		}
		if got, ok := s.Placeholder(); ok {
			t.Errorf("%s: got %.100s", schema, got)
		}
	}
}

// Schemas put together at random: whatever is given is small and fits.
func TestPlaceholder_RandomSchemas(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text, err := json.Marshal(randomSchema(t, 3))
		if err != nil {
			t.Fatal(err)
		}
		s, err := schemas.Compile(text)
		if err != nil {
			t.Skip()
		}
		got, ok := s.Placeholder()
		again, _ := s.Placeholder()
		if string(got) != string(again) {
			t.Fatalf("%s gives %s, then %s", text, got, again)
		}
		if ok && (len(got) > 16<<10 || len(s.Validate(got)) > 0) {
			t.Fatalf("%s gives %s", text, got)
		}
	})
}

// randomSchema has any keywords in any combination, nonsense included.
func randomSchema(t *rapid.T, depth int) any {
	if depth == 0 {
		return rapid.SampledFrom([]any{true, false, map[string]any{}, map[string]any{"type": "string"}, map[string]any{"$ref": "#"}}).Draw(t, "leaf")
	}
	sub := func() any { return randomSchema(t, depth-1) }
	count := func() int { return rapid.IntRange(0, 5).Draw(t, "n") }
	out := map[string]any{}
	for _, key := range rapid.SliceOfN(rapid.SampledFrom([]string{
		"type", "properties", "required", "items", "prefixItems", "minItems", "maxItems", "uniqueItems", "anyOf", "oneOf", "allOf", "not", "enum",
		"minimum", "maximum", "exclusiveMinimum", "multipleOf", "minLength", "maxLength", "format", "additionalProperties", "minProperties", "contains", "if", "then",
	}), 0, 5).Draw(t, "keys") {
		switch key {
		case "type":
			out[key] = rapid.SampledFrom([]string{"object", "array", "string", "integer", "number", "boolean", "null"}).Draw(t, "type")
		case "properties":
			out[key] = map[string]any{"a": sub(), "b": sub()}
		case "required":
			out[key] = rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "c"}), 0, 3, rapid.ID[string]).Draw(t, "names")
		case "prefixItems", "anyOf", "oneOf", "allOf":
			out[key] = []any{sub(), sub()}
		case "enum":
			out[key] = []any{"a", 1, nil}
		case "uniqueItems":
			out[key] = true
		case "multipleOf":
			out[key] = count() + 1
		case "format":
			out[key] = rapid.SampledFrom([]string{"date", "email", "uuid", "ipv6", "none"}).Draw(t, "format")
		case "items", "not", "additionalProperties", "contains", "if", "then":
			out[key] = sub()
		default:
			out[key] = count()
		}
	}
	return out
}
