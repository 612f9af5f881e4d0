package tool

import (
	"context"
	"log/slog"
	"time"

	"github.com/codecell/codecell/bus"
	"github.com/codecell/codecell/schemas"
)

const (
	// DefaultApprovalTimeout is how long a call waits for somebody's decision unless told.
	DefaultApprovalTimeout = 5 * time.Minute
	// wantedTimeout bounds the look for the host of a call that is about to be approved.
	wantedTimeout = 2 * time.Second
)

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

// wanted tells whether the host of a call is there. Hosts withdraw the calls that they give up, but not when they are
// killed: without this look an approval would run a tool for a program that is gone.
func (e *Executor) wanted(ctx context.Context, call *schemas.Call) bool {
	const probe = "probe" // the id of no call: whoever hears of it ignores it
	at := call.Address
	ctx, cancel := context.WithTimeout(ctx, wantedTimeout)
	defer cancel()
	return e.conn.Listened(ctx, bus.ReplySubject(at.Host, at.Cell, probe), &schemas.Answer{ID: probe, Executor: e.id, State: schemas.AnswerAwaiting})
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
