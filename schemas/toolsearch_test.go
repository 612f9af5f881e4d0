package schemas

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
)

func TestSpec_L2_Case51_SearchInputsAreCheckedAsAWhole(t *testing.T) {
	repeat := func(item string, n int) string { return strings.TrimSuffix(strings.Repeat(item+",", n), ",") }
	text := func(n int) string { return `"` + strings.Repeat("q", n) + `"` }
	for name, of := range map[string]struct{ input, field string }{
		"nothing":              {`{}`, "query"},
		"null":                 {`{"query":null}`, "query"},
		"no queries":           {`{"queries":[]}`, "query"},
		"not an object":        {`["a"]`, ""},
		"not a string":         {`{"query":1}`, "query"},
		"queries as text":      {`{"queries":"a"}`, "queries"},
		"bad second item":      {`{"queries":["a",{"limit":3}]}`, "queries[1]"},
		"number as item":       {`{"queries":["a",7]}`, "queries[1]"},
		"item with a misspelt": {`{"queries":["a",{"query":"b","limits":3}]}`, "queries[1]"},
		"item with a limit":    {`{"queries":["a",{"query":"b","limit":0}]}`, "queries[1].limit"},
		"unknown field":        {`{"query":"a","querys":["b"]}`, "querys"},
		"17 queries":           {`{"queries":[` + repeat(`"a"`, 17) + `]}`, "queries"},
		"a query and 16":       {`{"query":"a","queries":[` + repeat(`"a"`, 16) + `]}`, "queries"},
		"513 bytes":            {`{"query":` + text(513) + `}`, "query"},
		"513 bytes of emoji":   {`{"query":"` + strings.Repeat("😀", 128) + `q"}`, "query"},
		"two of 254":           {`{"queries":[` + repeat(text(254), 2) + `]}`, "query"},
		"51 hits":              {`{"queries":[{"query":"a","limit":26},{"query":"b","limit":25}]}`, "limit"},
		"51 hits, one unsaid":  {`{"queries":[{"query":"a","limit":50},"b"]}`, "limit"},
		"limit for each":       {`{"limit":25,"queries":["a","b","c"]}`, "limit"},
		"limit 51":             {`{"query":"a","limit":51}`, "limit"},
		"limit 0":              {`{"query":"a","limit":0}`, "limit"},
		"limit -1":             {`{"query":"a","limit":-1}`, "limit"},
		"limit 1.5":            {`{"query":"a","limit":1.5}`, "limit"},
		"limit true":           {`{"query":"a","limit":true}`, "limit"},
		"limit too large":      {`{"query":"a","limit":1e999}`, "limit"},
		"deep":                 {`{"query":` + strings.Repeat("[", 5000), ""},
	} {
		if in, err := ParseToolSearchInput(JSON(of.input)); err == nil || err.Code != InvalidInput || err.Field != of.field {
			t.Errorf("%s: %+v, %+v", name, in, err)
		}
	}
	for input, want := range map[string]ToolSearchInput{
		`{"query":""}`:                  {Queries: []ToolQuery{{}}},
		`{"query":"a","limit":50}`:      {Queries: []ToolQuery{{"a", 50}}},
		`{"query":"a","limit":null}`:    {Queries: []ToolQuery{{"a", 0}}},
		`{"query":` + text(512) + `}`:   {Queries: []ToolQuery{{strings.Repeat("q", 512), 0}}},
		`{"query":"","queries":["a"]}`:  {Queries: []ToolQuery{{"a", 0}}, Batch: true},
		`{"query":"z","queries":["a"]}`: {Queries: []ToolQuery{{"z", 0}, {"a", 0}}, Batch: true},
		`{"limit":2,"queries":["a",{"query":"b","limit":30},{"query":"c","limit":null}]}`: {Queries: []ToolQuery{{"a", 2}, {"b", 30}, {"c", 2}}, Batch: true},
	} {
		if in, err := ParseToolSearchInput(JSON(input)); err != nil || !reflect.DeepEqual(in, want) {
			t.Errorf("%s: %+v, %v", input, in, err)
		}
	}
}

