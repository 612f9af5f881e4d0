package tool

import (
	"fmt"
	"strings"
)

const (
	// diffBytes bounds a diff, diffLineBytes one line of it.
	diffBytes     = 8 << 10
	diffLineBytes = 500
)

// diff makes the replacements of a text, in its order, and tells about the lines that change. Nothing has to be
// searched: the replacements say where the lines are.
type diff struct {
	text string
	// after is the new text of all that lies before done.
	after strings.Builder
	done  int
	// hunk is the lines that are being replaced: those of text from, and what becomes of them.
	from    int
	hunk    strings.Builder
	open    bool
	lines   strings.Builder
	summary edited
}

// replace makes the next replacement.
func (d *diff) replace(p place) {
	begin := strings.LastIndexByte(d.text[:p.start], '\n') + 1
	if d.open && begin > d.done {
		d.close()
	}
	if !d.open {
		d.after.WriteString(d.text[d.done:begin])
		d.open, d.from, d.done = true, begin, begin
	}
	d.hunk.WriteString(d.text[d.done:p.start])
	d.hunk.WriteString(p.text)
	d.done = p.end
}

// close ends the hunk where a line ends in both texts, and tells about it.
func (d *diff) close() {
	if became := d.hunk.String(); d.done > 0 && d.text[d.done-1] != '\n' || became != "" && became[len(became)-1] != '\n' {
		end := len(d.text)
		if i := strings.IndexByte(d.text[d.done:], '\n'); i >= 0 {
			end = d.done + i + 1
		}
		d.hunk.WriteString(d.text[d.done:end])
		d.done = end
	}
	d.tell(splitLines(d.text[d.from:d.done]), splitLines(d.hunk.String()))
	d.after.WriteString(d.hunk.String())
	d.hunk.Reset()
	d.open = false
}

// tell writes what becomes of some lines, without those that both have at their ends.
func (d *diff) tell(was, is []string) {
	same := 0
	for same < min(len(was), len(is)) && was[same] == is[same] {
		same++
	}
	was, is = was[same:], is[same:]
	for len(was) > 0 && len(is) > 0 && was[len(was)-1] == is[len(is)-1] {
		was, is = was[:len(was)-1], is[:len(is)-1]
	}
	if len(was)+len(is) == 0 {
		return
	}
	s := &d.summary
	old := lineOf(d.text, d.from) + same
	first := old + s.Added - s.Removed
	if s.FirstChangedLine == 0 {
		s.FirstChangedLine = first
	}
	s.Added += len(is)
	s.Removed += len(was)
	d.line(fmt.Sprintf("@@ -%d,%d +%d,%d @@", old, len(was), first, len(is)))
	for _, l := range was {
		d.line("-" + l)
	}
	for _, l := range is {
		d.line("+" + l)
	}
}

// line adds a line while there is room.
func (d *diff) line(l string) {
	l = clip(strings.TrimRight(l, "\r\n"), diffLineBytes) + "\n"
	if d.summary.DiffTruncated = d.summary.DiffTruncated || d.lines.Len()+len(l) > diffBytes; !d.summary.DiffTruncated {
		d.lines.WriteString(l)
	}
}

// end gives the new text, and what is told about it.
func (d *diff) end() (after string, summary edited) {
	if d.open {
		d.close()
	}
	d.after.WriteString(d.text[d.done:])
	d.summary.Diff = d.lines.String()
	return d.after.String(), d.summary
}

// splitLines gives the lines of a text with their ends.
func splitLines(text string) []string {
	lines := strings.SplitAfter(text, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}
