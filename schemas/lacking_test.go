package schemas

import (
	"strings"
	"testing"
)

// TestLackingMissesNothing: where looking says no, trying adds nothing; where values are complete it
// says no.
func TestLackingMissesNothing(t *testing.T) {
	twice := `{"$defs":{"d":{"allOf":[{"$ref":"#/$defs/d"},{"$ref":"#/$defs/d"}]}},"allOf":[{"$ref":"#/$defs/d"}],"properties":{"a":{"default":1}}}`
	for _, c := range []struct {
		schema, value string
		lacks         bool
	}{
		{`{"properties":{"a":{"default":1}}}`, `{"a":2}`, false},
		{`{"properties":{"a":{"default":1}}}`, `{}`, true},
		{`{"properties":{"a":{"default":1}}}`, `[]`, false},
		{`{"properties":{"a":{"default":1}}}`, `"a"`, false},
		{`{"properties":{"a":{"type":"string"},"b":{"default":1}}}`, `{"b":null}`, false},
		{`{"properties":{"a":{"properties":{"b":{"default":1}}}}}`, `{"a":{}}`, true},
		{`{"properties":{"a":{"properties":{"b":{"default":1}}}}}`, `{}`, false},
		{`{"items":{"properties":{"b":{"default":1}}}}`, `[{"b":1},{}]`, true},
		{`{"items":{"properties":{"b":{"default":1}}}}`, `[{"b":1},3]`, false},
		{`{"$ref":"#/$defs/x","$defs":{"x":{"properties":{"b":{"default":1}}}}}`, `{}`, true},
		{`{"allOf":[{},{"properties":{"b":{"$ref":"#/$defs/x"}}}],"$defs":{"x":{"default":1}}}`, `{}`, true},
		{`{"anyOf":[{"properties":{"b":{"default":1}}}]}`, `{}`, false},
		{`{"properties":{"a":{"$ref":"#"},"b":{"default":1}}}`, `{"b":1,"a":{"b":1,"a":{}}}`, true},
		{twice, `{"a":1}`, true}, // too much to look through
	} {
		s := MustCompile(JSON(c.schema))
		v, err := parseJSON([]byte(c.value), MaxSchemaDepth)
		if err != nil {
			t.Fatal(err)
		}
		if got := newLacking(s.doc).any(s.doc, v); got != c.lacks {
			t.Errorf("%s lacks something of %s: %v", c.value, c.schema, got)
		}
		if _, added := s.filled(JSON(c.value)); added && !c.lacks {
			t.Errorf("%s: %s was filled", c.value, c.schema)
		}
	}
}

// TestCompleteFillsDeepValues: what is complete but for its innermost part.
func TestCompleteFillsDeepValues(t *testing.T) {
	s := MustCompile(JSON(`{"properties":{"a":{"$ref":"#"},"b":{"default":"\"x"}}}`))
	const deep = 50
	value := strings.Repeat(`{"b":1,"a":`, deep) + `{}` + strings.Repeat(`}`, deep)
	want := strings.Repeat(`{"b":1,"a":`, deep) + `{"b":"\"x"}` + strings.Repeat(`}`, deep)
	if got, bad := s.Complete(JSON(value)); string(got) != want || bad != nil {
		t.Errorf("%s, %v", got, bad)
	}
}
