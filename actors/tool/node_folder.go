package tool

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/codecell/codecell/schemas"
)

type listDirArgs struct {
	Path   string `json:"path"`
	Offset int    `json:"offset"`
	Limit  int    `json:"limit"`
}

// listDirResult is one page of a folder.
type listDirResult struct {
	Path    string  `json:"path"`
	Entries []entry `json:"entries"`
	// Next is the offset of the next page, if there is one.
	Next int `json:"next,omitempty"`
}

// listCommand is fs.listDir. Paths begin with the name of a configured folder, so that they tell nothing of the machine.
func (n *Node) listCommand() nodeCommand {
	return nodeCommand{
		NodeCommand: schemas.NodeCommand{
			Name: schemas.NodeListCommand,
			Description: "List a folder, sorted by name. Paths begin with the name of a shared folder, such as \"docs/reports\"; " +
				"an empty path lists the shared folders.",
			Params: schemas.JSON(`{"type":"object","properties":{` +
				`"path":{"type":"string","maxLength":4096,"default":""},` + hitsProperty + `},"additionalProperties":false}`),
		},
		run: func(ctx context.Context, params schemas.JSON) (any, error) {
			var in listDirArgs
			if err := json.Unmarshal(params, &in); err != nil {
				return nil, refused(schemas.CallInputContract, atInput, "the parameters don't fit: %v", err)
			}
			return n.listDir(ctx, in)
		},
	}
}

func (n *Node) listDir(ctx context.Context, in listDirArgs) (*listDirResult, error) {
	name, rest, _ := strings.Cut(strings.Trim(in.Path, "/"), "/")
	if name == "" || name == "." {
		out := &listDirResult{Path: "", Entries: []entry{}}
		for _, shared := range slices.Sorted(maps.Keys(n.folders)) {
			out.Entries = append(out.Entries, entry{Name: shared, Type: "folder"})
		}
		return out, nil
	}
	w := n.folders[name]
	if w == nil {
		return nil, refusedPath(in.Path, "is in no folder that this node shares: list \"\" for those")
	}
	page, err := w.ls(ctx, lsArgs{Path: rest, Offset: in.Offset, Limit: in.Limit})
	if err != nil {
		return nil, err
	}
	out := &listDirResult{Path: in.Path, Entries: page.Entries}
	if page.Continuation != nil {
		out.Next = page.Continuation.Offset
	}
	return out, nil
}
