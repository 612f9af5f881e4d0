package schemas

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync/atomic"

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
	doc  any  // the schema as decoded JSON, for defaults
	read any  // doc as it is checked: in the words of one draft
	fill bool // there may be defaults in it
	made atomic.Int32
	idle chan *checker
}

// checker is one compilation of a schema. Its tank hangs on the compiled schema, since the library
// has no place for the state of one validation: it does one at a time.
type checker struct {
	root *jsonschema.Schema
	tank *fuel
}

// maxCheckers bounds how often one schema is compiled, and so how many slow validations there can
// be at once before others have to wait for one of them.
const maxCheckers = 8

// Compile reads a JSON Schema of draft 2020-12, or of an older draft if it says so in $schema. An
// empty text accepts everything. Nothing is loaded from anywhere: a $ref to elsewhere is an error,
// as are a schema over [MaxSchemaBytes] or [MaxSchemaDepth]. A pattern in a dialect of regular
// expressions that Go doesn't have (look-ahead) is taken to match: the tool itself decides. What older drafts and OpenAPI say
// in words that no draft contradicts counts as they mean it: nullable, and without a $schema also lists in items and
// switches in exclusiveMinimum and exclusiveMaximum.
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
	s := &Schema{raw: raw, doc: knownDialect(doc), fill: mentions(doc, "default"), idle: make(chan *checker, maxCheckers)}
	s.read = modern(s.doc)
	c, err := newChecker(s.read)
	if err != nil {
		// A reference may lead to where a keyword stood that was moved: then the schema counts as it is written.
		s.read = s.doc
		var still error
		if c, still = newChecker(s.read); still != nil {
			return nil, err
		}
	}
	s.made.Store(1)
	s.idle <- c
	return s, nil
}

func newChecker(doc any) (*checker, error) {
	tank := &fuel{left: math.MaxInt, longestEnum: longestEnum(doc)}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.UseLoader(noLoader{})
	c.UseRegexpEngine(tank.pattern)
	c.RegisterVocabulary(&jsonschema.Vocabulary{URL: "urn:codecell:fuel", Compile: tank.compile})
	c.AssertVocabs()
	if err := c.AddResource(schemaURL, doc); err != nil {
		return nil, schemaError(doc, err)
	}
	root, err := c.Compile(schemaURL)
	if err != nil {
		return nil, schemaError(doc, err)
	}
	return &checker{root: root, tank: tank}, nil
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
		return unreadable(err)
	}
	return s.judge(v, len(value), most)
}

// unreadable says that a value isn't JSON.
func unreadable(err error) []Violation {
	return []Violation{{Expected: "JSON text", Hint: err.Error()}}
}

// judge validates a decoded value, whose text has so many bytes.
func (s *Schema) judge(v any, size, most int) []Violation {
	err := s.run(v, size)
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

// run validates one value on a checker of its own. A second one is made only when it is needed:
// one validation takes microseconds, unless schema and value are made to take long.
func (s *Schema) run(v any, size int) error {
	var c *checker
	select {
	case c = <-s.idle:
	default:
		if s.made.Add(1) <= maxCheckers {
			c, _ = newChecker(s.read) // it has compiled before
		} else {
			s.made.Add(-1)
		}
		if c == nil {
			c = <-s.idle
		}
	}
	defer func() { s.idle <- c }()
	return c.check(v, fuelFree+fuelPerByte*size)
}

func (c *checker) check(v any, tank int) (err error) {
	c.tank.left = tank
	defer func() {
		switch r := recover().(type) {
		case nil:
		case fuelError:
			err = r
		default:
			panic(r)
		}
	}()
	return c.root.Validate(v)
}

// schemaURL names the schema within the library, so that relative references lead nowhere.
const schemaURL = "https://codecell.invalid/schema"

func schemaError(doc any, err error) error {
	if invalid, ok := errors.AsType[*jsonschema.SchemaValidationError](err); ok {
		if why, ok := errors.AsType[*jsonschema.ValidationError](invalid.Err); ok {
			return fmt.Errorf("schema: %s", Violations(new(Schema).explain(doc, why, MaxViolations)))
		}
	}
	if load, ok := errors.AsType[*jsonschema.LoadURLError](err); ok {
		return fmt.Errorf("schema: it refers to %s; only references within the schema (#/$defs/…) are followed",
			strconv.Quote(shorten(strings.TrimPrefix(load.URL, "https://codecell.invalid/"), 100)))
	}
	return fmt.Errorf("schema: %s", plain(strings.ReplaceAll(err.Error(), schemaURL, ""), 300))
}

type noLoader struct{}

func (noLoader) Load(string) (any, error) { return nil, errors.New("not loaded") }

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
