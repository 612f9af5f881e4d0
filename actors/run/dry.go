package run

import (
	"encoding/json"
	"slices"
	"sync"

	"github.com/codecell/codecell/schemas"
)

// understudies answer the calls of a dry run in place of the tools. The cells of the run share them.
type understudies struct {
	mu   sync.Mutex
	made map[*schemas.Tool]*understudy
}

// maxUnderstudies bounds how many are kept: a long run may see many generations of its catalog.
const maxUnderstudies = 1024

// understudy is what stands in for one tool. Its schemas are compiled once.
type understudy struct {
	once     sync.Once
	contract *schemas.Contract
	broken   *schemas.CallError
	value    schemas.JSON
}

func newUnderstudies() *understudies {
	return &understudies{made: make(map[*schemas.Tool]*understudy)}
}

// answer says what the caller gets of a call that isn't made: what is wrong with its arguments, in the executor's
// words, or a placeholder. name is what the caller calls the tool. Compiling a schema takes its time: don't call it in an actor.
func (u *understudies) answer(tool *schemas.Tool, name string, call *schemas.Call) *schemas.Answer {
	u.mu.Lock()
	s := u.made[tool]
	if s == nil {
		if len(u.made) >= maxUnderstudies {
			clear(u.made)
		}
		s = &understudy{}
		u.made[tool] = s
	}
	u.mu.Unlock()
	s.once.Do(func() {
		if s.contract, s.broken = schemas.NewContract(tool); s.broken == nil {
			s.value = placeholder(tool, name, s.contract.Output())
		}
	})
	a := &schemas.Answer{ID: call.ID, State: schemas.AnswerDone, Value: s.value, Untrusted: tool.Source != schemas.SourceNative}
	fail := s.broken
	if fail == nil {
		_, fail = s.contract.CheckInput(call.Args)
	}
	if fail != nil {
		a.State, a.Value, a.Err = schemas.AnswerFailed, nil, fail
	}
	return a
}

// placeholder makes the value of a call that isn't made, in the shape that the tool declares. One that declares nothing, or
// what no small value fits, gives {"placeholder":true,"tool":…}.
func placeholder(tool *schemas.Tool, name string, output *schemas.Schema) schemas.JSON {
	var value schemas.JSON
	made := false
	if output != nil {
		value, made = output.Placeholder()
	}
	switch {
	case schemas.IsOperation(tool.Name):
		return operationPlaceholders[tool.Name]
	case tool.Source == schemas.SourceMCP:
		return nativePlaceholder(name, value)
	case made:
		return value
	}
	return encoded(map[string]any{"placeholder": true, "tool": name})
}

// nativePlaceholder is an MCP result (M2) with a text that says what it is.
func nativePlaceholder(name string, structured schemas.JSON) schemas.JSON {
	type block struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	return encoded(struct {
		Content    []block      `json:"content"`
		Structured schemas.JSON `json:"structuredContent,omitempty"`
	}{[]block{{"text", "placeholder: " + name + " was not called (dry run)"}}, structured})
}

// operationPlaceholders are what the operations of MCP servers give (M3).
var operationPlaceholders = map[string]schemas.JSON{
	schemas.ListResources: schemas.JSON(`{"resources":[{"uri":"placeholder:","name":"placeholder"}]}`),
	schemas.ReadResource:  schemas.JSON(`{"contents":[{"uri":"placeholder:","text":"placeholder"}]}`),
	schemas.ListPrompts:   schemas.JSON(`{"prompts":[{"name":"placeholder"}]}`),
	schemas.GetPrompt:     schemas.JSON(`{"messages":[{"role":"user","content":{"type":"text","text":"placeholder"}}]}`),
}

// encoded is the JSON of a value that has one.
func encoded(v any) schemas.JSON {
	text, err := json.Marshal(v)
	if err != nil {
		return schemas.JSON("null")
	}
	return text
}

// playbill lists the calls of one cell of a dry run, in order of issue. Only the cell's actor touches it.
type playbill struct {
	list schemas.DryRun
	// bytes of arguments in it.
	bytes int
	// faked are the ids of those that are answered by a placeholder and haven't ended.
	faked map[string]bool
}

func newPlaybill() *playbill { return &playbill{faked: make(map[string]bool)} }

// add takes one call. fake says that its tool isn't called.
func (b *playbill) add(id, tool string, args schemas.JSON, fake bool) {
	if fake {
		b.faked[id] = true
	}
	if len(b.list.Calls) == schemas.MaxDryCalls {
		b.list.Dropped++
		return
	}
	c := schemas.DryCall{ID: id, Tool: tool, Args: args, Placeholder: fake}
	if b.bytes += len(args); b.bytes > schemas.MaxDryArgs {
		b.bytes -= len(args)
		c.Args, c.OmittedBytes = schemas.JSON("null"), len(args)
	}
	b.list.Calls = append(b.list.Calls, c)
}

// made tells whether a call that has ended was one, and not a placeholder.
func (b *playbill) made(id string) bool {
	fake := b.faked[id]
	delete(b.faked, id)
	return !fake
}

// copied is the list so far, detached.
func (b *playbill) copied() *schemas.DryRun {
	return &schemas.DryRun{Calls: slices.Concat([]schemas.DryCall{}, b.list.Calls), Dropped: b.list.Dropped}
}
