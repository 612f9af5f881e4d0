package schemas_test

import (
	"testing"

	"github.com/codecell/codecell/schemas"
)

// Cases 56 and 66: what declarations show as a union with null, as a tuple or as a bound is what calls are checked by.
func TestSpec_M4_Case56_WordsOfOlderDraftsAndOpenAPI(t *testing.T) {
	const (
		nothing = ``
		text    = `expected null or a string, got a number`
		pair    = `{"properties":{"a":{"type":"array","items":[{"type":"string"},{"type":"number"}],"additionalItems":false}}}`
		bounds  = `{"properties":{"n":{"minimum":0,"exclusiveMinimum":true,"maximum":9,"exclusiveMaximum":false}}}`
		named   = `{"properties":{"nullable":true,"type":{"type":"string"},"items":{"enum":["nullable"]}}}`
	)
	for _, tc := range []struct{ schema, value, want string }{
		{`{"type":"string","nullable":true}`, `null`, nothing},
		{`{"type":"string","nullable":true}`, `1`, text},
		{`{"type":"string","nullable":false}`, `null`, `expected a string, got null`},
		{`{"type":"string","nullable":"true"}`, `null`, `expected a string, got null`},
		{`{"type":["string"],"nullable":true}`, `null`, nothing},
		{`{"type":["string","null"],"nullable":true}`, `1`, text},
		{`{"type":"string","enum":["a"],"nullable":true}`, `null`, nothing},
		{`{"type":"string","enum":["a"],"nullable":true}`, `"b"`, `expected one of "a", null (did you mean "a"?)`},
		{`{"const":"a","nullable":true}`, `null`, nothing},
		{`{"anyOf":[{"type":"string"},{"type":"number"}],"nullable":true}`, `null`, nothing},
		{`{"oneOf":[{"type":"string"},{"type":"null"}],"nullable":true}`, `null`, nothing},
		{`{"nullable":true,"allOf":[{"$ref":"#/$defs/s"}],"$defs":{"s":{"type":"string"}}}`, `null`, nothing},
		{`{"nullable":true,"allOf":[{"$ref":"#/$defs/s"}],"$defs":{"s":{"type":"string"}}}`, `1`, `expected a string or null, got a number`},
		{`{"properties":{"a":{"$ref":"#/definitions/s","nullable":true}},"definitions":{"s":{"type":"string"}}}`, `{"a":null}`, nothing},
		{`{"$schema":"http://json-schema.org/draft-07/schema#","items":[{"type":"string","nullable":true}]}`, `[null]`, nothing},
		{`{"additionalProperties":{"items":{"type":"string","nullable":true}}}`, `{"a":[null,1]}`, `a[1]: ` + text},
		{pair, `{"a":["x",1]}`, nothing},
		{pair, `{"a":[1,"x"]}`, `a[0]: expected a string, got a number; a[1]: expected a number, got a string`},
		{pair, `{"a":["x",1,2]}`, `a[2]: expected nothing here (leave it out)`},
		{`{"items":[{"items":[{"type":"string"}]}],"additionalItems":{"type":"null"}}`, `[[1],2]`, `[0][0]: expected a string, got a number; [1]: expected null, got a number`},
		{bounds, `{"n":9}`, nothing},
		{bounds, `{"n":0}`, `n: expected a number greater than 0`},
		{bounds, `{"n":10}`, `n: expected a number of at most 9`},
		{named, `{"nullable":1,"type":"x","items":"nullable"}`, nothing},
		{named, `{"type":null}`, `type: expected a string, got null`},
		{`{"const":{"type":"string","nullable":true}}`, `{"type":"string","nullable":true}`, nothing},
	} {
		if got := schemas.Violations(compile(t, tc.schema).Validate(schemas.JSON(tc.value))); got != tc.want {
			t.Errorf("%s\n%s\n got %s\nwant %s", tc.schema, tc.value, got, tc.want)
		}
	}
}

