package schemas_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/codecell/codecell/schemas"
)

func compile(t testing.TB, text string) *schemas.Schema {
	t.Helper()
	s, err := schemas.Compile(schemas.JSON(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestSpec_P5_Violations(t *testing.T) {
	const file = `{"type":"object","properties":{"path":{"type":"string"},"limit":{"type":"integer","minimum":1},"mode":{"enum":["read","write"]}},"required":["path"],"additionalProperties":false}`
	for _, tc := range []struct{ schema, value, want string }{
		{file, `{"path":"a","limit":3}`, ""},
		{file, `{"pth":"a"}`, `path: expected a string, but it is missing (got "pth": did you mean "path"?); pth: expected no such field (did you mean "path"?)`},
		{`{"properties":{"path":{"type":"string"}},"required":["path"]}`, `{"Path":"a"}`, `path: expected a string, but it is missing (got "Path": did you mean "path"?)`},
		{file, `{"path":1,"limit":0}`, `limit: expected a number of at least 1; path: expected a string, got a number`},
		{file, `{"path":"a","mode":"raed"}`, `mode: expected one of "read", "write" (did you mean "read"?)`},
		{file, `[]`, `expected an object, got an array`},
		{file, `{"path":"a","limit":1.5}`, `limit: expected an integer, got a number`},
		{file, `{"path":"a","limit":2.0}`, ``},
		{file, ``, `expected JSON text (not JSON: EOF)`},
		{file, `{"path":"a"} x`, `expected JSON text (not JSON: more text follows the value)`},
		{`{"items":{"properties":{"n":{"type":"number"}}}}`, `[{"n":1},{"n":"x"}]`, `[1].n: expected a number, got a string`},
		{`{"properties":{"odd key":{"maxLength":2}}}`, `{"odd key":"abc"}`, `["odd key"]: expected at most 2 characters, got 3`},
		{`{"anyOf":[{"type":"string"},{"type":"object","properties":{"a":{"type":"object","properties":{"b":{"type":"null"}}}}},{"type":"number"}]}`, `{"a":{"b":1}}`, `a.b: expected null, got a number`},
		{`{"anyOf":[{"type":"string"},{"type":"integer"}]}`, `[]`, `expected a string or an integer, got an array`},
		{`{"oneOf":[{"minimum":1},{"minimum":2}]}`, `3`, `expected a value that fits only one of the alternatives of the schema`},
		{`{"not":{"type":"string"}}`, `"a"`, `expected something else: the schema excludes this value`},
		{`{"type":["string","null"]}`, `1`, `expected null or a string, got a number`},
		{`{"const":{"a":"<b>"}}`, `1`, `expected {"a":"<b>"}`},
		{`{"pattern":"^a+$"}`, `"b"`, `expected text that matches ^a+$`},
		{`{"uniqueItems":true}`, `[1,2,1]`, `expected items that differ, but 0 and 2 are equal`},
		{`{"multipleOf":0.1}`, `0.25`, `expected a multiple of 0.1`},
		{`{"maximum":9007199254740993}`, `9007199254740994`, `expected a number of at most 9007199254740993`},
		{`{"maximum":9007199254740993}`, `9007199254740993`, ``},
		{`{"properties":{"x":false}}`, `{"x":1}`, `x: expected nothing here (leave it out)`},
		{`{"$schema":"http://json-schema.org/draft-07/schema#","definitions":{"p":{"type":"string"}},"properties":{"a":{"$ref":"#/definitions/p"}}}`, `{"a":1}`, `a: expected a string, got a number`},
		{`{"$schema":"https://json-schema.org/draft-07/schema","items":[{"type":"string"}]}`, `[1]`, `[0]: expected a string, got a number`},
		{`{"$schema":"https://example.com/unknown","type":"string"}`, `1`, `expected a string, got a number`},
		{`{"pattern":"^(?!x)y"}`, `"anything"`, ``}, // no look-ahead in Go: the tool decides
		{`{"minLength":1}`, `""`, `expected at least 1 character, got 0`},
		{`{"minItems":2}`, `[1]`, `expected at least 2 items, got 1`},
		{`{"maxItems":1}`, `[1,2]`, `expected at most 1 item, got 2`},
		{`{"minProperties":1}`, `{}`, `expected at least 1 field, got 0`},
		{`{"maxProperties":1}`, `{"a":1,"b":2}`, `expected at most 1 field, got 2`},
		{`{"exclusiveMinimum":1}`, `1`, `expected a number greater than 1`},
		{`{"exclusiveMaximum":1.5}`, `2`, `expected a number less than 1.5`},
		{`{"contains":{"const":1}}`, `[2]`, `expected a value that satisfies "contains" of the schema`},
		{`{"propertyNames":{"maxLength":1}}`, `{"ab":1}`, `expected another name than "ab"`},
		{`{"dependentRequired":{"a":["b","c"]}}`, `{"a":1}`, `expected "b", "c" too, because "a" is given`},
		{`{"$schema":"http://json-schema.org/draft-07/schema#","dependencies":{"a":["b"]}}`, `{"a":1}`, `expected "b" too, because "a" is given`},
		{`{"enum":[1,2,3,4,5,6,7,8,9,10]}`, `0`, `expected one of 1, 2, 3, 4, 5, 6, 7 and 3 more`},
		{`{"anyOf":[{"required":["kind"]},{"properties":{"a":{"properties":{"b":{"minimum":5}}}}},{"properties":{"a":{"maxProperties":0}}}]}`, `{"a":{"b":1}}`, `a.b: expected a number of at least 5`},
		{`{"oneOf":[{"required":["a","b"]},{"required":["c"]}]}`, `{}`, `a: expected a value, but it is missing; b: expected a value, but it is missing`},
		{`true`, `{"__proto__":1}`, ``},
		{``, `[1]`, ``},
		{`{"properties":{"__proto__":{"type":"number"}},"required":["__proto__"]}`, `{}`, `__proto__: expected a number, but it is missing`},
		{`{"properties":{"__proto__":{"type":"number"}},"required":["__proto__"]}`, `{"__proto__":3}`, ``},
		{`{"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}}}`, `1`, `expected a schema whose references come to an end: a $ref of this one leads back to itself`},
		{`{"type":"number"}`, `1e999999999`, `expected JSON text (a number is too long or too large)`},
		{`{}`, strings.Repeat("[", 200) + strings.Repeat("]", 200), `expected JSON text (nested more than 128 levels deep)`},
	} {
		got := schemas.Violations(compile(t, tc.schema).Validate(schemas.JSON(tc.value)))
		if got != tc.want {
			t.Errorf("%s\n%s\n got %s\nwant %s", tc.schema, tc.value, got, tc.want)
		}
	}
}

func TestAtMostFiveViolationsInAFixedOrder(t *testing.T) {
	s := compile(t, `{"additionalProperties":{"type":"string"}}`)
	first := s.Validate(schemas.JSON(`{"g":1,"f":1,"e":1,"d":1,"c":1,"b":1,"a":1}`))
	if len(first) != schemas.MaxViolations || first[0].Path != "a" || first[4].Path != "e" {
		t.Errorf("%v", first)
	}
}

// TestSpec_B5_ViolationsKeepValues: what a caller gave is in no message.
func TestSpec_B5_ViolationsKeepValues(t *testing.T) {
	for _, schema := range []string{`{"type":"number"}`, `{"enum":["a"]}`, `{"const":"s3cre"}`, `{"pattern":"^x"}`, `{"maxLength":1}`, `{"format":"email"}`, `{"$schema":"http://json-schema.org/draft-07/schema#","format":"email"}`} {
		for _, v := range compile(t, schema).Validate(schemas.JSON(`"s3cret"`)) {
			if strings.Contains(v.String(), "s3cret") {
				t.Errorf("%s: %s", schema, v)
			}
		}
	}
}

// TestMessagesStayOnOneLine: schemas come from outside, and their texts end up in prompts and terminals.
func TestMessagesStayOnOneLine(t *testing.T) {
	for schema, value := range map[string]string{
		`{"pattern":"^a\n\u001b"}`:                                                         `"b"`,
		`{"properties":{"a\nb":{}},"additionalProperties":false}`:                          `{"zzzzzzzz\nz":1}`,
		`{"required":["a\nb"]}`:                                                            `{}`,
		`{"enum":["a\nb"]}`:                                                                `1`,
		`{"dependentRequired":{"a":["x\ny"]}}`:                                             `{"a":1}`,
		`{"propertyNames":{"maxLength":1}}`:                                                `{"a\nb":1}`,
		`{"$schema":"http://json-schema.org/draft-07/schema#","format":"email"}`:           `"x"`,
		`{"properties":{"a\nb":{"type":"string"}}}`:                                        `{"a\nb":1}`,
		`{"$defs":{"a\nb":{"type":"string"}},"properties":{"a":{"$ref":"#/$defs/a%0Ab"}}}`: `{"a":1}`,
	} {
		got := schemas.Violations(compile(t, schema).Validate(schemas.JSON(value)))
		if got == "" || strings.ContainsAny(got, "\n\x1b") {
			t.Errorf("%s: %q", schema, got)
		}
	}
	for _, schema := range []string{`{"$ref":"#/a\nb"}`, `{"$ref":"http://x/\n"}`, `{"type":"a\nb"}`, `{"$id":"a\nb"}`} {
		if _, err := schemas.Compile(schemas.JSON(schema)); err == nil || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %q", schema, err)
		}
	}
}

func TestCompileRefuses(t *testing.T) {
	for name, text := range map[string]string{
		"not JSON":          `{`,
		"not a schema":      `3`,
		"bad keyword":       `{"type":"strin"}`,
		"remote":            `{"$ref":"https://example.com/s.json"}`,
		"file":              `{"$ref":"file:///etc/hostname"}`,
		"relative":          `{"$ref":"other.json"}`,
		"missing":           `{"$ref":"#/$defs/none"}`,
		"remote definition": `{"$defs":{"a":{"$ref":"http://127.0.0.1/x"}},"$ref":"#/$defs/a"}`,
		"deep":              strings.Repeat(`{"not":`, 200) + `{}` + strings.Repeat(`}`, 200),
		"huge number":       `{"minimum":1e999999999}`,
		"long":              `{"title":"` + strings.Repeat("x", schemas.MaxSchemaBytes) + `"}`,
	} {
		if _, err := schemas.Compile(schemas.JSON(text)); err == nil {
			t.Errorf("%s: compiled", name)
		} else if strings.Contains(err.Error(), "urn:") || strings.Contains(err.Error(), "invalid/") {
			t.Errorf("%s: the message shows an internal address: %v", name, err)
		} else {
			t.Log(err)
		}
	}
}

// TestSpec_B4_ExponentialSchema: each level of the value doubles the work; a check of 40 levels
// would not end.
func TestSpec_B4_ExponentialSchema(t *testing.T) {
	s := compile(t, `{"$defs":{"n":{"properties":{"a":{"allOf":[{"$ref":"#/$defs/n"},{"$ref":"#/$defs/n"}]}}}},"$ref":"#/$defs/n"}`)
	start := time.Now()
	got := s.Validate(schemas.JSON(strings.Repeat(`{"a":`, 40) + `1` + strings.Repeat(`}`, 40)))
	if len(got) != 1 || !strings.Contains(got[0].Expected, "simpler schema") {
		t.Errorf("%v", got)
	}
	if took := time.Since(start); took > 20*time.Second {
		t.Errorf("took %v", took)
	}
	if got := s.Validate(schemas.JSON(`{"a":{"a":1}}`)); len(got) != 0 {
		t.Errorf("a small value after the large one: %v", got)
	}
	wide := make([]string, 2000)
	for i := range wide {
		wide[i] = fmt.Sprintf(`{"$ref":"#/$defs/e%d"}`, i%2)
	}
	enum := strings.TrimSuffix(strings.Repeat(`"zzzzzzzz",`, 2000), ",")
	s = compile(t, `{"$defs":{"e0":{"enum":[`+enum+`]},"e1":{"enum":[`+enum+`]}},"items":{"anyOf":[`+strings.Join(wide, ",")+`]}}`)
	start = time.Now()
	got = s.Validate(schemas.JSON(`[` + strings.TrimSuffix(strings.Repeat(`"a",`, 10000), ",") + `]`))
	if len(got) == 0 {
		t.Error("accepted")
	}
	if took := time.Since(start); took > 20*time.Second {
		t.Errorf("took %v", took)
	}
}

// TestSpec_B4_SlowPattern: a thousand states for each of a million bytes, again and again.
func TestSpec_B4_SlowPattern(t *testing.T) {
	s := compile(t, `{"allOf":[`+strings.TrimSuffix(strings.Repeat(`{"pattern":"(x+x+){300}y"},`, 200), ",")+`]}`)
	got := s.Validate(schemas.JSON(`"` + strings.Repeat("x", 1<<20) + `"`))
	if len(got) != 1 || !strings.Contains(got[0].Expected, "simpler schema") {
		t.Errorf("%v", got)
	}
	s = compile(t, `{"items":{"pattern":"^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$"}}`)
	list := strings.TrimSuffix(strings.Repeat(`"0af76519-16cd-43dd-8448-eb211c80319c",`, 10_000), ",")
	if got := s.Validate(schemas.JSON("[" + list + "]")); len(got) != 0 {
		t.Errorf("an ordinary long list: %v", got)
	}
}

func TestSelfReferenceWithoutProgressEnds(t *testing.T) {
	if got := compile(t, `{"$ref":"#"}`).Validate(schemas.JSON(`1`)); len(got) != 1 {
		t.Errorf("%v", got)
	}
}

func TestSchemaIsSafeForManyGoroutines(t *testing.T) {
	s := compile(t, `{"properties":{"n":{"type":"number"}}}`)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for range 100 {
				value, want := `{"n":1}`, 0
				if i%2 == 1 {
					value, want = `{"n":"x"}`, 1
				}
				if got := s.Validate(schemas.JSON(value)); len(got) != want {
					t.Errorf("%s: %v", value, got)
				}
			}
		})
	}
	wg.Wait()
}

