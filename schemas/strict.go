package schemas

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// CompileStrict is [Compile] for a schema that permits something. It refuses what Compile lets pass although it would
// permit more than its author means: keywords that nobody knows, a misspelt one say, keywords that only annotate, such
// as format, and patterns in a dialect of regular expressions that Go doesn't have.
func CompileStrict(raw JSON) (*Schema, error) {
	s, err := Compile(raw)
	if err != nil {
		return nil, err
	}
	if err := strict(s.read, ""); err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	return s, nil
}

const draft2020 = "https://json-schema.org/draft/2020-12/schema"

// What may stand in a strict schema, besides notes for people, by what it holds.
var (
	strictPlain = []string{
		"$id", "$anchor", "$ref", "$dynamicRef", "$dynamicAnchor", "$comment", "title", "description", "examples",
		"deprecated", "readOnly", "writeOnly", "default", "type", "enum", "const", "multipleOf", "maximum", "exclusiveMaximum",
		"minimum", "exclusiveMinimum", "maxLength", "minLength", "pattern", "maxItems", "minItems", "uniqueItems", "maxContains",
		"minContains", "maxProperties", "minProperties", "required", "dependentRequired",
	}
	strictOne = []string{
		"items", "contains", "additionalProperties", "propertyNames", "unevaluatedItems", "unevaluatedProperties", "not", "if",
		"then", "else",
	}
	strictMany  = []string{"allOf", "anyOf", "oneOf", "prefixItems"}
	strictNamed = []string{"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"}
)

// strict checks one subschema, which stands at a path such as "properties.path".
func strict(doc any, path string) error {
	obj, ok := doc.(map[string]any)
	if !ok {
		return nil // true or false: it has compiled
	}
	for _, key := range slices.Sorted(maps.Keys(obj)) {
		at := strings.TrimPrefix(path+"."+key, ".")
		var inner []any
		var names []string
		switch value := obj[key]; {
		case slices.Contains(strictPlain, key):
			if p, ok := value.(string); ok && key == "pattern" {
				if err := strictPattern(p, at); err != nil {
					return err
				}
			}
			continue
		case slices.Contains(strictOne, key):
			inner, names = []any{value}, []string{at}
		case slices.Contains(strictMany, key):
			inner, _ = value.([]any)
			for i := range inner {
				names = append(names, fmt.Sprintf("%s[%d]", at, i))
			}
		case slices.Contains(strictNamed, key):
			named, _ := value.(map[string]any)
			for _, name := range slices.Sorted(maps.Keys(named)) {
				if key == "patternProperties" {
					if err := strictPattern(name, at); err != nil {
						return err
					}
				}
				inner, names = append(inner, named[name]), append(names, at+"."+name)
			}
		case key == "$schema" && value == draft2020:
			continue
		case key == "$schema":
			return fmt.Errorf("%s must be %s, or absent", at, draft2020)
		default:
			return fmt.Errorf("%s is no keyword that checks anything: leave it out, or write what it should be", at)
		}
		for i := range inner {
			if err := strict(inner[i], names[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

func strictPattern(p, at string) error {
	if len(p) > maxPattern {
		return fmt.Errorf("%s is a pattern of %d bytes: at most %d are tried", at, len(p), maxPattern)
	}
	if _, err := regexp.Compile(p); err != nil {
		return fmt.Errorf("%s is a regular expression that can't be checked here (%w): write it in RE2, without look-ahead and back-references", at, err)
	}
	return nil
}
