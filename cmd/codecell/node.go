package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/codecell/codecell/actors/run"
	"github.com/codecell/codecell/actors/tool"
	"github.com/codecell/codecell/bus"
	"github.com/codecell/codecell/schemas"
)

// standings is how many changes of a node's standing may wait to be told.
const standings = 16

func (a *app) nodeCommand() *cobra.Command {
	var name, key string
	drain := drainTimeout
	cmd := &cobra.Command{
		Use:   "node",
		Short: "Let programs use this machine, once an operator has paired it",
		Long: `Puts this machine on a bus as a node. Programs can ask it for its status (device.status), list the folders that
node.folders of the configuration names (fs.listDir), and run the programs of node.commands: nothing else, and no shell.

It shows a pairing code. Until an operator has typed it into 'codecell nodes approve' no program sees the node. The code can
be used once, within 10 minutes; then another one is shown. The node keeps its key in a file, and stays paired when it is
started again. SIGINT or SIGTERM lets running commands end.`,
		Example: "  codecell node --name office-mac --bus nats://127.0.0.1:4222",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			config, err := a.config()
			if err != nil {
				return err
			}
			config.Node.Name, config.Node.Key = cmp.Or(name, config.Node.Name), cmp.Or(key, config.Node.Key)
			if config.Node.Name == "" {
				return errors.New("the node needs a name: give --name, or set node.name in the configuration")
			}
			if err := schemas.CheckNodeName(config.Node.Name); err != nil {
				return err
			}
			return a.runNode(cmd.Context(), config, drain)
		},
	}
	cmd.Flags().StringVar(&name, "name", "", "what the node is called (default node.name of the configuration)")
	cmd.Flags().StringVar(&key, "key", "", "`file` of the node's key, made if there is none (default the config's node.key, else one in the user's config folder)")
	cmd.Flags().DurationVar(&drain, "drain-timeout", drainTimeout, "how long running commands may take to end")
	return cmd
}

// nodeKey loads the key of the node, from where the configuration or the user's habits put it.
func nodeKey(config *schemas.Config) (*bus.NodeKey, error) {
	path := config.Node.Key
	if path == "" {
		dir, err := os.UserConfigDir()
		if err != nil {
			return nil, fmt.Errorf("there is no place for the node's key: give --key (%w)", err)
		}
		path = filepath.Join(dir, "codecell", "node.key")
	}
	return bus.LoadNodeKey(path)
}

// runNode keeps a node until a signal, its revocation or the loss of the bus.
func (a *app) runNode(ctx context.Context, config *schemas.Config, drain time.Duration) error {
	l, err := a.dialAtBoot(ctx, config)
	if err != nil {
		return err
	}
	if l == nil {
		return errNoBus
	}
	defer l.close()
	key, err := nodeKey(config)
	if err != nil {
		return err
	}
	redactor, err := run.NewRedactor(config)
	if err != nil {
		return err
	}
	changes := newNodeChanges()
	node, err := tool.StartNode(ctx, l.conn, tool.NodeOptions{
		Key: key, Config: config.Node, Version: version, Logger: redactor.Logger(a.log()), Standing: changes.add,
	})
	if err != nil {
		return err
	}
	end := a.nodeReady(ctx, l, config.Node.Name, key.ID(), changes)
	late, cancel := context.WithTimeout(context.WithoutCancel(ctx), drain)
	defer cancel()
	if err := node.Close(late); err != nil {
		a.log().Warn("the end was not orderly", "error", err)
	}
	if end != nil {
		a.report(end)
		return exit(exitFailed)
	}
	return nil
}

// nodeChanges are a node's standings that weren't told yet; of too many the newest stay.
type nodeChanges struct {
	mu   sync.Mutex
	all  []bus.NodeStanding
	news chan struct{}
}

func newNodeChanges() *nodeChanges { return &nodeChanges{news: make(chan struct{}, 1)} }

func (c *nodeChanges) add(s bus.NodeStanding) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all = append(c.all, s)
	c.all = c.all[max(0, len(c.all)-standings):]
	select {
	case c.news <- struct{}{}:
	default:
	}
}

func (c *nodeChanges) take() (all []bus.NodeStanding) {
	c.mu.Lock()
	defer c.mu.Unlock()
	all, c.all = c.all, nil
	return all
}

// nodeReady tells where the node stands until it is to end, and why it must, if it must.
func (a *app) nodeReady(ctx context.Context, l *link, name, id string, changes *nodeChanges) error {
	for first := true; ; {
		for _, s := range changes.take() {
			if s.State == bus.NodeRevoked {
				return &schemas.Error{Code: schemas.Aborted, Message: "this node was revoked: no program can use it any more"}
			}
			switch {
			case first:
				a.printNode(name, id, s)
				first = false
			case a.json: // the one object was printed
				fmt.Fprintln(a.err, "codecell: "+standing(s))
			default:
				fmt.Fprintln(a.out, standing(s))
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-l.conn.Lost():
			return cmp.Or(l.conn.Err(), bus.ErrDisconnected)
		case <-changes.news:
		}
	}
}

// printNode prints the one line that says that the node is on the bus.
func (a *app) printNode(name, id string, s bus.NodeStanding) {
	if a.json {
		line := map[string]any{"ready": true, "node": id, "name": name, "state": s.State}
		if s.State == bus.NodePending {
			line["pairingCode"], line["expires"] = s.Code, s.Expires.UTC().Format(time.RFC3339)
		}
		a.printJSON(line)
		return
	}
	fmt.Fprintf(a.out, "ready: node %s %s, %s\n", name, id, standing(s))
}

// standing says where a node stands.
func standing(s bus.NodeStanding) string {
	if s.State != bus.NodePending {
		return string(s.State)
	}
	return fmt.Sprintf("pairing code %s until %s: codecell nodes approve %s", s.Code, s.Expires.Format(time.TimeOnly), s.Code)
}
