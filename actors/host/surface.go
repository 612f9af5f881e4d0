package host

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/codecell/codecell/actors/run"
	"github.com/codecell/codecell/schemas"
)

// surface completes what a model is shown: the direct tools follow the control tools, and nothing of what they hide (A2).
// Its version changes with everything that a model reads.
func surface(s schemas.Surface, direct []run.DirectTool) schemas.Surface {
	for _, d := range direct {
		t := schemas.SurfaceTool{
			Direct: true, Name: d.Name, Title: d.Tool.Label, Description: d.Tool.Description,
			InputSchema: d.Tool.Parameters, OutputSchema: d.Tool.Output,
		}
		if len(t.InputSchema) == 0 {
			t.InputSchema = schemas.JSON(`{"type":"object"}`)
		}
		s.Tools = append(s.Tools, t)
	}
	sum := sha256.New()
	note := func(parts ...string) {
		for _, part := range parts {
			sum.Write([]byte(part + "\x00"))
		}
	}
	note(string(s.Mode), s.Search, s.Prompt)
	for _, t := range s.Tools {
		note(t.Name, t.Title, t.Description, string(t.InputSchema), string(t.OutputSchema))
	}
	s.Version = hex.EncodeToString(sum.Sum(nil)[:8])
	return s
}

// unshown says that a tool hasn't the name that it needs; the names of the control tools are only theirs.
const unshown = "tool %.100q of %.100q can't be shown to the model: a tool that the model always has is called so"

// maxShownName is the longest name that every model provider accepts, in bytes. A name has letters, digits, "_" and "-".
const maxShownName = 64

// nameDirect gives direct tools the names that the model sees, in catalog order: their own if it is plain and free, else
// one with the owner's in front, which for tools that callers brought is "client": their owner differs from run to run.
// What providers don't accept in a name becomes "_". A name that is long, or taken even so, ends in a hash of the
// tool's id. Plain names come first, so that no tool's own name depends on how others' are written (C4).
func nameDirect(tools []schemas.Tool, reserved []string) []run.DirectTool {
	slices.SortFunc(tools, func(a, b schemas.Tool) int {
		return cmp.Or(cmp.Compare(a.Tier, b.Tier), cmp.Compare(a.Owner, b.Owner), cmp.Compare(a.Name, b.Name))
	})
	taken := make(map[string]bool, len(tools)+len(reserved))
	for _, name := range reserved {
		taken[name] = true
	}
	direct := make([]run.DirectTool, len(tools))
	for i, t := range tools {
		if direct[i].Tool = t; plain(t.Name) == t.Name && len(t.Name) <= maxShownName && !taken[t.Name] {
			direct[i].Name, taken[t.Name] = t.Name, true
		}
	}
	for i := range direct {
		if d := &direct[i]; d.Name == "" {
			d.Name = freeName(&d.Tool, taken)
			taken[d.Name] = true
		}
	}
	return direct
}

// freeName finds a name for a tool that can't have its own.
func freeName(t *schemas.Tool, taken map[string]bool) string {
	owner := t.Owner
	if t.Source == schemas.SourceClient {
		owner = string(schemas.SourceClient)
	}
	name, long := plain(t.Name), plain(owner+"__"+t.Name)
	for _, candidate := range []string{name, long} {
		if len(candidate) <= maxShownName && candidate != "" && !taken[candidate] {
			return candidate
		}
	}
	for salt := ""; ; salt += "+" {
		sum := sha256.Sum256([]byte(t.ID() + salt))
		hash := hex.EncodeToString(sum[:4])
		candidate := long[:min(len(long), maxShownName-1-len(hash))] + "_" + hash
		if !taken[candidate] {
			return candidate
		}
	}
}

// plain is a text with "_" in place of each character that providers don't accept in a name.
func plain(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || r < utf8.RuneSelf && (unicode.IsLetter(r) || unicode.IsDigit(r)) {
			return r
		}
		return '_'
	}, text)
}
