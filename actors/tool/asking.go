package tool

import (
	"context"
	"log/slog"
	"time"

	"github.com/codecell/codecell/schemas"
)

// DefaultApprovalTimeout is how long a call waits for somebody's decision unless told.
const DefaultApprovalTimeout = 5 * time.Minute

// approve asks for an approval, if the call needs one, for the arguments as they would be dispatched (P3).
func (p *Pipeline) approve(
	ctx context.Context, rec *Record, c *contract, asked string, waiting func(string) func(), log *slog.Logger,
) *schemas.CallError {
	if asked == "" {
		if err := guard("rule for approvals", log, func() (err error) {
			asked, err = p.asks(rec, c)
			return err
		}); err != nil {
			return refused(schemas.CallInvalidInput, atApproval, "%s was not called: whether it needs an approval can't be told: %s", c.tool.Name, err)
		}
	}
	if asked == "" {
		return nil
	}
	if p.Approval == nil {
		return refused(schemas.CallInvalidInput, atApproval, "%s needs an approval, and its executor has no way to ask for one", c.tool.Name)
	}
	var approved func()
	awaiting := func(approval string) {
		if waiting != nil {
			approved = waiting(approval)
		}
	}
	if err := guard("approval", log, func() error { return p.Approval.Approve(ctx, rec.with(), rec.Tool, asked, awaiting) }); err != nil {
		return refused(schemas.CallInvalidInput, atApproval, "%s: %s", c.tool.Name, clip(err.Error(), maxMessageBytes))
	}
	if approved != nil {
		approved()
	}
	return nil
}

// mayAsk tells whether there is anything that might want an approval for a call of a tool: most have nothing.
func (p *Pipeline) mayAsk(c *contract) bool { return c.tool.Approval || c.asks != nil || p.Asks != nil }

// asks says why the tool or the configuration wants an approval for a call; empty means that neither does.
func (p *Pipeline) asks(rec *Record, c *contract) (string, error) {
	if c.tool.Approval {
		return "the tool asks for every call", nil
	}
	if c.asks != nil {
		switch needed, err := c.asks(rec.Args); {
		case err != nil:
			return "", err
		case needed:
			return "the tool asks for a call with these arguments", nil
		}
	}
	if p.Asks == nil {
		return "", nil
	}
	return p.Asks(rec.Call, rec.Tool), nil
}

// asker is a [Provider] whose tools may need an approval for some arguments. Asks gives the function that tells which,
// or nil.
type asker interface {
	Asks(tool string) func(args schemas.JSON) (bool, error)
}
