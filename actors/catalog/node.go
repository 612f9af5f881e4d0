package catalog

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// node is one value of a schema, with its keys in the order in which the author wrote them.
type node struct {
	kind   byte   // '{', '[', '"', '0', 't', 'f' or 'n'
	text   string // of a string: its value; of a number: its digits
	keys   []string
	values []*node // of an object, by key; of an array
}

// Limits of reading. A schema over them is cut at "unknown" (M4).
const (
	nodeDepth = 256
	nodeCount = 100_000
)

// parse reads valid JSON. What lies deeper than nodeDepth or behind nodeCount nodes is nil.
func parse(text []byte) *node {
	r := reader{text: text, left: nodeCount}
	return r.value(0)
}

// reader walks valid JSON; it relies on [json.Valid] having said so.
type reader struct {
	text []byte
	at   int
	left int
}

func (r *reader) space() {
	for r.at < len(r.text) {
		switch r.text[r.at] {
		case ' ', '\t', '\n', '\r':
			r.at++
		default:
			return
		}
	}
}

func (r *reader) value(depth int) *node {
	r.space()
	if r.at >= len(r.text) {
		return nil
	}
	r.left--
	c := r.text[r.at]
	n := &node{kind: c}
	switch c {
	case '{', '[':
		r.members(n, depth)
	case '"':
		n.text = r.str()
	case 't', 'n':
		r.at += 4
	case 'f':
		r.at += 5
	default:
		start := r.at
		for r.at < len(r.text) && bytes.IndexByte([]byte("+-.eE0123456789"), r.text[r.at]) >= 0 {
			r.at++
		}
		if r.at == start {
			r.at = len(r.text)
			return nil
		}
		n.kind, n.text = '0', string(r.text[start:r.at])
	}
	if depth > nodeDepth || r.left < 0 {
		return nil
	}
	return n
}

func (r *reader) members(n *node, depth int) {
	r.at++
	for {
		r.space()
		if r.at >= len(r.text) {
			return
		}
		switch r.text[r.at] {
		case '}', ']':
			r.at++
			return
		case ',':
			r.at++
			continue
		}
		if n.kind == '{' {
			key := r.str()
			r.space()
			r.at++ // the colon
			if value := r.value(depth + 1); r.left >= 0 {
				n.keys, n.values = append(n.keys, key), append(n.values, value)
			}
			continue
		}
		if value := r.value(depth + 1); r.left >= 0 {
			n.values = append(n.values, value)
		}
	}
}

func (r *reader) str() string {
	start := r.at
	escaped := false
	for r.at++; r.at < len(r.text) && r.text[r.at] != '"'; r.at++ {
		if r.text[r.at] == '\\' {
			escaped = true
			r.at++
		}
	}
	r.at++
	raw := r.text[start:min(r.at, len(r.text))]
	if !escaped {
		return string(bytes.Trim(raw, `"`))
	}
	var text string
	if json.Unmarshal(raw, &text) != nil {
		return ""
	}
	return text
}

// get gives an object's member, the last one of that name as JavaScript does, or nil.
func (n *node) get(key string) *node {
	if n == nil || n.kind != '{' {
		return nil
	}
	for i, k := range slices.Backward(n.keys) {
		if k == key {
			return n.values[i]
		}
	}
	return nil
}

// str gives a string's value, or nothing.
func (n *node) str() string {
	if n == nil || n.kind != '"' {
		return ""
	}
	return n.text
}

func (n *node) is(kind byte) bool { return n != nil && n.kind == kind }

// items gives an array's elements, or nothing.
func (n *node) items() []*node {
	if !n.is('[') {
		return nil
	}
	return n.values
}

// pointer follows a JSON pointer below n, such as "/$defs/Item".
func (n *node) pointer(path string) *node {
	for part := range strings.SplitSeq(strings.TrimPrefix(path, "/"), "/") {
		part = strings.ReplaceAll(strings.ReplaceAll(part, "~1", "/"), "~0", "~")
		switch {
		case n.is('{'):
			n = n.get(part)
		case n.is('['):
			i := 0
			for _, r := range part {
				if r < '0' || r > '9' || i > len(n.values) {
					return nil
				}
				i = i*10 + int(r-'0')
			}
			if part == "" || i >= len(n.values) {
				return nil
			}
			n = n.values[i]
		default:
			return nil
		}
	}
	return n
}

// compact gives the value as JSON text, for comments.
func (n *node) compact() string {
	if n == nil {
		return "…"
	}
	switch n.kind {
	case '"':
		b, _ := json.Marshal(n.text)
		return string(b)
	case '0':
		return n.text
	case 't':
		return "true"
	case 'f':
		return "false"
	case 'n':
		return "null"
	}
	var b strings.Builder
	b.WriteByte(n.kind)
	for i, v := range n.values {
		if i > 0 {
			b.WriteByte(',')
		}
		if b.Len() > 200 {
			b.WriteString("…")
			break
		}
		if n.kind == '{' {
			key, _ := json.Marshal(n.keys[i])
			b.Write(key)
			b.WriteByte(':')
		}
		b.WriteString(v.compact())
	}
	b.WriteByte(n.kind + 2) // '{' → '}', '[' → ']'
	return b.String()
}
