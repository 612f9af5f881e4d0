package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/codecell/codecell/schemas"
)

func (a *app) approvalsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "approvals",
		Short: "Decide about calls that wait for an approval",
		Long: `Shows the calls that wait for somebody's approval on a running host or executor, and decides about them.

Which calls need one is said by tools.approve of the configuration, by the tools themselves, and by hooks.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.approvalsLsCommand(), a.approvalsShowCommand(), a.approveCommand(), a.denyCommand())
	return cmd
}

func (a *app) approvalsLsCommand() *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use:   "ls",
		Short: "List what waits for a decision",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			l, err := a.mustDial(cmd.Context())
			if err != nil {
				return err
			}
			defer l.close()
			list, err := l.client().Approvals(cmd.Context(), all)
			if err != nil {
				return err
			}
			a.printApprovals(list, all)
			return nil
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "list what was decided within the last day as well")
	return cmd
}

func (a *app) approvalsShowCommand() *cobra.Command {
	return &cobra.Command{
		Use:               "show ID",
		Short:             "Show what an approval is for",
		Args:              exactly("ID, from `codecell approvals ls`"),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			l, err := a.mustDial(cmd.Context())
			if err != nil {
				return err
			}
			defer l.close()
			found, err := l.client().Approval(cmd.Context(), args[0])
			if err != nil {
				return a.refused(err)
			}
			a.printApproval(found)
			return nil
		},
	}
}

func (a *app) printApprovals(list []schemas.Approval, all bool) {
	if a.json {
		out := make([]schemas.Approval, 0, len(list))
		for i := range list {
			out = append(out, *encodable(&list[i]))
		}
		a.printJSON(map[string]any{"approvals": out})
		return
	}
	if len(list) == 0 {
		none := "no call waits for an approval"
		if all {
			none += ", or has since yesterday"
		}
		fmt.Fprintln(a.out, none)
	}
	w := tabwriter.NewWriter(a.out, 0, 4, 2, ' ', 0)
	for i := range list {
		p := &list[i]
		fmt.Fprintf(w, "%s\t%s\t%s\tagent %s, session %s\t%s\n",
			oneLine(p.ID), approvalState(p), toolOf(p), oneLine(p.Identity.Agent), oneLine(p.Identity.SessionKey), firstLine(oneLine(p.Reason), 60))
	}
	_ = w.Flush()
}

func (a *app) printApproval(p *schemas.Approval) {
	if a.json {
		a.printJSON(encodable(p))
		return
	}
	w := tabwriter.NewWriter(a.out, 0, 4, 2, ' ', 0)
	row := func(name, text string) {
		if text != "" {
			fmt.Fprintf(w, "%s\t%s\n", name, oneLine(text))
		}
	}
	row("approval", p.ID)
	row("state", approvalState(p))
	if p.State != schemas.ApprovalPending {
		row("by", p.By)
		row("note", p.Note)
		row("at", time.Unix(0, p.DecidedAt).Format(time.DateTime))
	}
	if p.Grant != nil {
		row("grants", granted(p.Grant, toolOf(p)))
		row("matching", string(p.Grant.Match))
	}
	row("tool", toolOf(p))
	row("reason", p.Reason)
	row("agent", p.Identity.Agent)
	row("session", p.Identity.SessionKey)
	row("sender", p.Identity.Sender)
	row("sandbox", p.Identity.Sandbox)
	row("program", p.Address.Cell)
	_ = w.Flush()
	fmt.Fprintln(a.out, indented(p.Input))
}

// approvalState says where an approval is, and how long there is left to decide.
func approvalState(p *schemas.Approval) string {
	if p.State != schemas.ApprovalPending {
		return oneLine(string(p.State))
	}
	left := max(0, time.Until(time.Unix(0, p.Deadline)).Round(time.Second))
	return fmt.Sprintf("%s, %s left", p.State, left)
}

// toolOf is a tool as lists of the configuration know it.
func toolOf(p *schemas.Approval) string { return oneLine(p.Owner + "." + p.Tool) }

// granted says what a grant allows.
func granted(g *schemas.Grant, tool string) string {
	calls := "calls"
	if g.Calls == 1 {
		calls = "call"
	}
	return fmt.Sprintf("%d more %s of %s in this %s", g.Calls, calls, tool, g.Scope)
}

// oneLine keeps text from others on one line, and from steering the terminal.
func oneLine(text string) string {
	return strings.NewReplacer("\n", " ", "\t", " ").Replace(printable(text))
}

// encodable gives an approval whose JSON is JSON, whatever is on record.
func encodable(p *schemas.Approval) *schemas.Approval {
	safe := *p
	safe.Input = validJSON(p.Input)
	if p.Grant != nil {
		grant := *p.Grant
		grant.Match = validJSON(grant.Match)
		safe.Grant = &grant
	}
	return &safe
}

func validJSON(text schemas.JSON) schemas.JSON {
	if len(text) == 0 || json.Valid(text) {
		return text
	}
	quoted, _ := json.Marshal(string(text)) // a string can't fail
	return quoted
}
