package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
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

// TestReal_L6_AllSurfacesSolveTheTasks measures a small catalog, whose every task each surface must solve.
func TestReal_L6_AllSurfacesSolveTheTasks(t *testing.T) {
	dir := t.TempDir()
	binary := filepath.Join(dir, "provider")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", binary, "../provider")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var tools, queries bytes.Buffer
	for i, what := range []string{"weather of a city", "price of a share", "route between two places", "meaning of a word"} {
		id := fmt.Sprintf("server %d/find-%d", i%2, i)
		parameters := json.RawMessage(`{"type":"object","required":["q"],"properties":{"q":{"type":"string"},"style":{"type":"string","default":null}}}`)
		_ = json.NewEncoder(&tools).Encode(entry{ID: id, Server: id[:8], Name: id[9:], Description: "Finds the " + what + ".", Parameters: parameters})
		_ = json.NewEncoder(&queries).Encode(query{Query: "I want the " + what, Gold: []string{id}})
	}
	for name, text := range map[string][]byte{"s.tools.jsonl": tools.Bytes(), "q.queries.jsonl": queries.Bytes()} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var out bytes.Buffer
	if err := run(t.Context(), []string{"-provider", binary, "-data", dir, "-set", "s", "-queries", "q"}, &out); err != nil {
		t.Fatal(err)
	}
	rows := 0
	for line := range strings.Lines(out.String()) {
		if !strings.HasPrefix(line, "{") {
			continue
		}
		var r row
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(err)
		}
		if rows++; r.Solved != 1 || r.Calls != float64(r.Times) || r.Requests < 2 || r.RequestBytes < r.ShownBytes {
			t.Errorf("%s", line)
		}
	}
	if want := 2 * (len(surfaces) + len(surfaces) - 2); rows != want {
		t.Errorf("%d rows, want %d", rows, want)
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
