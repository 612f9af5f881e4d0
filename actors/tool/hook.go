package tool

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/codecell/codecell/actors/policy"
	"github.com/codecell/codecell/bus"
	"github.com/codecell/codecell/schemas"
)

const (
	// maxRewriteBytes bounds the input that a hook puts in the place of a call's.
	maxRewriteBytes = 16 << 20
	// maxReasonBytes bounds what a hook says.
	maxReasonBytes = 2000
	// maxAsking is how many questions a function may have open at once. One that heeds no context leaves a goroutine behind
	// with each.
	maxAsking = 1024
)

// Hook is one hook as it's asked about calls (P1): a function of this program, or, from [BusHooks], processes on the bus.
// A hook that doesn't answer in time, or gives an answer that makes no sense, fails closed: before a call it isn't made,
// after it what it returned is withheld, and its program reads why.
type Hook struct {
	// Name is what messages call it: letters, digits, "_" and "-".
	Name string
	// Phase is [schemas.BeforeToolCall] or [schemas.AfterToolCall].
	Phase string
	// Tools are those that it's asked about, by any name that a deny list would know them by; "exec" also means programs.
	// Nil means all tools, and programs.
	Tools []string
	// Timeout is how long it may take, 5 s if 0.
	Timeout time.Duration
	// Ask decides; a nil Verdict lets the call pass as it is. It is called by many goroutines at once and must not change
	// the event. Its context ends with Timeout, or when nobody waits for the call any more.
	Ask bus.HookFunc

	// prompt: Ask returns when its context ends. A function of somebody else may not.
	prompt bool
}

// BusHooks gives the hooks of a configuration, which processes on the bus serve (see [bus.ServeHook]).
func BusHooks(conn *bus.Conn, configured []schemas.HookConfig) []Hook {
	var hooks []Hook
	for i := range configured {
		c := &configured[i]
		subject := bus.HookSubject(c.Phase, c.Name)
		hooks = append(hooks, Hook{
			Name: c.Name, Phase: c.Phase, Tools: c.Tools, Timeout: c.Timeout(), prompt: true,
			Ask: func(ctx context.Context, event *schemas.HookEvent) (*schemas.Verdict, error) {
				return bus.Ask[schemas.Verdict](ctx, conn, subject, event)
			},
		})
	}
	return hooks
}

// asked is a hook that was found fit to be asked.
type asked struct {
	*Hook
	log *slog.Logger
	// open counts the questions that the function hasn't answered.
	open *atomic.Int64
}

// phases checks hooks and divides them by phase, keeping their order.
func phases(hooks []Hook, log *slog.Logger) (before, after []asked, err error) {
	for i := range hooks {
		h := &hooks[i]
		if h.Name == "" {
			return nil, nil, errors.New("tool: a hook has no name: give it one, for messages")
		}
		if h.Ask == nil {
			return nil, nil, fmt.Errorf("tool: hook %s has no function to ask", h.Name)
		}
		switch h.Phase {
		case schemas.BeforeToolCall:
			before = append(before, asked{h, log, new(atomic.Int64)})
		case schemas.AfterToolCall:
			after = append(after, asked{h, log, new(atomic.Int64)})
		default:
			return nil, nil, fmt.Errorf("tool: hook %s has the phase %q: expected %q or %q", h.Name, h.Phase, schemas.BeforeToolCall, schemas.AfterToolCall)
		}
	}
	return before, after, nil
}

// addHooks has the pipeline ask hooks, after those that it has.
func (p *Pipeline) addHooks(hooks []Hook, log *slog.Logger) error {
	before, after, err := phases(hooks, log)
	if err != nil || len(hooks) == 0 {
		return err
	}
	p.Before, p.After = append([]Before(nil), p.Before...), append([]After(nil), p.After...) // the caller's stay as they are
	for _, h := range before {
		p.Before = append(p.Before, h)
	}
	for _, h := range after {
		p.After = append(p.After, h)
	}
	return nil
}

func (h asked) about(t *schemas.Tool) bool { return h.Tools == nil || policy.Means(h.Tools, t) }

// Before asks about a call that hasn't been made.
func (h asked) Before(ctx context.Context, call *schemas.Call, t *schemas.Tool) (Ruling, error) {
	if !h.about(t) {
		return Ruling{}, nil
	}
	v, err := h.verdict(ctx, eventOf(call, t))
	if err != nil {
		return Ruling{}, err
	}
	r := Ruling{Args: v.Input}
	if len(v.Input) > 0 {
		r.By = "hook " + h.Name
	}
	if v.Ask {
		r.Ask = h.says("asks for an approval", v.Reason)
	}
	return r, nil
}

