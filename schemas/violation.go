package schemas

import (
	"cmp"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// MaxViolations is how many things [Schema.Validate] reports at most.
const MaxViolations = 5

// Violation is one thing that is wrong with a value. It never repeats the value, which may be
// secret: only names of fields and what the schema says.
type Violation struct {
	// Path of the field ("items[2].name"); empty means the value itself.
	Path string `json:"path"`
	// Expected says what should be there ("a string, got a number").
	Expected string `json:"expected"`
	// Hint says what was probably meant, if anything (P5).
	Hint string `json:"hint,omitempty"`
}

// String gives one sentence.
func (v Violation) String() string {
	s := "expected " + v.Expected
	if v.Path != "" {
		s = v.Path + ": " + s
	}
	if v.Hint != "" {
		s += " (" + v.Hint + ")"
	}
	return s
}

// Violations joins violations to one text.
func Violations(list []Violation) string {
	texts := make([]string, len(list))
	for i, v := range list {
		texts[i] = v.String()
	}
	return strings.Join(texts, "; ")
}

// explain turns the library's tree of failures into a short list, in a fixed order.
func (s *Schema) explain(value any, e *jsonschema.ValidationError, most int) []Violation {
	var list []Violation
	for _, leaf := range leaves(e, nil) {
		list = append(list, s.violations(value, leaf)...)
	}
	slices.SortFunc(list, func(a, b Violation) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Expected, b.Expected))
	})
	list = slices.Compact(list)
	return list[:min(len(list), most)]
}

// leaves collects the failures that say something. Of the branches of an anyOf or oneOf it takes
// the one that came furthest, since that is the one that was meant; branches that fail at once
// because of the type are taken together.
func leaves(e *jsonschema.ValidationError, list []*jsonschema.ValidationError) []*jsonschema.ValidationError {
	switch e.ErrorKind.(type) {
	case *kind.AnyOf, *kind.OneOf:
		if len(e.Causes) == 0 { // oneOf with several matches
			return append(list, e)
		}
		types := &kind.Type{}
		var best []*jsonschema.ValidationError
		for _, c := range e.Causes {
			branch := leaves(c, nil)
			if t, ok := branch[0].ErrorKind.(*kind.Type); ok && len(branch) == 1 && len(branch[0].InstanceLocation) == len(e.InstanceLocation) {
				types.Got = t.Got
				types.Want = append(types.Want, t.Want...)
				continue
			}
			if best == nil || reach(branch) > reach(best) || reach(branch) == reach(best) && len(branch) < len(best) {
				best = branch
			}
		}
		if fixed := soleConst(best); fixed != nil && len(types.Want) > 0 && len(best[0].InstanceLocation) == len(e.InstanceLocation) {
			best[0].ErrorKind = &either{types: types.Want, Const: fixed}
		}
		if best != nil {
			return append(list, best...)
		}
		return append(list, &jsonschema.ValidationError{SchemaURL: e.SchemaURL, InstanceLocation: e.InstanceLocation, ErrorKind: types})
	case *kind.PropertyNames, *kind.Not, *kind.Contains:
		return append(list, e)
	}
	if len(e.Causes) == 0 {
		return append(list, e)
	}
	for _, c := range e.Causes {
		list = leaves(c, list)
	}
	return list
}

// either is the failure of a value that may be one text, or of other types than it is.
type either struct {
	*kind.Const
	types []string
}

func soleConst(branch []*jsonschema.ValidationError) *kind.Const {
	if len(branch) != 1 {
		return nil
	}
	fixed, _ := branch[0].ErrorKind.(*kind.Const)
	return fixed
}

// reach is how deep into the value a branch came.
func reach(branch []*jsonschema.ValidationError) int {
	n := 0
	for _, l := range branch {
		n = max(n, len(l.InstanceLocation))
	}
	return n
}

func (s *Schema) violations(value any, e *jsonschema.ValidationError) []Violation {
	path, at := locate(value, e.InstanceLocation)
	one := func(expected, hint string) []Violation {
		return []Violation{{Path: path, Expected: expected, Hint: hint}}
	}
	switch k := e.ErrorKind.(type) {
	case *kind.Type:
		return one(kinds(k.Want)+", got "+article(k.Got), "")
	case *kind.Required:
		return s.missing(path, at, e, k.Missing)
	case *kind.AdditionalProperties:
		return s.unknown(path, e, k.Properties)
	case *kind.FalseSchema:
		return one("nothing here", "leave it out")
	case *kind.Enum:
		return one("one of "+values(k.Want), meant(k.Got, k.Want))
	case *either:
		return one(kinds(k.types)+", or "+compact(k.Want), meant(k.Got, []any{k.Want}))
	case *kind.Const:
		return one(compact(k.Want), meant(k.Got, []any{k.Want}))
	case *kind.Format:
		return one("text in the format "+plain(k.Want, 40), "")
	case *kind.Pattern:
		return one("text that matches "+plain(k.Want, 200), "")
	case *kind.MinLength:
		return one(fmt.Sprintf("at least %s, got %d", many(k.Want, "character"), k.Got), "")
	case *kind.MaxLength:
		return one(fmt.Sprintf("at most %s, got %d", many(k.Want, "character"), k.Got), "")
	case *kind.MinItems:
		return one(fmt.Sprintf("at least %s, got %d", many(k.Want, "item"), k.Got), "")
	case *kind.MaxItems:
		return one(fmt.Sprintf("at most %s, got %d", many(k.Want, "item"), k.Got), "")
	case *kind.MinProperties:
		return one(fmt.Sprintf("at least %s, got %d", many(k.Want, "field"), k.Got), "")
	case *kind.MaxProperties:
		return one(fmt.Sprintf("at most %s, got %d", many(k.Want, "field"), k.Got), "")
	case *kind.Minimum:
		return one("a number of at least "+decimal(k.Want), "")
	case *kind.Maximum:
		return one("a number of at most "+decimal(k.Want), "")
	case *kind.ExclusiveMinimum:
		return one("a number greater than "+decimal(k.Want), "")
	case *kind.ExclusiveMaximum:
		return one("a number less than "+decimal(k.Want), "")
	case *kind.MultipleOf:
		return one("a multiple of "+decimal(k.Want), "")
	case *kind.UniqueItems:
		return one(fmt.Sprintf("items that differ, but %d and %d are equal", k.Duplicates[0], k.Duplicates[1]), "")
	case *kind.PropertyNames:
		return one("another name than "+strconv.Quote(shorten(k.Property, 64)), "")
	case *kind.DependentRequired:
		return one(fmt.Sprintf("%s too, because %s is given", quoted(k.Missing), strconv.Quote(k.Prop)), "")
	case *kind.Dependency:
		return one(fmt.Sprintf("%s too, because %s is given", quoted(k.Missing), strconv.Quote(k.Prop)), "")
	case *kind.Not:
		return one("something else: the schema excludes this value", "")
	case *kind.RefCycle:
		return one("a schema whose references come to an end: a $ref of this one leads back to itself", "")
	case *kind.OneOf:
		return one("a value that fits only one of the alternatives of the schema", "")
	default:
		return one("a value that satisfies "+strconv.Quote(strings.Join(e.ErrorKind.KeywordPath(), "/"))+" of the schema", "")
	}
}

