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

// newCallID mints the id of a call, as a model's provider would.
func newCallID(way string) string { return way + "-" + strings.ToLower(rand.Text()) }

func (a *app) waitCommand() *cobra.Command {
	var out bool
	cmd := &cobra.Command{
		Use:   "wait [flags] RUNID",
		Short: "Go on with a waiting program",
		Long: `Goes on with a program that exec or an earlier wait left waiting on a running host, in the session that started it.

Exit codes: 0 completed, 1 failed, 2 usage or configuration error, 3 waiting again.`,
		Args:              exactly("RUNID, from a waiting result"),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			l, err := a.mustDial(ctx)
			if err != nil {
				return err
			}
			defer l.close()
			defer a.showApprovals(ctx, l, func(at schemas.Address) bool { return at.Cell == args[0] })()
			result, err := a.wait(ctx, l.client(), args[0], "running")
			switch {
			case ctx.Err() != nil:
				// The cell belongs to the host, and lives on.
				a.report(&schemas.Error{Code: schemas.Aborted, Message: "interrupted; the program goes on: codecell wait " + args[0]})
				return exit(exitWaiting)
			case err != nil:
				return err
			case out:
				return a.waitOut(ctx, l.client(), result)
			}
			return a.finish(result, a.goOn(result))
		},
	}
	cmd.Flags().BoolVar(&out, "wait", false, "go on until the program has ended")
	a.identityFlags(cmd)
	cmd.Flags().BoolVar(&a.unbound, "no-session", false, "the program was started with --no-session")
	return cmd
}

func (a *app) cancelCommand() *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use:               "cancel [flags] RUNID",
		Short:             "End a program",
		Long:              "Ends a program on a running host, whichever session started it.",
		Args:              exactly("RUNID, from a waiting result or from `codecell slots`"),
		ValidArgsFunction: cobra.NoFileCompletions,
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

// wait waits once.
func (a *app) wait(ctx context.Context, client *bus.Client, runID, doing string) (*schemas.Result, error) {
	defer a.progress(doing)()
	return client.Wait(ctx, schemas.Wait{CallID: newCallID("cli"), Identity: a.identity(), RunID: runID})
}

// waitOut waits until the program has ended. People see its output as it comes; the one JSON object has
// that of all legs.
func (a *app) waitOut(ctx context.Context, client *bus.Client, result *schemas.Result) error {
	var output []schemas.OutputItem
	for result.Status == schemas.StatusWaiting {
		if a.json {
			output = append(output, result.Output...)
		} else {
			a.printOutput(result)
		}
		runID := result.RunID
		next, err := a.ask(ctx, waitingFor(result), func(ctx context.Context) (*schemas.Result, error) {
			return client.Wait(ctx, schemas.Wait{CallID: newCallID("cli"), Identity: a.identity(), RunID: runID})
		}, func(ctx context.Context) error {
			return client.Cancel(ctx, runID, schemas.Cancel{Identity: a.identity(), Reason: interruptReason})
		})
		if err != nil {
			return err
		}
		result = next
	}
	if len(output) > 0 {
		whole := *result
		whole.Output = append(output, result.Output...)
		result = &whole
	}
	return a.finish(result, "") // it isn't waiting
}

// waitingFor says in a few words what a program waits for.
func waitingFor(r *schemas.Result) string {
	const shown = 3
	var names []string
	for i := range r.Pending {
		if i == shown {
			names = append(names, fmt.Sprintf("%d more", len(r.Pending)-shown))
			break
		}
		names = append(names, pendingName(&r.Pending[i]))
	}
	if r.Reason == schemas.ReasonYield || len(names) == 0 {
		return "running"
	}
	return "waiting for " + strings.Join(names, ", ")
}

// exactly wants one argument, and says which.
func exactly(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != 1 {
			return fmt.Errorf("expected one argument: %s; got %d; see `%s --help`", what, len(args), cmd.CommandPath())
		}
		return nil
	}
}
