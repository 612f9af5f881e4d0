package tool

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/codecell/codecell/bus"
	"github.com/codecell/codecell/schemas"
)

// maxNodeCalls is how many commands of a node run at once.
const maxNodeCalls = 16

// NodeOptions say what a node is and offers. Key and Config.Name are required.
type NodeOptions struct {
	Key     *bus.NodeKey
	Config  schemas.NodeConfig
	Version string
	// Standing is told where the node stands with operators. It must not block.
	Standing func(bus.NodeStanding)
	// Logger gets stacks of panics; slog.Default() if nil.
	Logger *slog.Logger
}

// Node lets programs of others use this machine, if an operator has paired it (N1): for its status, for the folders and
// the programs that its configuration names, and for nothing else.
type Node struct {
	conn     *bus.Conn
	key      *bus.NodeKey
	log      *slog.Logger
	begun    time.Time
	version  string
	standing func(bus.NodeStanding)
	commands map[string]*nodeCommand
	folders  map[string]*workspace
	env      []string
	presence *bus.NodePresence
	sub      *bus.Subscription

	mu      sync.Mutex
	paired  bool
	running map[string]context.CancelCauseFunc // by the call's id
	closed  bool
	calls   sync.WaitGroup
}

// nodeCommand is a command with what runs it. params fit the command's schema.
type nodeCommand struct {
	schemas.NodeCommand

	contract *schemas.Contract
	run      func(ctx context.Context, params schemas.JSON) (any, error)
}

var errNodeUnpaired = errors.New("this node isn't paired any more")

// StartNode puts a node on the bus. It must be closed.
func StartNode(ctx context.Context, conn *bus.Conn, o NodeOptions) (_ *Node, err error) {
	n := &Node{
		conn: conn, key: o.Key, log: o.Logger, begun: time.Now(), version: o.Version, standing: o.Standing,
		commands: map[string]*nodeCommand{}, folders: map[string]*workspace{}, running: map[string]context.CancelCauseFunc{},
		env: environment(o.Config.Env),
	}
	if n.log == nil {
		n.log = slog.Default()
	}
	defer func() {
		if err != nil {
			n.closeFolders()
		}
	}()
	if err := n.equip(&o.Config); err != nil {
		return nil, err
	}
	said := schemas.Node{Name: o.Config.Name, Platform: runtime.GOOS + "/" + runtime.GOARCH, Version: o.Version}
	for _, name := range slices.Sorted(maps.Keys(n.commands)) {
		said.Commands = append(said.Commands, n.commands[name].NodeCommand)
	}
	if n.sub, err = bus.Serve(conn, bus.NodeSubject(o.Key.ID()), "", n.take); err != nil {
		return nil, err
	}
	if n.presence, err = bus.AnnounceNode(ctx, conn, o.Key, said, n.stand); err != nil {
		n.sub.Close()
		return nil, err
	}
	return n, nil
}

// equip makes the commands of a configuration.
func (n *Node) equip(c *schemas.NodeConfig) error {
	commands := []nodeCommand{n.statusCommand()}
	for _, name := range slices.Sorted(maps.Keys(c.Folders)) {
		w, err := openWorkspace(c.Folders[name])
		if err != nil {
			return schemas.Refuse("node.folders", fmt.Sprintf("node.folders.%s must be a folder: create it, or name another (%v)", name, err))
		}
		n.folders[name] = w
	}
	if len(n.folders) > 0 {
		commands = append(commands, n.listCommand())
	}
	for _, name := range slices.Sorted(maps.Keys(c.Commands)) {
		commands = append(commands, n.programCommand(name, c.Commands[name]))
	}
	for i := range commands {
		command := &commands[i]
		contract, bad := schemas.NewContract(&schemas.Tool{Name: command.Name, Parameters: command.Params})
		if bad != nil {
			return schemas.Refuse("node.commands", "node.commands: "+bad.Message)
		}
		command.contract = contract
		n.commands[command.Name] = command
	}
	return nil
}

// stand takes over where the node stands. Whatever runs ends when it isn't paired any more.
func (n *Node) stand(s bus.NodeStanding) {
	n.mu.Lock()
	n.paired = s.State == bus.NodePaired
	if !n.paired {
		for _, stop := range n.running {
			stop(errNodeUnpaired)
		}
	}
	n.mu.Unlock()
	if n.standing != nil {
		n.standing(s)
	}
}

