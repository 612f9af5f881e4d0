package tool

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/codecell/codecell/schemas"
)

// Before is a before_tool_call hook. It may refuse the call with an error, whose text the guest sees. A hook that
// panics refuses.
type Before interface {
	Before(ctx context.Context, call *schemas.Call, tool *schemas.Tool) (Ruling, error)
}

// Ruling is what a hook makes of a call that it doesn't refuse. The zero Ruling lets it pass as it is.
type Ruling struct {
	// Args replace the arguments, if they aren't empty. They are validated again.
	Args schemas.JSON
	// Ask demands an approval, for this reason.
	Ask string
	// By says who replaces the arguments, such as "hook guard".
	By string
}

// Approver decides calls that need somebody's approval, and is asked about no others. It returns nil for a call that was
// approved, blocks while somebody decides, and says in its error whether the call was denied or nobody answered in time
// (P3). asked is why the call needs an approval. Before it blocks it calls awaiting, which doesn't block.
type Approver interface {
	Approve(ctx context.Context, call *schemas.Call, tool *schemas.Tool, asked string, awaiting func(approval string)) error
}

// After is an after_tool_call hook: it sees how a dispatched call ended. Its error withholds what the tool returned,
// or said of its failure; what the tool did stays done.
type After interface {
	After(ctx context.Context, record *Record) error
}

// Recorder keeps what happened, calls that were refused included. It must not block.
type Recorder interface {
	Record(record *Record)
}

// Record is one call that went through the pipeline.
type Record struct {
	Call *schemas.Call
	Tool *schemas.Tool
	// Args are the arguments as dispatched, or as refused.
	Args  schemas.JSON
	Value schemas.JSON
	Err   *schemas.CallError
	// Dispatched: the call was handed to its provider. It may have ended there before its tool began: Err has what is known of
	// its effect.
	Dispatched bool
	Duration   time.Duration
}

// Pipeline is what stands between a call and its tool (P1). The zero value checks schemas
// and nothing else.
type Pipeline struct {
	// Policy says whether the call's run may call the tool: nil is yes. It is asked for
	// every call, and anything but a clean yes, a panic included, is a no.
	Policy func(call *schemas.Call, tool *schemas.Tool) error
	Before []Before
	// Asks says why a call needs an approval, beside what its tool and the hooks say; empty is that it needs none.
	Asks func(call *schemas.Call, tool *schemas.Tool) string
	// Approval decides calls that need an approval. If it is nil, an executor asks on the bus, and a call waits for
	// ApprovalTimeout at most, [DefaultApprovalTimeout] if 0.
	Approval        Approver
	ApprovalTimeout time.Duration
	After           []After
	Recorder        Recorder
	// Dispatching is told right before a call is handed to its provider, where it may still await its turn. It must not block.
	Dispatching func(call *schemas.Call)
}

// dispatcher hands a call to its tool.
type dispatcher func(ctx context.Context, call *schemas.Call) (schemas.JSON, error)

// run takes one call through all stages. The call is not changed: a rewritten input goes on
// in a copy. Between the stages an ended context stops the call before it reaches its tool. waiting is told when the
// call waits for a person, and the function that it gives when that person has approved.
func (p *Pipeline) run(
	ctx context.Context, call *schemas.Call, c *contract, dispatch dispatcher, waiting func(approval string) (approved func()), log *slog.Logger,
) (schemas.JSON, *schemas.CallError) {
	rec := &Record{Call: call, Tool: &c.tool, Args: call.Args}
	begun := time.Now()
	rec.Err = p.admit(ctx, rec, c, waiting, log)
	if rec.Err == nil && ctx.Err() != nil {
		rec.Err = refused(schemas.CallToolError, atTool, "%s was cancelled before it started", c.tool.Name)
	}
	if rec.Err == nil {
		p.dispatch(ctx, rec, c, dispatch, log)
	}
	rec.Duration = time.Since(begun)
	if rec.Dispatched {
		p.after(ctx, rec, log)
	}
	if p.Recorder != nil {
		_ = guard("recorder", log, func() error { p.Recorder.Record(rec); return nil })
	}
	return rec.Value, rec.Err
}