func TestSpec_M5_ApplyDefaults(t *testing.T) {
	for _, tc := range []struct{ schema, value, want string }{
		{`{"properties":{"b":{"default":2},"a":{"default":"x"}}}`, `{}`, `{"a":"x","b":2}`},
		{`{"properties":{"b":{"default":2},"a":{"default":"x"}}}`, `{"b":null}`, `{"b":null,"a":"x"}`},
		{`{"properties":{"n":{"default":12345678901234567890.10}}}`, `{"z":1.50}`, `{"z":1.50,"n":12345678901234567890.10}`},
		{`{"properties":{"__proto__":{"default":{"x":1}},"constructor":{"default":1}}}`, `{}`, `{"__proto__":{"x":1},"constructor":1}`},
		{`{"properties":{"u":{"default":"<&>\u2028"}}}`, `{}`, "{\"u\":\"<&>\\u2028\"}"},
		{`{"properties":{"o":{"properties":{"d":{"default":1}}}}}`, `{"o":{"x":2}}`, `{"o":{"x":2,"d":1}}`},
		{`{"properties":{"o":{"properties":{"d":{"default":1}}}}}`, `{"o":{ "x":2     }}`, `{"o":{"x":2,"d":1}}`}, // as long as before
		{`{"items":{"properties":{"d":{"default":1}}}}`, `[{      }]`, `[{"d":1}]`},
		{`{"properties":{"o":{"properties":{"d":{"default":1}}}}}`, ` { "o" : 5 } `, ` { "o" : 5 } `},
		{`{"properties":{"o":{"properties":{"d":{"default":1}}}}}`, `{}`, `{}`},
		{`{"properties":{"o":{"default":{},"properties":{"d":{"default":1}}}}}`, `{}`, `{"o":{"d":1}}`},
		{`{"items":{"properties":{"d":{"default":1}}}}`, `[{},{"d":2},3]`, `[{"d":1},{"d":2},3]`},
		{`{"$defs":{"d":{"default":1}},"properties":{"a":{"$ref":"#/$defs/d"}}}`, `{}`, `{"a":1}`},
		{`{"allOf":[{"properties":{"a":{"default":1}}}]}`, `{}`, `{"a":1}`},
		{`{"anyOf":[{"properties":{"a":{"default":1}}}]}`, `{}`, `{}`},
		{`{"properties":{"a":{"default":1}}}`, ` {"x" : "\"}", "\"k\\" : [ 1 ] } `, `{"x":"\"}","\"k\\":[ 1 ],"a":1}`},
		{`{"properties":{"a":{"default":1}}}`, `{"\u0061":5}`, `{"\u0061":5}`},
		{`{"properties":{"a":{"default":null}}}`, `{}`, `{"a":null}`},
		{`{"properties":{"a":{"default":null,"type":["string","null"]},"b":{"default":null,"type":"null"}}}`, `{}`, `{"a":null,"b":null}`},
		{`{"properties":{"a":{"default":null,"type":"string"},"b":{"default":null,"type":["integer"]}}}`, `{}`, `{}`},
		{`{"properties":{"a":{"default":1}}}`, `[`, `[`},
		{`{"properties":{"a":{"default":1}}}`, ``, ``},
		{`true`, `{}`, `{}`},
		{`{"$defs":{"n":{"properties":{"n":{"$ref":"#/$defs/n","default":{}}}}},"$ref":"#/$defs/n"}`, `[]`, `[]`},
	} {
		if d := cmp.Diff(tc.want, string(compile(t, tc.schema).ApplyDefaults(schemas.JSON(tc.value)))); d != "" {
			t.Errorf("%s %s: %s", tc.schema, tc.value, d)
		}
	}
}

