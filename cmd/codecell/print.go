package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/codecell/codecell/schemas"
)

// ANSI styles.
const (
	bold   = "\x1b[1m"
	dim    = "\x1b[2m"
	red    = "\x1b[31m"
	green  = "\x1b[32m"
	yellow = "\x1b[33m"
	plain  = "\x1b[0m"

	eraseLine = "\x1b[K" // to its end
)

// style colours text for standard output, where that is a terminal.
func (a *app) style(code, text string) string { return styled(a.color, code, text) }

func styled(on bool, code, text string) string {
	if !on || text == "" {
		return text
	}
	return code + text + plain
}

// printResult shows a result: as its JSON, or at a glance.
func (a *app) printResult(r *schemas.Result) error {
	if a.json {
		text, err := r.JSON()
		if err != nil {
			return err
		}
		fmt.Fprintf(a.out, "%s\n", text)
		return nil
	}
	a.printOutput(r)
	switch r.Status {
	case schemas.StatusCompleted:
		fmt.Fprintln(a.out, indented(r.Value))
		for _, w := range r.Warnings {
			a.note(styled(a.errColor, yellow, "warning: ") + printable(w))
		}
		a.note(styled(a.errColor, green, "completed") + styled(a.errColor, dim, counts(&r.Telemetry)))
	case schemas.StatusWaiting:
		fmt.Fprintln(a.out, a.style(yellow, "waiting")+" ("+r.Reason+")"+a.style(dim, counts(&r.Telemetry)))
		for i := range r.Pending {
			fmt.Fprintln(a.out, "  pending: "+pendingText(&r.Pending[i]))
		}
		fmt.Fprintln(a.out, "  runId: "+a.style(bold, r.RunID))
	default:
		fmt.Fprintln(a.out, a.style(red, "failed")+" ("+string(r.Code)+")"+a.style(dim, counts(&r.Telemetry)))
		fmt.Fprintln(a.out, printable(strings.TrimRight(r.Error, "\n")))
		for _, c := range r.Telemetry.Calls {
			fmt.Fprintf(a.out, "  call %s %s: %s\n", c.ID, printable(c.Tool), c.Outcome)
		}
	}
	if r.DryRun != nil {
		a.printDryRun(r.DryRun)
	}
	return nil
}

// maxShownArgs bounds the arguments of one call in the list of a dry run, in bytes.
const maxShownArgs = 300

// printDryRun lists the calls of a dry run, a line each.
func (a *app) printDryRun(d *schemas.DryRun) {
	total, fake := len(d.Calls)+d.Dropped, 0
	for i := range d.Calls {
		if d.Calls[i].Placeholder {
			fake++
		}
	}
	count := fmt.Sprintf("%d calls, %d of them not made", total, fake)
	switch {
	case total == 0:
		count = "no calls"
	case total == 1:
		count = "1 call"
	case d.Dropped > 0: // nobody counted those that aren't listed
		count = fmt.Sprintf("%d calls, at least %d of them not made", total, fake)
	}
	fmt.Fprintln(a.out, a.style(yellow, "dry run")+": "+count)
	for i := range d.Calls {
		c := &d.Calls[i]
		args := printable(string(c.Args))
		switch {
		case c.OmittedBytes > 0:
			args = fmt.Sprintf("(%d bytes of arguments)", c.OmittedBytes)
		case len(args) > maxShownArgs:
			args = schemas.Prefix(args, maxShownArgs) + "…"
		}
		line := "  " + printable(c.Tool) + " " + args
		if c.Placeholder {
			line += a.style(dim, "  not made")
		}
		fmt.Fprintln(a.out, line)
	}
	if d.Dropped > 0 {
		fmt.Fprintf(a.out, "  and %d more\n", d.Dropped)
	}
}

// printOutput shows what the program emitted in a leg.
func (a *app) printOutput(r *schemas.Result) {
	for _, o := range r.Output {
		if o.Type == "text" {
			fmt.Fprintln(a.out, printable(o.Text))
			continue
		}
		fmt.Fprintln(a.out, indented(o.Value))
	}
}

// counts is what the run has done so far, if anything.
func counts(t *schemas.Telemetry) string {
	if t.CallCount == 0 && t.SearchCount == 0 {
		return ""
	}
	return fmt.Sprintf(" · calls %d, searches %d, in this run", t.CallCount, t.SearchCount)
}

func pendingText(p *schemas.PendingCall) string { return pendingName(p) + " (" + p.State + ")" }

func pendingName(p *schemas.PendingCall) string {
	if p.Tool != "" {
		return printable(p.Tool)
	}
	return p.Kind
}

// note tells people, on standard error, what isn't part of the result.
func (a *app) note(text string) {
	if !a.json {
		fmt.Fprintln(a.err, text)
	}
}

// progress shows on a terminal that something takes long. The returned function ends it.
func (a *app) progress(what string) (stop func()) {
	if !a.live {
		return func() {}
	}
	done, gone := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(gone)
		start := time.Now()
		ticker := time.NewTicker(time.Second)
		defer ticker.Stop()
		for shown := false; ; shown = true {
			select {
			case <-ticker.C:
				line := fmt.Sprintf("%s … %d s", what, int(time.Since(start).Seconds()))
				fmt.Fprint(a.err, "\r"+styled(a.errColor, dim, line)+eraseLine)
			case <-done:
				if shown {
					fmt.Fprint(a.err, "\r"+eraseLine)
				}
				return
			}
		}
	}()
	return func() {
		close(done)
		<-gone
	}
}

// indented shows JSON for people. Text that isn't JSON stays as it is.
func indented(v schemas.JSON) string {
	if len(v) == 0 {
		return "null"
	}
	var b bytes.Buffer
	if json.Indent(&b, v, "", "  ") != nil {
		return printable(string(v))
	}
	return printable(b.String())
}

// printable keeps text from a program or a server from steering the terminal, or its reader: control
// characters and those that turn the writing direction are replaced.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || !unicode.IsControl(r) && !unicode.Is(unicode.Bidi_Control, r) {
			return r
		}
		return utf8.RuneError
	}, text)
}
