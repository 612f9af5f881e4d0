package tool

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

// apply replays a diff on the lines of a text.
func apply(t *testing.T, text, diff string) string {
	t.Helper()
	was, at := splitLines(text), 0
	var out strings.Builder
	for _, l := range splitLines(diff) {
		l = strings.TrimSuffix(l, "\n")
		if head, ok := strings.CutPrefix(l, "@@ -"); ok {
			n, err := strconv.Atoi(head[:strings.IndexByte(head, ',')])
			if err != nil {
				t.Fatal(err)
			}
			out.WriteString(strings.Join(was[at:n-1], ""))
			at = n - 1
			continue
		}
		switch l[0] {
		case '-':
			if strings.TrimRight(was[at], "\n") != l[1:] {
				t.Fatalf("line %d is %q, and the diff removes %q", at+1, was[at], l[1:])
			}
			at++
		case '+':
			out.WriteString(l[1:] + "\n")
		}
	}
	return out.String() + strings.Join(was[at:], "")
}

// Any replacements: the new text is right, and the diff leads from the old one to it.
func TestDiff_LeadsFromTheOldTextToTheNew(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	piece := func(n int) string {
		var b strings.Builder
		for range rnd.IntN(n) {
			b.WriteString([]string{"a", "b", "\n", "c\n"}[rnd.IntN(4)])
		}
		return b.String()
	}
	for range 3000 {
		text := piece(40) + "\n"
		var cuts []int
		for range 2 * rnd.IntN(4) {
			cuts = append(cuts, rnd.IntN(len(text)))
		}
		slices.Sort(cuts)
		cuts = slices.Compact(cuts)
		d, want, done := diff{text: text}, "", 0
		var told []string
		for i := 0; i+1 < len(cuts); i += 2 {
			p := place{start: cuts[i], end: cuts[i+1], text: piece(6)}
			d.replace(p)
			want += text[done:p.start] + p.text
			done = p.end
			told = append(told, fmt.Sprintf("%d-%d %q", p.start, p.end, p.text))
		}
		want += text[done:]
		after, summary := d.end()
		if after != want {
			t.Fatalf("%q %v became %q, want %q", text, told, after, want)
		}
		if got := apply(t, text, summary.Diff); strings.TrimSuffix(got, "\n") != strings.TrimSuffix(want, "\n") {
			t.Fatalf("%q %v: the diff gives %q, want %q:\n%s", text, told, got, want, summary.Diff)
		}
		if strings.Count("\n"+summary.Diff, "\n+") != summary.Added || strings.Count("\n"+summary.Diff, "\n-") != summary.Removed {
			t.Fatalf("%+v", summary)
		}
	}
}

func TestDiff_IsBounded(t *testing.T) {
	d := diff{text: strings.Repeat("old\n", 10_000)}
	d.replace(place{start: 0, end: len(d.text), text: strings.Repeat(strings.Repeat("é", 1000)+"\n", 5000)})
	_, s := d.end()
	if len(s.Diff) > diffBytes || !s.DiffTruncated || s.Added != 5000 || s.Removed != 10_000 || !utf8.ValidString(s.Diff) {
		t.Errorf("%d bytes, %+v", len(s.Diff), s.DiffTruncated)
	}
}
