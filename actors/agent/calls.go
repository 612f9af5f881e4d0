package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/openai/openai-go/v3"

	"github.com/codecell/codecell/bus"
	"github.com/codecell/codecell/schemas"
)

const (
	// maxListedTools is how many tools a model is told of that has called one that isn't there.
	maxListedTools = 50
	// maxShown bounds what a text for a model quotes of what it wrote, in bytes.
	maxShown = 200
)

// call is one call of a model.
type call struct {
	// SaidCall has the id that the call has on the bus and on record.
	schemas.SaidCall
	// wire is its id in what the provider is sent.
	wire string
	// tool is nil if there is none of this name.
	tool *schemas.SurfaceTool
	// refused says why the call isn't made; empty if it is.
	refused string
}

// call does what an answer calls for, and adds it with the outcomes to the conversation. Each call of the message is
// answered by one message, whatever became of it: providers refuse a conversation where it isn't so.
func (r *running) call(ctx context.Context, a *answer) error {
	calls := r.resolve(a)
	said, wire := make([]schemas.SaidCall, len(calls)), make([]schemas.SaidCall, len(calls))
	for i := range calls {
		said[i], wire[i] = calls[i].SaidCall, calls[i].SaidCall
		wire[i].ID = calls[i].wire
	}
	if err := r.say(ctx, schemas.RoleAssistant, schemas.Said{Text: a.text, ToolCalls: said}); err != nil {
		return err
	}
	r.messages = append(r.messages, assistantMessage(a.text, wire))
	r.weight += a.size()
	outcomes := r.perform(ctx, calls)
	if n := len(calls) - 1; a.dropped > 0 {
		outcomes[n].text += fmt.Sprintf("\n\n%d more calls of the same answer were dropped, and not made: at most %d are made for one.", a.dropped, maxCalls)
	}
	var images []image
	gone := r.lostIn(outcomes)
	round := r.repeats.round()
	for i := range calls {
		c, o := &calls[i], &outcomes[i]
		if err := r.say(ctx, schemas.RoleTool, schemas.Said{Text: o.text, ToolCallID: c.ID, Name: c.Name, Truncated: o.cut}); err != nil {
			return cmp.Or(gone, err)
		}
		r.messages = append(r.messages, openai.ToolMessage(o.text, c.wire))
		r.weight += len(o.text)
		images = append(images, o.images...)
		round.add(c.Name, c.Arguments, o)
	}
	r.show(images)
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case gone != nil:
		return gone
	case r.repeats.seen(round) >= maxRepeats:
		return limitError(fmt.Sprintf("the model went round in circles: it made the same calls %d times in a row and was told the same each time", maxRepeats))
	}
	return nil
}

// lostIn finds out whether the run was lost during the calls: then there is little time for anything, since the bus may be
// gone with it.
func (r *running) lostIn(outcomes []outcome) (gone error) {
	for i := range outcomes {
		gone = cmp.Or(gone, outcomes[i].gone)
	}
	r.lost = r.lost || gone != nil
	return gone
}

// resolve finds out which calls can be made, and under which ids.
func (r *running) resolve(a *answer) []call {
	calls := make([]call, len(a.calls))
	for i, said := range a.calls {
		c := &calls[i]
		c.SaidCall, c.wire = said, said.ID
		c.ID = r.ids.take(said.ID)
		if c.wire == "" || len(c.wire) > maxCallID || slices.ContainsFunc(calls[:i], func(o call) bool { return o.wire == c.wire }) {
			c.wire = c.ID
		}
		if c.tool, _ = r.run.Surface.Callable(said.Name); c.tool == nil {
			c.Name = harmless(said.Name)
		}
		if blank := strings.TrimSpace(c.Arguments); (blank == "" || blank == "null") && a.finish != finishLength {
			c.Arguments = "{}" // as many write it for a tool without parameters
		}
		c.refused = r.refusal(c, said.Name, i, a.finish)
	}
	return calls
}

