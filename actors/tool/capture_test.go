package tool

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// Whatever is written in whatever pieces: what is read is a part of it at the place that it says, and reading on from
// where it ended gives all that is kept, in whole characters.
func TestCapture_ReadsWhatWasWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var c capture
		var all strings.Builder
		unit := rapid.SampledFrom([]string{"a", "é", "€", "😀", "line\n"})
		var at int64
		var read strings.Builder
		gap := false
		for range rapid.IntRange(1, 12).Draw(t, "writes") {
			chunk := strings.Repeat(unit.Draw(t, "unit"), rapid.IntRange(1, 60_000).Draw(t, "times"))
			cut := rapid.IntRange(0, len(chunk)).Draw(t, "cut") // in the middle of a character, often
			fmt.Fprint(&c, chunk[:cut])
			all.WriteString(chunk[:cut])
			for range rapid.IntRange(0, 4).Draw(t, "reads") {
				p := c.read(at, rapid.IntRange(1, 70_000).Draw(t, "limit"))
				gap = gap || p.from != at
				read.WriteString(p.text)
				at = p.next
			}
			fmt.Fprint(&c, chunk[cut:])
			all.WriteString(chunk[cut:])
			if p, truncated := c.excerpt(); truncated != (all.Len() > headShown+tailShown) || p.total != int64(all.Len()) ||
				!utf8.ValidString(p.text) || !truncated && p.text != all.String() {
				t.Fatalf("excerpt of %d bytes: %d, truncated %v", all.Len(), len(p.text), truncated)
			}
		}
		c.close()
		for {
			p := c.read(at, 4096)
			gap = gap || p.from != at
			read.WriteString(p.text)
			if at = p.next; !p.more {
				break
			}
		}
		if !gap && read.String() != all.String() {
			t.Fatalf("read %d bytes of %d", read.Len(), all.Len())
		}
		if gap && all.Len() <= headKept+tailKept || at != int64(all.Len()) {
			t.Fatalf("a gap in %d bytes, end at %d", all.Len(), at)
		}
		if held := len(c.head) + cap(c.tail); held > headKept+4*tailKept {
			t.Fatalf("%d bytes are held", held)
		}
	})
}

func TestCapture_HoldsLittle(t *testing.T) {
	var c capture
	chunk := strings.Repeat("x", 32<<10)
	for range 2000 {
		fmt.Fprint(&c, chunk)
		if held := cap(c.head) + cap(c.tail); held > 2*headKept+4*tailKept {
			t.Fatalf("%d bytes are held", held)
		}
	}
	c.close()
	if len(c.tail) != tailKept || c.total != 2000*32<<10 {
		t.Errorf("%d bytes kept of %d", len(c.tail), c.total)
	}
}
