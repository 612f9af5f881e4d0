package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// model is a provider that speaks chat completions over HTTP, streaming and not, and says what the test makes up.
type model struct {
	url string

	mu    sync.Mutex
	asked []question
}

// question is one request to a model.
type question struct {
	Model    string
	Stream   bool
	Messages []struct {
		Role      string
		Content   json.RawMessage
		ToolCalls []struct {
			ID       string
			Function struct{ Name, Arguments string }
		} `json:"tool_calls"`
		ToolCallID string `json:"tool_call_id"`
	}
	Tools []struct {
		Function struct{ Name string }
	}
	// key is what the request was authorised with.
	key string
}

// last is what the last message says.
func (q *question) last() string { return q.said(len(q.Messages) - 1) }

// said is what a message says, in whichever form it is sent.
func (q *question) said(at int) string {
	var text string
	if json.Unmarshal(q.Messages[at].Content, &text) == nil {
		return text
	}
	return string(q.Messages[at].Content)
}

// speech is the conversation after the instructions, at a glance.
func (q *question) speech() string {
	var out []string
	for i, m := range q.Messages {
		switch {
		case m.Role == "system" || m.Role == "developer":
		case len(m.ToolCalls) > 0:
			out = append(out, m.Role+":"+m.ToolCalls[0].Function.Name+"()")
		case m.Role == "tool":
			out = append(out, "tool")
		default:
			out = append(out, m.Role+":"+q.said(i))
		}
	}
	return strings.Join(out, " ")
}

// tools are the names of the tools that the model is shown.
func (q *question) tools() string {
	var names []string
	for _, t := range q.Tools {
		names = append(names, t.Function.Name)
	}
	return strings.Join(names, " ")
}

// words are an answer.
type words struct {
	text  string
	calls []toolCall
	// status other than 0 is a refusal, with text as its message; later is its Retry-After, in seconds.
	status, later int
	// drop: the stream breaks off behind the text.
	drop bool
	// silent: it doesn't say what it took.
	silent bool
	// hold, if set, is what the stream waits for behind the text, unless who asks goes away.
	hold <-chan struct{}
}

type toolCall struct{ id, name, args string }

// execs are an answer that runs a program.
func execs(id, title, code string) words {
	args, _ := json.Marshal(map[string]any{"title": title, "code": code, "awaitResults": true})
	return words{calls: []toolCall{{id, "exec", string(args)}}}
}

// newModel starts a provider. answer is asked for the n-th answer, from 1.
func newModel(t *testing.T, answer func(n int, q *question) words) *model {
	t.Helper()
	m := &model{}
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		q := question{key: r.Header.Get("Authorization")}
		if err := json.NewDecoder(r.Body).Decode(&q); err != nil || r.URL.Path != "/v1/chat/completions" {
			t.Errorf("asked %s: %v", r.URL.Path, err)
		}
		m.mu.Lock()
		m.asked = append(m.asked, q)
		n := len(m.asked)
		m.mu.Unlock()
		answer(n, &q).write(w, r, q.Stream)
	}))
	t.Cleanup(func() { web.CloseClientConnections(); web.Close() })
	m.url = web.URL + "/v1"
	return m
}

// questions are the requests so far.
func (m *model) questions() []question {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]question(nil), m.asked...)
}

func (a words) write(w http.ResponseWriter, r *http.Request, stream bool) {
	w.Header().Set("Content-Type", "application/json")
	if a.status != 0 {
		if a.later > 0 {
			w.Header().Set("Retry-After", fmt.Sprint(a.later))
		}
		w.WriteHeader(a.status)
		_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]any{"message": a.text, "type": "test"}})
		return
	}
	finish := "stop"
	calls := make([]map[string]any, len(a.calls))
	for i, c := range a.calls {
		finish = "tool_calls"
		calls[i] = map[string]any{
			"index": i, "id": c.id, "type": "function", "function": map[string]any{"name": c.name, "arguments": c.args},
		}
	}
	usage := map[string]any{
		"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110, "prompt_tokens_details": map[string]any{"cached_tokens": 40},
	}
	if a.silent {
		usage = nil
	}
	message := map[string]any{"role": "assistant", "content": a.text}
	if len(calls) > 0 {
		message["tool_calls"] = calls
	}
	if !stream {
		_ = json.NewEncoder(w).Encode(map[string]any{
			"id": "c", "object": "chat.completion", "created": 1, "model": "m", "usage": usage,
			"choices": []any{map[string]any{"index": 0, "message": message, "finish_reason": finish}},
		})
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	chunk := func(choices []any, usage any) {
		text, _ := json.Marshal(map[string]any{
			"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": choices, "usage": usage,
		})
		fmt.Fprintf(w, "data: %s\n\n", text)
		w.(http.Flusher).Flush()
	}
	choice := func(delta map[string]any, finish any) []any {
		return []any{map[string]any{"index": 0, "delta": delta, "finish_reason": finish}}
	}
	for word := range strings.SplitAfterSeq(a.text, " ") {
		chunk(choice(map[string]any{"role": "assistant", "content": word}, nil), nil)
	}
	if a.hold != nil {
		select {
		case <-a.hold:
		case <-r.Context().Done():
			return
		}
	}
	if a.drop {
		panic(http.ErrAbortHandler)
	}
	if len(calls) > 0 {
		chunk(choice(map[string]any{"tool_calls": calls}, nil), nil)
	}
	chunk(choice(map[string]any{}, finish), nil)
	chunk([]any{}, usage)
	fmt.Fprint(w, "data: [DONE]\n\n")
}
