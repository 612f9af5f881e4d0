package tool

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/codecell/codecell/schemas"
)

// contract is a tool with its schemas compiled.
type contract struct {
	tool schemas.Tool
	*schemas.Contract
	// broken is why the tool can't be called: a declared schema is no schema (P5).
	broken *schemas.CallError
	// asks tells for which arguments the tool needs an approval; nil is for none.
	asks func(args schemas.JSON) (bool, error)
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
	c.Contract, c.broken = schemas.NewContract(&t)
	return c
}

// checkOutput validates a result. The failure names fields, never the value (P5), and says
// that the tool has run.
func (c *contract) checkOutput(value schemas.JSON) *schemas.CallError {
	output := c.Output()
	if output == nil {
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
	} else if bad := output.Validate(value); len(bad) > 0 {
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
