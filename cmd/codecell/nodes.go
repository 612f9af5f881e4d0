package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os/user"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/codecell/codecell/bus"
)

func (a *app) nodesCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "nodes",
		Short: "Decide which machines programs can use",
		Long: `Shows the machines that are or were paired with the bus, and those that ask to be ('codecell node' puts one there), and
decides about them. Programs see paired ones only, and only where nodes.enabled of the host's configuration says so.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.nodesLsCommand(), a.nodesApproveCommand(), a.nodesRevokeCommand(), a.nodesRmCommand())
	return cmd
}

func (a *app) nodesLsCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "ls",
		Short: "List nodes",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withNodes(cmd.Context(), func(book *bus.NodeBook) error {
				list, err := book.List(cmd.Context())
				if err != nil {
					return err
				}
				a.printNodes(list)
				return nil
			})
		},
	}
}

func (a *app) nodesApproveCommand() *cobra.Command {
	var by string
	cmd := &cobra.Command{
		Use:   "approve [flags] CODE",
		Short: "Pair the node that shows this code",
		Long: `Pairs the node that shows this pairing code: its key is trusted from then on, under the name that it has now.

Exit codes: 0 paired, 1 refused, such as a code that was used, 2 usage or configuration error.`,
		Example:           "  codecell nodes approve abcd-efgh",
		Args:              exactly("CODE, which the node shows"),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.changeNode(cmd.Context(), &by, func(book *bus.NodeBook) (string, error) {
				record, err := book.Approve(cmd.Context(), args[0], by)
				if err != nil {
					return "", err
				}
				return a.changedNode(bus.NodePaired, record.ID, record.Name), nil
			})
		},
	}
	cmd.Flags().StringVar(&by, "by", "", "`name` of who decides, for the record (default the user of this process)")
	return cmd
}

func (a *app) nodesRevokeCommand() *cobra.Command {
	var by string
	cmd := &cobra.Command{
		Use:   "revoke [flags] ID",
		Short: "End a pairing at once",
		Long: `Ends the pairing of a node: no program can use it any more, and what programs do with it now rejects.

Exit codes: 0 revoked, 1 refused, such as an unknown id, 2 usage or configuration error.`,
		Args:              exactly("ID, from `codecell nodes ls`"),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.changeNode(cmd.Context(), &by, func(book *bus.NodeBook) (string, error) {
				return a.changedNode(bus.NodeRevoked, args[0], ""), book.Revoke(cmd.Context(), args[0], by)
			})
		},
	}
	cmd.Flags().StringVar(&by, "by", "", "`name` of who decides, for the record (default the user of this process)")
	return cmd
}

func (a *app) nodesRmCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "rm ID",
		Short: "Forget a node",
		Long: `Forgets a node that was paired or revoked. It may ask to be paired anew.

Exit codes: 0 forgotten, 1 refused, such as an unknown id, 2 usage or configuration error.`,
		Args:              exactly("ID, from `codecell nodes ls`"),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.changeNode(cmd.Context(), nil, func(book *bus.NodeBook) (string, error) {
				return a.changedNode("forgotten", args[0], ""), book.Remove(cmd.Context(), args[0])
			})
		},
	}
}

func (a *app) withNodes(ctx context.Context, do func(*bus.NodeBook) error) error {
	l, err := a.mustDial(ctx)
	if err != nil {
		return err
	}
	defer l.close()
	return do(bus.NewNodeBook(l.conn))
}

// changeNode changes what is known of a node, and says so. by, unless nil, gets who decides where nothing is said.
func (a *app) changeNode(ctx context.Context, by *string, change func(*bus.NodeBook) (said string, err error)) error {
	if by != nil && *by == "" {
		who, err := user.Current()
		if err != nil {
			return fmt.Errorf("the user of this process has no name: say with --by who decides (%w)", err)
		}
		*by = who.Username
	}
	return a.withNodes(ctx, func(book *bus.NodeBook) error {
		said, err := change(book)
		if err != nil {
			return a.refused(err)
		}
		fmt.Fprint(a.out, said)
		return nil
	})
}

// changedNode says what became of a node.
func (a *app) changedNode(state bus.NodeState, id, name string) string {
	if a.json {
		said, _ := json.Marshal(struct { // strings can't fail
			Node  string        `json:"node"`
			Name  string        `json:"name,omitempty"`
			State bus.NodeState `json:"state"`
		}{id, name, state})
		return string(said) + "\n"
	}
	if name != "" {
		id = name + " " + id
	}
	return fmt.Sprintf("%s %s\n", state, id)
}

func (a *app) printNodes(list []bus.NodeInfo) {
	if a.json {
		a.printJSON(map[string]any{"nodes": append([]bus.NodeInfo{}, list...)})
		return
	}
	if len(list) == 0 {
		fmt.Fprintln(a.out, "there are no nodes: `codecell node` on another machine makes one")
	}
	w := tabwriter.NewWriter(a.out, 0, 4, 2, ' ', 0)
	for i := range list {
		n := &list[i]
		connected := "not connected"
		if n.Connected {
			connected = "connected"
		}
		names := make([]string, len(n.Commands))
		for i := range n.Commands {
			names[i] = n.Commands[i].Name
		}
		fmt.Fprintf(w, "%s\t%s\t%s, %s\t%s\t%s\n", n.ID, oneLine(n.Name), n.State, connected, oneLine(n.Platform), oneLine(strings.Join(names, " ")))
	}
	_ = w.Flush()
}
