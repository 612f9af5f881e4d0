package catalog

import (
	"slices"
	"strings"
	"testing"

	"github.com/codecell/codecell/schemas"
)

func TestSpec_G3_DeclaresWhatProgramsKeep(t *testing.T) {
	for _, tt := range []struct {
		features Features
		has      []string
		lacks    []string
	}{
		{Features{Results: true, Store: true}, []string{"declare const results", "interface SavedResult", "function store(", "function load("}, nil},
		{Features{Results: true}, []string{"declare const results"}, []string{"store", "session"}},
		{Features{Store: true}, []string{"function store("}, []string{"results"}},
	} {
		c, _ := Build([]schemas.Tool{native("p", "read"), mcp("srv", "tool")}, Options{Features: tt.features})
		want := []string{"mcp/index.d.ts", "mcp/srv.d.ts", "results.d.ts", "tools/read.d.ts"}
		if got := paths(t, c, ``); !slices.Equal(got, want) {
			t.Errorf("%+v: files %v", tt.features, got)
		}
		content := read(t, c, "results.d.ts")
		mustBeTypeScript(t, content)
		description := c.ExecDescription(schemas.DefaultLimits(), 0)
		for _, word := range tt.has {
			if !strings.Contains(content, word) {
				t.Errorf("%+v: no %q in\n%s", tt.features, word, content)
			}
		}
		for _, word := range tt.lacks {
			if strings.Contains(content, word) {
				t.Errorf("%+v: %q in\n%s", tt.features, word, content)
			}
		}
		if strings.Contains(description, "results.save") != tt.features.Results || strings.Contains(description, "store(key") != tt.features.Store {
			t.Errorf("%+v is described as\n%s", tt.features, description)
		}
		if n := units(description); n > 2900 {
			t.Errorf("%d characters", n)
		}
		if _, untrusted := c.SyncTrust("api.read", []byte(`{"path":"results.d.ts"}`)); untrusted {
			t.Error("our own text is untrusted")
		}
	}
	if got := paths(t, build(t), ``); len(got) != 0 {
		t.Errorf("without features there are %v", got)
	}
}
