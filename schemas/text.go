package schemas

import "unicode/utf8"

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
