package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/codecell/codecell/actors/agent"
	"github.com/codecell/codecell/schemas"
)

// sent is a request as the provider got it.
type sent struct {
	Body []byte
	Key  string
	// Gone is closed when the turn doesn't wait for the answer any more.
	Gone     <-chan struct{}
	Model    string `json:"model"`
	Stream   bool   `json:"stream"`
	Messages []struct {
		Role       string          `json:"role"`
		Content    json.RawMessage `json:"content"`
		ToolCallID string          `json:"tool_call_id"`
		ToolCalls  []struct {
			ID       string `json:"id"`
			Function struct {
				Name      string `json:"name"`
				Arguments string `json:"arguments"`
			} `json:"function"`
		} `json:"tool_calls"`
	} `json:"messages"`
	Tools []struct {
		Function struct {
			Name       string          `json:"name"`
			Parameters json.RawMessage `json:"parameters"`
		} `json:"function"`
	} `json:"tools"`
}

// text is what a message says.
func (s *sent) text(i int) string {
	if i < 0 {
		i += len(s.Messages)
	}
	var text string
	if json.Unmarshal(s.Messages[i].Content, &text) != nil {
		return string(s.Messages[i].Content)
	}
	return text
}

// roles are those of the messages.
func (s *sent) roles() string {
	var out []string
	for _, m := range s.Messages {
		out = append(out, m.Role)
	}
	return strings.Join(out, " ")
}

// asks is a call of a model.
type asks struct{ id, name, arguments string }

// step answers one request.
type step func(w http.ResponseWriter, req *sent)

// provider speaks chat completions as a script says. When the script is over it repeats its last step.
type provider struct {
	*httptest.Server
	mu    sync.Mutex
	steps []step
	got   []*sent
}

func newProvider(t *testing.T, steps ...step) *provider {
	t.Helper()
	p := &provider{steps: steps}
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		req, next := p.next(r)
		next(w, req)
	}))
	t.Cleanup(p.Close)
	return p
}

