package main

import (
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/codecell/codecell/actors/session"
	"github.com/codecell/codecell/schemas"
)

const (
	// shownRunes is how much of a text a line of a transcript shows, in characters, and shownMore how much a line that
	// belongs to another one.
	shownRunes = 80
	shownMore  = 160
)

func (a *app) printSessions(list []session.Info) {
	if a.json {
		a.printJSON(map[string]any{"sessions": list})
		return
	}
	if len(list) == 0 {
		fmt.Fprintln(a.out, "no sessions: programs that are run in one leave a transcript")
	}
	w := tabwriter.NewWriter(a.out, 0, 4, 2, ' ', 0)
	for i := range list {
		s := &list[i]
		fmt.Fprintf(w, "%s\t%s\t%d appends", oneLine(s.Key), time.Unix(0, s.Updated).Format(time.DateTime), s.Appends)
		if s.Problem != "" {
			fmt.Fprint(w, "\t"+oneLine(s.Problem))
		}
		fmt.Fprintln(w)
	}
	_ = w.Flush()
}

// printBranch shows a branch: as readers see it, or all of it.
func (a *app) printBranch(b *session.Branch, all bool) {
	entries := b.View()
	if all {
		entries = b.Entries
	}
	if a.json {
		values := map[string]schemas.JSON{}
		for k, w := range b.Values {
			values[k] = w.Value
		}
		a.printJSON(map[string]any{"session": b.Key, "head": b.Head, "entries": entries, "values": values, "unreadable": b.Bad})
		return
	}
	w := tabwriter.NewWriter(a.out, 0, 4, 2, ' ', 0)
	for i := range entries {
		e := &entries[i]
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", oneLine(e.ID), time.Unix(0, e.At).Format(time.DateTime), oneLine(string(e.Kind)), entryText(e))
		for _, line := range entryMore(e) {
			fmt.Fprintf(w, "\t\t\t  %s\n", firstLine(oneLine(line), shownMore))
		}
	}
	_ = w.Flush()
	if b.Bad > 0 {
		a.note(styled(a.errColor, yellow, "problem: ") + fmt.Sprintf("%d messages or entries can't be read, and are left out", b.Bad))
	}
}

// entryText is an entry at a glance.
func entryText(e *schemas.SessionEntry) string {
	var text string
	switch {
	case e.Message != nil:
		text = messageText(e.Message)
	case e.Exec != nil:
		text = fmt.Sprintf("%q %s", inputTitle(e.Exec), e.Exec.CallID)
		for _, flag := range []struct {
			on   bool
			name string
		}{{e.Exec.RestartSafe, "restart-safe"}, {e.Exec.DryRun, "dry run"}, {e.Exec.Recovers != "", "recovers " + e.Exec.Recovers}} {
			if flag.on {
				text += ", " + flag.name
			}
		}
	case e.Wait != nil:
		text = e.Wait.Cell
	case e.Result != nil:
		text = string(e.Result.Status)
		if e.Result.Code != "" {
			text += " (" + string(e.Result.Code) + ")"
		}
	case e.Call != nil:
		text = "#" + e.Call.Call + " " + e.Call.Owner + "." + e.Call.Tool
		if e.Call.Placeholder {
			text += ", not made"
		}
	case e.Outcome != nil:
		text = fmt.Sprintf("#%s %s in %v", e.Outcome.Call, e.Outcome.Outcome, time.Duration(e.Outcome.DurationUs)*time.Microsecond)
	case e.Store != nil:
		text = storeText(e.Store)
	case e.Fork != nil:
		text = "of session " + e.Fork.Session + " at " + e.Fork.Entry
	case e.Compact != nil:
		text = e.Compact.Summary
	case e.Turn != nil:
		text = fmt.Sprintf("%s of %s, by %s", e.Turn.Stop, e.Turn.Model, modeText(e.Turn.Mode, e.Turn.Search))
	}
	return firstLine(oneLine(text), shownRunes)
}

// storeText names the keys of a commit, or of a part of one.
func storeText(s *schemas.StoreEntry) string {
	words := make([]string, 0, len(s.Writes)+1)
	for i := range s.Writes {
		if w := &s.Writes[i]; len(w.Value) > 0 {
			words = append(words, w.Key)
		} else {
			words = append(words, "-"+w.Key)
		}
	}
	if s.Parts > 1 {
		words = append(words, fmt.Sprintf("(part %d of %d)", s.Part, s.Parts))
	}
	return strings.Join(words, " ")
}
