package schemas

import (
	"regexp"
	"regexp/syntax"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Fuel bounds validation, whose time can be exponential in the size of schema and value
// ("allOf": [{"$ref": "#"}, …] below a property). Each visit of a subschema burns as much as the
// subschema has parts, which covers those of them that fail without being counted themselves.
const (
	fuelFree    = 1 << 19
	fuelPerByte = 128
)

// fuelError ends a validation whose tank is empty.
type fuelError struct{}

func (fuelError) Error() string {
	return "a simpler schema: checking this value against it takes too long"
}

// fuel is what is left for one validation. It ends with a panic, since the library has no other
// way out; [Schema.Validate] recovers it.
type fuel struct {
	left        int
	longestEnum int
}

func (f *fuel) burn(n int) {
	if f.left -= n; f.left < 0 {
		panic(fuelError{})
	}
}

// visit is the part of the tank on one subschema.
type visit struct {
	tank *fuel
	cost int
}

// compile puts a visit on every subschema. What a reference leads to may fail before it is
// counted; the most that can cost is the longest enum.
func (f *fuel) compile(_ *jsonschema.CompilerContext, obj map[string]any) (jsonschema.SchemaExt, error) {
	cost := countParts(obj)
	for _, key := range []string{"$ref", "$dynamicRef", "$recursiveRef"} {
		if _, ok := obj[key]; ok {
			cost += f.longestEnum
		}
	}
	return &visit{tank: f, cost: cost}, nil
}

// Validate burns; it never says anything of the value.
func (v *visit) Validate(*jsonschema.ValidatorContext, any) { v.tank.burn(v.cost) }

func countParts(v any) int {
	n := 1
	switch v := v.(type) {
	case map[string]any:
		for _, e := range v {
			n += countParts(e)
		}
	case []any:
		for _, e := range v {
			n += countParts(e)
		}
	}
	return n
}

func longestEnum(v any) int {
	n := 0
	switch v := v.(type) {
	case map[string]any:
		if list, ok := v["enum"].([]any); ok {
			n = countParts(list)
		}
		for _, e := range v {
			n = max(n, longestEnum(e))
		}
	case []any:
		for _, e := range v {
			n = max(n, longestEnum(e))
		}
	}
	return n
}

// maxPattern is the longest regular expression that is tried, in bytes.
const maxPattern = 4 << 10

// pattern makes a regular expression. One that Go doesn't understand matches everything.
func (f *fuel) pattern(s string) (jsonschema.Regexp, error) {
	if len(s) > maxPattern {
		return anything(s), nil
	}
	if re, err := regexp.Compile(s); err == nil {
		return &pattern{re: re, tank: f, steps: steps(s)}, nil
	}
	return anything(s), nil
}

// pattern is a regular expression that burns for each state that it may be in at each byte.
type pattern struct {
	re    *regexp.Regexp
	tank  *fuel
	steps int
}

func (p *pattern) String() string { return p.re.String() }

func (p *pattern) MatchString(s string) bool {
	p.tank.burn(len(s) * p.steps)
	return p.re.MatchString(s)
}

// steps is the most that matching does for one byte of text.
func steps(s string) int {
	parsed, err := syntax.Parse(s, syntax.Perl)
	if err != nil {
		return maxPattern
	}
	prog, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return maxPattern
	}
	return len(prog.Inst)
}

// anything is a pattern that isn't understood.
type anything string

func (a anything) String() string          { return string(a) }
func (a anything) MatchString(string) bool { return true }