// A schema that names its draft is read by that draft, and what no draft knows is wrong in all.
func TestSpec_P5_WordsThatContradictTheDraft(t *testing.T) {
	const newest = `"$schema":"https://json-schema.org/draft/2020-12/schema"`
	for _, schema := range []string{
		`{` + newest + `,"items":[{"type":"string"}]}`, `{` + newest + `,"exclusiveMinimum":true}`,
		`{"items":["string"]}`, `{"items":[]}`, `{"anyOf":[],"nullable":true}`, `{"exclusiveMinimum":"yes"}`, `{"type":"text","nullable":true}`,
	} {
		if _, err := schemas.Compile(schemas.JSON(schema)); err == nil {
			t.Errorf("%s compiles", schema)
		}
	}
}

func TestSpec_M5_DefaultsOfFieldsThatMayBeNull(t *testing.T) {
	s := compile(t, `{"properties":{"a":{"type":"string","nullable":true,"default":null},"b":{"nullable":true,"allOf":[{"properties":{"c":{"default":1}}}]}}}`)
	for value, want := range map[string]string{`{}`: `{"a":null}`, `{"b":{}}`: `{"b":{"c":1},"a":null}`, `{"a":"x","b":null}`: `{"a":"x","b":null}`} {
		if got, wrong := s.Complete(schemas.JSON(value)); string(got) != want || wrong != nil {
			t.Errorf("%s becomes %s, want %s: %v", value, got, want, wrong)
		}
	}
}

// A reference by path means what stands there as the schema is written, or null doesn't pass where it led.
func TestSpec_M4_Case56_ReferencesIntoNullable(t *testing.T) {
	of := func(x, ref string) string {
		return `{"properties":{"x":` + x + `,"y":{"$ref":"#/properties/x/` + ref + `"}}}`
	}
	const (
		anyOf   = `"anyOf":[{"type":"string"},{"type":"number"}]`
		allOf   = `"allOf":[{"type":"number"},{"minimum":1}]`
		oneOf   = `"oneOf":[{"type":"number"},{"type":"string"}]`
		draft04 = `{"$schema":"http://json-schema.org/draft-04/schema#",`
	)
	for _, tc := range []struct {
		schema   string
		nullable bool
	}{
		{schema: of(`{"nullable":true,`+anyOf+`}`, "anyOf/1"), nullable: true},
		{schema: of(`{"nullable":true,"not":{"const":7},`+anyOf+`}`, "anyOf/1")},
		{schema: of(`{"nullable":true,`+allOf+`}`, "allOf/0")},
		{schema: of(`{"nullable":true,`+allOf+`,`+anyOf+`}`, "allOf/0")},
		{schema: of(`{"nullable":true,`+allOf+`,`+anyOf+`}`, "anyOf/1")},
		{schema: of(`{"nullable":true,`+oneOf+`}`, "oneOf/0")},
		{schema: draft04 + of(`{"nullable":true,"not":{"enum":[7]},`+anyOf+`}`, "anyOf/1")[1:]},
		{schema: `{"properties":{"x":{"nullable":true,"not":{"const":7},` + anyOf + `},"y":{"type":"number"}}}`, nullable: true},
		{schema: `{"properties":{"x":{"nullable":true,` + allOf + `,` + anyOf + `},"y":{"type":"number"}}}`, nullable: true},
		{schema: draft04 + `"properties":{"x":{"nullable":true,"not":{"enum":[7]},` + anyOf + `},"y":{"type":"number"}}}`, nullable: true},
	} {
		s := compile(t, tc.schema)
		for value, fits := range map[string]bool{
			`{"y":5}`: true, `{"y":null}`: false, `{"x":5}`: true, `{"x":null}`: tc.nullable, `{"x":[]}`: false,
		} {
			if wrong := s.Validate(schemas.JSON(value)); (len(wrong) == 0) != fits {
				t.Errorf("%s\n%s: %s", tc.schema, value, schemas.Violations(wrong))
			}
		}
	}
}
