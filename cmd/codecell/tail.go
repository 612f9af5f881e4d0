package main

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/codecell/codecell/bus"
	"github.com/codecell/codecell/schemas"
)

func (a *app) tailCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "tail [NOUN[.KIND]]...",
		Short: "Show what happens, as it happens",
		Long: `Shows the facts that hosts and executors publish, one a line, until it is interrupted. Without arguments all of them;
else those of some nouns (run, turn, cell, call, approval, slot, host, executor) or kinds (cell.ended).`,
		Example:   "  codecell tail cell call.ended",
		ValidArgs: factKinds(),
		RunE: func(cmd *cobra.Command, args []string) error {
			filters, err := feedFilters(args)
			if err != nil {
				return err
			}
			ctx := cmd.Context()
			l, err := a.mustDial(ctx)
			if err != nil {
				return err
			}
			defer l.close()
			events, err := l.client().Watch(ctx, filters...)
			if err != nil {
				return err
			}
			fmt.Fprintln(a.err, "listening; Ctrl-C ends")
			a.printEvents(events)
			if ctx.Err() == nil {
				return errors.New("the connection to the bus was closed")
			}
			return nil
		},
	}
}

func (a *app) printEvents(events iter.Seq[bus.Event]) {
	var dropped uint64
	for e := range events {
		if e.Dropped > dropped {
			fmt.Fprintln(a.err, styled(a.errColor, yellow, fmt.Sprintf("%d facts were lost: this reader is too slow", e.Dropped-dropped)))
			dropped = e.Dropped
		}
		a.printEvent(&e)
	}
}

// factKinds lists all nouns and kinds of facts.
func factKinds() []string {
	var kinds []string
	for _, row := range bus.Rows() {
		if kind, ok := strings.CutPrefix(row.Verb, "feed."); ok {
			noun, _, _ := strings.Cut(kind, ".")
			kinds = append(kinds, noun, kind)
		}
	}
	slices.Sort(kinds)
	return slices.Compact(kinds)
}

// feedFilters turns nouns and kinds into subject patterns of which none covers another.
func feedFilters(args []string) ([]string, error) {
	known := factKinds()
	var filters []string
	for _, arg := range args {
		if !slices.Contains(known, arg) {
			return nil, fmt.Errorf("%q is no kind of fact: give some of %s", arg, strings.Join(known, ", "))
		}
		noun, _, specific := strings.Cut(arg, ".")
		if specific && slices.Contains(args, noun) {
			continue
		}
		if filter := bus.Facts(strings.Split(arg, ".")...); !slices.Contains(filters, filter) {
			filters = append(filters, filter)
		}
	}
	return filters, nil
}

func (a *app) printEvent(e *bus.Event) {
	kind := factKind(e.Subject)
	if a.json {
		if e.Err != nil {
			a.printJSON(map[string]any{"kind": kind, "error": e.Err.Error()})
			return
		}
		a.printJSON(map[string]any{"kind": kind, "fact": e.Fact})
		return
	}
	if e.Err != nil {
		fmt.Fprintf(a.out, "%s %s\n", kind, a.style(red, printable(e.Err.Error())))
		return
	}
	at, words := factText(e.Fact)
	fmt.Fprintf(a.out, "%s  %-16s %s\n", a.style(dim, time.Unix(0, at).Format("15:04:05.000")), kind, printable(words))
}

// factKind is the noun and the kind of a feed subject.
func factKind(subject string) string {
	tokens := strings.Split(strings.TrimPrefix(subject, bus.Prefix), ".")
	if len(tokens) < 3 {
		return subject
	}
	return tokens[1] + "." + tokens[2]
}

