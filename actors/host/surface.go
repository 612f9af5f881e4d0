package host

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"slices"

	"github.com/codecell/codecell/actors/catalog"
	"github.com/codecell/codecell/actors/policy"
	"github.com/codecell/codecell/actors/run"
	"github.com/codecell/codecell/schemas"
)

// surface is what a model is shown: exec and wait, the direct tools, and nothing of what they hide (A2).
func (d *directory) surface(cat *catalog.Catalog, limits schemas.Limits, agent string, direct []run.DirectTool) schemas.Surface {
	input := schemas.ExecInputSchema()
	if d.config.Contract == schemas.Contract202607 {
		input = schemas.ExecInputSchema202607(d.config.LanguagesFor(agent))
	}
	s := schemas.Surface{Tools: []schemas.SurfaceTool{
		{
			Name: "exec", Title: "Run a program", Description: cat.ExecDescription(limits, 0),
			InputSchema: input,
		},
		{
			Name: "wait", Title: "Continue a program", Description: cat.WaitDescription(),
			InputSchema: schemas.WaitInputSchema(),
		},
	}}
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
	for _, t := range s.Tools {
		for _, part := range []string{t.Name, t.Title, t.Description, string(t.InputSchema), string(t.OutputSchema)} {
			sum.Write([]byte(part + "\x00"))
		}
	}
	s.Version = hex.EncodeToString(sum.Sum(nil)[:8])
	return s
}

// plainName is what every model provider accepts as the name of a tool.
var plainName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// nameDirect gives direct tools the names that the model sees: their own if it is plain and free, else
// one with the server's in front. A tool that gets neither is left out, and said to be.
func nameDirect(tools []schemas.Tool) (direct []run.DirectTool, problems []string) {
	slices.SortFunc(tools, func(a, b schemas.Tool) int {
		return cmp.Or(cmp.Compare(a.Tier, b.Tier), cmp.Compare(a.Owner, b.Owner), cmp.Compare(a.Name, b.Name))
	})
	taken := map[string]bool{policy.Exec: true, policy.Wait: true}
	for _, t := range tools {
		name := t.Name
		if taken[name] || !plainName.MatchString(name) {
			name = t.Owner + "__" + t.Name
		}
		if taken[name] || !plainName.MatchString(name) {
			problems = append(problems, fmt.Sprintf("tool %q of %s can't be shown to the model: its name is taken, or has characters that providers refuse", t.Name, t.Owner))
			continue
		}
		taken[name] = true
		direct = append(direct, run.DirectTool{Name: name, Tool: t})
	}
	return direct, problems
}
