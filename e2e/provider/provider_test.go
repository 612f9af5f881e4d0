package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/codecell/codecell/e2e/provider/chat"
	"github.com/codecell/codecell/e2e/provider/script"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// running is a provider with the log that it writes.
type running struct {
	t        *testing.T
	url, log string
}

// play starts a provider with a script.
func play(t *testing.T, s script.Script, flags ...string) *running {
	t.Helper()
	dir := t.TempDir()
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	path, log := filepath.Join(dir, "script.json"), filepath.Join(dir, "log")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	out, w := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- run(ctx, append([]string{"-script", path, "-log", log}, flags...), w) }()
	url, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err, <-ended)
	}
	t.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return &running{t: t, url: strings.TrimSpace(url), log: log}
}

// ask sends a request, and gives the status, the header and as much of the body as came.
func (r *running) ask(body string) (int, http.Header, string, error) {
	r.t.Helper()
	req, err := http.NewRequestWithContext(r.t.Context(), http.MethodPost, r.url+"/chat/completions", strings.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer secret")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, nil, "", err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	return res.StatusCode, res.Header, string(text), err
}

func (r *running) records() (all []chat.Record) {
	r.t.Helper()
	text, err := os.ReadFile(r.log)
	if err != nil {
		r.t.Fatal(err)
	}
	for line := range bytes.Lines(text) {
		var rec chat.Record
		if err := json.Unmarshal(line, &rec); err != nil {
			r.t.Fatal(err)
		}
		all = append(all, rec)
	}
	return all
}

const (
	hello  = `{"model":"m","messages":[{"role":"system","content":"be short"},{"role":"user","content":"hi"}]}`
	stream = `{"model":"m","stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":[{"type":"text","text":"hi"}]}]}`
	tooled = `{"model":"m","messages":[{"role":"user","content":"hi"}],"tools":[{"type":"function","function":{"name":"a","description":"does a","parameters":{"type":"object"}}}]}`
	later  = `{"model":"m","messages":[{"role":"user","content":"hi"},{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"a","arguments":"{}"}}]},
		{"role":"tool","tool_call_id":"c","content":"[[data]]\n{\"runId\":\"r-1\",\"list\":[{\"n\":7}]}\n[[end]]"}]}`
)

func TestProvider_PlaysAScript(t *testing.T) {
	r := play(t, script.Script{Steps: []script.Step{
		{Expect: script.Expect{System: []string{"^be"}, Absent: []string{"a"}, Role: "user", Messages: 1}, Text: "Hello."},
		{Expect: script.Expect{Tools: []string{"a"}, Tool: map[string]string{"a": "does"}}, Calls: []script.Call{{Name: "a", Args: map[string]any{"b": []any{"c", 1}}}}},
		{Expect: script.Expect{Last: []string{"runId"}}, Text: `{{last "list.0"}}`, Calls: []script.Call{{ID: "w", Name: "wait", Args: map[string]any{"runId": `{{tool 0 "runId"}}`}}}},
	}}, "-key", "secret")
	for _, c := range []struct{ body, want string }{
		{hello, `"message":{"role":"assistant","content":"Hello."},"finish_reason":"stop"`},
		{tooled, `"tool_calls":[{"id":"call_1_0","type":"function","function":{"name":"a","arguments":"{\"b\":[\"c\",1]}"}}]},"finish_reason":"tool_calls"`},
		{later, `"content":"{\"n\":7}","tool_calls":[{"id":"w","type":"function","function":{"name":"wait","arguments":"{\"runId\":\"r-1\"}"}}]`},
	} {
		if status, _, text, err := r.ask(c.body); err != nil || status != http.StatusOK || !strings.Contains(text, c.want) {
			t.Errorf("%d %v %s\nwant %s", status, err, text, c.want)
		}
	}
	if res, err := http.Get(r.url + "/models"); err != nil || res.StatusCode != http.StatusOK || res.Body.Close() != nil { //nolint:noctx // at once
		t.Error(res, err)
	}
	if res, err := http.Post(r.url+"/chat/completions", "application/json", strings.NewReader(hello)); err != nil || res.StatusCode != http.StatusUnauthorized || res.Body.Close() != nil { //nolint:noctx // at once
		t.Error(res, err)
	}
	all := r.records()
	if len(all) != 8 || all[2].Bytes != len(tooled) || all[2].ToolBytes == 0 || all[0].SystemBytes != 8 || !cmp.Equal(all[2].Tools, []string{"a"}) || all[5].Status != http.StatusOK {
		t.Errorf("%+v", all)
	}
}

func TestProvider_Streams(t *testing.T) {
	r := play(t, script.Script{Steps: []script.Step{
		{Text: "Grüße", Calls: []script.Call{{ID: "c", Name: "a", Raw: `{"b":`}}, Delivery: chat.Delivery{Chunk: 3}},
		{Text: "Hello.", Delivery: chat.Delivery{Chunk: 1, Trouble: chat.Drop, After: 3}},
		{Text: "Hello.", Delivery: chat.Delivery{Trouble: chat.Garbage, After: 1}},
		{Text: "Hello.", Delivery: chat.Delivery{Trouble: chat.Unfinished}},
	}})
	_, header, text, err := r.ask(stream)
	var deltas []string
	for line := range strings.Lines(text) {
		if _, delta, ok := strings.Cut(line, `"delta":`); ok {
			deltas = append(deltas, strings.TrimSpace(delta))
		}
	}
	want := []string{
		`{"role":"assistant"},"finish_reason":null}]}`,
		`{"content":"Grü"},"finish_reason":null}]}`,
		`{"content":"ße"},"finish_reason":null}]}`,
		`{"tool_calls":[{"index":0,"id":"c","type":"function","function":{"name":"a","arguments":""}}]},"finish_reason":null}]}`,
		`{"tool_calls":[{"index":0,"function":{"arguments":"{\"b"}}]},"finish_reason":null}]}`,
		`{"tool_calls":[{"index":0,"function":{"arguments":"\":"}}]},"finish_reason":null}]}`,
		`{},"finish_reason":"tool_calls"}]}`,
	}
	if diff := cmp.Diff(want, deltas); diff != "" || err != nil || header.Get("Content-Type") != "text/event-stream" {
		t.Errorf("%v %v\n%s", err, header, diff)
	}
	if !strings.HasSuffix(text, "data: [DONE]\n\n") || !strings.Contains(text, `"choices":[],"usage":{"prompt_tokens":`) {
		t.Error(text)
	}
	if _, _, text, err = r.ask(stream); err == nil || strings.Contains(text, "finish") && strings.Count(text, "data: ") != 3 {
		t.Errorf("dropped: %v %s", err, text)
	}
	if _, _, text, err = r.ask(stream); err != nil || !strings.Contains(text, "data: {\"choices\": [{\"del\n\n") || !strings.HasSuffix(text, "[DONE]\n\n") {
		t.Errorf("garbage: %v %s", err, text)
	}
	if _, _, text, err = r.ask(stream); err != nil || strings.Contains(text, "DONE") || strings.Contains(text, `"stop"`) || !strings.Contains(text, "Hello.") {
		t.Errorf("unfinished: %v %s", err, text)
	}
	if all := r.records(); all[3].Pieces != 3 || all[3].Gone {
		t.Errorf("%+v", all[3])
	}
}

func TestProvider_Refuses(t *testing.T) {
	r := play(t, script.Script{Steps: []script.Step{
		{For: "^bye$", Text: "Bye."},
		{Expect: script.Expect{Tools: []string{"b"}}},
		{Fail: &script.Failure{Status: http.StatusTooManyRequests, Message: "slow down", RetryAfter: "1"}},
		{Text: `{{last "x"}}`},
		{Delivery: chat.Delivery{Trouble: chat.Drop}},
	}})
	for _, c := range []struct {
		body   string
		status int
		want   string
	}{
		{tooled, http.StatusUnprocessableEntity, `the tools are`},
		{hello, http.StatusTooManyRequests, "slow down"},
		{hello, http.StatusUnprocessableEntity, "no message"},
		{strings.Replace(hello, `"hi"`, `"bye"`, 1), http.StatusOK, "Bye."},
		{`{"model":"m","messages":[]}`, http.StatusBadRequest, "empty"},
		{strings.Replace(tooled, `"a"`, `"a.b"`, 1), http.StatusBadRequest, "name"},
		{strings.Replace(tooled, `"type":"object"`, `"type":"object","anyOf":[]`, 1), http.StatusBadRequest, "anyOf"},
		{strings.Replace(later, `"tool_call_id":"c"`, `"tool_call_id":"d"`, 1), http.StatusBadRequest, "isn't open"},
		{strings.Replace(later, `{"role":"tool"`, `{"role":"user","content":"x"},{"role":"tool"`, 1), http.StatusBadRequest, "before 1 tool call"},
	} {
		status, header, text, err := r.ask(c.body)
		if err != nil || status != c.status || !strings.Contains(text, c.want) {
			t.Errorf("%d %v %s\nwant %d %s", status, err, text, c.status, c.want)
		}
		if status == http.StatusTooManyRequests && header.Get("Retry-After") != "1" {
			t.Error(header)
		}
	}
	if _, _, _, err := r.ask(hello); err == nil {
		t.Error("a whole answer isn't dropped")
	}
	if status, _, text, _ := r.ask(hello); status != http.StatusUnprocessableEntity || !strings.Contains(text, "no step") {
		t.Errorf("%d %s", status, text)
	}
}
