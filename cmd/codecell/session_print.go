package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/codecell/codecell/actors/session"
	"github.com/codecell/codecell/schemas"
)

// shownRunes is how much of a text a line of a transcript shows.
const shownRunes = 80

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
		var said string
		if json.Unmarshal(e.Message.Content, &said) != nil {
			said = string(e.Message.Content)
		}
		text = e.Message.Role + ": " + said
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
