package host

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"slices"

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

// plainName is what every model provider accepts as the name of a tool.
var plainName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

const unshown = "tool %.100q of %.100q can't be shown to the model: its name is taken, or has characters that providers refuse"

// nameDirect gives direct tools the names that the model sees: their own if it is plain and free, else
// one with the owner's in front, which for tools that callers brought is "client": their owner differs from run to run.
// A tool that gets neither is left out, and said to be.
func nameDirect(tools []schemas.Tool, reserved []string) (direct []run.DirectTool, problems []string) {
	slices.SortFunc(tools, func(a, b schemas.Tool) int {
		return cmp.Or(cmp.Compare(a.Tier, b.Tier), cmp.Compare(a.Owner, b.Owner), cmp.Compare(a.Name, b.Name))
	})
	taken := make(map[string]bool, len(tools)+len(reserved))
	for _, name := range reserved {
		taken[name] = true
	}
	for _, t := range tools {
		name, owner := t.Name, t.Owner
		if t.Source == schemas.SourceClient {
			owner = string(schemas.SourceClient)
		}
		if taken[name] || !plainName.MatchString(name) {
			name = owner + "__" + t.Name
		}
		if taken[name] || !plainName.MatchString(name) {
			problems = append(problems, fmt.Sprintf(unshown, t.Name, owner))
			continue
		}
		taken[name] = true
		direct = append(direct, run.DirectTool{Name: name, Tool: t})
	}
	return direct, problems
}
