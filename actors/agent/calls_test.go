package agent_test

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/codecell/codecell/actors/agent"
	"github.com/codecell/codecell/bus"
	"github.com/codecell/codecell/schemas"
)

// told gives what the model was told of its calls in the i-th request, by the ids that it was sent.
func told(r *sent) map[string]string {
	out := map[string]string{}
	for i, m := range r.Messages {
		if m.Role == "tool" {
			out[m.ToolCallID] += r.text(i)
		}
	}
	return out
}

// one takes a turn with one answer that calls, and gives the request that follows.
func one(t *testing.T, l *lab, a step) (*sent, *record, *watcher) {
	t.Helper()
	p := newLine(a, says("Done."))
	turn, rec, seen := l.turn(p.at())
	ended(t, run(t, turn), schemas.StopAnswered)
	return p.requests()[1], rec, seen
}

func TestSpec_V4_CallsOfOneAnswerRunTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, cell := newLab(t), bus.NewRunID(labHost)
		var all sync.WaitGroup
		all.Add(3)
		together := func() { all.Done(); all.Wait() }
		l.direct = func(d *schemas.Direct) *schemas.Directed {
			together()
			return &schemas.Directed{Value: d.Args}
		}
		l.exec = func(e *schemas.Exec) *schemas.Result {
			together()
			return &schemas.Result{Status: schemas.StatusWaiting, RunID: cell, Reason: schemas.ReasonYield}
		}
		l.wait = func(w *schemas.Wait) *schemas.Result {
			together()
			return &schemas.Result{Status: schemas.StatusFailed, Code: schemas.Timeout, Error: w.RunID + " took too long"}
		}
		r, rec, seen := one(t, l, calls(asks{"a", "twice", `{"n":1}`}, asks{"b", "exec", `{"title":"Look","code":"x"}`}, asks{"c", "wait", `{"runId":"` + cell + `"}`}))
		if r.roles() != "system user assistant tool tool tool" || r.Messages[3].ToolCallID+r.Messages[4].ToolCallID+r.Messages[5].ToolCallID != "abc" {
			t.Errorf("asked with %s", r.Body)
		}
		got := told(r)
		if got["a"] != `{"n":1}` || !strings.Contains(got["b"], `"status":"waiting"`) || !strings.Contains(got["b"], cell) || !strings.Contains(got["c"], cell+" took too long") {
			t.Errorf("told %v", got)
		}
		if want := strings.Count(rec.speech(), "tool: "); want != 3 {
			t.Errorf("transcript: %s", rec.speech())
		}
		began, done := only[agent.Calling](seen), only[agent.Called](seen)
		if len(began) != 3 || began[1].Title != "Look" || began[0].Arguments != `{"n":1}` || len(done) != 3 {
			t.Errorf("events: %+v, %+v", began, done)
		}
		for _, d := range done {
			if d.Text != got[d.ID] || d.Failed != (d.ID == "c") {
				t.Errorf("event: %+v", d)
			}
		}
	})
}