func TestApplyDefaultsIsBounded(t *testing.T) {
	s := compile(t, `{"$defs":{"n":{"properties":{"a":{"$ref":"#/$defs/n"},"b":{"$ref":"#/$defs/n"}},"default":{}}},"$ref":"#/$defs/n"}`)
	done := make(chan int, 1)
	go func() { done <- len(s.ApplyDefaults(schemas.JSON(`{}`))) }()
	select {
	case n := <-done:
		if n > 32<<20 {
			t.Errorf("%d bytes", n)
		}
	case <-time.After(30 * time.Second):
		t.Error("defaults that contain themselves don't end")
	}
}

func FuzzSchema(f *testing.F) {
	f.Add([]byte(`{"type":"object","properties":{"a":{"default":1}},"required":["b"],"additionalProperties":false}`), []byte(`{"c":[1,"x"]}`))
	f.Add([]byte(`{"$ref":"#/$defs/a","$defs":{"a":{"anyOf":[{"type":"string"},{"items":{"$ref":"#"}}]}}}`), []byte(`[[[1]]]`))
	f.Fuzz(func(t *testing.T, schema, value []byte) {
		s, err := schemas.Compile(schema)
		if err != nil {
			return
		}
		a, b := s.Validate(value), s.Validate(value)
		if d := cmp.Diff(a, b); d != "" || len(a) > schemas.MaxViolations {
			t.Fatalf("not the same twice: %s", d)
		}
		once := s.ApplyDefaults(value)
		if twice := s.ApplyDefaults(once); string(once) != string(twice) {
			t.Fatalf("defaults are added twice: %s, %s", once, twice)
		}
	})
}

