package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/codecell/codecell/schemas"
)

func (a *app) execCommand() *cobra.Command {
	var title string
	var awaitResults, restartSafe, wait bool
	cmd := &cobra.Command{
		Use:   "exec [flags] FILE|-",
		Short: "Run a program",
		Long: `Runs the program in FILE, or from standard input for "-", in a new cell.

Exit codes: 0 completed, 1 failed, 2 usage or configuration error, 3 waiting.`,
		Example: `  codecell exec --title "Sum" - <<< 'return 1 + 2'
  codecell exec --title "Weekly report" --wait report.js`,
		Args: exactly("FILE (or - for standard input)"),
		RunE: func(cmd *cobra.Command, args []string) error {
			code, err := a.source(args[0])
			if err != nil {
				return err
			}
			if title == "" {
				title = filepath.Base(args[0])
			}
			input := map[string]any{"title": title, "code": code}
			if awaitResults {
				input["awaitResults"] = true
			}
			if restartSafe {
				input["restartSafe"] = true
			}
			text, err := json.Marshal(input)
			if err != nil {
				return err
			}
			return a.exec(cmd.Context(), text, wait)
		},
	}
	cmd.Flags().StringVar(&title, "title", "", "what the program does, in at most 120 characters (default the file's name)")
	cmd.Flags().BoolVar(&awaitResults, "await-results", false, "keep the call open until the tools have answered, instead of ending as waiting")
	cmd.Flags().BoolVar(&restartSafe, "restart-safe", false, "let the program call only tools that change nothing")
	cmd.Flags().BoolVar(&wait, "wait", false, "go on with a waiting program until it has ended")
	a.identityFlags(cmd)
	return cmd
}

func (a *app) identityFlags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&a.session, "session", "cli", "name of the session that the program belongs to")
	a.agentFlag(cmd)
}

func (a *app) agentFlag(cmd *cobra.Command) {
	cmd.Flags().StringVar(&a.agent, "agent", schemas.DefaultAgent, "configured agent to act as")
}

// source reads the program.
func (a *app) source(path string) (string, error) {
	in := a.in
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return "", fmt.Errorf("can't read the program: %w", err)
		}
		defer f.Close()
		in = f
	}
	b, err := io.ReadAll(io.LimitReader(in, schemas.MaxInputBytes+1))
	if err != nil {
		return "", fmt.Errorf("can't read the program: %w", err)
	}
	return string(b), nil
}

// exec runs a program and prints what came of it.
func (a *app) exec(ctx context.Context, input schemas.JSON, wait bool) error {
	l, err := a.connect(ctx)
	if err != nil {
		return err
	}
	defer l.close()
	client := l.client()
	run, err := client.Open(ctx, schemas.Open{Identity: a.identity(), Ephemeral: true})
	if err != nil {
		return err
	}
	callID := newCallID()
	stop := a.progress("running")
	result, err := run.Exec(ctx, schemas.Exec{CallID: callID, Input: input})
	stop()
	if ctx.Err() != nil {
		late, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
		defer cancel()
		if err := run.Abort(late, callID, "interrupted"); err != nil {
			return fmt.Errorf("interrupted, and the cell could not be cancelled: %w", err)
		}
		return errInterrupted
	}
	if err != nil {
		return err
	}
	if wait {
		if result, err = a.waitOut(ctx, client, result); err != nil {
			return err
		}
	}
	if result.Status == schemas.StatusWaiting && l.node != nil {
		a.note("The cell ends with this process. Use --wait to go on here, or start a host with `codecell up --listen 127.0.0.1:4222` and run against it with --bus.")
	}
	return a.finish(result)
}

// finish prints a result and turns it into the exit code.
func (a *app) finish(result *schemas.Result) error {
	if err := a.printResult(result); err != nil {
		return err
	}
	switch result.Status {
	case schemas.StatusCompleted:
		return nil
	case schemas.StatusWaiting:
		return exit(exitWaiting)
	default:
		return exit(exitFailed)
	}
}