func TestSpec_L2_DescribeInputs(t *testing.T) {
	for input, want := range map[string]ToolDescribeInput{
		`{"id":"a"}`:     {Tools: []ToolSelector{{ID: "a"}}},
		`{"toolId":"a"}`: {Tools: []ToolSelector{{ID: "a"}}},
		`{"id":"  ","toolId":"\u00a0","name":"a"}`: {Tools: []ToolSelector{{Name: "a"}}},
		`{"name":"a","ids":null}`:                  {Tools: []ToolSelector{{Name: "a"}}},
		`{"ids":["a","b"]}`:                        {Tools: []ToolSelector{{ID: "a"}, {ID: "b"}}, Batch: true},
		`{"id":"c","ids":["a"]}`:                   {Tools: []ToolSelector{{ID: "c"}, {ID: "a"}}, Batch: true},
	} {
		if in, err := ParseToolDescribeInput(JSON(input)); err != nil || !reflect.DeepEqual(in, want) {
			t.Errorf("%s: %+v, %v", input, in, err)
		}
	}
	for input, field := range map[string]string{
		`{}`: "id", `{"ids":[]}`: "id", `{"id":""}`: "id", `{"id":7}`: "id", `{"ids":"a"}`: "ids", `{"ids":[1]}`: "ids[0]", `{"ids":["a",""]}`: "ids[1]",
		`{"id":"a","toolId":"b"}`: "toolId", `{"id":"a","args":{}}`: "args", `null`: "",
		`{"ids":["a","b","c","d","e","f","g","h","i"]}`: "ids",
	} {
		if in, err := ParseToolDescribeInput(JSON(input)); err == nil || err.Field != field {
			t.Errorf("%s: %+v, %v", input, in, err)
		}
	}
}

// TestSpec_L2_Case50_ArgumentsAreRepaired: the target gets its arguments in every form in which models write them.
func TestSpec_L2_Case50_ArgumentsAreRepaired(t *testing.T) {
	for input, want := range map[string]string{
		`{"id":"T","args":{"path":"a"}}`:                           `{"path":"a"}`,
		`{"id":"T","path":"a"}`:                                    `{"path":"a"}`,
		`{"id":"T","args":{},"path":"a"}`:                          `{"path":"a"}`,
		`{"id":"T","args.path":"a"}`:                               `{"path":"a"}`,
		`{"id":"T","input":{"path":"a"}}`:                          `{"path":"a"}`,
		`{"id":"T","args":"{\"path\":\"a\"}"}`:                     `{"path":"a"}`,
		`{"toolId":"T","arguments":{"path":"a"}}`:                  `{"path":"a"}`,
		`{"name":"T","params":{"path":"a"}}`:                       `{"path":"a"}`,
		`{"id":"T","toolId":"T","parameters":{"path":"a"}}`:        `{"path":"a"}`,
		`{"id":"T","name":"t","path":"a"}`:                         `{"path":"a"}`,
		`{"id":"T"}`:                                               `{}`,
		`{"id":"T","args":null}`:                                   `{}`,
		`{"id":"T","args":{}}`:                                     `{}`,
		`{"id":"T","args":""}`:                                     `{}`,
		`{"id":"T","args":{},"input":{}}`:                          `{}`,
		`{"id":"T","args":{},"input":{"path":"a"}}`:                `{"path":"a"}`,
		`{"id":"T","args":{"path":"a"},"input":{ "path": "a" }}`:   `{"path":"a"}`,
		`{"id":"T","args":{"path":"a"},"path":"b"}`:                `{"path":"a"}`,
		`{"id":"T","args":{"path":"a"},"args.path":"b","limit":3}`: `{"limit":3,"path":"a"}`,
		`{"id":"T","args.path":"a","path":"b"}`:                    `{"path":"a"}`,
		// What is nested is the target's, whatever it is called, and to the letter.
		`{"id":"T","args":{"id":"x","name":"y","toolId":"z","args":{"args":1},"input":2}}`: `{"id":"x","name":"y","toolId":"z","args":{"args":1},"input":2}`,
		`{"id":"T","args":{"n":12345678901234567890.10,"s":"<\u0000>","n2":1e400}}`:        `{"n":12345678901234567890.10,"s":"<\u0000>","n2":1e400}`,
		`{"id":"T","args":{"__proto__":{"a":1},"path":null}}`:                              `{"__proto__":{"a":1},"path":null}`,
		`{"id":"T","args":{"path":null}}`:                                                  `{"path":null}`,
		`{"id":"T","args.id":"x","args.name":"y"}`:                                         `{"id":"x","name":"y"}`,
		`{"id":"T","__proto__":{"a":1},"n":12345678901234567890,"path":null}`:              `{"__proto__":{"a":1},"n":12345678901234567890,"path":null}`,
		`{"id":"T","note":"args.path","a.b":1}`:                                            `{"a.b":1,"note":"args.path"}`,
	} {
		in, err := ParseToolCallInput(JSON(input))
		if err != nil || string(in.Args) != want || in.Tool.ID+in.Tool.Name == "" {
			t.Errorf("%s: %+v %s, %v", input, in.Tool, in.Args, err)
		}
	}
}

