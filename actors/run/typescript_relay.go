package run

import (
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// relay lays the tokens of a transformed program where they stood in its source, with line breaks and spaces between
// them, so that the engine's own locations are those of what was submitted and no guest needs a source map. The code has no
// white space of its own but line breaks within template texts. A token whose column is taken stands right after the one
// before it.
//
// Where a line break is no more than white space isn't decided here with certainty: the result has to be proved to be the
// same program.
func relay(code string, sourceMap []byte) (laid string, ok bool) {
	var m struct {
		Mappings string `json:"mappings"`
	}
	if json.Unmarshal(sourceMap, &m) != nil {
		return "", false
	}
	out := &layout{}
	rest := strings.SplitAfter(code, "\n")
	var source struct{ line, column int }
	for i, marks := range strings.Split(m.Mappings, ";") {
		if i >= len(rest) {
			return "", false
		}
		line, done, column := rest[i], 0, 0 // done and column are of the generated line, in UTF-16 units
		for mark := range strings.SplitSeq(marks, ",") {
			if mark == "" {
				continue
			}
			fields, good := readVLQ(mark)
			if !good || len(fields) < 4 {
				return "", false
			}
			column += fields[0]
			source.line += fields[2]
			source.column += fields[3]
			if column < done {
				return "", false
			}
			if i > 0 && column == 0 {
				continue // the beginning of a line is within a template's text
			}
			head, tail, good := cutUTF16(line, column-done)
			if !good {
				return "", false
			}
			out.write(head)
			out.moveTo(source.line, source.column)
			line, done = tail, column
		}
		out.write(line)
	}
	for _, line := range rest[min(len(rest), strings.Count(m.Mappings, ";")+1):] {
		out.write(line)
	}
	return out.text.String(), true
}

// layout is a text in the making that knows its last place.
type layout struct {
	text         strings.Builder
	line, column int // from 0, columns in UTF-16 units
	last         byte
}

func (l *layout) write(text string) {
	if text == "" {
		return
	}
	l.text.WriteString(text)
	l.last = text[len(text)-1]
	if n := strings.Count(text, "\n"); n > 0 {
		l.line += n
		l.column = 0
		text = text[strings.LastIndexByte(text, '\n')+1:]
	}
	l.column += utf16Length(text)
}

// moveTo goes on at a place, if it lies ahead. Line breaks come only after what can't end a statement by itself, or has
// ended it.
func (l *layout) moveTo(line, column int) {
	if line > l.line && strings.IndexByte(";{}(,[.=?:&|+-*<>", l.last) >= 0 {
		l.write(strings.Repeat("\n", line-l.line))
	}
	if line == l.line && column > l.column {
		l.write(strings.Repeat(" ", column-l.column))
	}
}

// cutUTF16 cuts a text after n UTF-16 units.
func cutUTF16(text string, n int) (head, tail string, ok bool) {
	for i, r := range text {
		if n <= 0 {
			return text[:i], text[i:], n == 0
		}
		n--
		if r > 0xffff {
			n--
		}
	}
	return text, "", n == 0
}

const base64Digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

// readVLQ reads the numbers of one mark of a source map.
func readVLQ(mark string) (fields []int, ok bool) {
	value, shift := 0, 0
	for _, r := range mark {
		digit := strings.IndexRune(base64Digits, r)
		if digit < 0 || r >= utf8.RuneSelf || shift > 30 {
			return nil, false
		}
		value |= digit & 31 << shift
		shift += 5
		if digit&32 != 0 {
			continue
		}
		if value&1 != 0 {
			fields = append(fields, -(value >> 1))
		} else {
			fields = append(fields, value>>1)
		}
		value, shift = 0, 0
	}
	return fields, shift == 0
}