// factText says what a fact is about, in a line.
func factText(fact any) (at int64, words string) {
	switch f := fact.(type) {
	case *schemas.RunOpened:
		return f.At, fmt.Sprintf("%s agent %s session %s", f.Run, f.Identity.Agent, f.Identity.SessionKey)
	case *schemas.RunClosed:
		return f.At, fmt.Sprintf("%s: %s", f.Run, f.Reason)
	case *schemas.TurnStarted:
		return f.At, fmt.Sprintf("%s %s by %s: %d tools shown of %d", f.Run, f.Model, modeText(f.Mode, f.Search), f.Tools, f.CatalogSize)
	case *schemas.TurnRequested:
		return f.At, fmt.Sprintf("%s request %d: %s", f.Run, f.Request, requestText(f))
	case *schemas.TurnEnded:
		return f.At, fmt.Sprintf("%s %s after %s, %d requests, %d calls, %d tokens", f.Run, f.Stop, micros(f.DurationUs), f.Requests,
			f.Totals.Calls, f.Usage.InputTokens+f.Usage.OutputTokens)
	case *schemas.CellNoted:
		return f.At, fmt.Sprintf("%s %s", short(f.Address.Cell), notedText(f))
	case *schemas.CellStarted:
		return f.At, fmt.Sprintf("%s %q", short(f.Address.Cell), f.Title)
	case *schemas.CellParked:
		kept, size := "snapshot", f.SnapshotBytes
		if f.GuestBytes > 0 {
			kept, size = "live guest", f.GuestBytes
		}
		return f.At, fmt.Sprintf("%s %s, %d pending, %s of %d KiB", short(f.Address.Cell), f.Reason, f.Pending, kept, (size+1023)>>10)
	case *schemas.CellResumed:
		return f.At, short(f.Address.Cell)
	case *schemas.CellEnded:
		return f.At, fmt.Sprintf("%s %s after %s, %d calls", short(f.Address.Cell), ending(f), micros(f.DurationUs), f.Calls)
	case *schemas.CallSent:
		return f.At, fmt.Sprintf("%s#%s %s.%s", short(f.Address.Cell), f.Call, f.Owner, f.Tool)
	case *schemas.CallStarted:
		return f.At, fmt.Sprintf("%s#%s by %s", short(f.Address.Cell), f.Call, f.Executor)
	case *schemas.CallProgressed:
		return f.At, fmt.Sprintf("%s#%s %s", short(f.Address.Cell), f.Call, progressText(f))
	case *schemas.CallEnded:
		return f.At, fmt.Sprintf("%s#%s %s in %s", short(f.Address.Cell), f.Call, f.Outcome, micros(f.DurationUs))
	case *schemas.ApprovalOpened:
		return f.At, fmt.Sprintf("%s#%s %s.%s: %s", short(f.Address.Cell), f.Call, f.Owner, f.Tool, f.Approval)
	case *schemas.ApprovalClosed:
		return f.At, fmt.Sprintf("%s#%s %s%s", short(f.Address.Cell), f.Call, f.State, closing(f))
	case *schemas.GrantUsed:
		return f.At, fmt.Sprintf("%s#%s %s by a grant for the %s, %d left", short(f.Address.Cell), f.Call, f.Tool, f.Scope, f.Left)
	case *schemas.SlotTaken:
		return f.At, fmt.Sprintf("%s, %d held", short(f.Cell), f.Held)
	case *schemas.SlotFreed:
		return f.At, fmt.Sprintf("%s, %d held", short(f.Cell), f.Held)
	case *schemas.HostStarted:
		return f.At, fmt.Sprintf("%s version %s, %d slots", f.Host, f.Version, f.Slots)
	case *schemas.HostStopped:
		return f.At, fmt.Sprintf("%s: %s, %d facts dropped", f.Host, f.Reason, f.Dropped)
	case *schemas.ExecutorJoined:
		return f.At, fmt.Sprintf("%s %s, %d tools", f.Executor, f.Owner, f.Tools)
	case *schemas.ExecutorLeft:
		return f.At, fmt.Sprintf("%s %s: %s", f.Executor, f.Owner, f.Reason)
	case *schemas.ExecutorTrouble:
		return f.At, fmt.Sprintf("%s %s: %s", f.Executor, f.Owner, f.Problem)
	}
	return 0, fmt.Sprintf("%+v", fact)
}

// modeText is how a model reaches its tools.
func modeText(mode schemas.Mode, search string) string {
	if search == "" {
		return string(mode)
	}
	return string(mode) + " (" + search + ")"
}

// requestText is how a request to a provider went.
func requestText(f *schemas.TurnRequested) string {
	text := fmt.Sprintf("%d bytes, status %d in %s", f.Bytes, f.Status, micros(f.DurationUs))
	if f.Status == 0 {
		text = fmt.Sprintf("%d bytes, no answer in %s", f.Bytes, micros(f.DurationUs))
	}
	if f.Attempt > 1 {
		text += fmt.Sprintf(", try %d", f.Attempt)
	}
	if f.Failed {
		return text + ", failed"
	}
	return fmt.Sprintf("%s, %d tokens in, %d out, %d calls", text, f.Usage.InputTokens, f.Usage.OutputTokens, f.ToolCalls)
}

// notedText is what a program tells of its progress.
func notedText(f *schemas.CellNoted) string {
	text := strings.Join(strings.Fields(f.Text), " ")
	switch {
	case text == "":
		return "begins " + strconv.Quote(f.Phase)
	case f.Phase == "":
		return text
	}
	return strconv.Quote(f.Phase) + " " + text
}

// progressText is how far a tool is, in its own unit.
func progressText(f *schemas.CallProgressed) string {
	text := strconv.FormatFloat(f.Done, 'g', 6, 64)
	if f.Total > 0 {
		text += " of " + strconv.FormatFloat(f.Total, 'g', 6, 64)
	}
	if f.Message != "" {
		text += ": " + strings.Join(strings.Fields(f.Message), " ")
	}
	return text
}

// closing says who decided, and what else they allowed.
func closing(f *schemas.ApprovalClosed) string {
	text := ""
	if f.By != "" {
		text = " by " + f.By
	}
	if f.Granted > 0 {
		text += fmt.Sprintf(", and %d more for the %s", f.Granted, f.Scope)
	}
	return text
}

func ending(f *schemas.CellEnded) string {
	if f.Code == "" {
		return string(f.Status)
	}
	return string(f.Status) + " (" + string(f.Code) + ")"
}

// short is enough of a runId to tell cells apart in a timeline.
func short(cell string) string {
	if i := strings.IndexByte(cell, '-'); i >= 0 && len(cell) > i+7 {
		return cell[i+1 : i+7]
	}
	return cell
}

func micros(us int64) string {
	return (time.Duration(us) * time.Microsecond).Round(10 * time.Microsecond).String()
}
