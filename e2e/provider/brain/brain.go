// Package brain is a model for measurements: it behaves as a good one would with what it is shown, and knows what it
// wants when it sees it. For each prompt it is told which tool is meant; it uses that knowledge only to recognise the tool
// among those that it is shown or has found, and its arguments only once it has seen what the tool takes. It gives up
// where it can't find the tool, and says so.
//
// A model called "bold" writes one program that searches, takes the first hit and calls it. Any other looks first.
package brain

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/codecell/codecell/e2e/provider/chat"
	"github.com/codecell/codecell/e2e/provider/script"
)

// Bold is the name of the model that calls what it finds first.
const Bold = "bold"

// Case is a prompt and the tool that it is for.
type Case struct {
	Prompt string `json:"prompt"`
	Tool   Tool   `json:"tool"`
	// Args are fit for the tool.
	Args json.RawMessage `json:"args"`
	// Times is how often the tool is to be called, and only the number of answers matters then; 0 is once.
	Times int `json:"times,omitempty"`
}

// Tool is how a tool is known by those who have seen it.
type Tool struct {
	// MCP: the tool is that of an MCP server, and Owner is the server. Otherwise it is a plugin's.
	MCP         bool   `json:"mcp,omitempty"`
	Owner       string `json:"owner"`
	Name        string `json:"name"`
	Description string `json:"description"`
}

// ID is the tool's id in the catalog.
func (t *Tool) ID() string {
	source := "openclaw"
	if t.MCP {
		source = "mcp"
	}
	return source + ":" + t.Owner + ":" + t.Name
}

// Brain answers requests with the prompts of its cases.
type Brain struct{ cases map[string]*Case }

// Parse reads a list of cases.
func Parse(text []byte) (*Brain, error) {
	var cases []Case
	if err := json.Unmarshal(text, &cases); err != nil {
		return nil, fmt.Errorf("cases: %w", err)
	}
	b := &Brain{cases: make(map[string]*Case, len(cases))}
	for i := range cases {
		c := &cases[i]
		if b.cases[c.Prompt] != nil {
			return nil, fmt.Errorf("cases: %d: the prompt is there twice", i)
		}
		b.cases[c.Prompt] = c
	}
	return b, nil
}

// Answer says what the model does next.
func (b *Brain) Answer(r *chat.Request) (*chat.Reply, error) {
	c := b.cases[r.Prompt()]
	if c == nil {
		return nil, fmt.Errorf("there is no case for the prompt %.200q", r.Prompt())
	}
	t := &talk{Case: c, request: r, results: r.Results()}
	bold := r.Model == Bold
	var text string
	switch {
	case t.shown("tool_search_code") != nil && bold:
		text = t.bold("tool_search_code", boldSearch)
	case t.shown("tool_search_code") != nil:
		text = t.searchCode()
	case t.shown("tool_search") != nil:
		text = t.search()
	case t.shown("exec") != nil && t.shown("wait") != nil && bold:
		text = t.bold("exec", boldCode)
	case t.shown("exec") != nil && t.shown("wait") != nil:
		text = t.code()
	default:
		text = t.direct()
	}
	if t.next != nil {
		return &chat.Reply{Calls: t.next}, nil
	}
	return &chat.Reply{Text: text}, nil
}

// talk is a turn so far. A mind is played from its beginning at every request: what it asked before is answered from the
// conversation, and the first that wasn't asked yet is what it does next.
type talk struct {
	*Case
	request *chat.Request
	results []string
	asked   int
	next    []chat.ToolCall
}

// call calls a tool, and gives its answer if there is one yet. If not, the mind returns.
func (t *talk) call(name string, args any) (result string, ok bool) { return t.repeat(1, name, args) }

// callAll calls the tool as often as it is to be called, all at once, and gives the last answer.
func (t *talk) callAll(name string, args any) (result string, ok bool) {
	return t.repeat(max(1, t.Times), name, args)
}

func (t *talk) repeat(times int, name string, args any) (result string, ok bool) {
	if t.asked+times <= len(t.results) {
		t.asked += times
		return t.results[t.asked-1], true
	}
	text, err := encode(args)
	if err != nil {
		text = err.Error() // which is no JSON, and is told so
	}
	for i := range times {
		t.next = append(t.next, chat.ToolCall{
			ID: fmt.Sprintf("call_%d_%d", len(t.request.Messages), i), Type: "function", Function: chat.Function{Name: name, Arguments: text},
		})
	}
	return "", false
}

// shown gives the tool of this name.
func (t *talk) shown(name string) *chat.Tool {
	for i := range t.request.Tools {
		if t.request.Tools[i].Function.Name == name {
			return &t.request.Tools[i]
		}
	}
	return nil
}

// finish is what the model says when the tool has answered.
func finish(result string) string { return "The tool has answered: " + clip(result, 200) }

const giveUp = "None of the tools I have found does this."

// clip shortens a text to at most so many bytes, and to whole characters.
func clip(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit], "")
}

// row is a tool in a list of hits, in whichever form.
type row struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Tool        string `json:"tool"`
	Description string `json:"description"`
	Input       any    `json:"input"`
	Parameters  any    `json:"parameters"`
}

// readable tells whether the row says what the tool takes.
func (r *row) readable() bool { return r.Parameters != nil || r.Input != nil && r.Input != "" }

// rows gives all objects with an id or a name in a tool's answer.
func rows(result string) (all []row) {
	value, err := script.Value(result)
	if err != nil {
		return nil
	}
	var walk func(any)
	walk = func(v any) {
		switch v := v.(type) {
		case []any:
			for _, e := range v {
				walk(e)
			}
		case map[string]any:
			_, id := v["id"].(string)
			_, name := v["name"].(string)
			if id || name {
				text, _ := json.Marshal(v) // it was JSON
				var r row
				if json.Unmarshal(text, &r) == nil {
					all = append(all, r)
				}
				return
			}
			for _, e := range v {
				walk(e)
			}
		}
	}
	walk(value)
	return all
}

func encode(v any) (string, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return strings.TrimSuffix(b.String(), "\n"), err
}
