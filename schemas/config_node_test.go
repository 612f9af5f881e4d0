package schemas_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/codecell/codecell/schemas"
)

func TestSpec_N1_NodeConfig(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "codecell.json5")
	if err := os.WriteFile(path, []byte(`{
		nodes: { enabled: true },
		node: { name: "mac", key: "keys/node.key", folders: { docs: "d", abs: "/srv" }, env: ["A"], commands: {
			"backup.start": { command: "b", args: ["--x={{n}}", "{{n}}"], params: { properties: { n: { type: "integer" } } }, cwd: "w", timeoutMs: 1e9 },
			quick: { command: "q", timeoutMs: NaN },
		} },
	}`), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := schemas.LoadConfig(path)
	if err != nil {
		t.Fatal(err)
	}
	at := func(name string) string { return filepath.Join(dir, name) }
	backup, quick := c.Node.Commands["backup.start"], c.Node.Commands["quick"]
	if !c.Nodes.Enabled || c.Node.Key != at("keys/node.key") || c.Node.Folders["docs"] != at("d") || c.Node.Folders["abs"] != "/srv" || backup.Cwd != at("w") {
		t.Errorf("%+v", c.Node)
	}
	if backup.Timeout() != 10*time.Minute || quick.Timeout() != 30*time.Second || quick.Cwd != "" || !strings.Contains(string(backup.Params), `"integer"`) {
		t.Errorf("%v %v %s", backup.Timeout(), quick.Timeout(), backup.Params)
	}
}

// Whatever a node says of itself, in a message of its own, is held to bounds.
func TestSpec_N1_NodesAreChecked(t *testing.T) {
	many := make([]schemas.NodeCommand, schemas.MaxNodeCommands+1)
	for i := range many {
		many[i].Name = "c" + strings.Repeat("x", i%60) + string(rune('a'+i/60))
	}
	ok := schemas.Node{Name: "mac.local-1", Commands: []schemas.NodeCommand{{Name: "a.b_c", Params: schemas.JSON(`{}`)}, {Name: "fs.listDir"}}}
	if err := ok.Check(); err != nil {
		t.Error(err)
	}
	for field, n := range map[string]schemas.Node{
		"name":     {Name: "mac\nevil"},
		"platform": {Name: "mac", Version: strings.Repeat("v", 65)},
		"commands": {Name: "mac", Commands: many},
		"params":   {Name: "mac", Commands: []schemas.NodeCommand{{Name: "a", Params: schemas.JSON(`{"type":`)}}},
	} {
		if err := n.Check(); err == nil || err.Field != field {
			t.Errorf("%s: %v", field, err)
		}
	}
	for _, name := range []string{"", "a b", "a..b", ".a", "a.", "1a", "system.run", "a\u00e9", strings.Repeat("a", 65), "__proto__.x"} {
		if err := (&schemas.NodeCommand{Name: name}).Check(); err == nil {
			t.Errorf("%q passes for a command", name)
		}
	}
}
