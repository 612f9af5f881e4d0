package schemas

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// quick decodes a JSON text in one pass and few allocations. It is a short cut of [parseJSON]: it
// gives what that gives, and where it doesn't know, or the text isn't correct, ok is false and
// parseJSON goes its own way.
func quick(b []byte, depth int) (v any, ok bool) {
	p := quickParser{b: b}
	v, ok = p.value(depth)
	if p.space(); p.i < len(b) {
		return nil, false
	}
	return v, ok
}

type quickParser struct {
	b []byte
	i int
}

func (p *quickParser) space() {
	for p.i < len(p.b) && (p.b[p.i] == ' ' || p.b[p.i] == '\n' || p.b[p.i] == '\t' || p.b[p.i] == '\r') {
		p.i++
	}
}

// next steps over c and the space before it, if that is what comes.
func (p *quickParser) next(c byte) bool {
	p.space()
	if p.i < len(p.b) && p.b[p.i] == c {
		p.i++
		return true
	}
	return false
}

// value reads any value. depth is how many brackets may still be opened.
func (p *quickParser) value(depth int) (any, bool) {
	p.space()
	if p.i == len(p.b) {
		return nil, false
	}
	switch c := p.b[p.i]; c {
	case '{':
		return p.object(depth - 1)
	case '[':
		return p.array(depth - 1)
	case '"':
		return p.string()
	case 't':
		return true, p.word("true")
	case 'f':
		return false, p.word("false")
	case 'n':
		return nil, p.word("null")
	default:
		return p.number()
	}
}

func (p *quickParser) object(depth int) (any, bool) {
	p.i++
	m := map[string]any{}
	if depth < 0 || p.next('}') {
		return m, depth >= 0
	}
	for {
		p.space()
		key, ok := p.string()
		if !ok || !p.next(':') {
			return nil, false
		}
		if m[key], ok = p.value(depth); !ok {
			return nil, false
		}
		if !p.next(',') {
			return m, p.next('}')
		}
	}
}

func (p *quickParser) array(depth int) (any, bool) {
	p.i++
	list := []any{}
	if depth < 0 || p.next(']') {
		return list, depth >= 0
	}
	for {
		v, ok := p.value(depth)
		if !ok {
			return nil, false
		}
		list = append(list, v)
		if !p.next(',') {
			return list, p.next(']')
		}
	}
}

func (p *quickParser) word(w string) bool {
	if len(p.b)-p.i < len(w) || string(p.b[p.i:p.i+len(w)]) != w {
		return false
	}
	p.i += len(w)
	return true
}

// skip steps over the value that comes, in a text that is known to be JSON, and gives its text.
func (p *quickParser) skip() []byte {
	p.space()
	start, open := p.i, 0
	for ; p.i < len(p.b); p.i++ {
		switch p.b[p.i] {
		case '"':
			for p.i++; p.i < len(p.b) && p.b[p.i] != '"'; p.i++ {
				if p.b[p.i] == '\\' {
					p.i++
				}
			}
		case '{', '[':
			open++
		case '}', ']':
			if open == 0 {
				return p.b[start:p.i]
			}
			open--
		case ',', ' ', '\n', '\t', '\r':
			if open == 0 {
				return p.b[start:p.i]
			}
		}
	}
	p.i = min(p.i, len(p.b))
	return p.b[start:p.i]
}

// string reads a text. What is rare (\u, broken UTF-8) is decoded by the library.
func (p *quickParser) string() (string, bool) {
	if p.i == len(p.b) || p.b[p.i] != '"' {
		return "", false
	}
	start, plain, ascii := p.i, true, true
	for p.i++; p.i < len(p.b); p.i++ {
		switch c := p.b[p.i]; {
		case c == '"':
			p.i++
			text := p.b[start+1 : p.i-1]
			if plain && (ascii || utf8.Valid(text)) {
				return string(text), true
			}
			if s, ok := unescape(text); ok {
				return s, true
			}
			var s string
			err := json.Unmarshal(p.b[start:p.i], &s)
			return s, err == nil
		case c == '\\':
			p.i++
			plain = false
		case c < ' ':
			return "", false
		case c >= utf8.RuneSelf:
			ascii = false
		}
	}
	return "", false
}

// unescape takes the backslashes out of a text that has only common ones.
func unescape(text []byte) (string, bool) {
	if !utf8.Valid(text) {
		return "", false
	}
	out := make([]byte, 0, len(text))
	for {
		i := bytes.IndexByte(text, '\\')
		if i < 0 {
			return string(append(out, text...)), true
		}
		known := strings.IndexByte(`"\/bfnrt`, text[i+1])
		if known < 0 {
			return "", false
		}
		out = append(append(out, text[:i]...), "\"\\/\b\f\n\r\t"[known])
		text = text[i+2:]
	}
}

// number reads a short number as it is written.
func (p *quickParser) number() (any, bool) {
	start := p.i
	if p.b[p.i] == '-' {
		p.i++
	}
	whole := p.i
	if n := p.digits(); n == 0 || n > 1 && p.b[whole] == '0' {
		return nil, false
	}
	if p.i < len(p.b) && p.b[p.i] == '.' {
		p.i++
		if p.digits() == 0 {
			return nil, false
		}
	}
	if p.i < len(p.b) && p.b[p.i]|0x20 == 'e' || p.i-start > maxDigits {
		return nil, false // rare: parseJSON knows how large they may be
	}
	return json.Number(p.b[start:p.i]), true
}

func (p *quickParser) digits() int {
	start := p.i
	for p.i < len(p.b) && p.b[p.i] >= '0' && p.b[p.i] <= '9' {
		p.i++
	}
	return p.i - start
}
