package schemas

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Bounds of a JSON Schema.
const (
	// MaxSchemaBytes is the longest schema text.
	MaxSchemaBytes = 1 << 20
	// MaxSchemaDepth is the deepest nesting of a schema and of a value under validation.
	MaxSchemaDepth = 128
)

// Schema is a compiled JSON Schema. It may be used by many goroutines at once.
type Schema struct {
	raw  JSON
	doc  any // the schema as decoded JSON, for hints and defaults
	mu   sync.Mutex
	root *jsonschema.Schema
	fuel *fuel // of the validation that holds mu
}

// Compile reads a JSON Schema of draft 2020-12, or of an older draft if it says so in $schema. An
// empty text accepts everything. Nothing is loaded from anywhere: a $ref to elsewhere is an error,
// as are a schema over [MaxSchemaBytes] or [MaxSchemaDepth]. A pattern in a dialect of regular
// expressions that Go doesn't have (look-ahead) is taken to match: the tool itself decides.
func Compile(raw JSON) (*Schema, error) {
	if len(raw) == 0 {
		raw = JSON("true")
	}
	if len(raw) > MaxSchemaBytes {
		return nil, fmt.Errorf("schema: %d bytes; at most %d are read", len(raw), MaxSchemaBytes)
	}
	doc, err := parseJSON(raw, MaxSchemaDepth)
	if err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	doc = knownDialect(doc)
	f := &fuel{longestEnum: longestEnum(doc)}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.UseLoader(noLoader{})
	c.UseRegexpEngine(lenientRegexp)
	c.RegisterVocabulary(&jsonschema.Vocabulary{URL: "urn:codecell:fuel", Compile: f.compile})
	c.AssertVocabs()
	if err := c.AddResource(schemaURL, doc); err != nil {
		return nil, schemaError(doc, err)
	}
	root, err := c.Compile(schemaURL)
	if err != nil {
		return nil, schemaError(doc, err)
	}
	return &Schema{raw: raw, doc: doc, root: root, fuel: f}, nil
}

// MustCompile is [Compile] for schemas that are part of the program.
func MustCompile(raw JSON) *Schema {
	s, err := Compile(raw)
	if err != nil {
		panic(err)
	}
	return s
}

// Raw gives the text that was compiled.
func (s *Schema) Raw() JSON { return s.raw }

// Validate lists what is wrong with a value: at most [MaxViolations], sorted by path, none if it
// fits. Numbers are compared by all their digits. Validation of any value against any schema ends:
// a schema that would take more steps than its value justifies is itself reported.
func (s *Schema) Validate(value JSON) []Violation { return s.validate(value, MaxViolations) }

func (s *Schema) validate(value JSON, most int) []Violation {
	v, err := parseJSON(value, MaxSchemaDepth)
	if err != nil {
		return []Violation{{Expected: "JSON text", Hint: err.Error()}}
	}
	err = s.run(v, len(value))
	var invalid *jsonschema.ValidationError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &invalid):
		return s.explain(v, invalid, most)
	default:
		return []Violation{{Expected: err.Error()}}
	}
}

// run validates one value with a fresh tank. The lock is held because the tank hangs on the
// compiled schema: the library has no place for state of one validation.
func (s *Schema) run(v any, size int) (err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fuel.left = fuelFree + fuelPerByte*size
	defer func() {
		if r := recover(); r != nil {
			if r != errFuel {
				panic(r)
			}
			err = errFuel
		}
	}()
	return s.root.Validate(v)
}

// schemaURL names the schema within the library, so that relative references lead nowhere.
const schemaURL = "https://codecell.invalid/schema"

func schemaError(doc any, err error) error {
	var invalid *jsonschema.SchemaValidationError
	if errors.As(err, &invalid) {
		var why *jsonschema.ValidationError
		if errors.As(invalid.Err, &why) {
			return fmt.Errorf("schema: %s", Violations(new(Schema).explain(doc, why, MaxViolations)))
		}
	}
	var load *jsonschema.LoadURLError
	if errors.As(err, &load) {
		return fmt.Errorf("schema: it refers to %s; only references within the schema (#/$defs/…) are followed", strconv.Quote(strings.TrimPrefix(load.URL, "https://codecell.invalid/")))
	}
	return fmt.Errorf("schema: %s", strings.ReplaceAll(err.Error(), schemaURL, ""))
}

type noLoader struct{}

func (noLoader) Load(url string) (any, error) { return nil, errors.New("not loaded") }

