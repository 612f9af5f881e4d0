package agent

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"github.com/codecell/codecell/bus"
	"github.com/codecell/codecell/schemas"
)

// shown is a surface with a schema that careless encoders change.
var shown = schemas.Surface{Mode: schemas.ModeCode, Tools: []schemas.SurfaceTool{
	{Name: "exec", Control: true, Description: "Runs <a> & é\u2028.", InputSchema: schemas.JSON(`{"type": "object", "z": 1.0, "a": "<&>", "n": 12345678901234567890}`)},
	{Name: "wait", Control: true, Description: "Waits.", InputSchema: schemas.JSON(`{"type":"object"}`)},
	{Name: "plain", Direct: true},
}}

// wire answers requests, and keeps the last.
type wire struct{ last []byte }

func (w *wire) RoundTrip(r *http.Request) (*http.Response, error) {
	w.last, _ = io.ReadAll(r.Body)
	body := `{"choices":[{"index":0,"message":{"content":"ok"},"finish_reason":"stop"}]}`
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
}

// sends asks with a change to the body that something between the turn and the wire makes.
func sends(t *testing.T, change func(string) string) (w *wire, r *running, err error) {
	t.Helper()
	w = &wire{}
	surface := shown
	r = &running{
		Turn: &Turn{Provider: Provider{Name: "p", Model: "m", URL: "http://provider.test/v1", Retries: 3, HTTP: &http.Client{Transport: w}}},
		run:  &bus.Run{Surface: surface},
	}
	r.asker = newAsker(r)
	r.asker.service.Options = append(r.asker.service.Options, option.WithMiddleware(func(req *http.Request, next option.MiddlewareNext) (*http.Response, error) {
		b, err := bodyOf(req)
		if err != nil {
			return nil, err
		}
		changed := []byte(change(string(b)))
		req.Body, req.ContentLength = io.NopCloser(bytes.NewReader(changed)), int64(len(changed))
		return next(req)
	}))
	_, err = r.asker.ask(t.Context(), 1, []openai.ChatCompletionMessageParamUnion{openai.UserMessage(`"tools": []`)})
	return w, r, err
}

func TestSpec_A4_WhatLeavesIsTheSurface(t *testing.T) {
	w, r, err := sends(t, func(s string) string { return s })
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`"name":"exec","description":"Runs <a> & é\u2028.","parameters":{"type":"object","z":1.0,"a":"<&>","n":12345678901234567890}`, `{"name":"plain"}`,
	} {
		if !strings.Contains(string(w.last), want) {
			t.Errorf("sent %s\nwant %s in it", w.last, want)
		}
	}
	var p payload
	if err := p.read(w.last); err != nil || len(p.tools) != r.asker.toolBytes {
		t.Errorf("%d bytes of tools, counted %d, %v", len(p.tools), r.asker.toolBytes, err)
	}
}

func TestSpec_A4_AnotherPayloadDoesntLeave(t *testing.T) {
	replace := func(from, to string) func(string) string {
		return func(s string) string {
			if !strings.Contains(s, from) {
				t.Errorf("%s isn't in %s", from, s)
			}
			return strings.Replace(s, from, to, 1)
		}
	}
	for name, change := range map[string]func(string) string{
		"a hidden tool":         replace(`"tools":[`, `"tools":[{"type":"function","function":{"name":"hidden"}},`),
		"another kind of tool":  replace(`"tools":[`, `"tools":[{"type":"web_search"},`),
		"a tool twice":          replace(`"tools":[`, `"tools":[{"type":"function","function":{"name":"plain"}},`),
		"a control missing":     replace(`"name":"wait"`, `"name":"plain"`),
		"no tools":              func(string) string { return `{"model":"m","messages":[]}` },
		"tools that are none":   replace(`"tools":[`, `"tools":1,"other":[`),
		"tools twice":           replace(`"tools":[`, `"tools":[],"tools":[`),
		"tools twice, escaped":  replace(`"tools":[`, `"\u0074ools":[],"tools":[`),
		"functions":             replace(`"tools":[`, `"functions":[{"name":"hidden"}],"tools":[`),
		"another description":   replace(`Waits.`, `Waits for hidden.`),
		"another schema":        replace(`"z":1.0`, `"z":1`),
		"a schema in addition":  replace(`{"name":"plain"}`, `{"name":"plain","parameters":{}}`),
		"something in addition": replace(`{"name":"plain"}`, `{"name":"plain","strict":true}`),
		"no JSON":               func(s string) string { return s[:len(s)/2] },
		"nothing":               func(string) string { return "" },
	} {
		w, r, err := sends(t, change)
		if !errors.Is(err, schemas.RuntimeUnavailable) || w.last != nil || r.report.Entry.Requests != 0 {
			t.Errorf("%s: %v, sent %s", name, err, w.last)
		}
	}
}
