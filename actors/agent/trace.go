package agent

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/openai/openai-go/v3"

	"github.com/codecell/codecell/schemas"
)

const (
	// maxShownBody bounds what is shown of a body, maxPeek of one event, in bytes, and maxPeeks how many events are shown of a stream.
	maxShownBody = 64 << 10
	maxPeek      = 200
	maxPeeks     = 200
)

// traceSurface tells how the model reaches its tools.
func (r *running) traceSurface(remembered, left int) {
	if !r.Debug.CodeMode {
		return
	}
	s := &r.run.Surface
	r.log.Info("turn: surface", "host", r.run.Host, "run", r.run.ID, "asked", r.Mode, "raw", r.Raw, "mode", s.Mode, "search", s.Search,
		"tools", listed(s.Tools), "tool_bytes", r.asker.toolBytes, "prompt_bytes", len(s.Prompt), "catalog", s.CatalogSize, "version", s.Version,
		"earlier_messages", remembered, "left_out", left)
}

// traceCall tells what became of a call.
func (r *running) traceCall(c *call, o *outcome, took time.Duration) {
	if !r.Debug.CodeMode {
		return
	}
	r.log.Info("turn: call", "id", c.ID, "tool", c.Name, "made", c.refused == "", "failed", o.failed, "waiting", o.moving,
		"argument_bytes", len(c.Arguments), "result_bytes", len(o.text), "took", took)
}

func (r *running) traceEnd() {
	if !r.Debug.Any() {
		return
	}
	e := &r.report.Entry
	r.log.Info("turn: ended", "stop", e.Stop, "error", e.Error, "requests", e.Requests, "retries", e.Retries, "searches", e.Totals.Searches,
		"describes", e.Totals.Describes, "calls", e.Totals.Calls, "input_tokens", e.Usage.InputTokens, "output_tokens", e.Usage.OutputTokens)
}

// wireTrace shows one request, as far as the debug settings ask. A nil one shows nothing.
type wireTrace struct {
	turn  *running
	try   *try
	kinds map[string]int
	seen  int
	// first is when the first event came.
	first time.Time
	start time.Time
}

func (r *running) traceWire(t *try) *wireTrace {
	if d := &r.Debug; !d.Transport && d.Payload == PayloadNone && d.SSE == SSENone {
		return nil
	}
	return &wireTrace{turn: r, try: t, kinds: map[string]int{}, start: time.Now()}
}

// shown is a text as it may be shown: masked, and then cut. Without a way to mask there is none.
func (r *running) shown(text string, most int) string {
	if r.Debug.Redact == nil {
		return "(not shown: nothing masks credentials here)"
	}
	text = r.Provider.mask(r.Debug.Redact(r.Provider.mask(text)))
	if len(text) > most {
		return fmt.Sprintf("%s… (%d bytes in all)", schemas.Prefix(text, most), len(text))
	}
	return text
}

// sent shows a request's body.
func (t *wireTrace) sent(body []byte) {
	if t == nil {
		return
	}
	switch t.turn.Debug.Payload {
	case PayloadTools:
		var p payload
		if p.read(body) == nil {
			t.turn.log.Info("turn: request's tools", "request", t.try.request, "bytes", len(p.tools), "tools", t.turn.shown(string(p.tools), maxShownBody))
		}
	case PayloadFull:
		t.turn.log.Info("turn: request", "request", t.try.request, "attempt", t.try.attempt, "bytes", len(body), "body", t.turn.shown(string(body), maxShownBody))
	case PayloadNone:
	}
}

// chunk counts or shows an event of a stream.
func (t *wireTrace) chunk(c *openai.ChatCompletionChunk) {
	if t == nil || t.turn.Debug.SSE == SSENone {
		return
	}
	kind := kindOf(c)
	if t.kinds[kind]++; t.seen == 0 {
		t.first = time.Now()
	}
	if t.seen++; t.turn.Debug.SSE == SSEPeek && t.seen <= maxPeeks {
		t.turn.log.Info("turn: event", "request", t.try.request, "n", t.seen, "kind", kind, "event", t.turn.shown(c.RawJSON(), maxPeek))
	}
}

// kindOf names what an event carries.
func kindOf(c *openai.ChatCompletionChunk) string {
	switch {
	case len(c.Choices) == 0 && c.JSON.Usage.Valid():
		return "usage"
	case len(c.Choices) == 0:
		return "empty"
	}
	d := &c.Choices[0].Delta
	switch {
	case len(d.ToolCalls) > 0:
		return "tool_calls"
	case d.Content != "":
		return "content"
	case d.Refusal != "":
		return "refusal"
	case c.Choices[0].FinishReason != "":
		return "finish"
	case d.Role != "":
		return "role"
	}
	return "other"
}

// end tells how the request went.
func (t *wireTrace) end(a *answer, err error, took time.Duration) {
	if t == nil {
		return
	}
	d, log := &t.turn.Debug, t.turn.log
	why := ""
	if err != nil {
		why = t.turn.Provider.mask(err.Error())
	}
	if d.Transport {
		log.Info("turn: answer", "request", t.try.request, "attempt", t.try.attempt, "bytes", t.try.bytes, "tool_bytes", t.try.toolBytes,
			"status", t.try.status, "answer_bytes", t.try.vigil.read, "finish", a.finish, "calls", len(a.calls), "took", took, "error", why)
	}
	if d.SSE != SSENone && t.seen > 0 {
		log.Info("turn: events", "request", t.try.request, "events", t.seen, "kinds", t.counts(), "first", t.first.Sub(t.start))
	}
	if d.Payload == PayloadFull {
		said := schemas.NewMessage(schemas.RoleAssistant, schemas.Said{Text: a.text, ToolCalls: a.calls})
		log.Info("turn: answer's message", "request", t.try.request, "finish", a.finish, "message", t.turn.shown(string(said.Content), maxShownBody))
	}
}

// counts lists how many events came of each kind.
func (t *wireTrace) counts() string {
	var out []string
	for _, kind := range slices.Sorted(maps.Keys(t.kinds)) {
		out = append(out, fmt.Sprintf("%s=%d", kind, t.kinds[kind]))
	}
	return strings.Join(out, " ")
}
