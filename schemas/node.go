package schemas

import (
	"encoding/json"
	"regexp"
)

// NodesTool is the name of the native tool through which programs reach nodes, and of its owner (N2).
const NodesTool = "nodes"

// Commands of nodes that aren't configured: the first every node has, the second those with folders to list.
const (
	NodeStatusCommand = "device.status"
	NodeListCommand   = "fs.listDir"
)

// nodeShell is what a node never does: it is the shell tool's (N1).
const nodeShell = "system.run"

const (
	// MaxNodeCommands bounds what one node offers.
	MaxNodeCommands = 128
	// MaxNodeBytes bounds what a node says of itself, signature included.
	MaxNodeBytes = 256 << 10
)

var (
	nodeName    = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)
	commandName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]*(\.[A-Za-z][A-Za-z0-9_]*)*$`)
)

// Node is what a node says of itself, in the bucket of nodes, [Sealed] with its key (N1).
type Node struct {
	// ID is the node's public key, an nkey of a user.
	ID       string `msgpack:"id"`
	Name     string `msgpack:"name"`
	Platform string `msgpack:"platform"`
	Version  string `msgpack:"version,omitempty"`
	// Commands are all that it can be asked for.
	Commands []NodeCommand `msgpack:"commands,omitempty"`
	// At is when it said so, in Unix nanoseconds: what was said long before it was written is somebody's repetition.
	At int64 `msgpack:"at"`
	// Pairing is set while the node asks to be paired.
	Pairing *NodePairing `msgpack:"pairing,omitempty"`
}

// NodeCommand is one command of a node.
type NodeCommand struct {
	Name        string `msgpack:"name" json:"name"`
	Description string `msgpack:"description,omitempty" json:"description,omitempty"`
	// Params is the JSON Schema of the command's parameters, an object; empty means any.
	Params JSON `msgpack:"params,omitempty" json:"params,omitempty"`
}

// NodePairing proves that a node knows a pairing code, without telling it: Hash is derived from the code, the node's
// id and Salt, slowly.
type NodePairing struct {
	Salt []byte `msgpack:"salt"`
	Hash []byte `msgpack:"hash"`
	// Expires is when the code can't be used any more, in Unix nanoseconds.
	Expires int64 `msgpack:"expires"`
}

// PairedNode is the record of a pairing, in the bucket of paired nodes: a node is trusted by its key, and is called
// what it was called when it was approved.
type PairedNode struct {
	ID       string `msgpack:"id"`
	Name     string `msgpack:"name"`
	Platform string `msgpack:"platform"`
	// At is when it was approved, in Unix nanoseconds, and By who did.
	At int64  `msgpack:"at"`
	By string `msgpack:"by,omitempty"`
	// Revoked is when it ended, in Unix nanoseconds; 0 while it holds.
	Revoked   int64  `msgpack:"revoked,omitempty"`
	RevokedBy string `msgpack:"revoked_by,omitempty"`
}

// Sealed is the bytes of a message and a node's signature of them.
type Sealed struct {
	Body      []byte `msgpack:"body"`
	Signature []byte `msgpack:"signature"`
}

// NodeCall asks a node for one of its commands. The answer is a [NodeOutcome], [Sealed] with the node's key.
type NodeCall struct {
	// ID is random, so that no answer fits another call.
	ID      string `msgpack:"id"`
	Command string `msgpack:"command,omitempty"`
	// Params is a JSON object.
	Params JSON `msgpack:"params,omitempty"`
	// TimeoutMs is how long the caller waits from now on, in milliseconds.
	TimeoutMs int64 `msgpack:"timeout_ms,omitempty"`
	// Withdrawn: nobody waits for the call with this ID any more. There is no answer.
	Withdrawn bool `msgpack:"withdrawn,omitempty"`
}

// NodeOutcome is how a call of a node went.
type NodeOutcome struct {
	// Call and Node say whose outcome it is.
	Call string `msgpack:"call"`
	Node string `msgpack:"node"`
	// Value is one JSON text, if Err is nil.
	Value JSON       `msgpack:"value,omitempty"`
	Err   *CallError `msgpack:"err,omitempty"`
}

// CheckNodeName says what is wrong with the name of a node.
func CheckNodeName(name string) *Error {
	if nodeName.MatchString(name) {
		return nil
	}
	return Refuse("name", "name: expected 1 to 64 letters, digits, '.', '_' and '-' that begin with a letter or digit, such as \"office-mac\"")
}

// Check says what is wrong with a command of a node.
func (c *NodeCommand) Check() *Error {
	switch {
	case len(c.Name) > 64 || !commandName.MatchString(c.Name):
		return Refuse("command", "command: expected names of letters, digits and _, joined by dots, such as \"backup.start\"; at most 64 characters")
	case c.Name == nodeShell:
		return Refuse("command", "command: "+nodeShell+" isn't offered by nodes: name the commands that may be run")
	}
	if len(c.Params) > 0 && (c.Params[0] != '{' || !json.Valid(c.Params)) {
		return Refuse("params", "params: expected a JSON Schema, an object")
	}
	return nil
}

// Check says what is wrong with what a node says of itself.
func (n *Node) Check() *Error {
	if err := CheckNodeName(n.Name); err != nil {
		return err
	}
	switch {
	case len(n.Platform) > 64 || len(n.Version) > 64:
		return Refuse("platform", "platform, version: expected at most 64 characters each")
	case len(n.Commands) > MaxNodeCommands:
		return Refuse("commands", "commands: expected at most 128 of them")
	}
	seen := map[string]bool{}
	for i := range n.Commands {
		c := &n.Commands[i]
		if err := c.Check(); err != nil {
			return err
		}
		if seen[c.Name] {
			return Refuse("commands", "commands: "+c.Name+" is there twice")
		}
		seen[c.Name] = true
	}
	return nil
}
