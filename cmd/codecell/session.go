package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/codecell/codecell/actors/session"
	"github.com/codecell/codecell/bus"
	"github.com/codecell/codecell/schemas"
)

func (a *app) sessionCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "session",
		Short: "Look at what sessions have recorded, fork them, and run interrupted programs again",
		Long: `A session's transcript has every program of its runs, what it called and what came of it, and the values that programs
store. It is kept where the bus keeps things: on a running bus (--bus), or, without one, in the folder bus.storeDir of the
configuration (--store-dir).`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.PersistentFlags().StringVar(&a.storeDir, "store-dir", "", "`folder` of a bus that isn't running (default bus.storeDir of the configuration)")
	cmd.AddCommand(a.sessionLsCommand(), a.sessionShowCommand(), a.sessionForkCommand(), a.sessionExportCommand(), a.sessionCompactCommand(), a.sessionRecoverCommand())
	return cmd
}

// errNoSessions is for a command line that leads to no transcripts.
var errNoSessions = errors.New("there is nowhere to look: give --bus or CODECELL_BUS the URL of a running bus, or --store-dir (or bus.storeDir of the configuration) the folder of one that isn't running")

// withSessions opens the sessions of the bus that there is, or of the folder of one that isn't running. What is refused
// has the exit code of a failure.
func (a *app) withSessions(ctx context.Context, use func(*session.Store) error) error {
	config, err := a.config()
	if err != nil {
		return err
	}
	l, err := a.dial(ctx, config)
	if err != nil {
		return err
	}
	if l != nil {
		defer l.close()
		return a.useSessions(ctx, l.conn, use)
	}
	if config.Bus.StoreDir == "" {
		return errNoSessions
	}
	server, err := bus.Start(ctx, bus.ServerOptions{StoreDir: config.Bus.StoreDir, Logger: a.log()})
	if err != nil {
		return err
	}
	defer server.Close()
	conn, err := server.Connect("codecell cli")
	if err != nil {
		return err
	}
	defer conn.Close()
	return a.useSessions(ctx, conn, use)
}

func (a *app) useSessions(ctx context.Context, conn *bus.Conn, use func(*session.Store) error) error {
	store, err := session.Open(ctx, conn, a.log())
	if err != nil {
		return err
	}
	if err = use(store); err != nil {
		err = a.refused(err)
	}
	late, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer cancel()
	return errors.Join(err, store.Close(late))
}

func (a *app) sessionLsCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "ls",
		Short: "List the sessions",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withSessions(cmd.Context(), func(store *session.Store) error {
				list, err := store.List(cmd.Context())
				if err == nil {
					a.printSessions(list)
				}
				return err
			})
		},
	}
}

// keyArg wants the key of a session.
func keyArg(cmd *cobra.Command, args []string) error {
	return exactly("KEY, from `codecell session ls`")(cmd, args)
}

func (a *app) sessionShowCommand() *cobra.Command {
	var entry string
	var all bool
	cmd := &cobra.Command{
		Use:               "show KEY",
		Short:             "Show the entries of a session",
		Args:              keyArg,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withSessions(cmd.Context(), func(store *session.Store) error {
				branch, err := store.Branch(cmd.Context(), args[0], entry)
				if err == nil {
					a.printBranch(branch, all)
				}
				return err
			})
		},
	}
	cmd.Flags().StringVar(&entry, "entry", "", "`id` of the entry to show the branch of (default the last one)")
	cmd.Flags().BoolVar(&all, "all", false, "show what a compaction hides as well")
	return cmd
}

func (a *app) sessionForkCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "fork KEY ENTRY NEWKEY",
		Short: "Begin a session as a copy of another one up to an entry",
		Long: `Begins the session NEWKEY with what the session KEY had come to at ENTRY, stored values included. From there on they are
separate.`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 3 {
				return fmt.Errorf("expected KEY, ENTRY and NEWKEY; got %d arguments; see `%s --help`", len(args), cmd.CommandPath())
			}
			return nil
		},
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withSessions(cmd.Context(), func(store *session.Store) error {
				if err := store.Fork(cmd.Context(), args[0], args[1], args[2]); err != nil {
					return err
				}
				if a.json {
					a.printJSON(map[string]any{"session": args[2], "forkedFrom": args[0], "entry": args[1]})
					return nil
				}
				fmt.Fprintf(a.out, "session %s begins with session %s up to %s\n", oneLine(args[2]), oneLine(args[0]), oneLine(args[1]))
				return nil
			})
		},
	}
}

func (a *app) sessionExportCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "export KEY",
		Short: "Write a session as JSON lines",
		Long: `Writes the branch of the last entry as JSON, an entry a line. The calls that a program made are inside the line of its
exec, and those that a model made itself in the line of its message, with their outcome.`,
		Args:              keyArg,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withSessions(cmd.Context(), func(store *session.Store) error {
				return store.Export(cmd.Context(), args[0], a.out)
			})
		},
	}
}

func (a *app) sessionCompactCommand() *cobra.Command {
	var summary, keep string
	cmd := &cobra.Command{
		Use:               "compact KEY --summary TEXT",
		Short:             "Put a summary in the place of a session's beginning",
		Long:              `Readers of the session see the summary instead of what is before the entry --keep. Nothing is removed, and stored values stay.`,
		Args:              keyArg,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withSessions(cmd.Context(), func(store *session.Store) error {
				id, err := store.Compact(cmd.Context(), args[0], summary, keep)
				switch {
				case err != nil:
					return err
				case a.json:
					a.printJSON(map[string]any{"session": args[0], "entry": id})
				default:
					fmt.Fprintf(a.out, "compacted session %s in entry %s\n", oneLine(args[0]), id)
				}
				return nil
			})
		},
	}
	cmd.Flags().StringVar(&summary, "summary", "", "what the hidden entries come to")
	cmd.Flags().StringVar(&keep, "keep", "", "`id` of the first entry that stays in sight (default: none)")
	return cmd
}

// inputTitle is the title that an exec was given.
func inputTitle(e *schemas.ExecEntry) string {
	var input struct {
		Title string `json:"title"`
	}
	if err := json.Unmarshal(e.Input, &input); err != nil {
		return ""
	}
	return input.Title
}
