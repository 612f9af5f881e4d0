package schemas

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// alike holds the short cut against the library.
func alike(t fatal, text string) (taken bool) {
	t.Helper()
	const depth = 8
	got, ok := quick([]byte(text), depth)
	want, err := parseAny([]byte(text), depth)
	if ok && (err != nil || !reflect.DeepEqual(got, want)) {
		t.Fatalf("%q: got %#v, want %#v, %v", text, got, want, err)
	}
	return ok
}

func TestQuickIsParseJSON(t *testing.T) {
	for text, taken := range map[string]bool{
		`{"a":[1,-2.50,{"b":null}],"c":"d","a":true}`: true,
		" { \"a\" :\t[ ] ,\r\n \"b\" : { } } ":        true,
		`"\u00e9\ud83d\ude00\n\\\""`:                  true,
		`"é"`:                                         true,
		"\"\xff\"":                                    true,
		"\"a\x01\"":                                   false,
		`"\x"`:                                        false,
		`"\`:                                          false,
		`"`:                                           false,
		``:                                            false,
		` `:                                           false,
		`-`:                                           false,
		`-0`:                                          true,
		`01`:                                          false,
		`1.`:                                          false,
		`.5`:                                          false,
		`1e5`:                                         false,
		`1 2`:                                         false,
		`[1,]`:                                        false,
		`{"a":1,}`:                                    false,
		`{"a"}`:                                       false,
		`{a:1}`:                                       false,
		`{`:                                           false,
		`[`:                                           false,
		`nul`:                                         false,
		`nullx`:                                       false,
		strings.Repeat("1", maxDigits):                true,
		strings.Repeat("1", maxDigits+1):              false,
		strings.Repeat("[", 8) + strings.Repeat("]", 8): true,
		strings.Repeat("[", 9) + strings.Repeat("]", 9): false,
		strings.Repeat("[", 1<<20):                      false,
	} {
		if got := alike(t, text); got != taken {
			t.Errorf("%.40q: taken: %v", text, got)
		}
	}
}

func TestQuickReadsWhatJSONWrites(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text, err := json.Marshal(rapid.MapOf(rapid.String(), rapid.SliceOf(rapid.OneOf(
			rapid.Int().AsAny(), rapid.String().AsAny(), rapid.Bool().AsAny(), rapid.Just[any](nil),
		))).Draw(t, "value"))
		if err != nil {
			t.Fatal(err)
		}
		if !alike(t, string(text)) {
			t.Fatalf("%s: not taken", text)
		}
		if len(text) > 2 { // and damaged
			text[rapid.IntRange(0, len(text)-1).Draw(t, "at")] = rapid.SampledFrom([]byte(`{}[]",:\0e.-tn `)).Draw(t, "byte")
			alike(t, string(text))
		}
	})
}

func FuzzQuick(f *testing.F) {
	for _, text := range []string{`{"a":[1,-2.5e3,{"b":null}],"c":"\u00e9\ud800"}`, `[true,false,"\xff"]`, `  "é" `, `-0.0`} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) { alike(t, text) })
}

// TestCompleteIsDefaultsAndValidation holds the joined method against the two.
func TestCompleteIsDefaultsAndValidation(t *testing.T) {
	for _, schema := range []string{
		`{"type":"object","properties":{"a":{"type":"integer"}},"required":["a"]}`,
		`{"type":"object","properties":{"a":{"type":"integer","default":1},"b":{"properties":{"c":{"default":"x"}}}},"required":["a"]}`,
		`{"properties":{"a":{"type":"integer","default":"no integer"}}}`,
		`true`, `false`,
	} {
		s := MustCompile(JSON(schema))
		for _, value := range []string{``, `{`, `{}`, `{"a":2}`, `{"a":"x"}`, `{"b":{}}`, `{"b":{}, "a":1.0}`, `[]`, `1e9999`, strings.Repeat("[", 200) + strings.Repeat("]", 200)} {
			wantText := s.ApplyDefaults(JSON(value))
			want := s.Validate(wantText)
			if gotText, got := s.Complete(JSON(value)); string(gotText) != string(wantText) || !reflect.DeepEqual(got, want) {
				t.Errorf("%s of %.60s: %s, %v; want %s, %v", schema, value, gotText, got, wantText, want)
			}
		}
	}
}

func BenchmarkParse(b *testing.B) {
	text := []byte(`{"path":"a/b/c","limit":20,"deep":{"list":[1,2,3],"word":"a text of some length"}}`)
	for name, parse := range map[string]func([]byte, int) (any, error){"quick": parseJSON, "general": parseAny} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := parse(text, 8); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkComplete(b *testing.B) {
	s := MustCompile(JSON(`{"type":"object","properties":{"path":{"type":"string"},"limit":{"type":"integer","default":5}},"required":["path"],"additionalProperties":false}`))
	for name, value := range map[string]JSON{"given": JSON(`{"path":"a/b/c","limit":20}`), "added": JSON(`{"path":"a/b/c"}`)} {
		b.Run("joined/"+name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, bad := s.Complete(value); bad != nil {
					b.Fatal(bad)
				}
			}
		})
		b.Run("apart/"+name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if bad := s.Validate(s.ApplyDefaults(value)); bad != nil {
					b.Fatal(bad)
				}
			}
		})
	}
}
