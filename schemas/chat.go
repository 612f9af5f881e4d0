package schemas

import (
	"bytes"
	"encoding/json"
)

// Roles of messages.
const (
	RoleUser      = "user"
	RoleAssistant = "assistant"
	RoleSystem    = "system"
	RoleTool      = "tool"
)

// Said is what a [MessageEntry] holds. One that is only a text is kept as a JSON string.
type Said struct {
	Text string `json:"text,omitempty"`
	// ToolCalls are what an assistant's message asks for.
	ToolCalls []SaidCall `json:"toolCalls,omitempty"`
	// ToolCallID and Name say which call a tool's message answers. The exec entry of the same call has it as its callId.
	ToolCallID string `json:"toolCallId,omitempty"`
	Name       string `json:"name,omitempty"`
	// Truncated: the text is the beginning of a longer one.
	Truncated bool `json:"truncated,omitempty"`
}

// SaidCall is one tool call of a model.
type SaidCall struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	// Arguments are as the model wrote them, which needn't be JSON.
	Arguments string `json:"arguments"`
}

// NewMessage makes the entry of a message.
func NewMessage(role string, s Said) MessageEntry {
	var v any = s
	if s.Text != "" && len(s.ToolCalls) == 0 && s.ToolCallID == "" && s.Name == "" && !s.Truncated {
		v = s.Text
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(v) // texts can always be encoded
	return MessageEntry{Role: role, Content: bytes.TrimSuffix(b.Bytes(), []byte("\n"))}
}

// Said reads what a message holds. Content that neither [NewMessage] nor a plain text has made is given as its JSON text.
func (m *MessageEntry) Said() Said {
	var text string
	if json.Unmarshal(m.Content, &text) == nil {
		return Said{Text: text}
	}
	var s Said
	if json.Unmarshal(m.Content, &s) == nil && (s.Text != "" || len(s.ToolCalls) > 0 || s.ToolCallID != "") {
		return s
	}
	return Said{Text: string(m.Content)}
}
