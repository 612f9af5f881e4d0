package tool

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

const (
	// headKept and tailKept are how much of a command's output is kept: all of it while it isn't longer than both.
	headKept = 64 << 10
	tailKept = 192 << 10
	// headShown and tailShown are how much of it a result shows.
	headShown = 20 << 10
	tailShown = 30 << 10
)

// capture keeps the output of one command: its beginning and its end. Offsets are bytes of the whole output. It never
// makes the command wait.
type capture struct {
	mu    sync.Mutex
	head  []byte
	tail  []byte // the end of what follows head; up to twice tailKept between trims
	total int64
	whole bool          // nothing more will come
	news  chan struct{} // closed by the next write; nil if nobody waits for one
}

// Write takes what the command writes. It never fails.
func (c *capture) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := len(p)
	c.total += int64(n)
	first := min(headKept-len(c.head), n)
	c.head = append(c.head, p[:first]...)
	c.tail = append(c.tail, p[first:]...)
	if len(c.tail) > 2*tailKept {
		c.tail = append(c.tail[:0], c.tail[len(c.tail)-tailKept:]...)
	}
	if n > 0 {
		c.note()
	}
	return n, nil
}

// close says that nothing more will come, and lets go of what isn't needed.
func (c *capture) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.whole = true
	c.tail = lastBytes(c.tail, min(tailKept, len(c.tail)))
	c.note()
}

func (c *capture) note() {
	if c.news != nil {
		close(c.news)
		c.news = nil
	}
}

// after gives a channel that is closed as soon as there is output from an offset on, or none will come.
func (c *capture) after(offset int64) <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.total > offset || c.whole {
		ready := make(chan struct{})
		close(ready)
		return ready
	}
	if c.news == nil {
		c.news = make(chan struct{})
	}
	return c.news
}

// complete tells whether nothing more will come.
func (c *capture) complete() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.whole
}

// part is a piece of a command's output.
type part struct {
	text string
	// from and next are where it begins and where what follows it begins. More: there is something by now, beyond the
	// beginning of a character.
	from, next, total int64
	more              bool
}

// read gives at most limit bytes of the output from an offset on, a few more if it is less than a character, without half
// a character at the end. What isn't kept
// any more is passed over: from says where the text begins.
func (c *capture) read(offset int64, limit int) part {
	c.mu.Lock()
	defer c.mu.Unlock()
	gone := c.total - int64(len(c.tail)) // the first byte of the tail
	offset, limit = min(max(offset, 0), c.total), max(limit, utf8.UTFMax)
	if offset >= int64(len(c.head)) {
		offset = max(offset, gone)
	}
	var raw []byte
	if offset < int64(len(c.head)) {
		raw = c.head[offset:min(int64(len(c.head)), offset+int64(limit))]
	}
	if end := offset + int64(len(raw)); end >= gone && len(raw) < limit {
		rest := c.tail[end-gone:]
		raw = append(slices.Clip(raw), rest[:min(len(rest), limit-len(raw))]...)
	}
	end := offset + int64(len(raw))
	ended := c.whole && end == c.total
	torn := end == int64(len(c.head)) && end < gone // what follows isn't kept
	if !ended && !torn {
		raw = wholeRunes(raw)
	}
	p := part{text: readable(raw), from: offset, next: offset + int64(len(raw)), total: c.total}
	p.more = end < c.total
	return p
}

// excerpt gives the output so far as a result shows it: the middle of a long one is left out, and the text says so.
func (c *capture) excerpt() (p part, truncated bool) {
	p = c.read(0, headShown+tailShown)
	if p.total <= headShown+tailShown {
		return p, false
	}
	begin, end := c.read(0, headShown), c.read(p.total-tailShown, tailShown)
	end.text = fmt.Sprintf("%s\n[%d bytes left out]\n%s",
		begin.text, end.from-begin.next, strings.TrimPrefix(end.text, "\uFFFD")) // half a character
	return end, true
}

// wholeRunes leaves out the beginning of a character at the end of a text.
func wholeRunes(b []byte) []byte {
	for back := 1; back < utf8.UTFMax && back <= len(b); back++ {
		if c := b[len(b)-back]; utf8.RuneStart(c) {
			if c >= utf8.RuneSelf && !utf8.FullRune(b[len(b)-back:]) {
				return b[:len(b)-back]
			}
			return b
		}
	}
	return b
}

// readable makes text of bytes.
func readable(b []byte) string { return strings.ToValidUTF8(string(b), "\uFFFD") }

// seen is the length of the output that a reader knows by now, half a character included.
func (p part) seen() int64 {
	if p.more {
		return p.next
	}
	return p.total
}
