package tool

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/codecell/codecell/schemas"
)

// Handler is a tool's function on raw JSON: args is the argument object after defaults and
// validation; the result is one JSON text, or empty for undefined.
type Handler func(ctx context.Context, args schemas.JSON) (schemas.JSON, error)

// Func is one Go function as a tool: made by [New] or [Raw], offered by [Funcs].
type Func struct {
	tool schemas.Tool
	call Handler
	asks func(args schemas.JSON) (bool, error) // nil: for no arguments
	err  error
}

// Option says something about a tool beyond its name, description and types.
type Option func(*Func)

// ReplaySafe vouches that running the tool again changes nothing (R1).
func ReplaySafe() Option { return func(f *Func) { f.tool.ReplaySafe = true } }

// Idempotent says that a lost call may be sent again with the same idempotency key (U2).
func Idempotent() Option { return func(f *Func) { f.tool.Idempotent = true } }

// Sequential makes the tool run alone within its run's catalog (P4).
func Sequential() Option { return func(f *Func) { f.tool.Sequential = true } }

// OwnerOnly keeps the tool from runs whose sender isn't the owner.
func OwnerOnly() Option { return func(f *Func) { f.tool.OwnerOnly = true } }

// Label gives the tool a short name for people.
func Label(text string) Option { return func(f *Func) { f.tool.Label = text } }

// Approval demands that somebody approves every call (P3).
func Approval() Option { return func(f *Func) { f.tool.Approval = true } }

// ApprovalWhen demands that somebody approves the calls whose arguments, read into In, the function says yes to (P3).
// Arguments that don't fit In are refused, as are those for which it panics. It is asked about the arguments as they
// would be dispatched, and must not block.
func ApprovalWhen[In any](asks func(in In) bool) Option {
	return func(f *Func) {
		f.asks = func(args schemas.JSON) (bool, error) {
			var in In
			if err := json.Unmarshal(args, &in); err != nil {
				return false, fmt.Errorf("the arguments don't fit: %w", err)
			}
			return asks(in), nil
		}
	}
}

// New makes a tool of a Go function. The input schema is inferred from In, which must be a
// struct: its fields by their json names, required unless they are omitempty or omitzero,
// described by their `jsonschema:"…"` tags; unknown properties are refused. The output
// schema is inferred from Out, and is absent for interface types. A type that no schema can
// be inferred from is reported by [Funcs] and [Serve].
func New[In, Out any](name, description string, fn func(ctx context.Context, in In) (Out, error), opts ...Option) Func {
	f := Func{tool: schemas.Tool{Name: name, Description: description}}
	f.tool.Parameters, f.err = infer[In]()
	if f.err == nil && reflect.TypeFor[In]().Kind() != reflect.Struct {
		f.err = fmt.Errorf("its input must be a struct, not %v: arguments are a JSON object", reflect.TypeFor[In]())
	}
	if f.err == nil && reflect.TypeFor[Out]().Kind() != reflect.Interface {
		f.tool.Output, f.err = infer[Out]()
	}
	for _, opt := range opts {
		opt(&f)
	}
	f.call = func(ctx context.Context, args schemas.JSON) (schemas.JSON, error) {
		var in In
		if err := json.Unmarshal(args, &in); err != nil {
			return nil, refused(schemas.CallInputContract, atInput, "%s: the arguments don't fit: %v", name, err)
		}
		if err := takeTurn(ctx); err != nil {
			return nil, err
		}
		out, err := fn(ctx, in)
		if err != nil {
			return nil, err
		}
		return encode(out)
	}
	return f
}

// Raw makes a tool of a function on JSON and a description that the caller wrote. The
// owner, source and tier of t are overwritten by [Funcs]. What fn returns must be JSON, or nothing.
func Raw(t schemas.Tool, fn Handler, opts ...Option) Func {
	f := Func{tool: t}
	if fn != nil {
		f.call = func(ctx context.Context, args schemas.JSON) (schemas.JSON, error) {
			if err := takeTurn(ctx); err != nil {
				return nil, err
			}
			value, err := fn(ctx, args)
			if err == nil && len(value) > 0 && !json.Valid(value) {
				err = &schemas.CallError{
					Code: schemas.CallOutputContract, Location: atOutput, Effect: schemas.Done,
					Message: t.Name + " ran, and what it returned isn't JSON. Its effects may have happened; calling it again may repeat them",
				}
			}
			return value, err
		}
	}
	for _, opt := range opts {
		opt(&f)
	}
	return f
}

// infer gives the JSON Schema of a Go type.
func infer[T any]() (schemas.JSON, error) {
	s, err := jsonschema.For[T](nil)
	if err != nil {
		return nil, err
	}
	return json.Marshal(s)
}

