package host_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/codecell/codecell/actors/host"
	"github.com/codecell/codecell/actors/tool"
	"github.com/codecell/codecell/bus"
	"github.com/codecell/codecell/schemas"
)

// chat is a request to the provider.
type chat struct {
	Model    string `json:"model"`
	Messages []struct {
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
	} `json:"messages"`
	Tools []struct {
		Function struct {
			Name string `json:"name"`
		} `json:"function"`
	} `json:"tools"`
}

// said is the text of the last message of a role.
func (c *chat) said(role string) (text string) {
	for _, m := range c.Messages {
		if m.Role == role {
			if json.Unmarshal(m.Content, &text) != nil {
				text = string(m.Content)
			}
		}
	}
	return text
}

// task is what the agent that asks was started with, and turns how often its model has answered.
func (c *chat) task() string { return c.said("user") }

func (c *chat) turns() (n int) {
	for _, m := range c.Messages {
		if m.Role == "assistant" {
			n++
		}
	}
	return n
}

func (c *chat) tools() string {
	var names []string
	for _, t := range c.Tools {
		names = append(names, t.Function.Name)
	}
	return strings.Join(names, " ")
}

// replied is what a model answers: a text, or a call of a tool. Held answers come when the test lets them, or never.
type replied struct {
	text       string
	tool, args string
	status     int
	held       <-chan struct{}
}

// model is a provider whose answers depend on the task.
type model struct {
	*httptest.Server
	reply func(*chat) replied

	mu   sync.Mutex
	seen []*chat
	// waiting counts the requests that are held.
	waiting int
}

func newModel(t *testing.T, reply func(*chat) replied) *model {
	t.Helper()
	m := &model{reply: reply}
	m.Server = httptest.NewServer(http.HandlerFunc(m.serve))
	t.Cleanup(m.Close)
	return m
}

func (m *model) serve(w http.ResponseWriter, r *http.Request) {
	c := &chat{}
	if err := json.NewDecoder(r.Body).Decode(c); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	a := m.reply(c)
	m.mu.Lock()
	m.seen = append(m.seen, c)
	if a.held != nil {
		m.waiting++
	}
	m.mu.Unlock()
	if a.held != nil {
		select {
		case <-a.held:
		case <-r.Context().Done():
		}
		m.mu.Lock()
		m.waiting--
		m.mu.Unlock()
	}
	if a.status != 0 {
		w.WriteHeader(a.status)
		fmt.Fprint(w, `{"error":{"message":"the model is out of order"}}`)
		return
	}
	delta, finish := map[string]any{"role": "assistant", "content": a.text}, "stop"
	if a.tool != "" {
		finish = "tool_calls"
		delta["tool_calls"] = []any{map[string]any{"index": 0, "id": fmt.Sprint("call", c.turns()), "type": "function",
			"function": map[string]any{"name": a.tool, "arguments": a.args}}}
	}
	w.Header().Set("Content-Type", "text/event-stream")
	for _, event := range []any{
		map[string]any{"choices": []any{map[string]any{"index": 0, "delta": delta, "finish_reason": nil}}},
		map[string]any{"choices": []any{map[string]any{"index": 0, "delta": map[string]any{}, "finish_reason": finish}}},
		map[string]any{"choices": []any{}, "usage": map[string]any{"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}},
	} {
		text, _ := json.Marshal(event)
		fmt.Fprintf(w, "data: %s\n\n", text)
	}
	fmt.Fprint(w, "data: [DONE]\n\n")
}

// requests are those that have come.
func (m *model) requests() []*chat {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]*chat(nil), m.seen...)
}

func (m *model) holds() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.waiting
}

// echoes answers every task with itself.
func echoes(c *chat) replied { return replied{text: "done: " + c.task()} }

// holding holds the answers to tasks that begin with "hold" until the channel is closed.
func holding(gate <-chan struct{}) func(*chat) replied {
	return func(c *chat) replied {
		a := echoes(c)
		if strings.HasPrefix(c.task(), "hold") {
			a.held = gate
		}
		return a
	}
}

// swarmNode starts a node whose agents ask the model; settings are those of tools.swarm, and more of the configuration.
func swarmNode(t *testing.T, m *model, settings, more string, tools ...tool.Func) *host.Node {
	t.Helper()
	return node(t, config(t, fmt.Sprintf(`{provider: {url: %q, model: "m", maxRetries: 0}, tools: {codeMode: {timeoutMs: 20000}, swarm: {%s}}, %s}`,
		m.URL, settings, more)), tools...)
}

// awaited is what agents_wait gives.
type awaited struct {
	Results []schemas.AgentResult
	Pending []string
}

// execNamed runs a program with a call id of its own.
func execNamed(t *testing.T, run *bus.Run, callID, code string) *schemas.Result {
	t.Helper()
	return execAs(t, run, callID, map[string]any{"code": code})
}

// until waits for a state of the world that is reached soon.
func until(t *testing.T, what string, reached func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !reached(); {
		if time.Now().After(end) {
			t.Fatalf("it never comes to this: %s", what)
		}
		time.Sleep(5 * time.Millisecond) // real: processes and sockets are waited for
	}
}
