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

// ExecInputSchema is the schema of exec as models see it: flat (A7), without the alias.
func ExecInputSchema() JSON { return execInput() }

// WaitInputSchema is the schema of wait as models see it.
func WaitInputSchema() JSON { return waitInput() }

// ResultSchema is the exact schema of a result: which keys go with which status.
func ResultSchema() JSON { return resultExact() }

// ResultSurfaceSchema is [ResultSchema] without the conditions, which not every provider reads.
func ResultSurfaceSchema() JSON { return resultFlat() }

var (
	execInput   = sync.OnceValue(func() JSON { return file("exec.input.schema.json") })
	waitInput   = sync.OnceValue(func() JSON { return file("wait.input.schema.json") })
	resultExact = sync.OnceValue(func() JSON { return file("result.schema.json") })
	resultFlat  = sync.OnceValue(func() JSON {
		members, ok := readObject(resultExact())
		if !ok {
			panic("result.schema.json isn't an object")
		}
		w := objectWriter{b: []byte{'{'}}
		for _, m := range members {
			if m.name != "allOf" {
				w.value(m.name, m.value)
			}
		}
		return append(w.b, '}')
	})
)
