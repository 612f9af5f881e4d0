package schemas

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// plain shortens a text from outside and puts what would break a line or a terminal into spaces.
func plain(s string, n int) string {
	return shorten(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, s), n)
}

// shorten cuts a text to at most n bytes and an ellipsis, never within a character.
func shorten(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return Prefix(s, n) + "…"
}

// Prefix is the longest prefix of at most n bytes that doesn't end within a character.
func Prefix(s string, n int) string {
	if len(s) <= n {
		return s
	}
	n = max(n, 0)
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
