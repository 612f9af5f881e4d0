package host

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Bounds of what a skill says of itself, in characters. A longer description is cut.
const (
	maxSkillName        = 64
	maxSkillDescription = 1024
)

// frontMatter is what we read of the lines between --- at the beginning of a skill.
type frontMatter struct{ name, description string }

// readFrontMatter reads the name and the description of a skill. The form is the part of YAML that such files use: one key
// a line, at its beginning; the value plain, in single or in double quotes, on further lines that are indented, or as a
// block after | or >. Other keys may be there with whatever belongs to them. A file without front matter has neither.
func readFrontMatter(text string) (head frontMatter, err error) {
	text = strings.ReplaceAll(strings.TrimPrefix(text, "\ufeff"), "\r\n", "\n")
	lines := strings.Split(text, "\n")
	if strings.TrimRight(lines[0], " \t") != "---" {
		return head, nil
	}
	lines = lines[1:]
	for i := 0; i < len(lines); i++ {
		if line := strings.TrimRight(lines[i], " \t"); line == "---" || line == "..." {
			return head, nil
		}
		key, value, ok := strings.Cut(lines[i], ":")
		if !ok || key != strings.TrimSpace(key) || key != "name" && key != "description" {
			continue
		}
		next := i + 1
		for next < len(lines) && (strings.TrimSpace(lines[next]) == "" || unicode.IsSpace(rune(lines[next][0]))) {
			next++
		}
		value, err := scalar(value, lines[i+1:next])
		if err != nil {
			return head, fmt.Errorf("%s: %w", key, err)
		}
		i = next - 1
		if key == "description" {
			head.description = firstRunes(value, maxSkillDescription)
			continue
		}
		if head.name = value; utf8.RuneCountInString(value) > maxSkillName {
			return head, fmt.Errorf("its name is longer than %d characters", maxSkillName)
		}
	}
	return head, errors.New("its front matter isn't closed: a line --- is missing")
}

// scalar reads a value that begins after the colon and may go on in indented lines. It becomes one line.
func scalar(first string, more []string) (string, error) {
	first = strings.TrimSpace(first)
	if first != "" && strings.ContainsRune("|>", rune(first[0])) {
		return fold(strings.Join(more, " ")), nil // the indicators behind it are about line breaks
	}
	value := fold(first + " " + strings.Join(more, " "))
	switch {
	case strings.HasPrefix(value, `"`):
		quoted, err := strconv.QuotedPrefix(value)
		if err == nil {
			quoted, err = strconv.Unquote(quoted)
		}
		if err != nil {
			return "", errors.New("the double quotes aren't closed, or hold an unknown escape")
		}
		return fold(quoted), nil
	case strings.HasPrefix(value, "'"):
		inside := strings.ReplaceAll(value[1:], "''", "\x00")
		inside, _, closed := strings.Cut(inside, "'")
		if !closed {
			return "", errors.New("the single quotes aren't closed")
		}
		return strings.ReplaceAll(inside, "\x00", "'"), nil
	}
	if comment := strings.Index(" "+value, " #"); comment >= 0 {
		value = strings.TrimSpace(value[:max(comment-1, 0)])
	}
	return value, nil
}

// fold makes one line of a text, without what doesn't show.
func fold(text string) string {
	text = strings.ToValidUTF8(text, "\ufffd")
	return strings.Join(strings.FieldsFunc(text, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }), " ")
}

// firstRunes cuts a text.
func firstRunes(text string, n int) string {
	for i := range text {
		if n == 0 {
			return text[:i]
		}
		n--
	}
	return text
}