// encode gives the JSON text of a Go value, with <, > and & as they are.
func encode(v any) (schemas.JSON, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, fmt.Errorf("the result is no JSON: %w", err)
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), nil
}

// FuncSet is a [Provider] of Go functions.
type FuncSet struct {
	owner   string
	tier    schemas.Tier
	changed signal

	mu    sync.RWMutex
	offer schemas.Registration
	calls map[string]Handler
	asks  map[string]func(schemas.JSON) (bool, error)
}

// Funcs offers Go functions as the native tools of one owner: a plugin's id, say. It
// refuses an empty owner, two tools of one name, and a tool without a name, a function or
// usable types.
func Funcs(owner string, tools ...Func) (*FuncSet, error) {
	s := &FuncSet{owner: owner, tier: schemas.TierPlugin, changed: newSignal()}
	if owner == "" {
		return nil, fmt.Errorf("tool: the owner is empty: name the plugin or program that serves the tools")
	}
	if err := s.Set(tools...); err != nil {
		return nil, err
	}
	return s, nil
}

// Set replaces the tools. Calls in flight go on. After an error the old tools stay.
func (s *FuncSet) Set(tools ...Func) error {
	calls := make(map[string]Handler, len(tools))
	asks := map[string]func(schemas.JSON) (bool, error){}
	offer := schemas.Registration{Source: schemas.SourceNative, Owner: s.owner}
	for i, f := range tools {
		switch {
		case f.tool.Name == "":
			return fmt.Errorf("tool: tool %d of %s has no name", i, s.owner)
		case f.err != nil:
			return fmt.Errorf("tool: %s of %s: %w", f.tool.Name, s.owner, f.err)
		case f.call == nil:
			return fmt.Errorf("tool: %s of %s has no function", f.tool.Name, s.owner)
		case calls[f.tool.Name] != nil:
			return fmt.Errorf("tool: %s of %s is there twice: names must differ", f.tool.Name, s.owner)
		}
		t := f.tool
		t.Source, t.Owner, t.Tier = schemas.SourceNative, s.owner, s.tier
		calls[t.Name], asks[t.Name] = f.call, f.asks
		offer.Tools = append(offer.Tools, t)
	}
	s.mu.Lock()
	s.calls, s.asks, s.offer = calls, asks, offer
	s.mu.Unlock()
	s.changed.note()
	return nil
}

// Offer gives the current tools.
func (s *FuncSet) Offer() schemas.Registration {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.offer
}

// Asks gives the function that tells for which arguments a tool needs an approval, or nil.
func (s *FuncSet) Asks(tool string) func(args schemas.JSON) (bool, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.asks[tool]
}

// Changed is signalled by [FuncSet.Set].
func (s *FuncSet) Changed() <-chan struct{} { return s.changed }

// Call runs a function.
func (s *FuncSet) Call(ctx context.Context, call *schemas.Call, progress Progress) (schemas.JSON, error) {
	return s.callHeld(ctx, call, progress, nil)
}

// callHeld is Call for an executor: the function is at the end of what takes time, so it is there that its turn is awaited.
func (s *FuncSet) callHeld(ctx context.Context, call *schemas.Call, progress Progress, h *held) (schemas.JSON, error) {
	s.mu.RLock()
	fn := s.calls[call.Tool]
	s.mu.RUnlock()
	if fn == nil {
		return nil, refused(schemas.CallInvalidInput, atTool, "%s is no longer offered", call.Tool)
	}
	return fn(context.WithValue(ctx, callKey{}, &running{call, progress, h}), call.Args)
}

// Close does nothing: functions hold nothing.
func (s *FuncSet) Close(context.Context) error { return nil }

// Native builds the result of a native tool that knows structured details, a text and an
// error flag (G1): the details are the result; when it is an error and the details have no
// message, the text is put in as message; undefined details stay undefined, unless it is an
// error with a text.
func Native(details schemas.JSON, isError bool, text string) schemas.JSON {
	if !isError || text == "" {
		return details
	}
	message, err := encode(text)
	if err != nil {
		return details
	}
	trimmed := bytes.TrimSpace(details)
	if len(trimmed) == 0 {
		return slices.Concat([]byte(`{"message":`), message, []byte("}"))
	}
	var fields map[string]json.RawMessage
	if trimmed[0] != '{' || json.Unmarshal(trimmed, &fields) != nil || fields["message"] != nil {
		return details
	}
	head := trimmed[:len(trimmed)-1]
	if len(fields) > 0 {
		head = slices.Concat(head, []byte(","))
	}
	return slices.Concat(head, []byte(`"message":`), message, []byte("}"))
}