// after asks the hooks about a call that was made. Those after one that withholds see that, and not the value.
func (p *Pipeline) after(ctx context.Context, rec *Record, log *slog.Logger) {
	withheld := false
	for _, hook := range p.After {
		if err := guard("after hook", log, func() error { return hook.After(ctx, rec) }); err != nil && !withheld {
			rec.withhold(err)
			withheld = true
		}
	}
}

// withhold takes away what the tool returned, be it a value or an error; what it did stays done.
func (r *Record) withhold(why error) {
	effect, what := schemas.Done, "ran, and what it returned"
	if r.Err != nil {
		effect, what = r.Err.Effect, "failed, and what it said"
	}
	r.Value, r.Err = nil, &schemas.CallError{
		Code: schemas.CallToolError, Location: atHook, Effect: effect,
		Message: fmt.Sprintf("%s %s is withheld: %s", r.Tool.Name, what, clip(why.Error(), maxMessageBytes)),
	}
}

// admit takes a call up to the point where its tool may run.
func (p *Pipeline) admit(
	ctx context.Context, rec *Record, c *contract, waiting func(string) func(), log *slog.Logger,
) *schemas.CallError {
	if c.broken != nil {
		return c.broken
	}
	name := c.tool.Name
	args, bad := c.CheckInput(rec.Args)
	if bad != nil {
		return bad
	}
	rec.Args = args
	if p.Policy != nil {
		if err := guard("policy", log, func() error { return p.Policy(rec.Call, rec.Tool) }); err != nil {
			return refused(schemas.CallInvalidInput, atPolicy, "%s is blocked by policy: %s", name, clip(err.Error(), maxMessageBytes))
		}
	}
	asked := ""
	for _, hook := range p.Before {
		var ruling Ruling
		if err := guard("before hook", log, func() (err error) {
			ruling, err = hook.Before(ctx, rec.with(), rec.Tool)
			return err
		}); err != nil {
			return refused(schemas.CallInvalidInput, atHook, "%s was not called: %s", name, clip(err.Error(), maxMessageBytes))
		}
		if asked == "" {
			asked = ruling.Ask
		}
		if len(ruling.Args) == 0 || bytes.Equal(ruling.Args, rec.Args) {
			continue
		}
		if args, bad = c.CheckInput(ruling.Args); bad != nil {
			bad.Location, bad.Message = atHook, cmp.Or(ruling.By, "a hook")+"'s rewrite of the arguments is invalid: "+bad.Message
			return bad
		}
		rec.Args = args
	}
	if asked == "" && !p.mayAsk(c) {
		return nil
	}
	return p.approve(ctx, rec, c, asked, waiting, log)
}

// dispatch runs the tool and checks what it returns.
func (p *Pipeline) dispatch(ctx context.Context, rec *Record, c *contract, dispatch dispatcher, log *slog.Logger) {
	rec.Dispatched = true
	if p.Dispatching != nil {
		p.Dispatching(rec.Call)
	}
	err := guard("tool "+c.tool.Name, log, func() (err error) {
		rec.Value, err = dispatch(ctx, rec.with())
		return err
	})
	switch {
	case err != nil:
		rec.Value, rec.Err = nil, toolFailure(c.tool.Name, err)
	default:
		if rec.Err = c.checkOutput(rec.Value); rec.Err != nil {
			rec.Value = nil
		}
	}
}

// with gives the call with the arguments as they are now.
func (r *Record) with() *schemas.Call {
	call := *r.Call
	call.Args = r.Args
	return &call
}

// guard turns a panic into an error that tells the guest nothing; the stack goes to the log.
func guard(what string, log *slog.Logger, fn func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			log.Error("panic", "in", what, "panic", p, "stack", string(debug.Stack()))
			err = fmt.Errorf("the %s failed inside", what)
		}
	}()
	return fn()
}
