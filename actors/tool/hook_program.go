package tool

import (
	"bytes"
	"context"
	"log/slog"

	"github.com/codecell/codecell/schemas"
)

// program is what a list of tools must include for a hook to be asked about programs.
var program = schemas.Tool{Source: schemas.SourceNative, Tier: schemas.TierCore, Owner: "core", Name: schemas.ExecTool}

// ProgramHooks ask about programs as a whole (X8): each function is nil if no hook is asked.
type ProgramHooks struct {
	// Before asks about a program that hasn't been started, and gives its input as the hooks leave it. It fills in the
	// event's phase, hook and input. Refusals are invalid_input; when ctx ends it returns at once.
	Before func(ctx context.Context, event *schemas.HookEvent, input schemas.ExecInput) (schemas.ExecInput, *schemas.Error)
	// After asks about what a program is to answer, the event's Value. Its error is why that must be withheld.
	After func(ctx context.Context, event *schemas.HookEvent) error
}

// AboutPrograms picks those hooks that are asked about programs.
func AboutPrograms(hooks []Hook, log *slog.Logger) (p ProgramHooks, err error) {
	before, after, err := phases(hooks, log)
	if err != nil {
		return p, err
	}
	if before = thatSeePrograms(before); len(before) > 0 {
		p.Before = func(ctx context.Context, event *schemas.HookEvent, in schemas.ExecInput) (schemas.ExecInput, *schemas.Error) {
			return beforeProgram(ctx, before, event, in)
		}
	}
	if after = thatSeePrograms(after); len(after) > 0 {
		p.After = func(ctx context.Context, event *schemas.HookEvent) error { return afterProgram(ctx, after, event) }
	}
	return p, nil
}

func thatSeePrograms(all []asked) (some []asked) {
	for _, h := range all {
		if h.about(&program) {
			some = append(some, h)
		}
	}
	return some
}

// beforeProgram lets each hook see what the ones before it have made of the input. Every hook gets both names of the
// program, whatever the rewrite before it left out (X1).
func beforeProgram(ctx context.Context, hooks []asked, event *schemas.HookEvent, in schemas.ExecInput) (schemas.ExecInput, *schemas.Error) {
	for _, h := range hooks {
		e := *event
		e.Input = in.JSON()
		v, err := h.verdict(ctx, &e)
		switch {
		case err != nil:
			return in, schemas.Refuse("", "the program was not started: "+err.Error())
		case v.Ask:
			return in, schemas.Refuse("", "the program was not started: "+h.says(
				"asks for an approval, which there is for calls of tools only", v.Reason))
		case len(v.Input) == 0 || bytes.Equal(v.Input, e.Input):
			continue
		}
		rewritten, bad := in.Rewritten(v.Input)
		if bad != nil {
			bad.Message = "the program was not started: " + h.says("made its input invalid", bad.Message)
			return in, bad
		}
		in = rewritten
	}
	return in, nil
}

// afterProgram asks all hooks. Those after one that blocks see that it did, and not the value.
func afterProgram(ctx context.Context, hooks []asked, event *schemas.HookEvent) (withheld error) {
	for _, h := range hooks {
		e := *event
		if withheld != nil {
			e.Value = nil
			e.Err = &schemas.CallError{Code: schemas.CallToolError, Location: atHook, Effect: schemas.Done, Message: withheld.Error()}
		}
		if _, err := h.verdict(ctx, &e); err != nil && withheld == nil {
			withheld = err
		}
	}
	return withheld
}
