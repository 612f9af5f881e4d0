package run

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"
)

// Bounds of the sample from which a shape is made.
const (
	sampledItems  = 16 // elements of an array that are looked at
	sampledFields = 12 // fields of an object that are named
	sampledDepth  = 4  // levels below the value
	sampledName   = 32 // bytes of a field's name
)

// shape is the type of one or more JSON values, as far as a sample tells.
type shape struct {
	// kinds are the first bytes of the values seen, without repetition: [ { " t n, and 0 for numbers.
	kinds []byte
	items *shape
	// fields are those of the objects, in order of appearance; more says that there are others.
	fields  []*field
	objects int
	more    bool
	// deep: there was more below, which wasn't looked at.
	deep bool
}

// field is one field of the objects of a shape. It is optional if not all of them have it.
type field struct {
	name  string
	shape shape
	seen  int
}

// shapeOf describes the type of a valid JSON text in the manner of TypeScript, in at most limit bytes, and counts its
// elements or keys; what has neither counts as 1.
func shapeOf(text []byte, limit int) (described string, count int) {
	s := &sampler{text: text}
	var top shape
	count = s.value(&top, sampledDepth)
	for depth := sampledDepth; depth > 0; depth-- {
		var b strings.Builder
		top.write(&b, depth)
		if b.Len() <= limit {
			return b.String(), count
		}
	}
	var b strings.Builder
	top.write(&b, 0)
	return b.String(), count
}

// sampler reads a JSON text once, from its beginning to its end. Of a text that isn't JSON it makes anything.
type sampler struct {
	text []byte
	at   int
}

// peek gives the next byte that isn't space, or 0 at the end.
func (s *sampler) peek() byte {
	for s.at < len(s.text) {
		switch c := s.text[s.at]; c {
		case ' ', '\t', '\n', '\r', ',', ':':
			s.at++
		default:
			return c
		}
	}
	return 0
}

// value adds the next value to a shape and gives the number of its elements or keys. With a depth of 0 the value is
// only counted.
func (s *sampler) value(into *shape, depth int) (count int) {
	c := s.peek()
	kind := c
	switch {
	case c == 'f':
		kind = 't'
	case c == '-' || c >= '0' && c <= '9':
		kind = 0
	}
	if bytes.IndexByte(into.kinds, kind) < 0 {
		into.kinds = append(into.kinds, kind)
	}
	switch c {
	case '[':
		return s.array(into, depth)
	case '{':
		return s.object(into, depth)
	}
	s.skip()
	return 1
}

func (s *sampler) array(into *shape, depth int) (count int) {
	s.at++
	for c := s.peek(); c != ']' && c != 0; c = s.peek() {
		if count < sampledItems && depth > 0 {
			if into.items == nil {
				into.items = &shape{}
			}
			s.value(into.items, depth-1)
		} else {
			into.deep = into.deep || depth == 0
			s.skip()
		}
		count++
	}
	s.at++
	return count
}

func (s *sampler) object(into *shape, depth int) (count int) {
	s.at++
	into.objects++
	for c := s.peek(); c != '}' && c != 0; c = s.peek() {
		name := s.skip()
		s.peek()
		if f := into.field(name, depth); f != nil {
			f.seen++
			s.value(&f.shape, depth-1)
		} else {
			s.skip()
		}
		count++
	}
	s.at++
	return count
}

// field gives the field of that name, which is a JSON string, or nil for one that isn't looked at.
func (s *shape) field(name []byte, depth int) *field {
	if depth == 0 {
		s.deep = true
		return nil
	}
	var text string
	if json.Unmarshal(name, &text) != nil {
		return nil
	}
	for _, f := range s.fields {
		if f.name == text {
			return f
		}
	}
	if len(s.fields) == sampledFields {
		s.more = true
		return nil
	}
	f := &field{name: text}
	s.fields = append(s.fields, f)
	return f
}

// skip steps over the next value and gives its text.
func (s *sampler) skip() []byte {
	s.peek()
	start, depth := s.at, 0
	for s.at < len(s.text) {
		switch c := s.text[s.at]; c {
		case '"':
			s.skipString()
			if depth == 0 {
				return s.text[start:s.at]
			}
			continue
		case '[', '{':
			depth++
		case ']', '}', ',', ':', ' ', '\t', '\n', '\r':
			if depth == 0 && s.at > start {
				return s.text[start:s.at] // the end of a number or a word
			}
			if c == ']' || c == '}' {
				depth--
				if depth <= 0 {
					s.at++
					return s.text[start:s.at]
				}
			}
		}
		s.at++
	}
	return s.text[start:]
}

func (s *sampler) skipString() {
	for s.at++; s.at < len(s.text) && s.text[s.at] != '"'; s.at++ {
		if s.text[s.at] == '\\' {
			s.at++
		}
	}
	s.at = min(s.at+1, len(s.text))
}

// write describes the shape; what is more than depth levels below is only named by its kind.
func (s *shape) write(b *strings.Builder, depth int) {
	for i, kind := range s.kinds {
		if i > 0 {
			b.WriteString(" | ")
		}
		switch kind {
		case '[':
			s.writeArray(b, depth)
		case '{':
			s.writeObject(b, depth)
		case '"':
			b.WriteString("string")
		case 't':
			b.WriteString("boolean")
		case 'n':
			b.WriteString("null")
		default:
			b.WriteString("number")
		}
	}
}

func (s *shape) writeArray(b *strings.Builder, depth int) {
	switch {
	case s.items == nil && !s.deep:
		b.WriteString("[]")
	case s.items == nil || depth == 0:
		b.WriteString("unknown[]")
	case len(s.items.kinds) == 1:
		s.items.write(b, depth-1)
		b.WriteString("[]")
	default:
		b.WriteByte('(')
		s.items.write(b, depth-1)
		b.WriteString(")[]")
	}
}

// plainName is a field's name that needs no quotes.
var plainName = regexp.MustCompile(`^[A-Za-z_$][\w$]*$`)

func (s *shape) writeObject(b *strings.Builder, depth int) {
	switch {
	case len(s.fields) == 0 && !s.deep && !s.more:
		b.WriteString("{}")
		return
	case len(s.fields) == 0 || depth == 0:
		b.WriteString("object")
		return
	}
	b.WriteString("{ ")
	for i, f := range s.fields {
		if i > 0 {
			b.WriteString("; ")
		}
		name := f.name
		if short := prefix(name, sampledName); short != name {
			name = short + "…"
		}
		if !plainName.MatchString(name) {
			name = string(compact(name))
		}
		b.WriteString(name)
		if f.seen < s.objects {
			b.WriteByte('?')
		}
		b.WriteString(": ")
		f.shape.write(b, depth-1)
	}
	if s.more {
		b.WriteString("; …")
	}
	b.WriteString(" }")
}
