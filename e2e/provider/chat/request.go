// Package chat is the side of OpenAI's chat completions that answers: it reads requests as strictly as a provider does,
// and writes answers whole or as a stream, with whatever trouble is asked for. It shares no code with the client that it
// tests.
package chat

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Request is the body of a request, as far as a provider looks at it.
type Request struct {
	Model         string    `json:"model"`
	Messages      []Message `json:"messages"`
	Tools         []Tool    `json:"tools"`
	Stream        bool      `json:"stream"`
	StreamOptions struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
	// Body is the request as it came, ToolBytes how much of it are its tools.
	Body      []byte `json:"-"`
	ToolBytes int    `json:"-"`
}

// Message is one message of a conversation.
type Message struct {
	Role       string     `json:"role"`
	Content    Text       `json:"content"`
	ToolCalls  []ToolCall `json:"tool_calls"`
	ToolCallID string     `json:"tool_call_id"`
}

// Text is a message's content: a string, null, or parts, of which images are told as [Image].
type Text string

// Image stands for an image in a [Text].
const Image = "[image]"

// UnmarshalJSON joins the parts.
func (t *Text) UnmarshalJSON(b []byte) error {
	if b[0] != '[' {
		return json.Unmarshal(b, (*string)(t))
	}
	var parts []struct {
		Type, Text string
		URL        struct{ URL string } `json:"image_url"`
	}
	if err := json.Unmarshal(b, &parts); err != nil {
		return err
	}
	for _, p := range parts {
		switch {
		case p.Type == "text":
			*t += Text(p.Text)
		case p.Type == "image_url" && strings.HasPrefix(p.URL.URL, "data:image/"):
			*t += Image
		default:
			return fmt.Errorf("content has a part of type %q, want text or an image", p.Type)
		}
	}
	return nil
}

// ToolCall is a model's call of a tool.
type ToolCall struct {
	ID       string   `json:"id"`
	Type     string   `json:"type"`
	Function Function `json:"function"`
}

// Function is what a [ToolCall] calls. Arguments are JSON unless trouble was asked for.
type Function struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// Tool is a tool that the model is shown.
type Tool struct {
	Type     string `json:"type"`
	Function struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
	} `json:"function"`
}

// toolName is what providers take for a tool's name.
var toolName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// Parse reads a request, and refuses what a provider refuses.
func Parse(body []byte) (*Request, error) {
	r := &Request{Body: body}
	if err := json.Unmarshal(body, r); err != nil {
		return nil, fmt.Errorf("the body is no request: %w", err)
	}
	var raw struct {
		Tools json.RawMessage `json:"tools"`
	}
	_ = json.Unmarshal(body, &raw) // it was read before
	r.ToolBytes = len(raw.Tools)
	if r.Model == "" {
		return nil, errors.New("model is missing")
	}
	if err := r.checkTools(); err != nil {
		return nil, err
	}
	return r, r.checkMessages()
}

func (r *Request) checkTools() error {
	seen := map[string]bool{}
	for _, t := range r.Tools {
		name := t.Function.Name
		switch {
		case t.Type != "function":
			return fmt.Errorf("tool %q is of type %q, want function", name, t.Type)
		case !toolName.MatchString(name):
			return fmt.Errorf("tool %q: a name has 1 to 64 letters, digits, _ and -", name)
		case seen[name]:
			return fmt.Errorf("tool %q is there twice", name)
		}
		seen[name] = true
		var schema struct {
			Type                string
			OneOf, AnyOf, AllOf json.RawMessage
		}
		if err := json.Unmarshal(t.Function.Parameters, &schema); err != nil || schema.Type != "object" {
			return fmt.Errorf("tool %q: parameters must be a schema of type object", name)
		}
		if schema.OneOf != nil || schema.AnyOf != nil || schema.AllOf != nil {
			return fmt.Errorf("tool %q: parameters may not have oneOf, anyOf or allOf at their top", name)
		}
	}
	return nil
}

// checkMessages demands that every call of a tool is answered, once, by the messages that follow it.
func (r *Request) checkMessages() error {
	if len(r.Messages) == 0 {
		return errors.New("messages is empty")
	}
	open := map[string]bool{}
	for i, m := range r.Messages {
		switch m.Role {
		case "tool":
			if !open[m.ToolCallID] {
				return fmt.Errorf("message %d answers the tool call %q, which isn't open", i, m.ToolCallID)
			}
			delete(open, m.ToolCallID)
			continue
		case "system", "developer", "user", "assistant":
			if m.Role != "user" && strings.Contains(string(m.Content), Image) {
				return fmt.Errorf("message %d has an image, which only users have", i)
			}
		default:
			return fmt.Errorf("message %d has the role %q", i, m.Role)
		}
		if len(open) > 0 {
			return fmt.Errorf("message %d comes before %d tool calls are answered", i, len(open))
		}
		if m.Role == "assistant" && m.Content == "" && len(m.ToolCalls) == 0 {
			return fmt.Errorf("message %d of the assistant is empty", i)
		}
		for _, c := range m.ToolCalls {
			if c.ID == "" || open[c.ID] {
				return fmt.Errorf("message %d has the tool call id %q twice, or an empty one", i, c.ID)
			}
			open[c.ID] = true
		}
	}
	if len(open) > 0 {
		return fmt.Errorf("%d tool calls aren't answered", len(open))
	}
	return nil
}

// ToolNames gives the names of the tools, in their order.
func (r *Request) ToolNames() []string {
	names := make([]string, 0, len(r.Tools))
	for _, t := range r.Tools {
		names = append(names, t.Function.Name)
	}
	return names
}

// System gives what the model is told first.
func (r *Request) System() string {
	var all bytes.Buffer
	for _, m := range r.Messages {
		if m.Role == "system" || m.Role == "developer" {
			all.WriteString(string(m.Content))
		}
	}
	return all.String()
}

// Prompt gives what the user said last.
func (r *Request) Prompt() string {
	for _, m := range slices.Backward(r.Messages) {
		if m.Role == "user" {
			return string(m.Content)
		}
	}
	return ""
}

// Last gives the last message.
func (r *Request) Last() *Message { return &r.Messages[len(r.Messages)-1] }

// Results gives what tools have answered since the user spoke, oldest first.
func (r *Request) Results() (all []string) {
	for _, m := range r.Messages {
		switch m.Role {
		case "user":
			all = nil
		case "tool":
			all = append(all, string(m.Content))
		}
	}
	return all
}