func TestSpec_V4_CallsThatCantBeMade(t *testing.T) {
	for name, c := range map[string]struct {
		finish string
		call   asks
		// made is whether it reaches the host, words what the model is told.
		made  bool
		words []string
		// sent is what the provider is told of the call's arguments.
		sent string
	}{
		"no JSON":       {"tool_calls", asks{"c", "twice", `{"n": 1,}`}, false, []string{"was not made", "invalid character '}'", "byte 9 of 9", `{"n": 1,}`}, `{}`},
		"a list":        {"tool_calls", asks{"c", "twice", `[1]`}, false, []string{"was not made", "must be one object"}, `{}`},
		"two objects":   {"tool_calls", asks{"c", "twice", `{}{}`}, false, []string{"was not made"}, `{}`},
		"nothing":       {"tool_calls", asks{"c", "twice", ``}, true, []string{"{}"}, `{}`},
		"null":          {"tool_calls", asks{"c", "twice", `null`}, true, []string{"{}"}, `{}`},
		"an unknown":    {"tool_calls", asks{"c", "functions.nope!", `{}`}, false, []string{`Tool "functions.nope!" isn't available; available: exec, wait, twice.`}, `{}`},
		"a hidden one":  {"tool_calls", asks{"c", "double", `{"n":1}`}, false, []string{`Tool "double" isn't available; available: exec, wait, twice.`}, `{"n":1}`},
		"no name":       {"tool_calls", asks{"c", "", `{}`}, false, []string{`Tool "" isn't available`}, `{}`},
		"a bad wait":    {"tool_calls", asks{"c", "wait", `{"runId":"../x"}`}, false, []string{"runId"}, `{"runId":"../x"}`},
		"said to stop":  {"stop", asks{"c", "twice", `{"n":2}`}, true, []string{`{"n":2}`}, `{"n":2}`},
		"cut off":       {"length", asks{"c", "twice", `{"n": 1`}, false, []string{"reached its longest"}, `{}`},
		"cut off early": {"length", asks{"c", "twice", ``}, false, []string{"reached its longest"}, `{}`},
		"just whole":    {"length", asks{"c", "twice", `{"n": 3}`}, true, []string{`{"n": 3}`}, `{"n": 3}`},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newLab(t)
				r, rec, _ := one(t, l, answers("", c.finish, c.call))
				for _, w := range c.words {
					if !strings.Contains(told(r)["c"], w) {
						t.Errorf("told %q, want %q in it", told(r)["c"], w)
					}
				}
				if made := l.made() == 1; made != c.made || strings.Contains(told(r)["c"], "7") {
					t.Errorf("made: %v, told %q", made, told(r)["c"])
				}
				if got := r.Messages[2].ToolCalls[0].Function; got.Arguments != c.sent || got.Name == "" || strings.ContainsAny(got.Name, ".!") {
					t.Errorf("sent back %+v", got)
				}
				if !c.made && c.call.arguments != "" && !strings.Contains(rec.speech(), " "+c.call.arguments+"]") {
					t.Errorf("transcript: %s", rec.speech())
				}
			})
		})
	}
}

func TestSpec_V4_ManyCallsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t)
		many := make([]asks, 10_000)
		for i := range many {
			many[i] = asks{fmt.Sprint("c", i), "twice", fmt.Sprintf(`{"n":%d}`, i)}
		}
		r, _, _ := one(t, l, calls(many...))
		if l.made() != 64 || len(r.Messages) != 3+128 || len(r.Messages[2].ToolCalls) != 128 {
			t.Errorf("%d made, %d messages", l.made(), len(r.Messages))
		}
		got := told(r)
		if got["c63"] != `{"n":63}` || !strings.Contains(got["c64"], "was not made: at most 64") || !strings.Contains(got["c127"], "9872 more calls") {
			t.Errorf("told %q, %q, %q", got["c63"], got["c64"], got["c127"])
		}
	})
}

func TestSpec_V4_IdsOfCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t)
		long := strings.Repeat("x", 1000)
		p := newLine(
			calls(asks{"call_0", "twice", `{"n":1}`}, asks{"", "twice", `{"n":2}`}, asks{"call_0", "twice", `{"n":3}`}, asks{long, "twice", `{"n":4}`}),
			calls(asks{"call_0", "twice", `{"n":5}`}),
			says("Done."))
		turn, rec, _ := l.turn(p.at())
		ended(t, run(t, turn), schemas.StopAnswered)
		ids := map[string]bool{}
		for _, id := range l.calls {
			ids[id] = true
		}
		if len(ids) != 5 || ids[""] || ids[long] || !ids["call_0"] {
			t.Errorf("ids on the bus: %v", l.calls)
		}
		last := p.requests()[2]
		first := last.Messages[2].ToolCalls
		for i, c := range first {
			if m := last.Messages[3+i]; m.ToolCallID != c.ID || c.ID == "" || last.text(3+i) != fmt.Sprintf(`{"n":%d}`, i+1) {
				t.Errorf("call %d has the id %q, its message %q", i, c.ID, m.ToolCallID)
			}
		}
		if first[0].ID != "call_0" || first[2].ID == "call_0" || last.Messages[7].ToolCalls[0].ID != "call_0" || last.Messages[8].ToolCallID != "call_0" {
			t.Errorf("sent back: %s", last.Body)
		}
		for i := range rec.said { // what is on record has the ids of the bus
			if said := rec.said[i].Said(); said.ToolCallID != "" && !ids[said.ToolCallID] {
				t.Errorf("%q is on record", said.ToolCallID)
			}
		}
	})
}

