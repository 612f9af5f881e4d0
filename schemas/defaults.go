package schemas

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// ApplyDefaults adds to a value the fields that are missing and have a default in the schema, also
// within nested objects and lists (M5). What is there stays byte for byte, numbers and the order
// of keys included; added fields follow in alphabetical order. Defaults below anyOf, oneOf and if
// are left alone, since which branch holds is a matter of the value. So is a null that the field's own type refuses: many
// generators write it where they mean that there is no default. A value that isn't JSON, or that has nothing to add, is
// returned as it is.
func (s *Schema) ApplyDefaults(value JSON) JSON {
	if !s.fill || shallow(value, MaxSchemaDepth) != nil || !json.Valid(value) {
		return value
	}
	filled, _ := s.filled(value)
	return filled
}

// filled adds defaults to a text that is known to be JSON and not too deep.
func (s *Schema) filled(value JSON) (filled JSON, changed bool) {
	f := filler{doc: s.doc, left: maxFilled}
	return f.fill(s.doc, value, 0)
}

// Complete is [Schema.ApplyDefaults] and then [Schema.Validate], for less than the two cost.
func (s *Schema) Complete(value JSON) (JSON, []Violation) {
	v, err := parseJSON(value, MaxSchemaDepth)
	if err != nil {
		return value, unreadable(err)
	}
	if s.fill && newLacking(s.doc).any(s.doc, v) {
		if filled, changed := s.filled(value); changed {
			return filled, s.Validate(filled)
		}
	}
	return value, s.judge(v, len(value), MaxViolations)
}

// mentions tells whether a key occurs anywhere in a decoded JSON value.
func mentions(v any, key string) bool {
	switch v := v.(type) {
	case map[string]any:
		if _, ok := v[key]; ok {
			return true
		}
		for _, e := range v {
			if mentions(e, key) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, func(e any) bool { return mentions(e, key) })
	}
	return false
}

// maxFilled bounds the bytes that defaults may add to one value: a default of a schema applies to
// each item of a list.
const maxFilled = 4 << 20

type filler struct {
	doc  any
	left int
}

// fill adds defaults to one value, and tells whether it added any; if not, it returns raw itself.
func (f *filler) fill(schema any, raw JSON, depth int) (JSON, bool) {
	if depth > MaxSchemaDepth {
		return raw, false
	}
	props, items := map[string]any{}, []any{}
	f.collect(schema, props, &items, 0)
	switch text := bytes.TrimLeft(raw, " \t\r\n"); {
	case len(text) > 0 && text[0] == '{' && len(props) > 0:
		return f.object(props, raw, depth)
	case len(text) > 0 && text[0] == '[' && len(items) > 0:
		return f.array(items[0], raw, depth)
	default:
		return raw, false
	}
}

// collect gathers the subschemas of fields and items that hold for certain: those of the schema,
// of what it refers to, and of its allOf.
func (f *filler) collect(schema any, props map[string]any, items *[]any, depth int) {
	obj, ok := schema.(map[string]any)
	if !ok || depth > 16 {
		return
	}
	own, _ := obj["properties"].(map[string]any)
	for k, v := range own {
		if _, taken := props[k]; !taken {
			props[k] = v
		}
	}
	if item, ok := obj["items"].(map[string]any); ok {
		*items = append(*items, item)
	}
	if ref, ok := obj["$ref"].(string); ok {
		f.collect(f.local(ref), props, items, depth+1)
	}
	all, _ := obj["allOf"].([]any)
	for _, sub := range all {
		f.collect(sub, props, items, depth+1)
	}
}

func (f *filler) local(ref string) any {
	pointer, ok := strings.CutPrefix(ref, "#")
	if !ok {
		return nil
	}
	return resolve(f.doc, pointer)
}

// defaultOf finds a field's default, also behind references.
func (f *filler) defaultOf(schema any) (any, bool) {
	for range 16 {
		obj, ok := schema.(map[string]any)
		if !ok {
			return nil, false
		}
		if d, ok := obj["default"]; ok {
			return d, d != nil || obj["nullable"] == true || !refusesNull(obj["type"])
		}
		ref, ok := obj["$ref"].(string)
		if !ok {
			return nil, false
		}
		schema = f.local(ref)
	}
	return nil, false
}

// refusesNull tells whether a type, or a list of types, is without null.
func refusesNull(kind any) bool {
	kinds, ok := kind.([]any)
	return ok && !slices.Contains(kinds, any("null")) || !ok && kind != nil && kind != "null"
}

func (f *filler) object(props map[string]any, raw JSON, depth int) (JSON, bool) {
	fields, ok := readObject(raw)
	if !ok {
		return raw, false
	}
	changed := false
	have := make(map[string]bool, len(fields))
	for i, m := range fields {
		have[m.name] = true
		if sub, ok := props[m.name]; ok {
			filled, added := f.fill(sub, m.value, depth+1)
			fields[i].value = filled
			changed = changed || added
		}
	}
	for _, name := range slices.Sorted(maps.Keys(props)) {
		if have[name] {
			continue
		}
		d, ok := f.defaultOf(props[name])
		if !ok {
			continue
		}
		key, value := marshal(name), marshal(d)
		value, _ = f.fill(props[name], value, depth+1)
		if f.left -= len(key) + len(value); f.left < 0 {
			break
		}
		fields = append(fields, member{name: name, key: key, value: value})
		changed = true
	}
	if !changed {
		return raw, false
	}
	out := []byte{'{'}
	for i, m := range fields {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(append(out, m.key...), ':'), m.value...)
	}
	return append(out, '}'), true
}

func (f *filler) array(item any, raw JSON, depth int) (JSON, bool) {
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil {
		return raw, false
	}
	changed := false
	out := []byte{'['}
	for i, e := range list {
		filled, added := f.fill(item, JSON(e), depth+1)
		changed = changed || added
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, filled...)
	}
	if !changed {
		return raw, false
	}
	return append(out, ']'), true
}

// member is one field of an object as it stands in the text.
type member struct {
	name       string
	key, value JSON
}

// readObject splits an object into its members, in order. The text is known to be JSON.
func readObject(raw JSON) ([]member, bool) {
	p := quickParser{b: raw}
	if !p.next('{') {
		return nil, false
	}
	var list []member
	for more := !p.next('}'); more; more = p.next(',') {
		p.space()
		start := p.i
		name, ok := p.string()
		key := raw[start:p.i]
		if !ok || !p.next(':') {
			return nil, false
		}
		list = append(list, member{name: name, key: key, value: JSON(p.skip())})
	}
	return list, true
}

// marshal writes JSON without escaping what only HTML needs escaped.
func marshal(v any) JSON {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return JSON("null")
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