type nodeRequest = bus.Request[schemas.NodeCall, schemas.Sealed]

// take begins a call, or ends one that nobody waits for any more.
func (n *Node) take(r *nodeRequest) {
	call := &r.Body
	n.mu.Lock()
	defer n.mu.Unlock()
	stop := n.running[call.ID]
	if call.Withdrawn {
		if stop != nil {
			stop(context.Canceled)
		}
		return
	}
	var bad *schemas.CallError
	switch {
	case !n.paired:
		bad = refused(schemas.CallToolError, atTool, "%s was not run: the node isn't paired", clip(call.Command, 100))
	case n.closed:
		bad = refused(schemas.CallToolError, atTool, "%s was not run: the node is shutting down", clip(call.Command, 100))
	case stop != nil || call.ID == "":
		bad = refused(schemas.CallInvalidInput, atTool, "the call was not run: its id is missing, or is that of a call under way")
	case len(n.running) >= maxNodeCalls:
		bad = refused(schemas.CallToolError, atTool, "%s was not run: the node is busy with %d other commands; try again later",
			clip(call.Command, 100), len(n.running))
	}
	if bad != nil {
		n.answer(r, &schemas.NodeOutcome{Call: call.ID, Err: bad})
		return
	}
	timeout := min(time.Duration(min(max(call.TimeoutMs, 1), bus.MaxNodeTimeout.Milliseconds()))*time.Millisecond, bus.MaxNodeTimeout)
	timed, cancel := context.WithTimeout(context.Background(), timeout)
	ctx, end := context.WithCancelCause(timed)
	n.running[call.ID] = end
	n.calls.Go(func() {
		defer cancel()
		defer end(nil)
		outcome := n.outcome(ctx, call)
		n.mu.Lock()
		delete(n.running, call.ID)
		n.mu.Unlock()
		n.answer(r, outcome)
	})
}

// outcome runs a command.
func (n *Node) outcome(ctx context.Context, call *schemas.NodeCall) *schemas.NodeOutcome {
	outcome := &schemas.NodeOutcome{Call: call.ID}
	command := n.commands[call.Command]
	if command == nil {
		outcome.Err = refused(schemas.CallInvalidInput, atTool, "the node has no command %q: it has %s",
			clip(call.Command, 100), slices.Sorted(maps.Keys(n.commands)))
		return outcome
	}
	params, bad := command.contract.CheckInput(call.Params)
	if bad != nil {
		outcome.Err = bad
		return outcome
	}
	var value any
	err := guard("command "+command.Name, n.log, func() (err error) {
		value, err = command.run(ctx, params)
		return err
	})
	if err == nil {
		outcome.Value, err = encode(value)
	}
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		err = fmt.Errorf("%s was ended: %w", command.Name, context.Cause(ctx))
	}
	if err != nil {
		outcome.Err = toolFailure(command.Name, err)
	}
	return outcome
}

func (n *Node) answer(r *nodeRequest, outcome *schemas.NodeOutcome) {
	sealed, err := n.key.Answer(outcome)
	if err == nil {
		err = r.Respond(sealed)
	}
	if err != nil {
		n.log.Warn("a node's answer could not be sent", "command", r.Body.Command, "error", err)
	}
}

// Close leaves the bus: what runs may end until ctx does, and is ended then.
func (n *Node) Close(ctx context.Context) error {
	n.mu.Lock()
	n.closed = true
	n.mu.Unlock()
	err := n.presence.Close(ctx)
	ended := make(chan struct{})
	go func() { n.calls.Wait(); close(ended) }()
	select {
	case <-ended:
	case <-ctx.Done():
		n.mu.Lock()
		for _, stop := range n.running {
			stop(errors.New("the node is shutting down"))
		}
		n.mu.Unlock()
		<-ended // commands that don't heed it are killed
	}
	n.sub.Close()
	n.closeFolders()
	return err
}

func (n *Node) closeFolders() {
	for _, w := range n.folders {
		_ = w.close()
	}
}
