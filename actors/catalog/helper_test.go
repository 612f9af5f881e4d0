package catalog

import (
	"encoding/json"
	"testing"

	"github.com/evanw/esbuild/pkg/api"

	"github.com/codecell/codecell/schemas"
)

func native(owner, name string, more ...func(*schemas.Tool)) schemas.Tool {
	t := schemas.Tool{Source: schemas.SourceNative, Tier: schemas.TierPlugin, Owner: owner, Name: name}
	if owner == "core" {
		t.Tier = schemas.TierCore
	}
	for _, change := range more {
		change(&t)
	}
	return t
}

func mcp(server, name string, more ...func(*schemas.Tool)) schemas.Tool {
	t := native(server, name, more...)
	t.Source, t.Tier = schemas.SourceMCP, schemas.TierMCP
	return t
}

func client(name string, more ...func(*schemas.Tool)) schemas.Tool {
	t := native("caller", name, more...)
	t.Source, t.Tier = schemas.SourceClient, schemas.TierClient
	return t
}

func describedAs(text string) func(*schemas.Tool) {
	return func(t *schemas.Tool) { t.Description = text }
}

func taking(schema string) func(*schemas.Tool) {
	return func(t *schemas.Tool) { t.Parameters = schemas.JSON(schema) }
}

func giving(schema string) func(*schemas.Tool) {
	return func(t *schemas.Tool) { t.Output = schemas.JSON(schema) }
}

// build admits tools that must all be good.
func build(t testing.TB, tools ...schemas.Tool) *Catalog {
	t.Helper()
	c, problems := Build(tools, Options{})
	if len(problems) > 0 {
		t.Fatalf("unexpected problems: %v", problems)
	}
	return c
}

// callable gives each tool's callable name by its own name.
func callable(c *Catalog) map[string]string {
	names := make(map[string]string)
	for _, e := range c.All() {
		names[e.Owner+"/"+e.Name] = e.CallableName
	}
	return names
}

// search gives the callable names of the hits.
func search(t testing.TB, c *Catalog, query string, limit int) []string {
	t.Helper()
	refs, err := c.Search(query, limit)
	if err != nil {
		t.Fatalf("search %q: %v", query, err)
	}
	names := make([]string, len(refs))
	for i, ref := range refs {
		names[i] = c.entries[ref].CallableName
	}
	return names
}

// read gives the content of a virtual file as a guest gets it.
func read(t testing.TB, c *Catalog, path string) string {
	t.Helper()
	payload, _ := json.Marshal(map[string]string{"path": path})
	var got struct {
		OK struct {
			Content string
			Bytes   int
		}
		Error *fault
	}
	unmarshal(t, c.Sync("api.read", payload), &got)
	if got.Error != nil {
		t.Fatalf("reading %s: %s", path, got.Error.Message)
	}
	if got.OK.Bytes != len(got.OK.Content) {
		t.Errorf("%s says %d bytes, has %d", path, got.OK.Bytes, len(got.OK.Content))
	}
	return got.OK.Content
}

func unmarshal(t testing.TB, text []byte, into any) {
	t.Helper()
	if err := json.Unmarshal(text, into); err != nil {
		t.Fatalf("not JSON: %v\n%s", err, text)
	}
}

// mustBeTypeScript fails unless source is syntactically valid TypeScript.
func mustBeTypeScript(t testing.TB, source string) {
	t.Helper()
	if problem := notTypeScript(source); problem != "" {
		t.Fatalf("not TypeScript: %s\n%s", problem, cut(source, 4000))
	}
}

// notTypeScript gives the first syntax error of source, or nothing.
func notTypeScript(source string) string {
	result := api.Transform(source, api.TransformOptions{Loader: api.LoaderTS, LogLevel: api.LogLevelSilent})
	if len(result.Errors) > 0 {
		return result.Errors[0].Text
	}
	return ""
}

// byID gives the one tool with this id.
func byID(c *Catalog, id string) (*Entry, bool) {
	found := c.ids()[id]
	if len(found) != 1 {
		return nil, false
	}
	return found[0], true
}