// next reads a request, and gives the step that answers it.
func (p *provider) next(r *http.Request) (*sent, step) {
	req := &sent{Gone: r.Context().Done(), Key: strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")}
	req.Body, _ = io.ReadAll(r.Body)
	if err := json.Unmarshal(req.Body, req); err != nil || r.URL.Path != "/v1/chat/completions" {
		return req, fails(http.StatusTeapot, "this is not how a provider is asked")
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.got = append(p.got, req)
	next := p.steps[0]
	if len(p.steps) > 1 {
		p.steps = p.steps[1:]
	}
	return req, next
}

// requests are those that have come.
func (p *provider) requests() []*sent {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.got)
}

// says answers with a text.
func says(text string) step { return answers(text, "stop") }

// calls answers with calls.
func calls(c ...asks) step { return answers("", "tool_calls", c...) }

// answers answers in the way it is asked, a stream in small pieces.
func answers(text, finish string, c ...asks) step {
	return func(w http.ResponseWriter, req *sent) {
		if req.Stream {
			stream(w, pieces(text, finish, c...)...)
			return
		}
		message := map[string]any{"role": "assistant", "content": text}
		var list []any
		for _, a := range c {
			list = append(list, map[string]any{"id": a.id, "type": "function", "function": map[string]any{"name": a.name, "arguments": a.arguments}})
		}
		if list != nil {
			message["tool_calls"] = list
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{
			"id": "c", "object": "chat.completion", "choices": []any{map[string]any{"index": 0, "message": message, "finish_reason": finish}}, "usage": usage,
		})
	}
}

// usage is what each answer costs.
var usage = map[string]any{"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110, "prompt_tokens_details": map[string]any{"cached_tokens": 40}}

// pieces are the events of an answer.
func pieces(text, finish string, c ...asks) []string {
	event := func(delta any, finish any) string {
		b, _ := json.Marshal(map[string]any{
			"id": "c", "object": "chat.completion.chunk", "choices": []any{map[string]any{"index": 0, "delta": delta, "finish_reason": finish}},
		})
		return string(b)
	}
	out := []string{event(map[string]any{"role": "assistant", "content": ""}, nil)}
	for part := range slices.Chunk([]rune(text), 5) {
		out = append(out, event(map[string]any{"content": string(part)}, nil))
	}
	for i, a := range c {
		piece := func(p map[string]any) { out = append(out, event(map[string]any{"tool_calls": []any{p}}, nil)) }
		piece(map[string]any{"index": i, "id": a.id, "type": "function", "function": map[string]any{"name": a.name, "arguments": ""}})
		for part := range slices.Chunk([]rune(a.arguments), 7) {
			piece(map[string]any{"index": i, "function": map[string]any{"arguments": string(part)}})
		}
	}
	last, _ := json.Marshal(map[string]any{"id": "c", "object": "chat.completion.chunk", "choices": []any{}, "usage": usage})
	return append(out, event(map[string]any{}, finish), string(last), "[DONE]")
}

func stream(w http.ResponseWriter, events ...string) {
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	for _, e := range events {
		fmt.Fprintf(w, "data: %s\n\n", e)
		w.(http.Flusher).Flush()
	}
}

// fails answers with a status.
func fails(status int, body string, header ...string) step {
	return func(w http.ResponseWriter, _ *sent) {
		for i := 0; i < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(status)
		fmt.Fprint(w, body)
	}
}

// drops sends events, and breaks the connection then.
func drops(events ...string) step {
	return func(w http.ResponseWriter, _ *sent) {
		stream(w, events...)
		breakOff(w)
	}
}

func breakOff(w http.ResponseWriter) {
	pipe, ok := w.(*pipeWriter)
	if !ok {
		panic(http.ErrAbortHandler)
	}
	pipe.end = io.ErrUnexpectedEOF
}

// stalls sends events, and nothing then.
func stalls(events ...string) step {
	return func(w http.ResponseWriter, req *sent) {
		if len(events) > 0 {
			stream(w, events...)
		}
		<-req.Gone
		breakOff(w)
	}
}

// record is a transcript in memory.
type record struct {
	mu      sync.Mutex
	past    []schemas.MessageEntry
	said    []schemas.MessageEntry
	entries []schemas.TurnEntry
	// fail is the error of the n-th message from now, if n is more than 0.
	fail   error
	failAt int
}

func (r *record) History(context.Context) ([]schemas.MessageEntry, error) { return r.past, nil }

func (r *record) Say(ctx context.Context, m schemas.MessageEntry) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.failAt--; r.failAt == 0 {
		return r.fail
	}
	r.said = append(r.said, m)
	return nil
}

func (r *record) Turn(ctx context.Context, e schemas.TurnEntry) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.entries = append(r.entries, e)
	return ctx.Err()
}

// speech is the transcript in short: who said what, called what.
func (r *record) speech() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []string
	for i := range r.said {
		s := r.said[i].Said()
		line := r.said[i].Role + ": " + s.Text
		for _, c := range s.ToolCalls {
			line += fmt.Sprintf("[%s %s]", c.Name, c.Arguments)
		}
		out = append(out, line)
	}
	return strings.Join(out, "\n")
}

// watcher keeps the events and facts of a turn.
type watcher struct {
	mu    sync.Mutex
	heard []any
	// on, if set, is called with each event as well.
	on func(agent.Event)
}

func (w *watcher) observe(e agent.Event) {
	w.mu.Lock()
	w.heard = append(w.heard, e)
	w.mu.Unlock()
	if w.on != nil {
		w.on(e)
	}
}

func (w *watcher) fact(f any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.heard = append(w.heard, f)
}

// only gives the events and facts of one type.
func only[T any](w *watcher) (out []T) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, e := range w.heard {
		if v, ok := e.(T); ok {
			out = append(out, v)
		}
	}
	return out
}

// at is the provider as a turn knows it.
func (p *provider) at(t *testing.T) agent.Provider {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{}}
	t.Cleanup(client.CloseIdleConnections)
	return agent.Provider{Name: "test", Model: "m", URL: p.URL + "/v1", Key: secret, Silence: 10 * time.Second, HTTP: client}
}

// secret is the provider's key, which nobody may see.
const secret = "sk-very-secret-key-0123456789"
