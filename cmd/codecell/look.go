package main

import (
	"context"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/codecell/codecell/bus"
	"github.com/codecell/codecell/schemas"
)

func (a *app) searchCommand() *cobra.Command {
	var limit int
	cmd := &cobra.Command{
		Use:     "search QUERY",
		Short:   "Show what catalog.search would find",
		Example: `  codecell search "read a file"`,
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.Flags().Changed("limit") && limit < 1 {
				return fmt.Errorf("--limit must be a positive number, not %d", limit)
			}
			return a.withRun(cmd.Context(), schemas.Open{}, func(run *bus.Run) error {
				found, err := run.Search(cmd.Context(), schemas.Search{Query: strings.Join(args, " "), Limit: limit})
				if err != nil {
					return err
				}
				a.printCatalog(found.Hits, nil, "hits", "no tool matches: try other words")
				return nil
			})
		},
	}
	cmd.Flags().IntVar(&limit, "limit", 0, "number of hits (default: as configured)")
	a.identityFlags(cmd)
	return cmd
}

// withRun opens a run as asked, for an identity of its own, and closes it afterwards.
func (a *app) withRun(ctx context.Context, asked schemas.Open, use func(*bus.Run) error) error {
	l, err := a.connect(ctx)
	if err != nil {
		return err
	}
	defer l.close()
	asked.Identity = a.identity()
	asked.Identity.Run = newCallID("look") // of its own, so that closing it harms no cell
	run, err := l.client().Open(ctx, asked)
	if err != nil {
		return err
	}
	defer func() {
		late, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
		defer cancel()
		_ = run.Close(late, "looked")
	}()
	return use(run)
}

func (a *app) printCatalog(entries []schemas.CatalogEntry, problems []string, key, none string) {
	if a.json {
		out := map[string]any{key: entries}
		if entries == nil {
			out[key] = []schemas.CatalogEntry{}
		}
		if len(problems) > 0 {
			out["problems"] = problems
		}
		a.printJSON(out)
		return
	}
	if len(entries) == 0 {
		fmt.Fprintln(a.out, none)
	}
	w := tabwriter.NewWriter(a.out, 0, 4, 2, ' ', 0)
	for _, e := range entries {
		fmt.Fprintf(w, "%s\t%s\n", e.CallableName, firstLine(printable(e.Description), 90))
	}
	_ = w.Flush()
	for _, p := range problems {
		a.note(styled(a.errColor, yellow, "problem: ") + printable(p))
	}
}

func firstLine(text string, limit int) string {
	text, _, _ = strings.Cut(strings.TrimSpace(text), "\n")
	if runes := []rune(text); len(runes) > limit {
		return string(runes[:limit-1]) + "…"
	}
	return text
}

func (a *app) slotsCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "slots",
		Short: "Show the hosts on a bus, their slots, workers and cells",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			l, err := a.mustDial(cmd.Context())
			if err != nil {
				return err
			}
			defer l.close()
			hosts, err := l.client().Hosts(cmd.Context())
			if err != nil {
				return err
			}
			if a.json {
				a.printJSON(map[string]any{"hosts": append([]schemas.HostStatus{}, hosts...)})
				return nil
			}
			if len(hosts) == 0 {
				fmt.Fprintln(a.out, "no host is on this bus; start one with `codecell up`")
			}
			for i := range hosts {
				a.printHost(&hosts[i])
			}
			return nil
		},
	}
}

func (a *app) printHost(h *schemas.HostStatus) {
	state := ""
	if h.Draining {
		state = a.style(yellow, "  draining")
	}
	fmt.Fprintf(a.out, "%s  slots %d/%d  workers %d/%d%s\n", a.style(bold, "host "+h.Host), h.Slots.Held, h.Slots.Limit, h.Workers.Held, h.Workers.Limit, state)
	w := tabwriter.NewWriter(a.out, 0, 4, 2, ' ', 0)
	for _, c := range h.Cells {
		fmt.Fprintf(w, "  %s\t%s\t%d pending\t%v\t%s\n", c.Address.Cell, c.State, c.Pending,
			(time.Duration(c.AgeMs) * time.Millisecond).Round(time.Second/10), printable(c.Title))
	}
	_ = w.Flush()
	if h.FactsDropped > 0 {
		fmt.Fprintf(a.out, "  facts dropped: %d\n", h.FactsDropped)
	}
	for _, p := range h.Problems {
		fmt.Fprintln(a.out, "  "+a.style(yellow, "problem: ")+printable(p))
	}
}
