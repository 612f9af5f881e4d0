package catalog

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/codecell/codecell/schemas"
)

func nodesTool() schemas.Tool {
	return schemas.Tool{Source: schemas.SourceNative, Tier: schemas.TierCore, Owner: "nodes", Name: "nodes", Description: "Nodes."}
}

// The global stands for codecell's own tool, which has a name of its own like every tool that would take the global's.
func TestSpec_N2_TheGlobalNodes(t *testing.T) {
	plugin := native("nodes", "nodes")
	plugin.Tier = schemas.TierPlugin
	other := native("core", "nodes")
	tests := map[string]struct {
		tools []schemas.Tool
		want  string // the owner of the tool behind the global
	}{
		"the tool":                 {[]schemas.Tool{native("core", "read"), nodesTool()}, "nodes"},
		"no tool":                  {[]schemas.Tool{native("core", "read")}, ""},
		"a plugin's":               {[]schemas.Tool{plugin}, ""},
		"another owner's":          {[]schemas.Tool{other}, ""},
		"a server's":               {[]schemas.Tool{mcp("nodes", "nodes")}, ""},
		"a client's in its place":  {[]schemas.Tool{nodesTool(), client("nodes")}, ""},
		"beside one of its server": {[]schemas.Tool{nodesTool(), mcp("nodes", "nodes")}, "nodes"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			c, _ := Build(tt.tools, Options{Features: Features{Nodes: true}})
			var installed struct {
				Nodes    *int
				Features Features
			}
			if err := json.Unmarshal(c.Install(), &installed); err != nil {
				t.Fatal(err)
			}
			hinted := strings.Contains(c.ExecDescription(schemas.DefaultLimits(), 0), "nodes.list()")
			if there := installed.Nodes != nil; there != (tt.want != "") || there != installed.Features.Nodes || there != hinted {
				t.Fatalf("ref %v, feature %v, in the text %v; want one of %q", installed.Nodes, installed.Features.Nodes, hinted, tt.want)
			}
			if tt.want == "" {
				return
			}
			e, ok := c.Tool(*installed.Nodes)
			if !ok || e.Owner != tt.want || e.CallableName == "nodes" || !strings.HasPrefix(e.CallableName, "nodes_") {
				t.Errorf("%+v", e)
			}
		})
	}
	c, _ := Build([]schemas.Tool{nodesTool()}, Options{Contract: schemas.Contract202607})
	if strings.Contains(string(c.Install()), `"nodes":0`) {
		t.Error("the older contract has the global")
	}
}