// After asks about a call that was made. That it isn't wanted any more doesn't spare it: hooks see every call.
func (h asked) After(ctx context.Context, r *Record) error {
	if !h.about(r.Tool) {
		return nil
	}
	event := eventOf(r.Call, r.Tool)
	event.Input, event.Value, event.Err, event.DurationUs = r.Args, r.Value, r.Err, r.Duration.Microseconds()
	_, err := h.verdict(context.WithoutCancel(ctx), event)
	return err
}

func eventOf(call *schemas.Call, t *schemas.Tool) *schemas.HookEvent {
	return &schemas.HookEvent{
		Tool: t.Name, Source: t.Source, Owner: t.Owner, Call: call.ID, ParentID: call.ParentID, Address: call.Address,
		Identity: call.Identity, TraceParent: call.TraceParent, Input: call.Args,
	}
}

// verdict asks, and gives a verdict that lets the call pass. The error is a sentence about the hook that says why not.
func (h asked) verdict(ctx context.Context, event *schemas.HookEvent) (*schemas.Verdict, error) {
	event.Phase, event.Hook = h.Phase, h.Name
	limit := h.Timeout
	if limit <= 0 {
		limit = (&schemas.HookConfig{}).Timeout()
	}
	asking, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	v, err := h.ask(asking, event)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, fmt.Errorf("hook %s hadn't answered when the call ended: %w", h.Name, ctx.Err())
	case err != nil && asking.Err() != nil:
		return nil, fmt.Errorf("hook %s didn't answer within %v", h.Name, limit)
	case errors.Is(err, bus.ErrNoResponders):
		return nil, fmt.Errorf("nobody answers for hook %s: start what serves it, or take it out of the configuration's hooks", h.Name)
	case errors.Is(err, bus.ErrMalformed):
		return nil, fmt.Errorf("hook %s gave an answer that can't be read", h.Name)
	case err != nil:
		return nil, errors.New(h.says("failed", err.Error()))
	case v == nil:
		return &schemas.Verdict{}, nil
	case v.Err != nil:
		return nil, errors.New(h.says("failed", v.Err.Message))
	}
	if wrong := h.nonsense(v); wrong != "" {
		return nil, errors.New(h.says("gave an answer that makes no sense", wrong))
	}
	if v.Block {
		return nil, errors.New(h.says("blocks it", v.Reason))
	}
	return v, nil
}

// says puts the hook's own words, if there are any, behind ours.
func (h asked) says(what, reason string) string {
	text := "hook " + h.Name + " " + what
	if reason = clip(reason, maxReasonBytes); reason != "" {
		text += ": " + reason
	}
	return text
}

// nonsense tells what is wrong with a verdict, or "".
func (h asked) nonsense(v *schemas.Verdict) string {
	switch {
	case v.Block && (v.Ask || len(v.Input) > 0):
		return "it blocks the call and lets it pass"
	case h.Phase == schemas.AfterToolCall && (v.Ask || len(v.Input) > 0):
		return "a call that was made can be blocked, and nothing else"
	case len(v.Input) > maxRewriteBytes:
		return fmt.Sprintf("the input has %d bytes, at most %d are allowed", len(v.Input), maxRewriteBytes)
	case len(v.Input) > 0 && (!json.Valid(v.Input) || bytes.TrimLeft(v.Input, " \t\r\n")[0] != '{'):
		return "the input is no JSON object"
	}
	return ""
}

// ask calls the function, and leaves it behind if it doesn't heed its context.
func (h asked) ask(ctx context.Context, event *schemas.HookEvent) (*schemas.Verdict, error) {
	if h.prompt {
		return h.Ask(ctx, event)
	}
	type answer struct {
		verdict *schemas.Verdict
		err     error
	}
	if h.open.Add(1) > maxAsking {
		h.open.Add(-1)
		return nil, fmt.Errorf("it has %d questions already that it hasn't answered", maxAsking)
	}
	answered := make(chan answer, 1)
	go func() {
		defer h.open.Add(-1)
		a := answer{err: errors.New("it failed inside")}
		defer func() {
			if p := recover(); p != nil {
				h.log.Error("panic", "in", "hook "+h.Name, "panic", p, "stack", string(debug.Stack()))
			}
			answered <- a
		}()
		v, err := h.Ask(ctx, event)
		a = answer{v, err}
	}()
	select {
	case a := <-answered:
		return a.verdict, a.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
