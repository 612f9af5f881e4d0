package run

import (
	"encoding/json"

	"github.com/codecell/codecell/actors/catalog"
	"github.com/codecell/codecell/schemas"
)

// searched is what tool_search or tool_describe has found, or why a tool of Tool Search did nothing.
type searched struct {
	value     schemas.JSON
	refused   *schemas.CallError
	untrusted bool
	// searches and describes are what it counts for.
	searches, describes int
}

// searchControl gives the tool of Tool Search that a direct call names, if the surface has it.
func searchControl(a *Admission, name string) (control string, ok bool) {
	if name == schemas.DispatchAction {
		name = schemas.ToolCallTool
	}
	t, ok := a.Surface.Tool(name)
	return name, ok && t.Control && t.Direct
}

// search answers a call of a tool of Tool Search (L2), or finds what it calls. Nothing is searched, described or called if the
// input isn't right as a whole.
func (a *admitted) search(control string) {
	input := a.ask.Msg.Args
	if len(input) == 0 {
		input = schemas.JSON("{}")
	}
	cat := a.admission.Catalog
	switch control {
	case schemas.ToolSearchTool:
		in, err := schemas.ParseToolSearchInput(input)
		if err != nil {
			a.refuse(err.Message, false)
			return
		}
		a.searched = &searched{searches: len(in.Queries)}
		a.searched.value, a.searched.untrusted = cat.ToolSearch(in, a.admission.Search)
	case schemas.ToolDescribeTool:
		in, err := schemas.ParseToolDescribeInput(input)
		if err != nil {
			a.refuse(err.Message, false)
			return
		}
		tools := make([]*catalog.Entry, len(in.Tools))
		for i, selector := range in.Tools {
			if tools[i] = a.choose(selector); tools[i] == nil {
				return
			}
		}
		a.searched = &searched{describes: len(tools)}
		a.searched.value, a.searched.untrusted = cat.ToolDescribe(tools, in.Batch)
	default:
		in, err := schemas.ParseToolCallInput(input)
		if err != nil {
			a.refuse(err.Message, false)
			return
		}
		if a.chosen = a.choose(in.Tool); a.chosen != nil {
			a.tool, a.name, a.args = &a.chosen.Tool, a.chosen.CallableName, in.Args
		}
	}
}

// choose gives the tool that a selector means; nil: the call is refused.
func (a *admitted) choose(selector schemas.ToolSelector) *catalog.Entry {
	entry, refusal := a.admission.Catalog.Select(selector, a.admission.shown())
	if refusal != nil {
		a.refuse(refusal.Message, refusal.Untrusted)
	}
	return entry
}

// refuse ends the call as one that a tool of Tool Search doesn't make: the model did it wrong, and can do it right.
func (a *admitted) refuse(message string, untrusted bool) {
	a.searched = &searched{untrusted: untrusted, refused: &schemas.CallError{
		Code: schemas.CallInvalidInput, Message: message, Location: "input", Effect: schemas.NotStarted,
	}}
}

// found is the answer to a search or a description, which count from now on.
func (r *run) found(s *searched) *schemas.Directed {
	r.counters.search.Add(int64(s.searches))
	r.counters.describe.Add(int64(s.describes))
	return r.withTelemetry(&schemas.Directed{Source: schemas.SourceNative, Value: s.value, Call: s.refused, Untrusted: s.untrusted})
}

// envelop makes the answer of a tool that of tool_call.
func (r *run) envelop(reply *schemas.Directed, chosen *catalog.Entry) {
	reply.Source = schemas.SourceNative // of the envelope
	switch {
	case reply.Call != nil || reply.Err != nil:
	case len(reply.Value) > 0 && !json.Valid(reply.Value):
		reply.Value, reply.Call = nil, &schemas.CallError{
			Code: schemas.CallToolError, Message: "the tool's answer isn't JSON; it has run", Location: "output", Effect: schemas.Done,
		}
	default:
		reply.Value = chosen.CallEnvelope(reply.Value)
	}
	r.withTelemetry(reply)
}

// withTelemetry adds the run's telemetry to an answer, which it gives (L5).
func (r *run) withTelemetry(reply *schemas.Directed) *schemas.Directed {
	t := r.counters.telemetry(r.admission)
	reply.Telemetry = &t
	return reply
}
