package schemas

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Bounds of a placeholder. A schema that has no value within them has no placeholder.
const (
	maxPlaceholderBytes = 16 << 10
	maxPlaceholderText  = 4 << 10 // characters of one text
	maxPlaceholderItems = 64      // of one list
	maxPlaceholderSteps = 2000    // subschemas looked at in one attempt
	maxPlaceholderDepth = 24
	// generousDepth is how deep what may be left out is put in: optional fields, the first item of a list.
	generousDepth = 6
	// placeholderTries is how many choices of alternatives are tried.
	placeholderTries = 8
)

// placeholderWord stands where a schema leaves a text free.
const placeholderWord = "placeholder"

// Placeholder makes a small value that fits the schema, for a program that runs without the tool that would have made
// a real one. Optional fields are there and lists have an item where the schema allows it, so that a program finds
// something to go on with; texts that the schema leaves free are "placeholder". ok is false if no such value is found within bounds: the
// schema is satisfied by nothing, or only by what takes reasoning to find. The same schema gives the same value.
func (s *Schema) Placeholder() (value JSON, ok bool) {
	for attempt := range 2 * placeholderTries {
		f := faker{doc: s.doc, left: maxPlaceholderSteps, choice: attempt / 2, generous: attempt%2 == 0}
		v, ok := f.value(s.doc, nil, 0)
		if !ok {
			continue
		}
		if text := marshal(v); len(text) <= maxPlaceholderBytes && len(s.Validate(text)) == 0 {
			return text, true
		}
	}
	return nil, false
}

// faker makes one attempt at a placeholder. What it makes is a guess: keywords that it doesn't know are checked by the
// validation that follows.
type faker struct {
	doc any
	// left counts the steps that it may still take.
	left int
	// choice is the alternative of an anyOf or oneOf that it takes first.
	choice int
	// generous puts in what may be left out.
	generous bool
}

// value makes a value for one subschema. path are the references that it is within: none is followed twice on one
// path, which ends every recursion.
func (f *faker) value(schema any, path []string, depth int) (any, bool) {
	if f.left--; f.left < 0 || depth > maxPlaceholderDepth {
		return nil, false
	}
	obj, ok := schema.(map[string]any)
	if !ok {
		return placeholderWord, schema != false
	}
	if ref, ok := obj["$ref"].(string); ok {
		pointer, local := strings.CutPrefix(ref, "#")
		if !local || slices.Contains(path, ref) {
			return nil, false
		}
		path = append(slices.Clip(path), ref)
		return f.value(merged(without(obj, "$ref"), resolve(f.doc, pointer)), path, depth)
	}
	if all, ok := obj["allOf"].([]any); ok {
		whole := any(without(obj, "allOf"))
		for _, part := range all {
			whole = merged(whole, part)
		}
		return f.value(whole, path, depth+1)
	}
	for _, key := range []string{"anyOf", "oneOf"} {
		if branches, ok := obj[key].([]any); ok && len(branches) > 0 {
			return f.either(without(obj, key), branches, path, depth)
		}
	}
	return f.plain(obj, path, depth)
}

// either takes the first alternative, from the chosen one on, that gives a value.
func (f *faker) either(obj map[string]any, branches []any, path []string, depth int) (any, bool) {
	for i := range branches {
		if v, ok := f.value(merged(obj, branches[(i+f.choice)%len(branches)]), path, depth+1); ok {
			return v, true
		}
	}
	return nil, false
}

// plain makes a value for a subschema without references and alternatives.
func (f *faker) plain(obj map[string]any, path []string, depth int) (any, bool) {
	if v, ok := obj["const"]; ok {
		return v, true
	}
	if list, ok := obj["enum"].([]any); ok {
		if len(list) == 0 {
			return nil, false
		}
		return list[f.choice%len(list)], true
	}
	if v, ok := obj["default"]; ok && f.generous {
		return v, true
	}
	switch kindFor(obj) {
	case "object":
		return f.object(obj, path, depth)
	case "array":
		return f.array(obj, path, depth)
	case "integer":
		return fakeNumber(obj, true)
	case "number":
		return fakeNumber(obj, false)
	case "boolean":
		return false, true
	case "null":
		return nil, true
	default:
		return fakeText(obj)
	}
}

// kindFor is the type that a subschema asks for, or that its keywords speak of.
func kindFor(obj map[string]any) string {
	switch t := obj["type"].(type) {
	case string:
		return t
	case []any:
		for _, e := range t {
			if kind, ok := e.(string); ok && kind != "null" {
				return kind
			}
		}
		return "null"
	}
	for _, of := range []struct {
		kind string
		keys []string
	}{
		{"object", []string{"properties", "required", "additionalProperties", "patternProperties", "minProperties"}},
		{"array", []string{"items", "prefixItems", "minItems", "contains"}},
		{"string", []string{"minLength", "pattern", "format", "maxLength"}},
		{"number", []string{"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"}},
	} {
		for _, key := range of.keys {
			if _, ok := obj[key]; ok {
				return of.kind
			}
		}
	}
	return "string"
}

func (f *faker) object(obj map[string]any, path []string, depth int) (any, bool) {
	out := map[string]any{}
	props, _ := obj["properties"].(map[string]any)
	others, given := obj["additionalProperties"]
	if !given {
		others = true
	}
	required, _ := obj["required"].([]any)
	for _, r := range required {
		name, _ := r.(string)
		sub, known := props[name]
		if !known {
			sub = others
		}
		v, ok := f.value(sub, path, depth+1)
		if !ok {
			return nil, false
		}
		out[name] = v
	}
	most := wholeNumber(obj["maxProperties"], math.MaxInt)
	if f.generous && depth < generousDepth {
		for _, name := range sortedKeys(props) {
			if _, there := out[name]; there || len(out) >= most {
				continue
			}
			if v, ok := f.value(props[name], path, depth+1); ok {
				out[name] = v
			}
		}
	}
	least := wholeNumber(obj["minProperties"], 0)
	for i := 1; len(out) < least; i++ {
		v, ok := f.value(others, path, depth+1)
		if !ok || i > maxPlaceholderItems {
			return nil, false
		}
		out[placeholderWord+strconv.Itoa(i)] = v
	}
	return out, true
}

