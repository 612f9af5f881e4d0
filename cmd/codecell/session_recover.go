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

// recovered is a program that was run again.
type recovered struct {
	Entry  string `json:"entry"`
	CallID string `json:"callId"`
	// NewCallID is the call id of the exec that ran it again.
	NewCallID string       `json:"newCallId"`
	Title     string       `json:"title"`
	Result    schemas.JSON `json:"result"`
}

// leftAlone is one that wasn't, and why.
type leftAlone struct {
	Entry  string `json:"entry"`
	CallID string `json:"callId"`
	Title  string `json:"title"`
	Why    string `json:"why"`
}

func (a *app) sessionRecoverCommand() *cobra.Command {
	var agent string
	cmd := &cobra.Command{
		Use:   "recover KEY",
		Short: "Run programs again that a host's end has interrupted",
		Long: `Runs each program of the session again that was interrupted, was started with restartSafe, and has called nothing but
tools whose owners say that running them again changes nothing. It begins anew, for the same agent and session. Others are
listed, with the reason why they are left alone.

Exit codes: 0 nothing is left, 1 a program failed or some are left, 2 usage or configuration error, 3 one is waiting.`,
		Args:              keyArg,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.recover(cmd.Context(), args[0], agent)
		},
	}
	cmd.Flags().StringVar(&agent, "agent", "", "only programs of the agent with this `name`")
	return cmd
}

// recover runs what can be run again on a running host, or on one of this process.
func (a *app) recover(ctx context.Context, key, agent string) error {
	config, err := a.config()
	if err != nil {
		return err
	}
	l, err := a.dial(ctx, config)
	if l == nil && err == nil {
		if config.Bus.StoreDir == "" {
			return errNoSessions
		}
		l, err = a.connect(ctx)
	}
	if err != nil {
		return err
	}
	defer l.close()
	a.warn(l.problems())
	var found []session.Interrupt
	err = a.useSessions(ctx, l.conn, func(store *session.Store) error {
		branch, err := store.Branch(ctx, key, "")
		if err == nil {
			found = session.Interrupted(branch)
		}
		return err
	})
	if err != nil {
		return err
	}
	living, err := a.living(ctx, l)
	if err != nil {
		return err
	}
	ran, left := []recovered{}, []leftAlone{}
	code := exitCompleted
	for i := range found {
		one := &found[i]
		if agent != "" && one.Exec.Identity.Agent != agent {
			continue
		}
		input, err := restartSafe(one.Exec.Input)
		if err != nil && one.Why == "" {
			one.Why = err.Error()
		}
		if living[one.Exec.Cell] {
			one.Why = "it isn't interrupted: its cell is there, go on with codecell wait " + one.Exec.Cell
		}
		if one.Why != "" {
			left = append(left, leftAlone{Entry: one.Entry, CallID: one.Exec.CallID, Title: inputTitle(one.Exec), Why: one.Why})
			if !living[one.Exec.Cell] {
				code = max(code, exitFailed)
			}
			continue
		}
		done, result, err := a.again(ctx, l, one, input)
		if err != nil {
			return err
		}
		ran = append(ran, done)
		if !a.json {
			fmt.Fprintf(a.out, "%q, again:\n", oneLine(done.Title))
			if err := a.printResult(result); err != nil {
				return err
			}
		}
		switch result.Status {
		case schemas.StatusCompleted:
		case schemas.StatusWaiting:
			code = max(code, exitWaiting)
		default:
			code = max(code, exitFailed)
		}
	}
	a.printRecovery(ran, left)
	if code != exitCompleted {
		return exit(code)
	}
	return nil
}

func (a *app) printRecovery(ran []recovered, left []leftAlone) {
	if a.json {
		a.printJSON(map[string]any{"recovered": ran, "left": left})
		return
	}
	for _, l := range left {
		fmt.Fprintf(a.out, "%q is left alone: %s\n", oneLine(l.Title), oneLine(l.Why))
	}
	if len(ran)+len(left) == 0 {
		fmt.Fprintln(a.out, "no program was interrupted")
	}
}

// living gives the cells of all hosts.
func (a *app) living(ctx context.Context, l *link) (map[string]bool, error) {
	hosts, err := l.client().Hosts(ctx)
	if err != nil {
		return nil, err
	}
	cells := map[string]bool{}
	for i := range hosts {
		for j := range hosts[i].Cells {
			cells[hosts[i].Cells[j].Address.Cell] = true
		}
	}
	return cells, nil
}

// again runs an interrupted program from its beginning, with its input, as whom it was run before.
func (a *app) again(ctx context.Context, l *link, one *session.Interrupt, input schemas.JSON) (recovered, *schemas.Result, error) {
	done := recovered{Entry: one.Entry, CallID: one.Exec.CallID, NewCallID: newCallID("recover"), Title: inputTitle(one.Exec)}
	stop := a.progress("running")
	defer stop()
	client := l.client()
	run, err := client.Open(ctx, schemas.Open{Identity: one.Exec.Identity, Ephemeral: true, Bind: true})
	if err != nil {
		return done, nil, err
	}
	result, err := run.Exec(ctx, schemas.Exec{CallID: done.NewCallID, Input: input, Recovers: one.Exec.CallID})
	for err == nil && l.node != nil && result.Status == schemas.StatusWaiting { // the cell would end with this process
		result, err = run.Wait(ctx, result.RunID)
	}
	if err != nil {
		a.abort(ctx, run, done.NewCallID)
		return done, nil, err
	}
	done.Result, err = result.JSON()
	return done, result, err
}

// restartSafe gives the input of an exec with the promise that it was run under. The transcript has what was submitted: a
// hook may have made the promise, and need not be asked this time (R1, R2).
func restartSafe(input schemas.JSON) (schemas.JSON, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(input, &fields); err != nil || fields == nil {
		return nil, errors.New("the program that was kept can't be read: run the original")
	}
	fields["restartSafe"] = json.RawMessage("true")
	return json.Marshal(fields)
}

// abort ends a program whose answer nobody waits for any more.
func (a *app) abort(ctx context.Context, run *bus.Run, callID string) {
	late, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer cancel()
	if err := run.Abort(late, callID, interruptReason); err != nil {
		a.log().Warn("a program could not be ended", "error", err)
	}
}