// refusal says why a call isn't made, in words that help the model to mend it; it is empty if the call is made. A tool that
// the model isn't shown is like one that doesn't exist.
func (r *running) refusal(c *call, name string, n int, finish string) string {
	switch {
	case n >= maxCalls:
		return fmt.Sprintf("This call was not made: at most %d are made for one answer. Make it again if you still need it.", maxCalls)
	case c.tool == nil:
		return fmt.Sprintf("Tool %q isn't available; available: %s.", schemas.Prefix(name, maxShown), listed(r.run.Surface.Tools))
	case isJSONObject(c.Arguments):
		return ""
	case finish == finishLength:
		return "This call was not made: your answer reached its longest in the middle of the call's arguments. Make it again with less in it."
	}
	why := "it must be one object, in braces"
	if err := json.Unmarshal([]byte(c.Arguments), new(map[string]json.RawMessage)); err != nil && !json.Valid([]byte(c.Arguments)) {
		why = err.Error()
		if e, ok := errors.AsType[*json.SyntaxError](err); ok {
			why = fmt.Sprintf("%v, at byte %d of %d", e, e.Offset, len(c.Arguments))
		}
	}
	return fmt.Sprintf("This call was not made: its arguments aren't a JSON object: %s. They begin: %s\nMake it again with one JSON object that fits the tool's schema.",
		why, schemas.Prefix(c.Arguments, maxShown))
}

// harmless is the name of a tool that doesn't exist, as providers take it when it is sent back to them.
func harmless(name string) string {
	name = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' {
			return r
		}
		return '_'
	}, schemas.Prefix(name, 64))
	return cmp.Or(name, "unnamed")
}

func listed(tools []schemas.SurfaceTool) string {
	if len(tools) == 0 {
		return "none"
	}
	var names []string
	for i := range tools[:min(len(tools), maxListedTools)] {
		names = append(names, tools[i].Name)
	}
	if more := len(tools) - len(names); more > 0 {
		names = append(names, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(names, ", ")
}

// perform makes the calls, all at once, and gives what became of each.
func (r *running) perform(ctx context.Context, calls []call) []outcome {
	outcomes := make([]outcome, len(calls))
	var group sync.WaitGroup
	for i := range calls {
		c := &calls[i]
		r.observe(Calling{ID: c.ID, Name: c.Name, Title: c.title(), Arguments: c.Arguments})
		group.Go(func() {
			start := time.Now()
			o := failure(c.refused)
			if c.refused == "" {
				o = r.do(ctx, c)
			}
			outcomes[i] = o
			r.observe(Called{ID: c.ID, Name: c.Name, Text: o.text, Failed: o.failed, Duration: time.Since(start)})
			r.traceCall(c, &o, time.Since(start))
		})
	}
	group.Wait()
	return outcomes
}

// title is that of a program.
func (c *call) title() string {
	var input struct {
		Title string `json:"title"`
	}
	if c.tool == nil || c.tool.Direct || c.Name == schemas.WaitTool || json.Unmarshal([]byte(c.Arguments), &input) != nil {
		return ""
	}
	return readable(input.Title)
}

// do makes a call. When ctx ends, the call ends with the run, which the turn closes then.
func (r *running) do(ctx context.Context, c *call) outcome {
	args := schemas.JSON(c.Arguments)
	if c.tool.Direct {
		d, err := r.run.Direct(ctx, schemas.Direct{CallID: c.ID, Name: c.Name, Args: args})
		if err != nil {
			return r.broken(ctx, err)
		}
		return directOutcome(d, c.tool.Control && c.tool.Name == schemas.ToolCallTool)
	}
	var result *schemas.Result
	var err error
	if c.Name == schemas.WaitTool {
		in, refused := schemas.ParseWaitInput(args)
		if refused != nil {
			return failure(refused.Error())
		}
		result, err = r.run.WaitAs(ctx, c.ID, in.RunID)
	} else {
		result, err = r.run.Exec(ctx, schemas.Exec{CallID: c.ID, Input: args})
	}
	if err != nil {
		return r.broken(ctx, err)
	}
	o := resultOutcome(result)
	if c.foreign(r.run.Host) {
		o.gone = nil
	}
	return o
}

// foreign tells whether a wait is for something of another host, whose end isn't this run's.
func (c *call) foreign(host string) bool {
	in, refused := schemas.ParseWaitInput(schemas.JSON(c.Arguments))
	if c.Name != schemas.WaitTool || refused != nil {
		return false
	}
	owner, err := bus.HostOf(in.RunID)
	return err == nil && owner != host
}

// broken is the outcome of a call without an answer.
func (r *running) broken(ctx context.Context, err error) outcome {
	if ctx.Err() != nil {
		return failure("This call was stopped before it ended, with the turn. It may have run.")
	}
	o := failure(err.Error())
	e, refused := errors.AsType[*schemas.Error](err)
	switch {
	case errors.Is(err, bus.ErrTooLarge), errors.Is(err, bus.ErrBusy): // nothing was sent
	case !refused || e.Code == schemas.RuntimeUnavailable:
		o.gone = err
	}
	return o
}
