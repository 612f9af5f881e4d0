package tool

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/codecell/codecell/schemas"
)

// contract is a tool with its schemas compiled.
type contract struct {
	tool          schemas.Tool
	input, output *schemas.Schema // nil: nothing declared
	// broken is why the tool can't be called: a declared schema is no schema (P5).
	broken *schemas.CallError
}

// contracts are the tools of one registration by name. They are built once an offer, and
// take over what didn't change from the one before.
type contracts map[string]*contract

// compileOffer builds the contracts of an offer, the operations of its MCP server included,
// and names the tools whose schemas are no schemas. Such a tool stays offered: calling it says what is wrong.
func compileOffer(offer schemas.Registration, before contracts) (made contracts, problems []string) {
	tools := offer.Tools
	if offer.Source == schemas.SourceMCP {
		// Operations come last: a tool of a reserved name doesn't stand in for one.
		tools = slices.Concat(tools, offer.Server.Operations(offer.Owner))
	}
	made = make(contracts, len(tools))
	for _, t := range tools {
		c := before[t.Name]
		if c == nil || !bytes.Equal(c.tool.Parameters, t.Parameters) || !bytes.Equal(c.tool.Output, t.Output) {
			c = newContract(t)
		} else {
			same := *c
			same.tool = t
			c = &same
		}
		if c.broken != nil {
			problems = append(problems, c.broken.Message)
		}
		made[t.Name] = c
	}
	return made, problems
}

// newContract compiles a tool's schemas.
func newContract(t schemas.Tool) *contract {
	c := &contract{tool: t}
	for _, part := range []struct {
		which string
		text  schemas.JSON
		to    **schemas.Schema
	}{{"input", t.Parameters, &c.input}, {"output", t.Output, &c.output}} {
		if len(part.text) == 0 {
			continue
		}
		s, err := schemas.Compile(part.text)
		if err != nil {
			c.broken = refused(schemas.CallInvalidContract, atTool,
				"%s can't be called: its %s schema is invalid: %s", t.Name, part.which, clip(err.Error(), 500))
			return c
		}
		*part.to = s
	}
	return c
}

// checkInput fills in defaults (M5) and validates. What it gives is an object.
func (c *contract) checkInput(args schemas.JSON) (schemas.JSON, *schemas.CallError) {
	args = bytes.TrimSpace(args)
	if len(args) == 0 {
		args = schemas.JSON("{}")
	}
	if args[0] != '{' {
		return nil, refused(schemas.CallInputContract, atInput,
			"%s takes one object of named arguments, not %s", c.tool.Name, kindOf(args))
	}
	if c.input == nil {
		return args, nil
	}
	args, bad := c.input.Complete(args)
	if len(bad) > 0 {
		return nil, refused(schemas.CallInputContract, atInput, "%s: %s", c.tool.Name, schemas.Violations(bad))
	}
	return args, nil
}

// checkOutput validates a result. The failure names fields, never the value (P5), and says
// that the tool has run.
func (c *contract) checkOutput(value schemas.JSON) *schemas.CallError {
	if c.output == nil {
		return nil
	}
	if c.tool.Source == schemas.SourceMCP {
		part, ok := structuredPart(value)
		if !ok {
			return nil
		}
		value = part
	}
	message := ""
	if len(value) == 0 {
		message = "it returned nothing"
	} else if bad := c.output.Validate(value); len(bad) > 0 {
		message = schemas.Violations(bad)
	}
	if message == "" {
		return nil
	}
	return &schemas.CallError{
		Code: schemas.CallOutputContract, Location: atOutput, Effect: schemas.Done,
		Message: fmt.Sprintf("%s ran, and what it returned doesn't fit its output schema: %s. Its effects may have happened; calling it again may repeat them",
			c.tool.Name, message),
	}
}

// kindOf names the kind of a JSON value.
func kindOf(v schemas.JSON) string {
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