func (f *faker) array(obj map[string]any, path []string, depth int) (any, bool) {
	out := []any{}
	prefix, _ := obj["prefixItems"].([]any)
	items, given := obj["items"]
	if list, old := items.([]any); old { // the form of older drafts
		prefix, items, given = list, obj["additionalItems"], obj["additionalItems"] != nil
	}
	if !given {
		items = true
		if sub, ok := obj["contains"]; ok {
			items = sub
		}
	}
	least := wholeNumber(obj["minItems"], 0)
	if _, ok := obj["contains"]; ok {
		least = max(least, wholeNumber(obj["minContains"], 1))
	}
	if least > maxPlaceholderItems {
		return nil, false
	}
	want := least
	if f.generous && depth < generousDepth {
		want = min(max(least, len(prefix), 1), wholeNumber(obj["maxItems"], maxPlaceholderItems))
	}
	for i := range want {
		sub := items
		if i < len(prefix) {
			sub = prefix[i]
		}
		v, ok := f.value(sub, path, depth+1)
		if ok && i > 0 && obj["uniqueItems"] == true {
			v = varied(v, i)
		}
		if !ok {
			return out, i >= least
		}
		out = append(out, v)
	}
	return out, true
}

// varied makes a value differ from the others of a list, where that is simple.
func varied(v any, i int) any {
	switch v := v.(type) {
	case string:
		return v + strconv.Itoa(i)
	case json.Number:
		if n, err := v.Float64(); err == nil {
			return numberOf(n + float64(i))
		}
	}
	return v
}

// fakeNumber makes 0, or what is nearest to it within the bounds.
func fakeNumber(obj map[string]any, integer bool) (any, bool) {
	step := floatOf(obj["multipleOf"], 0)
	if integer && step < 1 {
		step = 1
	}
	low, lowOpen := bound(obj, "minimum", "exclusiveMinimum", -1)
	high, highOpen := bound(obj, "maximum", "exclusiveMaximum", 1)
	if step > 0 {
		low, high = snapped(low, step, lowOpen, math.Ceil, 1), snapped(high, step, highOpen, math.Floor, -1)
	} else {
		gap := min(1, (high-low)/3)
		if lowOpen {
			low += gap
		}
		if highOpen {
			high -= gap
		}
	}
	n := max(low, min(0, high))
	if math.IsInf(n, 0) || math.IsNaN(n) || n < low || n > high {
		return nil, false
	}
	return numberOf(n), true
}

// bound is the stricter of two bounds, and whether it is outside. side is the sign of the infinity that stands for none.
func bound(obj map[string]any, closed, open string, side int) (x float64, outside bool) {
	x = floatOf(obj[closed], math.Inf(side))
	if y, ok := obj[open].(json.Number); ok {
		if y := floatOf(y, x); float64(side)*y <= float64(side)*x {
			return y, true
		}
	}
	return x, obj[open] == true // the form of an older draft
}

// snapped is the multiple of step that is nearest to a bound, on its inner side; another one further if the bound itself is outside.
func snapped(x, step float64, outside bool, round func(float64) float64, side float64) float64 {
	n := round(x/step) * step
	if outside && n == x {
		n += side * step
	}
	return n
}

func numberOf(n float64) json.Number {
	if n == math.Trunc(n) && math.Abs(n) < 1<<53 {
		return json.Number(strconv.FormatInt(int64(n), 10))
	}
	return json.Number(strconv.FormatFloat(n, 'g', -1, 64))
}

// fakeText makes a text: of the format, else of the pattern, else the word, cut or repeated to the length.
func fakeText(obj map[string]any) (any, bool) {
	least, most := wholeNumber(obj["minLength"], 0), wholeNumber(obj["maxLength"], math.MaxInt)
	if format, ok := obj["format"].(string); ok {
		if text, ok := formats[format]; ok {
			return text, true
		}
	}
	text := placeholderWord
	if pattern, ok := obj["pattern"].(string); ok {
		if text, ok = matching(pattern, least); !ok {
			return nil, false
		}
	}
	if least > maxPlaceholderText || least > most {
		return nil, false
	}
	for utf8.RuneCountInString(text) < least {
		text += placeholderWord
		if utf8.RuneCountInString(text) >= least && least > 0 {
			text = string([]rune(text)[:least])
		}
	}
	if utf8.RuneCountInString(text) > most {
		text = string([]rune(text)[:most])
	}
	return text, true
}

// formats are texts in the formats that schemas name, from ranges that are reserved for examples.
var formats = map[string]string{
	"date-time": "1970-01-01T00:00:00Z", "date": "1970-01-01", "time": "00:00:00Z", "duration": "PT0S",
	"email": "placeholder@example.invalid", "idn-email": "placeholder@example.invalid",
	"hostname": "placeholder.invalid", "idn-hostname": "placeholder.invalid", "ipv4": "192.0.2.0", "ipv6": "2001:db8::",
	"uri": "https://placeholder.invalid/", "iri": "https://placeholder.invalid/", "uri-reference": "placeholder",
	"iri-reference": "placeholder", "uri-template": "placeholder", "uuid": "00000000-0000-0000-0000-000000000000",
	"json-pointer": "/placeholder", "relative-json-pointer": "0/placeholder", "regex": "placeholder",
}