func TestSpec_O5_M6_WhatIsFromOutsideIsWrapped(t *testing.T) {
	png := base64.StdEncoding.EncodeToString([]byte("\x89PNG"))
	block := func(kind, mime, data string) string {
		return fmt.Sprintf(`{"type":%q,"mimeType":%q,"data":%q}`, kind, mime, data)
	}
	mcp := func(content string) *schemas.Directed {
		return &schemas.Directed{Source: schemas.SourceMCP, Untrusted: true, Value: schemas.JSON(content)}
	}
	for name, c := range map[string]struct {
		answer  *schemas.Directed
		wrapped bool
		words   []string
		none    string
	}{
		"a value":     {&schemas.Directed{Source: schemas.SourceNative, Value: schemas.JSON(`{"n":1.0}`)}, false, []string{`{"n":1.0}`}, ""},
		"no value":    {&schemas.Directed{Source: schemas.SourceNative}, false, []string{`null`}, ""},
		"of a client": {&schemas.Directed{Source: schemas.SourceClient, Untrusted: true, Value: schemas.JSON(`"hi"`)}, true, []string{`"hi"`}, ""},
		"a failure":   {&schemas.Directed{Call: &schemas.CallError{Code: schemas.CallInputContract, Message: "n is missing"}}, false, []string{"input_contract", "n is missing"}, ""},
		"its failure": {&schemas.Directed{Untrusted: true, Call: &schemas.CallError{Code: schemas.CallToolError, Message: "ha"}}, true, []string{"tool_error", "ha"}, ""},
		"texts":       {mcp(`{"content":[{"type":"text","text":"one"},{"type":"text","text":"two"}]}`), true, []string{"one\ntwo"}, ""},
		"an error":    {mcp(`{"content":[{"type":"text","text":"one"}],"isError":true}`), true, []string{"says that it failed", "one"}, ""},
		"structured":  {mcp(`{"content":[{"type":"text","text":"{\"n\": 1}"}],"structuredContent":{"n":1}}`), true, []string{`{"n": 1}`}, `{"n":1}`},
		"more":        {mcp(`{"content":[{"type":"text","text":"one"}],"structuredContent":{"n":1.50}}`), true, []string{"one", `{"n":1.50}`}, ""},
		"a link":      {mcp(`{"content":[{"type":"resource_link","uri":"x:y"}]}`), true, []string{`"uri":"x:y"`}, ""},
		"a sound":     {mcp(`{"content":[` + block("audio", "audio/wav", png) + `]}`), true, []string{"audio/wav", "can't be shown"}, png},
		"a drawing":   {mcp(`{"content":[` + block("image", "image/svg+xml", png) + `]}`), true, []string{"can't be shown"}, png},
		"damaged":     {mcp(`{"content":[` + block("image", "image/png", "%%%") + `]}`), true, []string{"can't be shown"}, "%%%"},
		"nonsense":    {mcp(`{"content":[1]}`), true, []string{`{"content":[1]}`}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newLab(t)
				l.direct = func(*schemas.Direct) *schemas.Directed { return c.answer }
				r, _, _ := one(t, l, calls(asks{"c", "twice", `{}`}))
				got := told(r)["c"]
				if wrapped := strings.Contains(got, "[[outside-data ") && strings.HasSuffix(got, "]]"); wrapped != c.wrapped {
					t.Errorf("told %q", got)
				}
				for _, w := range c.words {
					if !strings.Contains(got, w) {
						t.Errorf("told %q, want %q in it", got, w)
					}
				}
				if c.none != "" && strings.Contains(got, c.none) {
					t.Errorf("told %q, with %q in it", got, c.none)
				}
				if r.roles() != "system user assistant tool" {
					t.Errorf("asked with %s", r.Body)
				}
			})
		})
	}
}

