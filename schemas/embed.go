package schemas

import (
	"embed"
	"encoding/json"
	"sync"
)

//go:embed jsonschema/*.json
var files embed.FS

// file gives an embedded JSON Schema, compacted.
func file(name string) JSON {
	b, err := files.ReadFile("jsonschema/" + name)
	if err != nil {
		panic(err)
	}
	return compactJSON(b)
}

// ConfigSchema is the JSON Schema of a configuration file, for editors and for [Check].
func ConfigSchema() JSON { return configSchema().Raw() }

var configSchema = sync.OnceValue(func() *Schema { return MustCompile(file("config.schema.json")) })

// validateAll validates a decoded value and reports everything.
func (s *Schema) validateAll(v any) []Violation {
	b, err := json.Marshal(v)
	if err != nil {
		return []Violation{{Expected: "JSON", Hint: err.Error()}}
	}
	return s.validate(b, 1000)
}
