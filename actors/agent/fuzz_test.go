package agent

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/openai/openai-go/v3"

	"github.com/codecell/codecell/bus"
	"github.com/codecell/codecell/schemas"
)

// FuzzAnswer: whatever a provider sends, the turn ends, with texts that can be sent and kept, and without the key.
func FuzzAnswer(f *testing.F) {
	chunk := `{"choices":[{"index":0,"delta":{"content":"a key-0123456789","tool_calls":[{"index":0,"id":"c","function":{"name":"exec","arguments":"{"}}]},"finish_reason":"stop"}],"usage":{"prompt_tokens":1}}`
	for _, status := range []int{200, 400, 429} {
		for _, kind := range []string{"text/event-stream", "application/json", "text/plain", ""} {
			f.Add(status, kind, "data: "+chunk+"\n\ndata: [DONE]\n\n")
			f.Add(status, kind, `{"choices":[{"message":{"content":"hi","tool_calls":[{}]}}],"error":{"code":[],"message":1}}`)
			f.Add(status, kind, `data: {"error":{"code":429,"message":"key-0123456789"}}`+"\n\n")
			f.Add(status, kind, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"\xff\"}}]}\n\n:\n\nevent: x\n\n")
		}
	}
	const key = "key-0123456789"
	f.Fuzz(func(t *testing.T, status int, kind, body string) {
		if status < 200 || status > 599 {
			return
		}
		client := &http.Client{Transport: tripper(func(r *http.Request) (*http.Response, error) {
			return &http.Response{
				StatusCode: status, Header: http.Header{"Content-Type": {kind}, "Retry-After": {kind}}, Body: io.NopCloser(strings.NewReader(body)), Request: r,
			}, nil
		})}
		var heard strings.Builder
		r := &running{Turn: &Turn{Provider: Provider{Name: "p", Model: "m", Key: key, URL: "http://provider.test/v1", HTTP: client}}, run: &bus.Run{Surface: shown}}
		r.Observe = func(e Event) {
			if d, ok := e.(Delta); ok {
				heard.WriteString(d.Text)
			}
		}
		r.asker = newAsker(r)
		a, err := r.asker.ask(t.Context(), 1, []openai.ChatCompletionMessageParamUnion{openai.UserMessage("Go.")})
		if err != nil {
			if strings.Contains(err.Error(), key) || len(err.Error()) > 4<<10 || !utf8.ValidString(err.Error()) {
				t.Errorf("%q", err)
			}
			return
		}
		if heard.String() != a.text || strings.Contains(a.text, key) || a.usage.InputTokens < 0 || a.usage.CachedTokens > a.usage.InputTokens {
			t.Errorf("heard %q of %+v", heard.String(), a)
		}
		seen := map[string]bool{}
		for _, c := range r.resolve(a) {
			if c.wire == "" || c.ID == "" || c.Name == "" || seen[c.ID] || !utf8.ValidString(c.Arguments+c.ID) {
				t.Errorf("%+v", c)
			}
			seen[c.ID] = true
		}
		if said := schemas.NewMessage(schemas.RoleAssistant, schemas.Said{Text: a.text, ToolCalls: a.calls}); len(a.calls) > 0 && len(said.Said().ToolCalls) != len(a.calls) {
			t.Errorf("kept %s of %+v", said.Content, a)
		}
	})
}

type tripper func(*http.Request) (*http.Response, error)

func (t tripper) RoundTrip(r *http.Request) (*http.Response, error) { return t(r) }