// missing reports required fields that aren't there, and the unknown field that one of them may
// have been meant by.
func (s *Schema) missing(path string, at any, e *jsonschema.ValidationError, names []string) []Violation {
	known := s.properties(e.SchemaURL)
	var strangers []string
	if obj, ok := at.(map[string]any); ok {
		for k := range obj {
			if _, ok := known[k]; !ok {
				strangers = append(strangers, k)
			}
		}
	}
	var list []Violation
	for _, n := range names {
		v := Violation{Path: join(path, n), Expected: "a value, but it is missing"}
		if sub, ok := known[n].(map[string]any); ok {
			if t, ok := sub["type"].(string); ok {
				v.Expected = article(t) + ", but it is missing"
			}
		}
		if near := Nearest(n, strangers); near != "" {
			v.Hint = fmt.Sprintf("got %q: did you mean %q?", near, n)
		}
		list = append(list, v)
	}
	return list
}

// unknown reports fields that the schema doesn't have.
func (s *Schema) unknown(path string, e *jsonschema.ValidationError, names []string) []Violation {
	known := s.properties(e.SchemaURL)
	all := make([]string, 0, len(known))
	for k := range known {
		all = append(all, k)
	}
	slices.Sort(all)
	var list []Violation
	for _, n := range names {
		v := Violation{Path: join(path, shorten(n, 64)), Expected: "no such field"}
		switch near := Nearest(n, all); {
		case near != "":
			v.Hint = fmt.Sprintf("did you mean %q?", near)
		case len(all) > 0:
			v.Hint = "there are: " + plain(strings.Join(all, ", "), 200)
		}
		list = append(list, v)
	}
	return list
}

// properties are the fields that the subschema at url names.
func (s *Schema) properties(url string) map[string]any {
	_, pointer, _ := strings.Cut(url, "#")
	obj, _ := resolve(s.read, pointer).(map[string]any)
	props, _ := obj["properties"].(map[string]any)
	return props
}

// locate gives the path of a location in the form that people write, and the value there.
func locate(v any, location []string) (path string, at any) {
	for _, step := range location {
		switch in := v.(type) {
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i < 0 || i >= len(in) {
				return path, nil
			}
			path, v = join(path, i), in[i]
		case map[string]any:
			path, v = join(path, shorten(step, 64)), in[step]
		default:
			return path, nil
		}
	}
	return path, v
}

// meant finds the listed text that a given text was probably meant to be. The given text isn't
// repeated.
func meant(got any, want []any) string {
	word, ok := got.(string)
	if !ok {
		return ""
	}
	var names []string
	for _, w := range want {
		if n, ok := w.(string); ok {
			names = append(names, n)
		}
	}
	if near := Nearest(word, names); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	return ""
}

func values(list []any) string {
	texts := make([]string, 0, 8)
	for i, v := range list {
		if i == cap(texts)-1 && len(list) > cap(texts) {
			return strings.Join(texts, ", ") + fmt.Sprintf(" and %d more", len(list)-i)
		}
		texts = append(texts, compact(v))
	}
	return strings.Join(texts, ", ")
}

func compact(v any) string { return shorten(string(marshal(v)), 100) }

func quoted(names []string) string {
	texts := make([]string, len(names))
	for i, n := range names {
		texts[i] = strconv.Quote(n)
	}
	return strings.Join(texts, ", ")
}

func kinds(types []string) string {
	var texts []string
	for _, t := range types {
		if a := article(t); !slices.Contains(texts, a) {
			texts = append(texts, a)
		}
	}
	if n := len(texts); n > 1 {
		return strings.Join(texts[:n-1], ", ") + " or " + texts[n-1]
	}
	return strings.Join(texts, "")
}

func article(kind string) string {
	switch kind {
	case "object", "array", "integer":
		return "an " + kind
	case "null":
		return kind
	case "boolean":
		return "true or false"
	default:
		return "a " + kind
	}
}

func many(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}

func decimal(r *big.Rat) string {
	if r.IsInt() {
		return shorten(r.Num().String(), 40)
	}
	f, _ := r.Float64()
	return strconv.FormatFloat(f, 'g', -1, 64)
}
