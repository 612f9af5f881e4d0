package host

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/codecell/codecell/actors/catalog"
	"github.com/codecell/codecell/schemas"
)

// surface is what a model is shown: exec and wait, and nothing of what they hide (A2).
func surface(cat *catalog.Catalog, limits schemas.Limits) schemas.Surface {
	s := schemas.Surface{Tools: []schemas.SurfaceTool{
		{
			Name: "exec", Title: "Run a program", Description: cat.ExecDescription(limits, 0),
			InputSchema: schemas.ExecInputSchema(),
		},
		{
			Name: "wait", Title: "Continue a program", Description: cat.WaitDescription(),
			InputSchema: schemas.WaitInputSchema(),
		},
	}}
	sum := sha256.New()
	for _, t := range s.Tools {
		sum.Write([]byte(t.Name + "\x00" + t.Description + "\x00" + string(t.InputSchema) + "\x00"))
	}
	s.Version = hex.EncodeToString(sum.Sum(nil)[:8])
	return s
}
