package schemas

import (
	"maps"
	"slices"
)

// modernizer reads what a schema says in other words than those of draft 2020-12, but plainly: nullable, of OpenAPI, and what
// older drafts have, tuples as a list in items and exclusive bounds as switches. Declarations show the same (M4), so that a
// call that fits its declaration fits its schema. It changes copies only.
type modernizer struct {
	// dated: the schema names its draft, which knows its own words.
	dated bool
}

// modern gives a schema as it is checked.
func modern(doc any) any {
	root, _ := doc.(map[string]any)
	_, dated := root["$schema"]
	read, _ := modernizer{dated: dated}.schema(doc)
	return read
}

// schema gives one subschema in the words of draft 2020-12, and tells whether these are others.
func (m modernizer) schema(doc any) (modern any, changed bool) {
	obj, ok := doc.(map[string]any)
	if !ok {
		return doc, false
	}
	out := maps.Clone(obj)
	for key, value := range obj {
		var inner any
		var other bool
		switch {
		case slices.Contains(strictNamed, key):
			inner, other = m.named(value)
		case slices.Contains(strictMany, key), key == "items":
			if inner, other = m.list(value); !other {
				inner, other = m.schema(value)
			}
		case slices.Contains(strictOne, key), key == "additionalItems":
			inner, other = m.schema(value)
		}
		if other {
			out[key], changed = inner, true
		}
	}
	if !m.dated {
		changed = tuple(out) || changed
		changed = exclusive(out, "minimum", "exclusiveMinimum") || changed
		changed = exclusive(out, "maximum", "exclusiveMaximum") || changed
	}
	changed = nullable(out) || changed
	if !changed {
		return doc, false
	}
	return out, true
}

func (m modernizer) list(value any) (modern any, changed bool) {
	list, ok := value.([]any)
	if !ok {
		return value, false
	}
	out := slices.Clone(list)
	for i := range list {
		if inner, other := m.schema(list[i]); other {
			out[i], changed = inner, true
		}
	}
	return out, changed
}

func (m modernizer) named(value any) (modern any, changed bool) {
	named, ok := value.(map[string]any)
	if !ok {
		return value, false
	}
	out := maps.Clone(named)
	for name := range named {
		if inner, other := m.schema(named[name]); other {
			out[name], changed = inner, true
		}
	}
	return out, changed
}

// tuple moves the list in items to prefixItems.
func tuple(obj map[string]any) bool {
	list, ok := obj["items"].([]any)
	if _, given := obj["prefixItems"]; !ok || given || len(list) == 0 {
		return false
	}
	obj["prefixItems"] = list
	delete(obj, "items")
	if rest, ok := obj["additionalItems"]; ok {
		obj["items"] = rest
		delete(obj, "additionalItems")
	}
	return true
}

// exclusive makes a bound of a switch that says that another one is exclusive.
func exclusive(obj map[string]any, bound, name string) bool {
	on, ok := obj[name].(bool)
	if !ok {
		return false
	}
	delete(obj, name)
	if limit, ok := obj[bound]; ok && on {
		obj[name] = limit
		delete(obj, bound)
	}
	return true
}

// nullable lets null pass wherever the schema would refuse it.
func nullable(obj map[string]any) bool {
	if on, ok := obj["nullable"].(bool); !ok || !on {
		return false
	}
	delete(obj, "nullable")
	null := map[string]any{"type": "null"}
	other := map[string]any{} // what is no list of alternatives that null could be added to
	for _, key := range [...]string{"$ref", "$dynamicRef", "allOf", "anyOf", "oneOf", "not", "if", "then", "else", "const"} {
		if value, ok := obj[key]; ok {
			other[key] = value
			delete(obj, key)
		}
	}
	list, _ := other["anyOf"].([]any)
	switch {
	case len(other) == 0:
	case len(other) == 1 && len(list) > 0:
		obj["anyOf"] = append(slices.Clip(list), null)
	default:
		oneOrOther(obj, other, null)
	}
	switch kind := obj["type"].(type) {
	case string:
		obj["type"] = alternatives([]any{kind}, "null")
	case []any:
		obj["type"] = alternatives(kind, "null")
	}
	if list, ok := obj["enum"].([]any); ok {
		obj["enum"] = alternatives(list, nil)
	}
	return true
}

// oneOrOther requires one of two schemas, under a keyword that the first one hasn't, unless it has all three: a reference to
// where a part of it stood then leads nowhere, and not to something else. Every draft knows these keywords.
func oneOrOther(obj, other, null map[string]any) {
	both := []any{other, null}
	if _, used := other["anyOf"]; !used {
		obj["anyOf"] = both
		return
	}
	key := "allOf"
	if _, used := other[key]; used {
		key = "oneOf"
	}
	obj[key] = []any{map[string]any{"anyOf": both}} // a list of one
}

// alternatives adds one to a list that may have it.
func alternatives(list []any, one any) []any {
	if slices.ContainsFunc(list, func(e any) bool { return e == one }) {
		return list
	}
	return append(slices.Clip(list), one)
}