// knownDialect mends what servers write into $schema: a known draft under the other scheme is
// that draft, and an unknown dialect is read as the newest.
func knownDialect(doc any) any {
	m, ok := doc.(map[string]any)
	if !ok {
		return doc
	}
	said, ok := m["$schema"].(string)
	if !ok {
		return doc
	}
	draft := strings.TrimSuffix(strings.TrimPrefix(strings.TrimPrefix(said, "https://"), "http://"), "#")
	switch draft {
	case "json-schema.org/draft/2020-12/schema", "json-schema.org/draft/2019-09/schema":
		m["$schema"] = "https://" + draft
	case "json-schema.org/draft-07/schema", "json-schema.org/draft-06/schema", "json-schema.org/draft-04/schema":
		m["$schema"] = "http://" + draft + "#"
	default:
		delete(m, "$schema")
	}
	return m
}

// maxPattern is the longest regular expression that is tried, in bytes.
const maxPattern = 4 << 10

func lenientRegexp(s string) (jsonschema.Regexp, error) {
	if len(s) <= maxPattern {
		if re, err := regexp.Compile(s); err == nil {
			return re, nil
		}
	}
	return anything(s), nil
}

// anything is a pattern that isn't understood.
type anything string

func (a anything) String() string          { return string(a) }
func (a anything) MatchString(string) bool { return true }

// Fuel bounds validation, whose time can be exponential in the size of schema and value
// ("allOf": [{"$ref": "#"}, …] below a property). Each visit of a subschema burns as much as the
// subschema has parts, which covers those of them that fail without being counted themselves.
const (
	fuelFree    = 4 << 20
	fuelPerByte = 128
)

var errFuel = errors.New("a simpler schema: checking this value against it takes too long")

type fuel struct {
	left        int
	longestEnum int
}

// burn is the part of the tank on one subschema.
type burn struct {
	tank *fuel
	cost int
}

func (f *fuel) compile(_ *jsonschema.CompilerContext, obj map[string]any) (jsonschema.SchemaExt, error) {
	cost := countParts(obj)
	if _, ok := obj["$ref"]; ok {
		cost += f.longestEnum
	}
	if _, ok := obj["$dynamicRef"]; ok {
		cost += f.longestEnum
	}
	return &burn{tank: f, cost: cost}, nil
}

// Validate burns; it never says anything of the value.
func (b *burn) Validate(*jsonschema.ValidatorContext, any) {
	if b.tank.left -= b.cost; b.tank.left < 0 {
		panic(errFuel)
	}
}

func countParts(v any) int {
	n := 1
	switch v := v.(type) {
	case map[string]any:
		for _, e := range v {
			n += countParts(e)
		}
	case []any:
		for _, e := range v {
			n += countParts(e)
		}
	}
	return n
}

func longestEnum(v any) int {
	n := 0
	switch v := v.(type) {
	case map[string]any:
		if list, ok := v["enum"].([]any); ok {
			n = countParts(list)
		}
		for _, e := range v {
			n = max(n, longestEnum(e))
		}
	case []any:
		for _, e := range v {
			n = max(n, longestEnum(e))
		}
	}
	return n
}

// compactJSON takes the white space out of a JSON text that is known to be correct.
func compactJSON(b []byte) JSON {
	var out bytes.Buffer
	if err := json.Compact(&out, b); err != nil {
		panic(err)
	}
	return out.Bytes()
}

// parseJSON decodes one JSON text with exact numbers, refusing what later steps couldn't bear:
// deep nesting, and numbers that don't fit into memory when written out (1e999999999).
func parseJSON(b []byte, depth int) (any, error) {
	if err := shallow(b, depth); err != nil {
		return nil, err
	}
	d := json.NewDecoder(strings.NewReader(string(b)))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, fmt.Errorf("not JSON: %w", err)
	}
	if d.More() || len(strings.TrimSpace(string(b[d.InputOffset():]))) > 0 {
		return nil, errors.New("not JSON: more text follows the value")
	}
	return v, smallNumbers(v)
}

// shallow checks that brackets outside strings nest at most so deep.
func shallow(b []byte, depth int) error {
	open, quoted := 0, false
	for i := 0; i < len(b); i++ {
		switch c := b[i]; {
		case quoted:
			if c == '\\' {
				i++
			}
			quoted = c != '"'
		case c == '"':
			quoted = true
		case c == '{' || c == '[':
			if open++; open > depth {
				return fmt.Errorf("nested deeper than %d", depth)
			}
		case c == '}' || c == ']':
			open--
		}
	}
	return nil
}

// maxDigits and maxExponent leave room for every float64 and any id.
const (
	maxDigits   = 1100
	maxExponent = 3
)

func smallNumbers(v any) error {
	switch v := v.(type) {
	case json.Number:
		mantissa, exponent, _ := strings.Cut(strings.ToLower(string(v)), "e")
		if len(mantissa) > maxDigits || len(strings.TrimLeft(exponent, "+-0")) > maxExponent {
			return errors.New("a number is too long or too large")
		}
	case map[string]any:
		for _, e := range v {
			if err := smallNumbers(e); err != nil {
				return err
			}
		}
	case []any:
		for _, e := range v {
			if err := smallNumbers(e); err != nil {
				return err
			}
		}
	}
	return nil
}
