package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/codecell/codecell/bus"
	"github.com/codecell/codecell/schemas"
)

// errInterrupted is a Ctrl-C. The cell has been cancelled.
var errInterrupted = errors.New("interrupted; the cell was cancelled")

func newCallID() string { return "cli-" + strings.ToLower(rand.Text()) }

func (a *app) waitCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "wait RUNID",
		Short: "Go on with a waiting program",
		Args:  exactly("RUNID, from a waiting result"),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			l, err := a.mustDial(ctx)
			if err != nil {
				return err
			}
			defer l.close()
			result, err := a.wait(ctx, l.client(), args[0])
			if err != nil {
				return err
			}
			return a.finish(result)
		},
	}
	a.identityFlags(cmd)
	return cmd
}

func (a *app) cancelCommand() *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use:   "cancel RUNID",
		Short: "End a program",
		Args:  exactly("RUNID, from a waiting result or from `codecell slots`"),
		RunE: func(cmd *cobra.Command, args []string) error {
			l, err := a.mustDial(cmd.Context())
			if err != nil {
				return err
			}
			defer l.close()
			err = l.client().Cancel(cmd.Context(), args[0], schemas.Cancel{Operator: true, Reason: reason})
			var refused *schemas.Error
			switch {
			case errors.As(err, &refused):
				a.report(err)
				return exit(exitFailed)
			case err != nil:
				return err
			case a.json:
				a.printJSON(map[string]any{"runId": args[0], "cancelled": true})
			default:
				fmt.Fprintf(a.out, "cancelled %s\n", args[0])
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "cancelled by an operator", "why, for the feed")
	return cmd
}

// wait waits once. An interrupt leaves the cell as it is: it belongs to a host, and may be waited
// for again.
func (a *app) wait(ctx context.Context, client *bus.Client, runID string) (*schemas.Result, error) {
	stop := a.progress("waiting")
	defer stop()
	return client.Wait(ctx, schemas.Wait{CallID: newCallID(), Identity: a.identity(), RunID: runID})
}

// waitOut waits until the program has ended, and joins the output of all its legs. An interrupt cancels
// the cell: whoever asked for the end doesn't want what is left half done.
func (a *app) waitOut(ctx context.Context, client *bus.Client, result *schemas.Result) (*schemas.Result, error) {
	output := result.Output
	for result.Status == schemas.StatusWaiting {
		runID := result.RunID
		a.pending(result)
		next, err := a.wait(ctx, client, runID)
		if ctx.Err() != nil {
			late, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
			defer cancel()
			if err := client.Cancel(late, runID, schemas.Cancel{Identity: a.identity(), Reason: "interrupted"}); err != nil {
				return nil, fmt.Errorf("interrupted, and the cell could not be cancelled: %w", err)
			}
			return nil, errInterrupted
		}
		if err != nil {
			return nil, err
		}
		output = append(output, next.Output...)
		result = next
	}
	whole := *result
	whole.Output = output
	return &whole, nil
}

// exactly wants one argument, and says which.
func exactly(what string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) != 1 {
			return fmt.Errorf("expected one argument: %s; got %d", what, len(args))
		}
		return nil
	}
}
