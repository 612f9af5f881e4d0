package schemas

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"
)

// NodesConfig says what programs may do with nodes.
type NodesConfig struct {
	// Enabled: the nodes tool is there, and with it the global nodes (N2).
	Enabled bool `json:"enabled"`
}

// NodeConfig is for a process that is a node itself: what it lets others do (N1).
type NodeConfig struct {
	// Name is what the node is called; [CheckNodeName] says how.
	Name string `json:"name"`
	// Key is the file of the node's key, which is made if there is none.
	Key string `json:"key"`
	// Folders are those that can be listed, by the names under which others know them.
	Folders map[string]string `json:"folders"`
	// Commands are the programs that can be run, by the command's name.
	Commands map[string]NodeCommandConfig `json:"commands"`
	// Env are names of further environment variables that the programs get.
	Env []string `json:"env"`
}

// NodeCommandConfig is one program that a node runs for others, without a shell.
type NodeCommandConfig struct {
	Description string `json:"description"`
	Command     string `json:"command"`
	// Args are the program's arguments. {{name}} in one stands for the parameter of that name.
	Args []string `json:"args"`
	// Params is the JSON Schema of the parameters. Without it there are none.
	Params JSON `json:"params"`
	// Cwd is the folder in which it runs; without it the node's own.
	Cwd       string   `json:"cwd"`
	TimeoutMs *float64 `json:"timeoutMs"`
}

// Timeout is how long the program may run: 30 s unless configured, at most 10 minutes.
func (c *NodeCommandConfig) Timeout() time.Duration {
	return time.Duration(limit(30_000, 100, 600_000, c.TimeoutMs)) * time.Millisecond
}

// Placeholder is a parameter in an argument of a [NodeCommandConfig].
var Placeholder = regexp.MustCompile(`\{\{([A-Za-z_][A-Za-z0-9_]*)\}\}`)

// node checks what the schema can't: that the commands can be offered, and that each placeholder is a parameter.
func (p *problems) node(root map[string]any) {
	node, _ := root["node"].(map[string]any)
	if name, ok := node["name"].(string); ok {
		if err := CheckNodeName(name); err != nil {
			p.add("node.name", strings.TrimPrefix(err.Message, "name: "))
		}
	}
	folders, _ := node["folders"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(folders)) {
		if CheckNodeName(name) != nil {
			p.add(join("node.folders", name), "expected a name of letters, digits, '.', '_' and '-' that begins with a letter or digit: programs see it, not the folder's path")
		}
	}
	commands, _ := node["commands"].(map[string]any)
	if len(commands) > MaxNodeCommands-2 {
		p.add("node.commands", fmt.Sprintf("expected at most %d commands", MaxNodeCommands-2))
	}
	for _, name := range slices.Sorted(maps.Keys(commands)) {
		command, _ := commands[name].(map[string]any)
		p.nodeCommand(join("node.commands", name), name, command)
	}
}

func (p *problems) nodeCommand(path, name string, command map[string]any) {
	if name == NodeStatusCommand || name == NodeListCommand {
		p.add(path, "every node has a command of this name: choose another")
		return
	}
	if err := (&NodeCommand{Name: name}).Check(); err != nil {
		p.add(path, err.Message)
		return
	}
	params, _ := command["params"].(map[string]any)
	if params != nil {
		if kind, said := params["type"]; said && kind != "object" {
			p.add(path+".params", `expected a JSON Schema of an object: {"type": "object", "properties": {…}}`)
		}
		text, err := json.Marshal(params)
		if err == nil {
			_, err = Compile(text)
		}
		if err != nil {
			p.add(path+".params", "expected a JSON Schema: "+plain(err.Error(), 300))
		}
	}
	properties, _ := params["properties"].(map[string]any)
	args, _ := command["args"].([]any)
	for i, arg := range args {
		text, _ := arg.(string)
		for _, found := range Placeholder.FindAllStringSubmatch(text, -1) {
			if _, ok := properties[found[1]]; !ok {
				p.add(join(path+".args", i), fmt.Sprintf("there is no parameter %q: add it to params.properties", found[1]))
			}
		}
	}
}
