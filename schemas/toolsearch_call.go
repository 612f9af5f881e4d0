package schemas

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// ToolCallInput is what tool_call was asked for.
type ToolCallInput struct {
	Tool ToolSelector
	// Args are the target's arguments, a JSON object. Whether they are right is for the target to say.
	Args JSON
}

// argumentNames are the members of an input that hold the target's arguments. Models are shown the first.
var argumentNames = []string{"args", "arguments", "input", "params", "parameters"}

// selectorNames are the members that choose the target.
var selectorNames = []string{"id", "toolId", "name"}

// ParseToolCallInput reads the input of tool_call and brings the target's arguments into one form (L2). Besides
// {id, args: {…}} these are understood:
//
//   - another of the names arguments, input, params and parameters in the place of args;
//   - the object as a JSON text;
//   - dotted: {id, "args.path": …};
//   - flattened: {id, path: …}, also beside an empty args.
//
// What is nested is never changed, whatever its members are called, and wins over what is flattened beside it; nothing
// else is lost. The members that choose the tool are no arguments unless they are nested. What can be read in two ways
// is refused, with how to write it.
func ParseToolCallInput(input JSON) (ToolCallInput, *Error) {
	var in ToolCallInput
	f, err := readFields(input)
	if err != nil {
		return in, err
	}
	if in.Tool, err = f.selector(); err != nil {
		return in, err
	}
	if in.Tool.blank() {
		return in, Refuse("id", "id: "+selectorHelp+` and write {"id": "…", "args": {…}}`)
	}
	var given map[string]json.RawMessage
	if json.Unmarshal(input, &given) != nil { // readFields has read it
		return in, Refuse("", "expected the input to be a JSON object")
	}
	in.Args, err = arguments(given)
	return in, err
}

// arguments finds the target's arguments among the members of an input.
func arguments(given map[string]json.RawMessage) (JSON, *Error) {
	nested, err := nestedArguments(given)
	if err != nil {
		return nil, err
	}
	beside := make(map[string]json.RawMessage)
	dotted := make(map[string]json.RawMessage)
	for _, key := range slices.Sorted(maps.Keys(given)) {
		switch name, isDotted := dottedArgument(key); {
		case slices.Contains(selectorNames, key), slices.Contains(argumentNames, key):
		case !isDotted:
			beside[key] = given[key]
		case name == "" || strings.Contains(name, "."):
			return nil, Refuse(shorten(key, 40), plain(key, 40)+`: write nested arguments as {"id": "…", "args": {…}}`)
		case dotted[name] != nil && !sameJSON(dotted[name], given[key]):
			return nil, Refuse(shorten(key, 40), plain(key, 40)+`: this argument is given twice, and differs: give it once, inside args`)
		default:
			dotted[name] = given[key]
		}
	}
	if len(beside) == 0 && len(dotted) == 0 {
		if nested == nil {
			return JSON("{}"), nil
		}
		return nested, nil
	}
	maps.Copy(beside, dotted)
	if nested != nil {
		var inner map[string]json.RawMessage
		if json.Unmarshal(nested, &inner) != nil {
			return nil, Refuse("args", argumentsHelp("args"))
		}
		maps.Copy(beside, inner)
	}
	return marshal(beside), nil
}

// nestedArguments gives the one member that holds arguments, or nil if they are all empty.
func nestedArguments(given map[string]json.RawMessage) (nested JSON, err *Error) {
	from := ""
	for _, name := range argumentNames {
		object, err := argumentObject(name, given[name])
		if err != nil {
			return nil, err
		}
		switch {
		case object == nil:
		case nested == nil:
			nested, from = object, name
		case !sameJSON(nested, object):
			return nil, Refuse(name, fmt.Sprintf(`%s: it differs from %s, and both hold arguments: put them all into one, {"id": "…", "args": {…}}`, name, from))
		}
	}
	return nested, nil
}

// argumentObject reads a member that holds arguments; nil means that it has none.
func argumentObject(name string, value json.RawMessage) (JSON, *Error) {
	text := bytes.TrimSpace(value)
	if len(text) > 0 && text[0] == '"' {
		var inner string
		if json.Unmarshal(text, &inner) != nil {
			return nil, Refuse(name, argumentsHelp(name))
		}
		text = bytes.TrimSpace([]byte(inner))
	}
	if len(text) == 0 || string(text) == "null" {
		return nil, nil
	}
	f, err := readFields(JSON(text))
	if err != nil {
		return nil, Refuse(name, argumentsHelp(name))
	}
	if len(f) == 0 && !bytes.ContainsRune(text, '"') { // readFields drops members that are null
		return nil, nil
	}
	return JSON(text), nil
}

func argumentsHelp(name string) string {
	return fmt.Sprintf(`%s: expected an object of the tool's arguments: write {"id": "…", "args": {…}}; an argument that is called %q goes into args, too`, name, name)
}

// dottedArgument takes "args." off a key.
func dottedArgument(key string) (name string, ok bool) {
	before, name, ok := strings.Cut(key, ".")
	return name, ok && slices.Contains(argumentNames, before)
}

// sameJSON tells whether two texts differ by white space at most.
func sameJSON(a, b []byte) bool {
	var x, y bytes.Buffer
	return json.Compact(&x, a) == nil && json.Compact(&y, b) == nil && bytes.Equal(x.Bytes(), y.Bytes())
}
