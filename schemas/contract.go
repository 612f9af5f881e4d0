package schemas

import (
	"bytes"
	"fmt"
)

// Contract is what a tool demands and promises, compiled (P5). A nil part is undeclared.
type Contract struct {
	name          string
	input, output *Schema
}

// NewContract compiles the schemas of a tool. The error, an invalid_contract, is why the tool can't be called: what it
// declares is no schema.
func NewContract(t *Tool) (*Contract, *CallError) {
	c := &Contract{name: t.Name}
	for _, part := range []struct {
		which string
		text  JSON
		to    **Schema
	}{{"input", t.Parameters, &c.input}, {"output", t.Output, &c.output}} {
		if len(part.text) == 0 {
			continue
		}
		s, err := Compile(part.text)
		if err != nil {
			return nil, c.refuse(CallInvalidContract, "tool",
				"%s can't be called: its %s schema is invalid: %s", t.Name, part.which, plain(err.Error(), 500))
		}
		*part.to = s
	}
	return c, nil
}

// Output is the schema of what the tool returns, or nil.
func (c *Contract) Output() *Schema { return c.output }

// CheckInput fills in defaults (M5) and validates. What it gives is an object; the error is an input_contract.
func (c *Contract) CheckInput(args JSON) (JSON, *CallError) {
	args = bytes.TrimSpace(args)
	if len(args) == 0 {
		args = JSON("{}")
	}
	if args[0] != '{' {
		return nil, c.refuse(CallInputContract, "input", "%s takes one object of named arguments, not %s", c.name, kindOfText(args))
	}
	if c.input == nil {
		return args, nil
	}
	args, bad := c.input.Complete(args)
	if len(bad) > 0 {
		return nil, c.refuse(CallInputContract, "input", "%s: %s", c.name, Violations(bad))
	}
	return args, nil
}

func (c *Contract) refuse(code CallCode, location, format string, args ...any) *CallError {
	return &CallError{Code: code, Location: location, Effect: NotStarted, Message: fmt.Sprintf(format, args...)}
}

// kindOfText names the kind of a JSON text.
func kindOfText(v JSON) string {
	switch v[0] {
	case '[':
		return "an array"
	case '"':
		return "a string"
	case 't', 'f':
		return "a boolean"
	case 'n':
		return "null"
	default:
		return "a number"
	}
}
