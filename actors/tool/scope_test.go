package tool

import (
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/codecell/codecell/schemas"
)

type inner struct {
	Shared string `json:"shared"`
}

type customers struct {
	inner

	Region  string            `json:"region"`
	Since   time.Time         `json:"since"`
	Limits  map[string]int    `json:"limits"`
	Secret  string            `json:"-"`
	Empty   []int             `json:"empty,omitempty"`
	Zero    time.Time         `json:"zero,omitzero"`
	Plain   int               // by its own name
	Find    Callable          `json:"find"`
	Remove  *Callable         `json:"remove"`
	Missing *customers        `json:"missing"`
	Any     any               `json:"any"`
	ByDay   map[time.Time]int `json:"byDay"`
	hidden  int
}

type broken struct{}

func (broken) MarshalJSON() ([]byte, error) { return nil, errors.New("no") }

type panics struct{}

func (panics) MarshalJSON() ([]byte, error) { panic("no") }
func (panics) Error() string                { panic("no") }

type lies struct{}

func (lies) MarshalJSON() ([]byte, error) { return []byte(`{"a":`), nil }

type named string

func (n named) MarshalText() ([]byte, error) { return []byte("<" + string(n) + ">"), nil }

func TestSpec_K2_ScopesOfGoValues(t *testing.T) {
	day := time.Date(2026, 7, 1, 0, 0, 0, 0, time.UTC)
	same := &inner{"x"}
	for name, tt := range map[string]struct {
		value any
		want  string
	}{
		"nothing": {nil, `null`},
		"a struct": {
			customers{
				inner: inner{"s"}, Region: "eu", Since: day, Limits: map[string]int{"b": 2, "a": 1}, Secret: "no", Plain: 3, hidden: 4,
				Find:   Callable{Tool: "find", Input: map[string]any{"query": Arg(0), "where": []any{Arg(1), "x"}}},
				Remove: &Callable{Tool: "remove"}, Any: same, ByDay: map[time.Time]int{day: 1},
			},
			`{"shared":"s","region":"eu","since":"2026-07-01T00:00:00Z","limits":{"a":1,"b":2},"Plain":3,` +
				`"find":{"$tool":"find","input":{"query":{"$arg":0},"where":[{"$arg":1},"x"]}},"remove":{"$tool":"remove"},` +
				`"missing":null,"any":{"shared":"x"},"byDay":{"2026-07-01T00:00:00Z":1}}`,
		},
		"the same twice": {map[string]any{"a": same, "b": []any{same, same}}, `{"a":{"shared":"x"},"b":[{"shared":"x"},{"shared":"x"}]}`},
		"numbers":        {[]any{1.5, float32(0.25), uint8(7), int64(-1 << 62), json.Number("1e3"), math.NaN(), math.Inf(-1)}, `[1.5,0.25,7,-4611686018427387904,1e3,null,null]`},
		"texts":          {[]any{"<&>", "a\xffb", named("n"), []byte("hi"), errors.New("oh"), [2]string{"a"}}, `["<&>","a\ufffdb","<n>","aGk=","oh",["a",""]]`},
		"raw JSON":       {[]any{json.RawMessage(`{"k": 1.0}`), schemas.JSON(`[1]`), schemas.JSON(nil), json.RawMessage(`{`)}, `[{"k": 1.0},[1],null,"[json.RawMessage]"]`},
		"without JSON":   {[]any{make(chan int), 1i, broken{}, panics{}, lies{}, json.Number("x"), map[bool]int{true: 1}}, `["[chan int]","[complex128]","[tool.broken]","[tool.panics]","[tool.lies]","[json.Number]","[map[bool]int]"]`},
		"keys":           {map[any]any{1: "a", "b": map[named]int{"k": 1}, uint8(3): nil}, `{"1":"a","3":null,"b":{"k":1}}`},
		"nil pointers":   {[]any{(*Callable)(nil), (*inner)(nil), map[string]int(nil), []int(nil), (*time.Time)(nil)}, `[null,null,null,null,null]`},
	} {
		got, err := scopeJSON(tt.value)
		if err != nil || string(got) != tt.want {
			t.Errorf("%s: %v\n got %s\nwant %s", name, err, got, tt.want)
		}
	}
}

func TestSpec_K2_ScopesOfGoValuesThatAreRefused(t *testing.T) {
	circle := map[string]any{}
	circle["a"] = []any{circle}
	type ring struct{ Next *ring }
	loop := &ring{}
	loop.Next = loop
	list := []any{nil}
	list[0] = list
	wide := any("0123456789")
	for range 40 { // 2^40 values, each in two places
		wide = []any{wide, wide}
	}
	deep := any(1)
	for range 200 {
		deep = []any{deep}
	}
	for name, tt := range map[string]struct {
		value any
		says  string
	}{
		"function":          {map[string]any{"f": func() {}}, "at f: a Go function can't cross to programs"},
		"nil function":      {struct{ F func() }{}, "at F: a Go function"},
		"function in input": {map[string]any{"f": Callable{Tool: "x", Input: map[string]any{"y": func() {}}}}, "at f.Input.y: a Go function"},
		"map in itself":     {circle, "at a.0: it is circular"},
		"pointer to itself": {loop, "at Next: it is circular"},
		"list in itself":    {list, "at 0: it is circular"},
		"too large":         {wide, "larger than 65536 bytes"},
		"too deep":          {deep, "nested too deep"},
	} {
		if got, err := scopeJSON(tt.value); err == nil || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: %.100s %v", name, got, err)
		}
	}
}

// Whatever is JSON in Go stays what it is.
func TestSpec_K2_AnyJSONIsKept(t *testing.T) {
	var value func(t *rapid.T, depth int) any
	value = func(t *rapid.T, depth int) any {
		kind := rapid.IntRange(0, 5).Draw(t, "kind")
		if depth > 4 {
			kind %= 4
		}
		switch kind {
		case 0:
			return rapid.Bool().Draw(t, "bool")
		case 1:
			return rapid.Float64().Draw(t, "number")
		case 2:
			return rapid.String().Draw(t, "text")
		case 3:
			return nil
		case 4:
			list := make([]any, rapid.IntRange(0, 4).Draw(t, "length"))
			for i := range list {
				list[i] = value(t, depth+1)
			}
			return list
		}
		table := map[string]any{}
		for range rapid.IntRange(0, 4).Draw(t, "size") {
			table[rapid.String().Draw(t, "key")] = value(t, depth+1)
		}
		return table
	}
	rapid.Check(t, func(t *rapid.T) {
		v := value(t, 0)
		text, err := scopeJSON(v)
		if err != nil {
			t.Fatal(err)
		}
		var got any
		if err := json.Unmarshal(text, &got); err != nil || !reflect.DeepEqual(got, v) {
			t.Fatalf("%#v became %s: %v", v, text, err)
		}
	})
}
