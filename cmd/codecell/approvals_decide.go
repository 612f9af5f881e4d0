package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/user"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/codecell/codecell/bus"
	"github.com/codecell/codecell/schemas"
)

// grantFlags are what `approvals approve` grants besides the call.
type grantFlags struct {
	calls int
	scope string
	match string
	last  time.Duration
}

func (a *app) approveCommand() *cobra.Command {
	var d schemas.Decision
	var g grantFlags
	cmd := &cobra.Command{
		Use:   "approve [flags] ID",
		Short: "Let a call run",
		Long: `Lets a call run that waits for an approval. Each call asks anew, unless --calls grants further ones: so many calls of the
same tool whose input matches a JSON Schema, in the same program (cell), the same run, or the same session of the agent.

Exit codes: 0 approved, 1 refused, such as one that was decided already, 2 usage or configuration error.`,
		Example: `  codecell approvals approve hact2pb6y3qeh2rw-mfzwizltoq4t
  codecell approvals approve hact2pb6y3qeh2rw-mfzwizltoq4t --calls 19 --match '{"properties":{"path":{"pattern":"^notes/"}},"required":["path"]}'`,
		Args:              exactly("ID, from `codecell approvals ls`"),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if d.Grant, err = g.grant(cmd); err != nil {
				return err
			}
			d.Approval, d.Approve = args[0], true
			return a.decide(cmd.Context(), &d)
		},
	}
	decisionFlags(cmd, &d)
	cmd.Flags().IntVar(&g.calls, "calls", 0, "`number` of further calls of the tool to grant")
	cmd.Flags().StringVar(&g.scope, "scope", string(schemas.GrantCell), "where the grant holds: cell, run or session")
	cmd.Flags().StringVar(&g.match, "match", "", "JSON `schema` of the inputs that are granted, or the file with it (default any)")
	cmd.Flags().DurationVar(&g.last, "for", 0, "how long the grant holds, at most 24h (default 1h for a session, else 24h)")
	_ = cmd.RegisterFlagCompletionFunc("scope", cobra.FixedCompletions([]string{"cell", "run", "session"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func (a *app) denyCommand() *cobra.Command {
	var d schemas.Decision
	cmd := &cobra.Command{
		Use:   "deny [flags] ID",
		Short: "Keep a call from running",
		Long: `Keeps a call from running that waits for an approval. The program gets an error that says who denied it, with the note,
and goes on.

Exit codes: 0 denied, 1 refused, such as one that was decided already, 2 usage or configuration error.`,
		Args:              exactly("ID, from `codecell approvals ls`"),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			d.Approval = args[0]
			return a.decide(cmd.Context(), &d)
		},
	}
	decisionFlags(cmd, &d)
	return cmd
}

func decisionFlags(cmd *cobra.Command, d *schemas.Decision) {
	cmd.Flags().StringVar(&d.By, "by", "", "`name` of who decides, for the record and the program (default the user of this process)")
	cmd.Flags().StringVar(&d.Note, "note", "", "a few words for the record and, with a denial, for the program")
}

// grant reads the flags; nil without any.
func (g *grantFlags) grant(cmd *cobra.Command) (*schemas.Grant, error) {
	if !cmd.Flags().Changed("calls") {
		for _, flag := range []string{"scope", "match", "for"} {
			if cmd.Flags().Changed(flag) {
				return nil, fmt.Errorf("--%s is about a grant: say with --calls how many further calls are granted", flag)
			}
		}
		return nil, nil
	}
	grant := &schemas.Grant{Scope: schemas.GrantScope(g.scope), Calls: g.calls, Match: schemas.JSON(strings.TrimSpace(g.match))}
	if g.match != "" && !strings.HasPrefix(string(grant.Match), "{") {
		text, err := os.ReadFile(g.match)
		if err != nil {
			return nil, fmt.Errorf("--match is neither a JSON Schema nor a file with one: %w", err)
		}
		grant.Match = text
	}
	if cmd.Flags().Changed("for") {
		if g.last <= 0 {
			return nil, fmt.Errorf("--for must be a time to come, such as 30m, not %v", g.last)
		}
		grant.Expires = time.Now().Add(g.last).UnixNano()
	}
	return grant, nil
}

// decide makes a decision and says that it is on record.
func (a *app) decide(ctx context.Context, d *schemas.Decision) error {
	if d.By == "" {
		who, err := user.Current()
		if err != nil {
			return fmt.Errorf("the user of this process has no name: say with --by who decides (%w)", err)
		}
		d.By = who.Username
	}
	l, err := a.mustDial(ctx)
	if err != nil {
		return err
	}
	defer l.close()
	if err := l.client().Decide(ctx, *d); err != nil {
		return a.refused(err)
	}
	state := schemas.ApprovalDenied
	if d.Approve {
		state = schemas.ApprovalApproved
	}
	if a.json {
		a.printJSON(map[string]any{"approval": d.Approval, "state": state, "by": d.By})
		return nil
	}
	fmt.Fprintf(a.out, "%s %s\n", state, d.Approval)
	if d.Grant != nil {
		fmt.Fprintln(a.out, "granted "+granted(d.Grant, "this tool"))
	}
	return nil
}

// refused reports what an executor or the record refuses. Anything else is trouble on the way there.
func (a *app) refused(err error) error {
	if _, ok := errors.AsType[*schemas.Error](err); !ok {
		return err
	}
	a.report(err)
	return exit(exitFailed)
}

// showApprovals says on a terminal how to decide when a call of one's own program waits for an approval. The returned
// function ends it.
func (a *app) showApprovals(ctx context.Context, l *link, own func(schemas.Address) bool) (stop func()) {
	if !a.live || a.json {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	events, err := l.client().Watch(ctx, bus.Facts("approval", "opened"))
	if err != nil { // the program is what matters
		cancel()
		return func() {}
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for e := range events {
			// Anybody may tell facts, and what is shown here is meant to be typed: an id is nothing but an id.
			f, ok := e.Fact.(*schemas.ApprovalOpened)
			if !ok || !own(f.Address) {
				continue
			}
			if _, err := bus.ExecutorOf(f.Approval); err == nil {
				a.note("\r" + eraseLine + a.howToDecide(l, f))
			}
		}
	}()
	return func() {
		cancel()
		<-done
	}
}

func (a *app) howToDecide(l *link, f *schemas.ApprovalOpened) string {
	waits := styled(a.errColor, yellow, oneLine(f.Owner+"."+f.Tool)+" waits for an approval")
	at := a.bus
	if l.node != nil {
		if at = l.node.URL(); at == "" {
			return waits + ", and nobody can give it: the bus of this process has no port. Set bus.listen, or run it on a host with --bus"
		}
	}
	command := ": codecell approvals approve " + f.Approval
	if at != "" {
		command += " --bus " + quoted(at)
	}
	return waits + command
}