func TestSpec_M2_ImagesFollowTheirCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t)
		data := base64.StdEncoding.EncodeToString([]byte("\x89PNG picture"))
		content := strings.Repeat(`{"type":"image","mimeType":"image/png","data":"`+data+`"},`, 5)
		l.direct = func(*schemas.Direct) *schemas.Directed {
			return &schemas.Directed{Source: schemas.SourceMCP, Untrusted: true, Value: schemas.JSON(`{"content":[` + strings.TrimSuffix(content, ",") + `]}`)}
		}
		both := calls(asks{"c", "twice", `{}`}, asks{"d", "twice", `{}`})
		p := newLine(both, fails(400, `{"error":{"message":"this model takes no image_url"}}`), both, says("Done."))
		turn, rec, _ := l.turn(p.at())
		ended(t, run(t, turn), schemas.StopAnswered)
		r := p.requests()
		if r[1].roles() != "system user assistant tool tool user" || strings.Count(string(r[1].Body), "data:image/png;base64,"+data) != 8 ||
			!strings.Contains(string(r[1].Body), "2 more are too many") || !strings.Contains(told(r[1])["c"], "follows in the next message") {
			t.Errorf("asked with %s", r[1].Body)
		}
		if r[2].roles() != r[1].roles() || strings.Contains(string(r[2].Body)+string(r[3].Body), data) || !strings.Contains(r[3].text(-1), "takes none") {
			t.Errorf("asked again with %s", r[3].Body)
		}
		if strings.Contains(rec.speech(), data) {
			t.Errorf("transcript: %s", rec.speech())
		}
	})
}

func TestSpec_V4_WhatAModelIsToldIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t)
		huge := schemas.JSON(`"` + strings.Repeat("ü", 200_000) + `"`)
		l.direct = func(*schemas.Direct) *schemas.Directed { return &schemas.Directed{Value: huge, Untrusted: true} }
		l.exec = func(*schemas.Exec) *schemas.Result {
			return &schemas.Result{Status: schemas.StatusCompleted, Value: huge, Untrusted: true}
		}
		r, rec, _ := one(t, l, calls(asks{"a", "twice", `{}`}, asks{"b", "exec", `{}`}))
		for id, got := range told(r) {
			if len(got) > 257<<10 || !strings.Contains(got, "bytes in all]\n[[end-outside-data ") || strings.Contains(got, "\uFFFD") {
				t.Errorf("%s: told %d bytes, that end %q", id, len(got), got[len(got)-100:])
			}
		}
		for i := range rec.said {
			if said := rec.said[i].Said(); said.ToolCallID != "" && !said.Truncated {
				t.Errorf("%s isn't marked", said.ToolCallID)
			}
		}
	})
}

// A model that repeats itself is stopped; one that waits for something isn't.
func TestSpec_V4_CirclesEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t)
		n := 0
		l.exec = func(*schemas.Exec) *schemas.Result {
			n++
			return &schemas.Result{Status: schemas.StatusFailed, Code: schemas.InternalError, Error: "no", Telemetry: schemas.Telemetry{CallCount: n}}
		}
		p := newLine(calls(asks{"", "exec", `{"code":"x"}`}, asks{"", "nope", `{}`}))
		turn, _, _ := l.turn(p.at())
		ended(t, run(t, turn), schemas.StopLimit, "in circles", "8 times")
		if l.made() != 8 || len(p.requests()) != 8 {
			t.Errorf("%d calls, %d requests", l.made(), len(p.requests()))
		}
		l.wait = func(w *schemas.Wait) *schemas.Result {
			return &schemas.Result{Status: schemas.StatusWaiting, RunID: w.RunID, Reason: schemas.ReasonPendingTools}
		}
		turn, _, _ = l.turn(newLine(calls(asks{"", "wait", `{"runId":"` + bus.NewRunID(labHost) + `"}`})).at())
		turn.Limits.Requests = 30
		ended(t, run(t, turn), schemas.StopLimit, "asked 30 times")
	})
}

