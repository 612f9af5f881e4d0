package agent

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/param"

	"github.com/codecell/codecell/schemas"
)

const (
	// defaultInstructions are what a model is told where nobody says anything.
	defaultInstructions = "You are a helpful assistant. Use the tools that you are given where they help, and answer when you are done."
	// leftOut says that a conversation has a beginning that isn't shown.
	leftOut = "The beginning of this conversation was left out, since it is too long."
	// lostResult answers a call of which nobody knows what became.
	lostResult = "The result of this call was lost: the process was stopped while it was under way. It may have run. Look at its effects " +
		"before you call it again."
	// unknownHistory bounds what is sent of earlier messages where the model's context isn't known, in bytes.
	unknownHistory = 400_000
	// maxContext is more tokens than any model has.
	maxContext = 1 << 28
)

// systemText is what the model is told first.
func systemText(given, surface string, left int) string {
	text := cmp.Or(strings.ToValidUTF8(given, "\uFFFD"), defaultInstructions)
	if surface != "" {
		text += "\n\n" + surface
	}
	if left > 0 {
		text += "\n\n" + leftOut
	}
	return text
}

// exchange is what was said from one message of a user to the next.
type exchange struct {
	messages []openai.ChatCompletionMessageParamUnion
	bytes    int
}

func (x *exchange) add(bytes int, m openai.ChatCompletionMessageParamUnion) {
	x.messages = append(x.messages, m)
	x.bytes += bytes
}

// remembered gives earlier messages as they are sent: with each call answered once, and as many of the last exchanges as
// fit into half of the model's context. System messages, as compactions leave them, are kept before all others. left counts
// the messages that don't fit. The calls' ids are taken.
func remembered(history []schemas.MessageEntry, contextTokens int, ids *callIDs) (messages []openai.ChatCompletionMessageParamUnion, left int) {
	var pinned, now exchange
	var past []exchange
	var open []schemas.SaidCall
	var answers map[string]string
	settle := func() {
		for _, c := range open {
			text, ok := answers[c.ID]
			if !ok {
				text = lostResult
			}
			now.add(len(text), openai.ToolMessage(text, c.ID))
		}
		open, answers = nil, map[string]string{}
	}
	for i := range history {
		said := history[i].Said()
		if role := history[i].Role; role != schemas.RoleTool {
			settle()
			switch role {
			case schemas.RoleUser:
				past, now = append(past, now), exchange{}
				now.add(len(said.Text), openai.UserMessage(said.Text))
			case schemas.RoleAssistant:
				if said.Text == "" && len(said.ToolCalls) == 0 {
					break // providers refuse a message that says nothing
				}
				for _, c := range said.ToolCalls {
					ids.taken(c.ID)
				}
				open = said.ToolCalls
				now.add(len(said.Text)+sizeOf(open), assistantMessage(said.Text, open))
			case schemas.RoleSystem:
				pinned.add(len(said.Text), openai.SystemMessage(said.Text))
			}
			continue
		}
		isOpen := slices.ContainsFunc(open, func(c schemas.SaidCall) bool { return c.ID == said.ToolCallID })
		if _, twice := answers[said.ToolCallID]; isOpen && !twice { // one that answers nothing would be refused
			answers[said.ToolCallID] = said.Text
		}
	}
	settle()
	past = append(past, now)
	budget := unknownHistory
	if contextTokens > 0 {
		budget = min(contextTokens, maxContext) * bytesPerToken / 2
	}
	first := len(past)
	for budget -= pinned.bytes; first > 0 && past[first-1].bytes <= budget; first-- {
		budget -= past[first-1].bytes
	}
	messages = pinned.messages
	for i, x := range past {
		if i < first {
			left += len(x.messages)
		} else {
			messages = append(messages, x.messages...)
		}
	}
	return messages, left
}

func sizeOf(calls []schemas.SaidCall) (n int) {
	for _, c := range calls {
		n += len(c.Name) + len(c.Arguments)
	}
	return n
}

// assistantMessage is what the model has said, as it is sent back to it. Arguments that aren't an object are left out:
// providers that read them would refuse the whole conversation.
func assistantMessage(text string, calls []schemas.SaidCall) openai.ChatCompletionMessageParamUnion {
	m := openai.ChatCompletionAssistantMessageParam{}
	if text != "" || len(calls) == 0 {
		m.Content.OfString = param.NewOpt(text)
	}
	for _, c := range calls {
		arguments := c.Arguments
		if !isJSONObject(arguments) {
			arguments = "{}"
		}
		m.ToolCalls = append(m.ToolCalls, openai.ChatCompletionMessageToolCallUnionParam{OfFunction: &openai.ChatCompletionMessageFunctionToolCallParam{
			ID: c.ID, Function: openai.ChatCompletionMessageFunctionToolCallFunctionParam{Name: c.Name, Arguments: arguments},
		}})
	}
	return openai.ChatCompletionMessageParamUnion{OfAssistant: &m}
}

// isJSONObject tells whether a text is one JSON object.
func isJSONObject(text string) bool {
	return strings.HasPrefix(strings.TrimLeft(text, " \t\r\n"), "{") && json.Valid([]byte(text))
}
