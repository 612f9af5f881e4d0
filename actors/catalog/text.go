package catalog

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/codecell/codecell/schemas"
)

// Bounds of texts, in UTF-16 units, as guests count them.
const (
	// untrustedDescription bounds what an MCP server or a client says of a tool (C7).
	untrustedDescription = 512
	trustedDescription   = 8192
	labelLength          = 128
)

// description is the tool's description as guests and people see it.
func (e *Entry) description() string {
	if e.Source == schemas.SourceNative {
		return cut(e.Description, trustedDescription)
	}
	return cut(e.Description, untrustedDescription)
}

// label is the tool's title, or empty.
func (e *Entry) label() string { return cut(e.Label, labelLength) }

// cut gives the longest start of text, made valid UTF-8, of at most units UTF-16 units. It never
// splits a character that takes two.
func cut(text string, units int) string {
	if !utf8.ValidString(text) {
		text = strings.ToValidUTF8(text, "\uFFFD")
	}
	if len(text) <= units {
		return text
	}
	for i, r := range text {
		if units--; r > 0xFFFF {
			units--
		}
		if units < 0 {
			return text[:i]
		}
	}
	return text
}

// units is the length of text in UTF-16 units.
func units(text string) int {
	n := 0
	for _, r := range text {
		n++
		if r > 0xFFFF {
			n++
		}
	}
	return n
}

// quoteShort quotes a name for a message.
func quoteShort(name string) string {
	if short := cut(name, 80); short != name {
		return strconv.Quote(short + "…")
	}
	return strconv.Quote(name)
}

// quoteJS gives text as a JavaScript string literal that no text can leave.
func quoteJS(text string) string {
	var b strings.Builder
	b.Grow(len(text) + 2)
	b.WriteByte('"')
	for _, r := range text {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == '\r':
			b.WriteString(`\r`)
		case r < 0x20 || r <= 0xFFFF && unsafeRune(r):
			b.WriteString(`\u`)
			b.WriteString(hex4(r))
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

func hex4(r rune) string {
	digits := strconv.FormatInt(int64(r), 16)
	return "0000"[:4-len(digits)] + digits
}

// unsafeRune tells characters that end lines, are invisible or turn the direction of what follows.
func unsafeRune(r rune) bool {
	return r != '\n' && unicode.IsControl(r) || r == '\u2028' || r == '\u2029' || unicode.Is(unicode.Bidi_Control, r) || r == '\uFEFF'
}

// plainLine gives a text as one line, without anything that ends lines, is invisible or turns the direction of what follows.
func plainLine(text string) string {
	return strings.Join(strings.FieldsFunc(text, func(r rune) bool { return unicode.IsSpace(r) || unsafeRune(r) }), " ")
}

// ellipsis gives text of at most limit UTF-16 units, and shows where it was cut.
func ellipsis(text string, limit int) string {
	if short := cut(text, limit); short != text {
		return strings.TrimRightFunc(cut(text, limit-1), unicode.IsSpace) + "…"
	}
	return text
}

// commentLines gives text as lines that can stand inside a block comment. Whatever the text is, it
// doesn't end the comment.
func commentLines(text string, limit int) []string {
	short := cut(text, limit)
	if short != text && utf8.ValidString(text) {
		short += "…"
	}
	short = strings.Map(func(r rune) rune {
		switch {
		case r == '\r' || r == '\t' || r == '\u2028' || r == '\u2029':
			return ' '
		case unsafeRune(r):
			return -1
		}
		return r
	}, strings.ReplaceAll(short, "\r\n", "\n"))
	short = strings.ReplaceAll(short, "*/", `*\/`)
	var lines []string
	for line := range strings.SplitSeq(short, "\n") {
		if line = strings.TrimRightFunc(line, unicode.IsSpace); line != "" || len(lines) > 0 && lines[len(lines)-1] != "" {
			lines = append(lines, line)
		}
	}
	for len(lines) > 0 && lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// oneLine gives text as one line for a comment.
func oneLine(text string, limit int) string {
	return strings.Join(strings.Fields(strings.Join(commentLines(text, limit), " ")), " ")
}
