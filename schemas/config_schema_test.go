package schemas_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/codecell/codecell/schemas"
)

// TestConfigSchemaAndTypesAgree walks the Go types and the schema side by side: a key that one has
// and the other hasn't would be refused though it is read, or accepted and ignored.
func TestConfigSchemaAndTypesAgree(t *testing.T) {
	var doc map[string]any
	if err := json.Unmarshal(schemas.ConfigSchema(), &doc); err != nil {
		t.Fatal(err)
	}
	w := schemaWalker{t: t, defs: doc["$defs"].(map[string]any)}
	w.compare("", reflect.TypeFor[schemas.Config](), doc)
	if w.structs < 12 {
		t.Errorf("only %d types were compared", w.structs)
	}
}

type schemaWalker struct {
	t       *testing.T
	defs    map[string]any
	structs int
}

// onlyInSchema and onlyInTypes are the keys that differ on purpose: an editor's key, and keys that
// are global in one struct that serves agents too.
var (
	onlyInSchema = []string{"$schema"}
	onlyInTypes  = []string{"agents.entries.*.tools.owners", "agents.entries.*.tools.swarm"}
)

func (w *schemaWalker) compare(path string, typ reflect.Type, schema map[string]any) {
	if ref, ok := schema["$ref"].(string); ok {
		schema = w.defs[strings.TrimPrefix(ref, "#/$defs/")].(map[string]any)
	}
	if alternatives, ok := schema["anyOf"].([]any); ok {
		schema = alternatives[len(alternatives)-1].(map[string]any)
	}
	switch typ.Kind() {
	case reflect.Pointer:
		w.compare(path, typ.Elem(), schema)
	case reflect.Map:
		if inner, ok := schema["additionalProperties"].(map[string]any); ok {
			w.compare(path+".*", typ.Elem(), inner)
		}
	case reflect.Struct:
		w.structs++
		props, _ := schema["properties"].(map[string]any)
		if schema["additionalProperties"] != false {
			w.t.Errorf("%s: the schema accepts unknown keys", path)
		}
		var have, want []string
		for k := range props {
			if !slices.Contains(onlyInSchema, k) {
				have = append(have, k)
			}
		}
		for f := range typ.Fields() {
			key := f.Tag.Get("json")
			at := strings.TrimPrefix(path+"."+key, ".")
			if slices.Contains(onlyInTypes, at) {
				continue
			}
			want = append(want, key)
			if sub, ok := props[key].(map[string]any); ok {
				w.compare(at, f.Type, sub)
			}
		}
		slices.Sort(have)
		slices.Sort(want)
		if d := cmp.Diff(want, have); d != "" {
			w.t.Errorf("%s: types (-) and schema (+) differ:\n%s", path, d)
		}
	default: // a value without keys
	}
}

// TestExampleConfigurations: what the examples and the documents show works.
func TestExampleConfigurations(t *testing.T) {
	variable := regexp.MustCompile(`\$\{(\w+)\}`)
	shown := 0
	check := func(text []byte, name string) {
		shown++
		for _, m := range variable.FindAllSubmatch(text, -1) {
			t.Setenv(string(m[1]), "any")
		}
		for _, problem := range schemas.Check(text, name) {
			t.Error(problem.Message)
		}
	}
	for _, pattern := range []string{"../examples/*.json5", "../examples/*/*.json5", "../*.md", "../docs/*.md"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			b, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			if filepath.Ext(f) == ".json5" {
				check(b, f)
				continue
			}
			for _, block := range strings.Split(string(b), "```json5\n")[1:] {
				text, _, _ := strings.Cut(block, "```")
				check([]byte(text), f)
			}
		}
	}
	if shown == 0 {
		t.Error("nothing is shown")
	}
}
