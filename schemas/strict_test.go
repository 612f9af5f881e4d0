package schemas

import (
	"strings"
	"testing"
)

// What permits something must not permit more than it says (P3).
func TestSpec_P3_StrictSchemas(t *testing.T) {
	for text, want := range map[string]string{
		`{"type":"object","properties":{"path":{"type":"string","pattern":"^notes/"}},"required":["path"]}`: "",
		`true`: "",
		``:     "",
		`{"allOf":[{"$ref":"#/$defs/a"}],"$defs":{"a":{"type":"object"}},"patternProperties":{"^a":{"const":{"patern":1}}}}`: "",
		`{"properties":{"path":{"patern":"^a"}}}`:                 "properties.path.patern is no keyword",
		`{"properties":{"path":{"pattern":"^(?!secret)"}}}`:       "properties.path.pattern is a regular expression that can't be checked",
		`{"patternProperties":{"(?=a)":{}}}`:                      "patternProperties is a regular expression",
		`{"anyOf":[true,{"format":"uri"}]}`:                       "anyOf[1].format is no keyword",
		`{"items":{"not":{"x-y":1}}}`:                             "items.not.x-y",
		`{"pattern":"` + strings.Repeat("a", maxPattern+1) + `"}`: "at most 4096",
		`{"type":7}`:                       "type",
		`{"$ref":"https://example.com/s"}`: "example.com",
		`{"$schema":"http://json-schema.org/draft-07/schema#","$ref":"#"}`: "$schema must be",
		`{"$schema":"https://json-schema.org/draft/2020-12/schema"}`:       "",
		`{"dependencies":{"a":["b"]}}`:                                     "dependencies is no keyword",
	} {
		_, err := CompileStrict(JSON(text))
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%.80s: %v, want %q", text, err, want)
		}
	}
}