func TestSpec_V4_BoundsOfATurn(t *testing.T) {
	again := func() step {
		n := 0
		return func(w http.ResponseWriter, req *sent) {
			n++
			calls(asks{"", "twice", fmt.Sprintf(`{"n":%d}`, n)})(w, req)
		}
	}
	for name, c := range map[string]struct {
		limits   agent.Limits
		price    schemas.Price
		step     step
		requests int
		stop     string
		words    string
	}{
		"by default":   {agent.Limits{}, schemas.Price{}, again(), 40, schemas.StopLimit, "asked 40 times"},
		"requests":     {agent.Limits{Requests: 3}, schemas.Price{}, again(), 3, schemas.StopLimit, "turns.maxRequests"},
		"tokens":       {agent.Limits{Tokens: 300}, schemas.Price{}, again(), 3, schemas.StopLimit, "300 tokens"},
		"cost":         {agent.Limits{CostUSD: 0.0003}, schemas.Price{Input: 1}, again(), 3, schemas.StopLimit, "$0.0003"},
		"enough":       {agent.Limits{Requests: 1, Tokens: 1, CostUSD: 0.1}, schemas.Price{Input: 1}, says("Done."), 1, schemas.StopAnswered, ""},
		"the answer's": {agent.Limits{}, schemas.Price{}, answers("It is", "length"), 1, schemas.StopLimit, "cut off"},
		"a filter":     {agent.Limits{}, schemas.Price{}, answers("It is", "content_filter", asks{"c", "twice", "{}"}), 1, schemas.StopFailed, "content filter"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l, p := newLab(t), newLine(c.step)
				turn, rec, _ := l.turn(p.at())
				turn.Limits, turn.Price = c.limits, c.price
				ended(t, run(t, turn), c.stop, c.words)
				if len(p.requests()) != c.requests || strings.Count(rec.speech(), "[twice") != strings.Count(rec.speech(), "tool:") {
					t.Errorf("%d requests, transcript: %s", len(p.requests()), rec.speech())
				}
				if c.requests == 1 && !strings.Contains(rec.speech(), "assistant: ") || l.made() >= 40 && c.requests != 40 {
					t.Errorf("%d calls, transcript: %s", l.made(), rec.speech())
				}
			})
		})
	}
}

// Where nobody counts, bytes are counted.
func TestSpec_V4_TokensThatNobodyCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t)
		n := 0
		p := newLine(func(w http.ResponseWriter, _ *sent) {
			n++
			events := pieces("", "tool_calls", asks{"", "twice", fmt.Sprintf(`{"n":%d}`, n)})
			stream(w, append(events[:len(events)-2], `{"choices":[],"usage":{"prompt_tokens":-5,"completion_tokens":-1}}`)...)
		})
		turn, _, _ := l.turn(p.at())
		turn.Limits.Tokens = 1000
		r := run(t, turn)
		ended(t, r, schemas.StopLimit, "1000 tokens")
		if r.Entry.Usage != (schemas.Usage{}) || r.Uncounted != n || n < 2 || n > 10 {
			t.Errorf("%d requests, %+v", n, r)
		}
	})
}

func TestSpec_V4_ATurnTakesItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t)
		l.exec = func(*schemas.Exec) *schemas.Result { return nil }
		turn, rec, _ := l.turn(newLine(calls(asks{"c", "exec", `{}`})).at())
		turn.Limits.Timeout = 90 * time.Second
		start := time.Now()
		ended(t, run(t, turn), schemas.StopLimit, "1m30s")
		if took := time.Since(start); took != 90*time.Second || !strings.Contains(rec.speech(), "tool: This call was stopped") || len(rec.entries) != 1 {
			t.Errorf("after %s: %s", took, rec.speech())
		}
	})
}
