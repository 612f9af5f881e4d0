package host

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/codecell/codecell/schemas"
)

// TestSpec_A1_Case49_EveryDirectToolHasAName: one that providers accept, that no other has, and that the order of
// registration doesn't decide.
func TestSpec_A1_Case49_EveryDirectToolHasAName(t *testing.T) {
	of := func(source schemas.Source, tier schemas.Tier, owner, name string) schemas.Tool {
		return schemas.Tool{Source: source, Tier: tier, Owner: owner, Name: name}
	}
	tools := []schemas.Tool{
		of(schemas.SourceNative, schemas.TierCore, "core", "read"), of(schemas.SourceNative, schemas.TierPlugin, "p", "exec"),
		of(schemas.SourceNative, schemas.TierPlugin, "p", "größe"), of(schemas.SourceNative, schemas.TierPlugin, "p", "gr__e"),
		of(schemas.SourceMCP, schemas.TierMCP, "fs", "a.b"), of(schemas.SourceMCP, schemas.TierMCP, "fs", "a b"), of(schemas.SourceMCP, schemas.TierMCP, "fs", "a/b"),
		of(schemas.SourceMCP, schemas.TierMCP, "fs", "a_b"), of(schemas.SourceMCP, schemas.TierMCP, "fs", "read"),
		of(schemas.SourceMCP, schemas.TierMCP, "fs", strings.Repeat("n", 128)), of(schemas.SourceMCP, schemas.TierMCP, "fs", strings.Repeat("n", 127)+"!"),
		of(schemas.SourceMCP, schemas.TierMCP, "fs", "\x00\n\u202e"), of(schemas.SourceMCP, schemas.TierMCP, "other", "read"),
		of(schemas.SourceClient, schemas.TierClient, "run-1", "read"), of(schemas.SourceClient, schemas.TierClient, "run-1", "mine"),
	}
	want := []string{
		"read", "p__exec", "gr__e", "p__gr__e", "a_b", "fs__a_b", "fs__read", "other__read", "client__read", "mine", "___",
	}
	var first []string
	for range 20 {
		named := nameDirect(tools, []string{"exec", "wait"})
		names := make([]string, len(named))
		for i, d := range named {
			names[i] = fmt.Sprintf("%s=%s", d.Tool.ID(), d.Name)
			if d.Name != plain(d.Name) || d.Name == "" || len(d.Name) > 64 {
				t.Errorf("%q is called %q", d.Tool.Name, d.Name)
			}
		}
		if first == nil {
			first = names
		}
		if !slices.Equal(first, names) {
			t.Fatalf("names = %q, at first %q", names, first)
		}
		shown := make(map[string]bool)
		for _, d := range named {
			if shown[d.Name] {
				t.Errorf("%q is there twice", d.Name)
			}
			shown[d.Name] = true
		}
		for _, name := range want {
			if !shown[name] {
				t.Errorf("no tool is called %q: %q", name, names)
			}
		}
		slices.Reverse(tools)
	}
}