// TestSlowValidationsDontHoldUpOthers: a schema that is checked against a hostile value goes on
// serving everyone else.
func TestSlowValidationsDontHoldUpOthers(t *testing.T) {
	s := compile(t, `{"$defs":{"n":{"properties":{"a":{"allOf":[{"$ref":"#/$defs/n"},{"$ref":"#/$defs/n"}]}}}},"$ref":"#/$defs/n"}`)
	hostile := schemas.JSON(strings.Repeat(`{"a":`, 40) + `1` + strings.Repeat(`}`, 40))
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			if i%2 == 0 {
				if got := s.Validate(hostile); len(got) != 1 {
					t.Errorf("hostile: %v", got)
				}
				return
			}
			for range 20 {
				if got := s.Validate(schemas.JSON(`{"a":{"a":1}}`)); got != nil {
					t.Errorf("ordinary: %v", got)
				}
			}
		})
	}
	wg.Wait()
}

func BenchmarkValidate(b *testing.B) {
	s := compile(b, `{"type":"object","properties":{"path":{"type":"string"},"limit":{"type":"integer"}},"required":["path"],"additionalProperties":false}`)
	value := schemas.JSON(`{"path":"a/b/c","limit":20}`)
	b.ReportAllocs()
	for b.Loop() {
		if s.Validate(value) != nil {
			b.Fatal("invalid")
		}
	}
}

func TestSpec_M5_SchemasWithoutDefaultsLeaveValuesAlone(t *testing.T) {
	for schema, fills := range map[string]bool{
		`{"properties":{"a":{"type":"number"}}}`:                                      false,
		`{"properties":{"a":{"default":1}}}`:                                          true,
		`{"allOf":[{"properties":{"a":{"default":1}}}]}`:                              true,
		`{"$ref":"#/$defs/x","$defs":{"x":{"properties":{"a":{"default":1}}}}}`:       true,
		`{"properties":{"b":{"items":{"properties":{"a":{"default":1}}}}}}`:           false, // there is no b to fill
		`{"properties":{"b":{"type":"array","items":{"properties":{"c":{"x":[]}}}}}}`: false,
	} {
		s := schemas.MustCompile(schemas.JSON(schema))
		want := "{}"
		if fills {
			want = `{"a":1}`
		}
		if got := s.ApplyDefaults(schemas.JSON("{}")); string(got) != want {
			t.Errorf("%s made %s of {}, want %s", schema, got, want)
		}
	}
}
