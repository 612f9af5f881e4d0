package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestArguments(t *testing.T) {
	for parameters, want := range map[string]string{
		``: `{}`,
		`{"type":"object","properties":{"a":{}}}`: `{}`,
		`{"type":"object","required":["a","b","c","d","e"],"properties":{
			"a":{"type":"string"},"b":{"type":["integer","null"],"minimum":3},"c":{"enum":["x"]},"d":{"type":"array","minItems":2,"items":{"type":"boolean"}},
			"e":{"type":"object","required":["f"],"properties":{"f":{"type":"string","format":"date"}}}}}`: `{"a":"text","b":3,"c":"x","d":[true,true],"e":{"f":"2026-01-01"}}`,
		`{"type":"object","required":["a"],"properties":{"a":{"$ref":"#/$defs/n"}},"$defs":{"n":{"type":"number","default":7}}}`:                         `{"a":7}`,
		`{"type":"object","required":["a"],"properties":{"a":{"anyOf":[{"type":"string","minLength":6},{"type":"null"}]}}}`:                              `{"a":"text.."}`,
		`{"type":"object","required":["a"],"properties":{"a":{"$ref":"#/$defs/n"}},"$defs":{"n":{"type":"array","minItems":1,"items":{"type":"null"}}}}`: `{"a":[null]}`,
	} {
		got, err := arguments(json.RawMessage(parameters))
		if err != nil || string(got) != want {
			t.Errorf("%s: %s %v, want %s", parameters, got, err, want)
		}
	}
}

func TestCollection_SamplesTheSame(t *testing.T) {
	dir := t.TempDir()
	var tools, queries bytes.Buffer
	for i := range 100 {
		id := string(rune('a'+i%26)) + "/" + strings.Repeat("x", i)
		_ = json.NewEncoder(&tools).Encode(entry{ID: id, Server: id[:1], Name: "same name"})
		_ = json.NewEncoder(&queries).Encode(query{Query: "get " + id, Gold: []string{id}})
	}
	_ = json.NewEncoder(&queries).Encode(query{Query: "several", Gold: []string{"a", "b"}})
	for name, text := range map[string][]byte{"s.tools.jsonl": tools.Bytes(), "q.queries.jsonl": queries.Bytes()} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var before *collection
	for range 2 {
		c, err := load(dir, "s", "q")
		if err != nil || len(c.queries) != 100 {
			t.Fatal(err)
		}
		slices.Reverse(c.entries)
		c.sample(20, 10)
		c.rename()
		cases, err := c.cases(false, 1)
		if err != nil || len(c.entries) != 20 || len(cases) != 10 || cases[0].Tool.Name != cases[0].Tool.Owner+"_same name" {
			t.Fatalf("%v %+v", err, cases)
		}
		if before != nil && !cmp.Equal(before, c, cmp.AllowUnexported(collection{})) {
			t.Error("two samples differ")
		}
		before = c
	}
}

func TestTable(t *testing.T) {
	r := row{Catalog: "c", Source: "plugins", Surface: "direct", Tools: 5, Times: 10}
	r.add(&trial{Requests: 2, Bytes: 100, Shown: 40, Said: 7, Calls: 1, Solved: true})
	r.add(&trial{Requests: 1, Bytes: 50, Shown: 40, Said: 8})
	var out bytes.Buffer
	table(&out, []row{r})
	if !strings.HasSuffix(out.String(), "| direct | 40 | 1.5 | 75 | 8 | 0.0 | 0.0 | 0.5 | 50 % |\n") || !strings.HasPrefix(out.String(), "\nc, 5 tools of plugins, 2 tasks of 10 calls:\n") {
		t.Error(out.String())
	}
}
