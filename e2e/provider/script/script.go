// Package script is a model that says what it was told to say, and checks what it is asked.
package script

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/codecell/codecell/e2e/provider/chat"
)

// Script is what the model does, step by step: a request takes the first step that is left and is for it.
type Script struct {
	Steps []Step `json:"steps"`
}

// Step is what one request is held to, and its answer.
type Step struct {
	// For is a pattern that the user's last message must match for the step to be for the request; empty is for all.
	For string `json:"for,omitempty"`
	// Forever: the step is never used up.
	Forever bool   `json:"forever,omitempty"`
	Expect  Expect `json:"expect,omitzero"`
	// Fail answers with a failure.
	Fail *Failure `json:"fail,omitempty"`
	// Text and the calls' arguments may hold templates, see [Call].
	Text     string        `json:"text,omitempty"`
	Calls    []Call        `json:"calls,omitempty"`
	Finish   string        `json:"finish,omitempty"`
	Usage    chat.Usage    `json:"usage,omitzero"`
	Delivery chat.Delivery `json:"delivery,omitzero"`
}

// Call is a call of a tool. The texts in its arguments are templates of text/template with the functions
//
//	last "a.0.b"    a value in the JSON of the last message of a tool
//	tool 0 "a.0.b"  the same of the first since the user spoke, and so on
//
// Values that aren't texts are put in as JSON.
type Call struct {
	// ID is made up if it is empty.
	ID   string `json:"id,omitempty"`
	Name string `json:"name"`
	Args any    `json:"args,omitempty"`
	// Raw are arguments to be sent as they are, in place of Args.
	Raw string `json:"raw,omitempty"`
}

// Failure is an HTTP failure.
type Failure struct {
	Status  int    `json:"status"`
	Message string `json:"message,omitempty"`
	// RetryAfter is the header of that name, if there is to be one.
	RetryAfter string `json:"retryAfter,omitempty"`
}

// Expect is what must be true of a request. Patterns are regular expressions.
type Expect struct {
	// Tools are the names of the tools, in any order; nil is not looked at.
	Tools []string `json:"tools,omitempty"`
	// Absent are names that no tool has, Never texts that the body doesn't have.
	Absent []string `json:"absent,omitempty"`
	Never  []string `json:"never,omitempty"`
	// Role is that of the last message, and Last are patterns of its content.
	Role string   `json:"role,omitempty"`
	Last []string `json:"last,omitempty"`
	// System are patterns of the instructions, and Tool those of the descriptions of tools by name.
	System []string          `json:"system,omitempty"`
	Tool   map[string]string `json:"tool,omitempty"`
	// Messages is how many there are, without those of the system; 0 is not looked at.
	Messages int `json:"messages,omitempty"`
}

// Player plays a script.
type Player struct {
	mu    sync.Mutex
	steps []Step
	used  []bool
	fors  []*regexp.Regexp
}

// Parse reads a script.
func Parse(text []byte) (*Player, error) {
	var s Script
	d := json.NewDecoder(strings.NewReader(string(text)))
	d.DisallowUnknownFields()
	if err := d.Decode(&s); err != nil {
		return nil, fmt.Errorf("script: %w", err)
	}
	p := &Player{steps: s.Steps, used: make([]bool, len(s.Steps))}
	for i := range s.Steps {
		pattern, err := regexp.Compile(s.Steps[i].For)
		if err != nil {
			return nil, fmt.Errorf("script: step %d: for: %w", i, err)
		}
		p.fors = append(p.fors, pattern)
	}
	return p, nil
}

// errOver answers requests that the script doesn't know of.
var errOver = errors.New("the script has no step for this request")

// Play takes a request's step. Problems are those of the request or of the script: such a request gets no answer.
func (p *Player) Play(r *chat.Request) (*chat.Reply, *Failure, []string) {
	step, err := p.take(r.Prompt())
	if err != nil {
		return nil, nil, []string{err.Error()}
	}
	if problems := step.Expect.check(r); len(problems) > 0 {
		return nil, nil, problems
	}
	if step.Fail != nil {
		return nil, step.Fail, nil
	}
	reply, err := step.reply(r)
	if err != nil {
		return nil, nil, []string{err.Error()}
	}
	return reply, nil, nil
}

func (p *Player) take(prompt string) (*Step, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range p.steps {
		if !p.used[i] && p.fors[i].MatchString(prompt) {
			p.used[i] = !p.steps[i].Forever
			return &p.steps[i], nil
		}
	}
	return nil, errOver
}

func (s *Step) reply(r *chat.Request) (*chat.Reply, error) {
	words := vocabulary{results: r.Results()}
	text, err := words.fill(s.Text)
	if err != nil {
		return nil, err
	}
	reply := &chat.Reply{Text: text, Finish: s.Finish, Usage: s.Usage, Delivery: s.Delivery}
	for i, c := range s.Calls {
		call := chat.ToolCall{ID: c.ID, Type: "function", Function: chat.Function{Name: c.Name, Arguments: c.Raw}}
		if call.ID == "" {
			call.ID = fmt.Sprintf("call_%d_%d", len(r.Messages), i)
		}
		if c.Raw == "" {
			args, err := words.fillAll(c.Args)
			if err != nil {
				return nil, fmt.Errorf("arguments of %s: %w", c.Name, err)
			}
			if args == nil {
				args = map[string]any{}
			}
			if call.Function.Arguments, err = encode(args); err != nil {
				return nil, err
			}
		}
		reply.Calls = append(reply.Calls, call)
	}
	return reply, nil
}

func (e *Expect) check(r *chat.Request) (problems []string) {
	bad := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	names := r.ToolNames()
	if e.Tools != nil {
		got, want := slices.Sorted(slices.Values(names)), slices.Sorted(slices.Values(e.Tools))
		if !slices.Equal(got, want) {
			bad("the tools are %q, want %q", got, want)
		}
	}
	for _, name := range e.Absent {
		if slices.Contains(names, name) {
			bad("the tool %q is shown", name)
		}
	}
	for _, text := range e.Never {
		if i := strings.Index(string(r.Body), text); i >= 0 {
			bad("the request has %q: …%q…", text, r.Body[max(0, i-80):min(len(r.Body), i+len(text)+80)])
		}
	}
	last := r.Last()
	if e.Role != "" && last.Role != e.Role {
		bad("the last message is of the %s, want the %s", last.Role, e.Role)
	}
	matches := func(what, text string, patterns ...string) {
		for _, p := range patterns {
			if ok, err := regexp.MatchString(p, text); err != nil || !ok {
				bad("%s doesn't match %q (%v): %.2000s", what, p, err, text)
			}
		}
	}
	matches("the last message", string(last.Content), e.Last...)
	matches("the instructions", r.System(), e.System...)
	for name, pattern := range e.Tool {
		i := slices.Index(names, name)
		if i < 0 {
			bad("the tool %q isn't shown", name)
			continue
		}
		matches("the description of "+name, r.Tools[i].Function.Description, pattern)
	}
	said := len(slices.DeleteFunc(slices.Clone(r.Messages), func(m chat.Message) bool { return m.Role == "system" || m.Role == "developer" }))
	if e.Messages != 0 && said != e.Messages {
		bad("there are %d messages, want %d", said, e.Messages)
	}
	return problems
}
