package schemas

import "sync"

var toolSearchCodeFields = []string{"code", "title"}

// ParseToolSearchCodeInput checks the input of tool_search_code and brings it into the form of an exec (L1): {code, title?}.
// The title comes from the program if none is given. What else exec knows is refused: such a program is never parked for
// the model, nor run again.
func ParseToolSearchCodeInput(input JSON) (ExecInput, *Error) {
	var in ExecInput
	f, err := readFields(input)
	if err != nil {
		return in, err
	}
	if err := f.plainJavaScript(); err != nil {
		return in, err
	}
	for _, name := range []string{"restartSafe", "awaitResults"} {
		if _, ok := f[name]; ok {
			return in, Refuse(name, name+": remove this field: the program's calls are always waited for, within its limit of time")
		}
	}
	if err := f.known(toolSearchCodeFields); err != nil {
		return in, err
	}
	if in.Code, err = f.program(); err != nil {
		return in, err
	}
	in.Title, err = f.titleFor(in.Code)
	return in, err
}

// ToolSearchCodeInputSchema is the schema of tool_search_code as models see it: flat (A7).
func ToolSearchCodeInputSchema() JSON { return toolSearchCodeInput() }

var toolSearchCodeInput = sync.OnceValue(func() JSON { return file("tool_search_code.input.schema.json") })