func TestSpec_L2_Case50_WhatCanBeReadInTwoWaysIsRefused(t *testing.T) {
	for input, field := range map[string]string{
		`{}`:                                         "id",
		`{"args":{"id":"T"}}`:                        "id",
		`{"id":""}`:                                  "id",
		`{"id":7}`:                                   "id",
		`{"id":"T","name":7}`:                        "name",
		`{"id":"T","toolId":"U"}`:                    "toolId",
		`{"id":"T","args":"path"}`:                   "args",
		`{"id":"T","args":"[1]"}`:                    "args",
		`{"id":"T","args":"\"{}\""}`:                 "args",
		`{"id":"T","args":["a"]}`:                    "args",
		`{"id":"T","args":7}`:                        "args",
		`{"id":"T","args":true}`:                     "args",
		`{"id":"T","input":"text"}`:                  "input",
		`{"id":"T","args":{"a":1},"input":"text"}`:   "input",
		`{"id":"T","args":{"a":1},"params":{"b":1}}`: "params",
		`{"id":"T","args.a.b":1}`:                    "args.a.b",
		`{"id":"T","args.":1}`:                       "args.",
		`{"id":"T","args.a":1,"input.a":2}`:          "input.a",
		`"T"`:                                        "",
		`{"id":"T","args":{"a":1}`:                   "",
		`{"id":"T"} {}`:                              "",
		``:                                           "",
	} {
		in, err := ParseToolCallInput(JSON(input))
		if err == nil || err.Code != InvalidInput || err.Field != field || in.Args != nil {
			t.Errorf("%s: %+v %s, %+v", input, in.Tool, in.Args, err)
		}
	}
	for _, deep := range []string{strings.Repeat("[", 5000) + strings.Repeat("]", 5000), `"` + strings.Repeat("[", 5000) + `"`, `"` + strings.Repeat("x", MaxInputBytes) + `"`} {
		if _, err := ParseToolCallInput(JSON(`{"id":"T","args":` + deep + `}`)); err == nil {
			t.Error("an input that is too deep or too long is taken")
		}
	}
}

// FuzzToolCallInput: whatever a model writes, its nested arguments come whole, or the input is refused.
func FuzzToolCallInput(f *testing.F) {
	for _, seed := range []string{
		`{"id":"T","args":{"path":"a"}}`, `{"id":"T","args":{},"path":"a"}`, `{"id":"T","args.path":1,"b":{}}`, `{"name":"T","input":{"id":1},"args":null}`,
		`{"id":"T","args":"{\"a\":[1,{}]}"}`, `{"id":"T","a":1,"a":2}`, `{"id":"\ud83d","args":{"\ud83d":1}}`, `{"id":"T","args":{"a":1,"a":{}}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, input []byte) {
		in, err := ParseToolCallInput(input)
		if err != nil {
			if err.Code != InvalidInput || err.Message == "" || in.Args != nil {
				t.Fatalf("%q: %+v, %+v", input, in, err)
			}
			return
		}
		var args map[string]any
		if json.Unmarshal(in.Args, &args) != nil || args == nil || in.Tool.blank() {
			t.Fatalf("%q: selector %+v, arguments %q", input, in.Tool, in.Args)
		}
		var given map[string]any
		if json.Unmarshal(input, &given) != nil {
			t.Skip("numbers that Go has no value for")
		}
		wanted := map[string]any{}
		for key, value := range given {
			if name, dotted := dottedArgument(key); dotted {
				wanted[name] = value
			} else if !slices.Contains(selectorNames, key) && !slices.Contains(argumentNames, key) {
				wanted[key] = value
			}
		}
		for _, name := range argumentNames {
			value := given[name]
			if text, ok := value.(string); ok {
				_ = json.Unmarshal([]byte(text), &value)
			}
			if nested, ok := value.(map[string]any); ok {
				for key, value := range nested {
					if !reflect.DeepEqual(args[key], value) {
						t.Fatalf("%q: nested %q is %v in %s", input, key, args[key], in.Args)
					}
				}
				maps.Copy(wanted, nested)
			}
		}
		if len(args) != len(wanted) {
			t.Fatalf("%q: arguments %s, want %v", input, in.Args, wanted)
		}
		if again, err := ParseToolCallInput(JSON(fmt.Sprintf(`{"id":"T","args":%s}`, in.Args))); err != nil || !sameJSON(again.Args, in.Args) {
			t.Fatalf("%q: arguments %s don't stay: %s, %v", input, in.Args, again.Args, err)
		}
	})
}
