package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"

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
)

// style colours text on a terminal.
func (a *app) style(code, text string) string {
	if !a.color {
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
	for _, o := range r.Output {
		if o.Type == "text" {
			fmt.Fprintln(a.out, printable(o.Text))
			continue
		}
		fmt.Fprintln(a.out, indented(o.Value))
	}
	switch r.Status {
	case schemas.StatusCompleted:
		for _, w := range r.Warnings {
			fmt.Fprintln(a.out, a.style(yellow, "warning: "+printable(w)))
		}
		fmt.Fprintln(a.out, indented(r.Value))
		a.note(a.style(green, "completed") + a.counts(&r.Telemetry))
	case schemas.StatusWaiting:
		fmt.Fprintln(a.out, a.style(yellow, "waiting")+" ("+r.Reason+")"+a.counts(&r.Telemetry))
		for _, p := range r.Pending {
			fmt.Fprintln(a.out, "  pending: "+pendingText(&p))
		}
		fmt.Fprintln(a.out, "go on with: "+a.style(bold, "codecell wait "+r.RunID))
	default:
		fmt.Fprintln(a.out, a.style(red, "failed")+" ("+string(r.Code)+")"+a.counts(&r.Telemetry))
		fmt.Fprintln(a.out, printable(strings.TrimRight(r.Error, "\n")))
		for _, c := range r.Telemetry.Calls {
			fmt.Fprintf(a.out, "  call %s %s: %s\n", c.ID, printable(c.Tool), c.Outcome)
		}
	}
	return nil
}

func (a *app) counts(t *schemas.Telemetry) string {
	if t.CallCount == 0 && t.SearchCount == 0 {
		return ""
	}
	return a.style(dim, fmt.Sprintf(" · calls %d, searches %d, in this run", t.CallCount, t.SearchCount))
}

func pendingText(p *schemas.PendingCall) string {
	name := p.Kind
	if p.Tool != "" {
		name = printable(p.Tool)
	}
	return name + " (" + p.State + ")"
}

// note tells people, on standard error, what isn't part of the result.
func (a *app) note(text string) {
	if !a.json {
		fmt.Fprintln(a.err, text)
	}
}

// pending tells what a program waits for, while a command goes on waiting.
func (a *app) pending(r *schemas.Result) {
	if !a.live || len(r.Pending) == 0 {
		return
	}
	names := make([]string, len(r.Pending))
	for i := range r.Pending {
		names[i] = pendingText(&r.Pending[i])
	}
	a.note(a.style(dim, "still pending: "+strings.Join(names, ", ")))
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
				fmt.Fprintf(a.err, "\r%s … %ds ", what, int(time.Since(start).Seconds()))
			case <-done:
				if shown {
					fmt.Fprint(a.err, "\r\x1b[K")
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
		return string(v)
	}
	return b.String()
}

// printable keeps text from a program or a server from steering the terminal.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || r >= 0x20 && r != 0x7f && (r < 0x80 || r > 0x9f) {
			return r
		}
		return '\uFFFD'
	}, text)
}
