package agent

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/openai/openai-go/v3"

	"github.com/codecell/codecell/schemas"
)

// Why a provider says that an answer ended. Others mean nothing to a turn.
const (
	finishLength   = "length"
	finishFiltered = "content_filter"
	finishCalls    = "tool_calls"
)

const (
	// maxCalls is how many calls of one answer are run.
	maxCalls = 64
	// maxKeptCalls is how many are kept, so that the model learns that those beyond maxCalls weren't run. The others are dropped.
	maxKeptCalls = 128
	// bytesPerToken is what a token takes, roughly, where a provider doesn't count.
	bytesPerToken = 4
	// maxCount bounds what a provider may say that an answer cost, in tokens.
	maxCount = 1 << 40
)

// answer is what a model says to one request.
type answer struct {
	text   string
	calls  []schemas.SaidCall
	finish string
	// dropped counts the calls beyond maxKeptCalls.
	dropped int
	// counted: the provider has said what the answer cost, which is usage.
	counted bool
	usage   schemas.Usage
	// sent is the size of the request, in bytes.
	sent int
}

// size is what the model wrote, in bytes.
func (a *answer) size() int {
	n := len(a.text)
	for _, c := range a.calls {
		n += len(c.Name) + len(c.Arguments)
	}
	return n
}

// gathering puts an answer together from its pieces.
type gathering struct {
	// heard is given each piece of the text; mask takes out what nobody may see.
	heard func(string)
	mask  func(string) string
	text  strings.Builder
	// secret is what mask takes out, if anything; held is the end of the text that may be the beginning of it.
	secret string
	held   string
	calls  []*gatheredCall
	// open are the calls that pieces may still belong to, by their index. Dropped ones are nil.
	open    map[int64]*gatheredCall
	dropped int
	finish  string
	usage   openai.CompletionUsage
	counted bool
}

type gatheredCall struct {
	id, name  string
	arguments strings.Builder
}

// chunk adds a piece, and tells whether it carries anything: a stream that carries nothing isn't alive.
func (g *gathering) chunk(c *openai.ChatCompletionChunk) (carries bool) {
	if c.JSON.Usage.Valid() {
		g.usage, g.counted = c.Usage, true
	}
	for i := range c.Choices {
		choice := &c.Choices[i]
		if choice.Index != 0 {
			continue
		}
		g.say(choice.Delta.Content)
		g.say(choice.Delta.Refusal)
		for j := range choice.Delta.ToolCalls {
			g.piece(&choice.Delta.ToolCalls[j])
		}
		g.finish = cmp.Or(choice.FinishReason, g.finish)
		carries = carries || choice.FinishReason != "" || choice.Delta.Content != "" || choice.Delta.Refusal != "" || len(choice.Delta.ToolCalls) > 0
		for _, extra := range choice.Delta.JSON.ExtraFields { // models think aloud in fields of their providers' own
			carries = carries || extra.Valid() && extra.Raw() != `""`
		}
	}
	return carries
}

func (g *gathering) say(text string) {
	if text == "" {
		return
	}
	text = strings.ToValidUTF8(text, "\uFFFD")
	g.text.WriteString(text)
	text = g.mask(g.held + text)
	at := unfinished(text, g.secret)
	if g.held = text[at:]; at > 0 {
		g.heard(text[:at])
	}
}

// unfinished is where a text begins to end like the beginning of a secret; its length if it doesn't.
func unfinished(text, secret string) int {
	at := len(text) - min(len(text), max(0, len(secret)-1))
	for at < len(text) && !strings.HasPrefix(secret, text[at:]) {
		at++
	}
	return at
}

// end lets out what was held back.
func (g *gathering) end() {
	if g.held != "" {
		g.heard(g.held)
		g.held = ""
	}
}

// piece adds a piece of a call. Some providers give every call the index 0: one with an id and a name of its own is another.
func (g *gathering) piece(p *openai.ChatCompletionChunkChoiceDeltaToolCall) {
	call, ok := g.open[p.Index]
	if ok && call != nil && p.ID != "" && call.id != "" && p.ID != call.id && p.Function.Name != "" {
		ok = false
	}
	if !ok {
		if call = nil; len(g.calls) < maxKeptCalls {
			call = &gatheredCall{}
			g.calls = append(g.calls, call)
		} else {
			g.dropped++
		}
		if g.open == nil {
			g.open = map[int64]*gatheredCall{}
		}
		g.open[p.Index] = call
	}
	if call == nil {
		return
	}
	call.id, call.name = cmp.Or(call.id, p.ID), cmp.Or(call.name, p.Function.Name)
	call.arguments.WriteString(p.Function.Arguments)
}

// whole adds an answer that came in one piece.
func (g *gathering) whole(c *openai.ChatCompletion) error {
	if len(c.Choices) == 0 {
		return errors.New("the provider's answer has no choices, though its status is that of one")
	}
	choice := &c.Choices[0]
	g.say(choice.Message.Content)
	g.say(choice.Message.Refusal)
	for i, call := range choice.Message.ToolCalls {
		g.piece(&openai.ChatCompletionChunkChoiceDeltaToolCall{
			Index: int64(i), ID: call.ID,
			Function: openai.ChatCompletionChunkChoiceDeltaToolCallFunction{Name: call.Function.Name, Arguments: call.Function.Arguments},
		})
	}
	g.finish = cmp.Or(choice.FinishReason, "stop")
	g.usage, g.counted = c.Usage, c.JSON.Usage.Valid()
	return nil
}

// clean is a provider's text as it may be shown.
func (g *gathering) clean(text string) string { return g.mask(strings.ToValidUTF8(text, "\uFFFD")) }

// answer gives what has come so far.
func (g *gathering) answer() *answer {
	a := &answer{text: g.mask(g.text.String()), finish: schemas.Prefix(g.clean(g.finish), 40), dropped: g.dropped}
	for _, c := range g.calls {
		a.calls = append(a.calls, schemas.SaidCall{ID: g.clean(c.id), Name: g.clean(c.name), Arguments: g.clean(c.arguments.String())})
	}
	if in, out := g.usage.PromptTokens, g.usage.CompletionTokens; g.counted && (in > 0 || out > 0) {
		a.counted = true
		a.usage.InputTokens, a.usage.OutputTokens = bounds(in, maxCount), bounds(out, maxCount)
		a.usage.CachedTokens = bounds(g.usage.PromptTokensDetails.CachedTokens, a.usage.InputTokens)
	}
	return a
}

// bounds puts a provider's count between 0 and most.
func bounds(n, most int64) int64 { return max(0, min(n, most)) }

// complete tells whether the provider has finished the answer, and an error says what is missing.
func (g *gathering) complete() error {
	switch {
	case g.finish == "":
		return errors.New("the provider's stream ended before the answer was complete")
	case g.finish == finishCalls && len(g.calls) == 0:
		return fmt.Errorf("the provider says that the answer calls tools (finish_reason %q), and it calls none", g.finish)
	}
	return nil
}
