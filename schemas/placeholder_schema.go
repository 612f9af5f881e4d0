package schemas

import (
	"encoding/json"
	"maps"
	"math"
	"regexp/syntax"
	"slices"
	"strings"
)

// merged is one schema that demands what two do, as far as a placeholder needs it.
func merged(a, b any) any {
	x, okA := a.(map[string]any)
	y, okB := b.(map[string]any)
	switch {
	case a == false || b == false:
		return false
	case !okA:
		return b
	case !okB:
		return a
	}
	out := maps.Clone(x)
	for key, theirs := range y {
		ours, both := out[key]
		if !both {
			out[key] = theirs
			continue
		}
		out[key] = stricter(key, ours, theirs)
	}
	return out
}

// stricter joins what two schemas say under one key.
func stricter(key string, a, b any) any {
	switch key {
	case "required":
		x, _ := a.([]any)
		y, _ := b.([]any)
		return slices.Concat(x, y)
	case "properties":
		x, _ := a.(map[string]any)
		y, _ := b.(map[string]any)
		out := maps.Clone(x)
		for name, theirs := range y {
			if ours, both := out[name]; both {
				theirs = map[string]any{"allOf": []any{ours, theirs}}
			}
			if out == nil {
				out = map[string]any{}
			}
			out[name] = theirs
		}
		return out
	case "allOf":
		x, _ := a.([]any)
		y, _ := b.([]any)
		return slices.Concat(x, y)
	case "minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties":
		if floatOf(b, 0) > floatOf(a, 0) {
			return b
		}
	case "maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties":
		if floatOf(b, 0) < floatOf(a, 0) {
			return b
		}
	case "type":
		return common(kindsOf(a), kindsOf(b))
	case "enum":
		x, _ := a.([]any)
		y, _ := b.([]any)
		return common(x, y)
	case "items", "additionalProperties":
		return map[string]any{"allOf": []any{a, b}}
	}
	return a
}

func kindsOf(v any) []any {
	if list, ok := v.([]any); ok {
		return list
	}
	return []any{v}
}

// common are those of the values that are in both lists.
func common(a, b []any) []any {
	var out []any
	for _, x := range a {
		text := string(marshal(x))
		if slices.ContainsFunc(b, func(y any) bool { return string(marshal(y)) == text }) {
			out = append(out, x)
		}
	}
	return out
}

// without is a copy of an object without one key.
func without(obj map[string]any, key string) map[string]any {
	out := maps.Clone(obj)
	delete(out, key)
	return out
}

func sortedKeys(m map[string]any) []string { return slices.Sorted(maps.Keys(m)) }

// floatOf reads a number of a schema; what is none is the default.
func floatOf(v any, absent float64) float64 {
	n, ok := v.(json.Number)
	if !ok {
		return absent
	}
	x, err := n.Float64()
	if err != nil {
		return absent
	}
	return x
}

// wholeNumber reads a count of a schema.
func wholeNumber(v any, absent int) int {
	x := floatOf(v, float64(absent))
	if x < 0 || x > math.MaxInt32 {
		return absent
	}
	return int(x)
}

// matching makes a text that a regular expression matches, of at least so many characters if repetition can give them. A text
// boundary or look-around that it can't respect is found out by the validation that follows.
func matching(pattern string, least int) (string, bool) {
	if len(pattern) > maxPattern || least > maxPlaceholderText {
		return "", false
	}
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return placeholderWord, true // nothing that isn't understood is checked
	}
	w := patternWriter{longer: least}
	w.write(parsed)
	if w.b.Len() > 4*maxPlaceholderText || w.impossible {
		return "", false
	}
	return w.b.String(), true
}

// patternWriter writes the shortest text that an expression matches, or a longer one: an open repetition is repeated
// up to longer times.
type patternWriter struct {
	b          strings.Builder
	longer     int
	impossible bool
}

func (w *patternWriter) write(re *syntax.Regexp) {
	if w.b.Len() > 4*maxPlaceholderText {
		return
	}
	switch re.Op {
	case syntax.OpLiteral:
		w.b.WriteString(string(re.Rune))
	case syntax.OpCharClass:
		if len(re.Rune) == 0 {
			w.impossible = true
			return
		}
		w.b.WriteRune(friendly(re.Rune))
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		w.b.WriteByte('p')
	case syntax.OpCapture, syntax.OpConcat:
		for _, sub := range re.Sub {
			w.write(sub)
		}
	case syntax.OpAlternate:
		w.write(re.Sub[0])
	case syntax.OpStar:
		w.repeat(re.Sub[0], 0, -1)
	case syntax.OpPlus:
		w.repeat(re.Sub[0], 1, -1)
	case syntax.OpQuest:
	case syntax.OpRepeat:
		w.repeat(re.Sub[0], re.Min, re.Max)
	case syntax.OpNoMatch:
		w.impossible = true
	default: // an anchor, or nothing: no text
	}
}

// repeat writes an expression so often that the text is long enough, within its bounds.
func (w *patternWriter) repeat(re *syntax.Regexp, least, most int) {
	for i := 0; i < least || (most < 0 || i < most) && w.b.Len() < w.longer; i++ {
		before := w.b.Len()
		w.write(re)
		if w.b.Len() == before || w.b.Len() > 4*maxPlaceholderText || w.impossible {
			return
		}
	}
}

// friendly is a character of a class: a letter or a digit if it has one.
func friendly(ranges []rune) rune {
	for _, want := range "pa0A1" {
		for i := 0; i+1 < len(ranges); i += 2 {
			if ranges[i] <= want && want <= ranges[i+1] {
				return want
			}
		}
	}
	return ranges[0]
}
