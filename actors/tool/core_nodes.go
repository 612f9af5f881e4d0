package tool

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/codecell/codecell/bus"
	"github.com/codecell/codecell/schemas"
)

// NodesOwner is the owner of the nodes tool.
const NodesOwner = schemas.NodesTool

const (
	// defaultNodeTimeout is how long a node's command is waited for unless the call says so.
	defaultNodeTimeout = time.Minute
	// nodeLookup bounds the look at what is known of nodes.
	nodeLookup = 10 * time.Second
)

// Nodes offers the nodes tool: programs list paired nodes with it, and call their commands. Everything that a program
// does with a node is a call of this tool, so policy, approvals and hooks see it (N2).
func Nodes(conn *bus.Conn) Provider {
	n := &nodes{book: bus.NewNodeBook(conn)}
	set := &FuncSet{owner: NodesOwner, tier: schemas.TierCore, changed: newSignal()}
	if err := set.Set(coreTool(schemas.NodesTool,
		"List the machines that are paired with this bus, and call their commands. Programs have it as the global nodes: nodes.list(), nodes.get(idOrName), and of a node invoke(command, params).",
		`{"type":"object","properties":{`+
			`"action":{"enum":["list","describe","invoke"]},`+
			`"node":{"type":"string","minLength":1,"maxLength":128,"description":"a node's id, or its name if no other has it; for describe and invoke"},`+
			`"command":{"type":"string","minLength":1,"maxLength":64,"description":"for invoke"},`+
			`"params":{"type":"object","description":"the command's parameters; describe tells which"},`+
			`"timeoutMs":{"type":"integer","minimum":1,"maximum":600000,"default":60000,"description":"how long invoke waits"}},`+
			`"required":["action"],"additionalProperties":false}`,
		`{"type":"object","properties":{`+
			`"nodes":{"type":"array","description":"of list","items":{"type":"object","properties":{"id":{"type":"string"},"name":{"type":"string"},"platform":{"type":"string"},"connected":{"type":"boolean"},"commands":{"type":"array","items":{"type":"string"}}},"required":["id","name","platform","connected","commands"]}},`+
			`"node":{"type":"object","description":"of describe","properties":{"id":{"type":"string"},"name":{"type":"string"},"platform":{"type":"string"},"connected":{"type":"boolean"},"commands":{"type":"array","items":{"type":"object","properties":{"name":{"type":"string"},"description":{"type":"string"},"params":{}},"required":["name"]}}},"required":["id","name","platform","connected","commands"]},`+
			`"result":{"description":"of invoke: what the command returned"}}}`,
		n.run)); err != nil {
		panic(err) // the tool above is a good one
	}
	return set
}

type nodes struct{ book *bus.NodeBook }

type nodesArgs struct {
	Action    string       `json:"action"`
	Node      string       `json:"node"`
	Command   string       `json:"command"`
	Params    schemas.JSON `json:"params"`
	TimeoutMs int64        `json:"timeoutMs"`
}

type nodesResult struct {
	Nodes  *[]listedNode `json:"nodes,omitempty"`
	Node   *node         `json:"node,omitempty"`
	Result schemas.JSON  `json:"result,omitempty"`
}

// node is a paired node as programs see it (N1).
type node struct {
	ID        string                `json:"id"`
	Name      string                `json:"name"`
	Platform  string                `json:"platform"`
	Connected bool                  `json:"connected"`
	Commands  []schemas.NodeCommand `json:"commands"`
}

// listedNode is the same with no more of its commands than their names.
type listedNode struct {
	node

	Commands []string `json:"commands"`
}

func (n *nodes) run(ctx context.Context, in nodesArgs) (*nodesResult, error) {
	looking, cancel := context.WithTimeout(ctx, nodeLookup)
	defer cancel()
	list, err := n.book.Paired(looking)
	if err != nil {
		return nil, refused(schemas.CallToolError, atTransport, "the nodes can't be looked up: %v", err)
	}
	if in.Action == "list" {
		out := make([]listedNode, len(list))
		for i := range list {
			out[i] = listedNode{node: publicNode(&list[i]), Commands: commandNames(&list[i])}
		}
		return &nodesResult{Nodes: &out}, nil
	}
	if in.Node == "" {
		return nil, refused(schemas.CallInputContract, atInput, "node: %s needs it: give the id or the name of a node", in.Action)
	}
	found, err := bus.PickNode(list, in.Node)
	if err != nil {
		return nil, refused(schemas.CallInvalidInput, atTool, "%s", reason(err))
	}
	if in.Action == "describe" {
		public := publicNode(found)
		return &nodesResult{Node: &public}, nil
	}
	return n.invoke(ctx, found, &in)
}

func (n *nodes) invoke(ctx context.Context, on *bus.NodeInfo, in *nodesArgs) (*nodesResult, error) {
	names := commandNames(on)
	switch {
	case in.Command == "":
		return nil, refused(schemas.CallInputContract, atInput, "command: invoke needs it: give one of %s", strings.Join(names, ", "))
	case !on.Connected:
		return nil, refused(schemas.CallToolError, atTransport, "node %s isn't connected now; %s was not run", on.Name, in.Command)
	case !slices.Contains(names, in.Command):
		return nil, refused(schemas.CallInvalidInput, atTool, "node %s has no command %q: it has %s", on.Name, in.Command, strings.Join(names, ", "))
	}
	timeout := time.Duration(in.TimeoutMs) * time.Millisecond
	if in.TimeoutMs <= 0 {
		timeout = defaultNodeTimeout
	}
	value, err := n.book.Invoke(ctx, on.ID, in.Command, in.Params, timeout)
	if err != nil {
		return nil, err
	}
	if len(value) > 0 && !json.Valid(value) {
		return nil, &schemas.CallError{
			Code: schemas.CallOutputContract, Location: atOutput, Effect: schemas.Done,
			Message: in.Command + " ran, and what node " + on.Name + " returned is no JSON",
		}
	}
	return &nodesResult{Result: value}, nil
}

func publicNode(n *bus.NodeInfo) node {
	return node{ID: n.ID, Name: n.Name, Platform: n.Platform, Connected: n.Connected, Commands: append([]schemas.NodeCommand{}, n.Commands...)}
}

func commandNames(n *bus.NodeInfo) []string {
	names := make([]string, len(n.Commands))
	for i := range n.Commands {
		names[i] = n.Commands[i].Name
	}
	return names
}

// reason is an error's text without its code.
func reason(err error) string {
	if e, ok := errors.AsType[*schemas.Error](err); ok {
		return e.Message
	}
	return err.Error()
}
