package agent_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/codecell/codecell/actors/agent"
	"github.com/codecell/codecell/bus"
	"github.com/codecell/codecell/bus/bustest"
	"github.com/codecell/codecell/schemas"
)

// run takes a turn that must have a report.
func run(t *testing.T, turn *agent.Turn) *agent.Report {
	t.Helper()
	report, err := turn.Run(t.Context(), "Go.")
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// ended checks how a turn ended, and that its error has these words.
func ended(t *testing.T, r *agent.Report, stop string, words ...string) {
	t.Helper()
	if r.Entry.Stop != stop {
		t.Errorf("stop = %s (%s), want %s", r.Entry.Stop, r.Entry.Error, stop)
	}
	for _, w := range words {
		if !strings.Contains(r.Entry.Error, w) {
			t.Errorf("error = %q, want %q in it", r.Entry.Error, w)
		}
	}
	if strings.Contains(fmt.Sprintf("%+v", r), secret) {
		t.Errorf("the key is in %+v", r)
	}
}

func TestSpec_V4_WhatIsSafeIsAskedAgain(t *testing.T) {
	begun := pieces("It is forty-two.", "stop")[:3]
	for name, c := range map[string]struct {
		fault step
		why   string
		// least and most are the time it takes until the answer.
		least, most time.Duration
	}{
		"408":                 {fails(408, `{}`), "408", 0, time.Second},
		"409":                 {fails(409, `{}`), "409", 0, time.Second},
		"429":                 {fails(429, `{"error":{"message":"slow down"}}`), "slow down", 0, time.Second},
		"429 with a time":     {fails(429, `{}`, "Retry-After", "7"), "429", 7 * time.Second, 8 * time.Second},
		"429 with less":       {fails(429, `{}`, "Retry-After-Ms", "2500"), "429", 2500 * time.Millisecond, 3 * time.Second},
		"429 with a date":     {fails(429, `{}`, "Retry-After", "Sat, 01 Jan 2000 00:00:42 GMT"), "429", 42 * time.Second, 43 * time.Second},
		"500":                 {fails(500, `oh no`), "oh no", 0, time.Second},
		"503":                 {fails(503, ``), "503 Service Unavailable", 0, time.Second},
		"no answer":           {stalls(), "sent nothing for 10s", 10 * time.Second, 11 * time.Second},
		"a dropped stream":    {drops(begun...), "broke off", 0, time.Second},
		"a stream that stops": {func(w http.ResponseWriter, _ *sent) { stream(w, begun...) }, "before the answer was complete", 0, time.Second},
		"a stalled stream":    {stalls(begun...), "sent nothing for 10s", 10 * time.Second, 11 * time.Second},
		"an error in a stream": {
			func(w http.ResponseWriter, _ *sent) {
				stream(w, append(begun, `{"error":{"message":"overloaded"}}`)...)
			}, "overloaded", 0, time.Second,
		},
		"nonsense":            {func(w http.ResponseWriter, _ *sent) { stream(w, "{", "[]", "}") }, "can't be read", 0, time.Second},
		"nothing at all":      {func(w http.ResponseWriter, _ *sent) { stream(w) }, "before the answer was complete", 0, time.Second},
		"calls that are none": {answers("", "tool_calls"), "calls none", 0, time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l, p := newLab(t), newLine(calls(asks{"c1", "twice", `{"n":1}`}), c.fault, says("Done."))
				at := p.at()
				at.Silence = 10 * time.Second
				turn, rec, seen := l.turn(at)
				start := time.Now()
				report := run(t, turn)
				ended(t, report, schemas.StopAnswered)
				took := time.Since(start)
				if report.Text != "Done." || report.Entry.Requests != 3 || report.Entry.Retries != 1 || took < c.least || took > c.most {
					t.Errorf("%+v after %s", report, took)
				}
				if l.made() != 1 {
					t.Errorf("%d calls were made", l.made())
				}
				again := only[agent.Retrying](seen)
				if len(again) != 1 || again[0].Attempt != 1 || !strings.Contains(again[0].Why, c.why) {
					t.Errorf("told %+v", again)
				}
				if got := rec.speech(); strings.Count(got, "assistant:") != 2 || strings.Contains(got, "forty") {
					t.Errorf("transcript: %s", got)
				}
				facts := only[*schemas.TurnRequested](seen)
				if len(facts) != 3 || facts[1].Attempt != 1 || !facts[1].Failed || facts[2].Attempt != 2 || facts[2].Request != 2 || facts[2].Failed {
					t.Errorf("facts: %+v, %+v, %+v", facts[0], facts[1], facts[2])
				}
				if r := p.requests(); string(r[1].Body) != string(r[2].Body) {
					t.Errorf("asked otherwise:\n%s\n%s", r[1].Body, r[2].Body)
				}
			})
		})
	}
}

func TestSpec_V4_RetriesEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, p := newLab(t), newLine(fails(500, `{"error":{"message":"broken"}}`))
		turn, rec, _ := l.turn(p.at())
		start := time.Now()
		report := run(t, turn)
		ended(t, report, schemas.StopFailed, "500", "broken", "asked 4 times")
		if took := time.Since(start); len(p.requests()) != 4 || took < 1750*time.Millisecond || took > 3500*time.Millisecond {
			t.Errorf("%d requests in %s", len(p.requests()), took)
		}
		if rec.speech() != "user: Go." || len(rec.entries) != 1 || rec.entries[0].Retries != 3 || rec.entries[0].Stop != schemas.StopFailed {
			t.Errorf("transcript: %s, %+v", rec.speech(), rec.entries)
		}
		if len(l.closes) != 1 {
			t.Errorf("%d runs were closed", len(l.closes))
		}
	})
}

func TestSpec_V4_SaysThatNoKeyWasSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, p := newLab(t), newLine(fails(401, `{"error":{"message":"who are you?"}}`))
		at := p.at()
		at.Key = ""
		turn, _, _ := l.turn(at)
		report := run(t, turn)
		ended(t, report, schemas.StopFailed, "who are you?. No key was sent", "OPENAI_API_KEY", "provider.apiKeyEnv")
		if strings.Contains(report.Entry.Error, "Check the key") {
			t.Errorf("there is no key to check: %s", report.Entry.Error)
		}
	})
}

func TestSpec_V4_WhatIsntSafeEndsAtOnce(t *testing.T) {
	quota := `{"error":{"message":"You have no money","type":"insufficient_quota","code":"insufficient_quota"}}`
	for name, c := range map[string]struct {
		fault step
		words []string
	}{
		"400":       {fails(400, `{"error":{"message":"bad \u001b[31mparameter","code":400}}`), []string{"400", "bad [31mparameter"}},
		"401":       {fails(401, `{"error":{"message":"Incorrect key: `+secret+`"}}`), []string{"401", "Incorrect key: [the provider's key]", "apiKeyEnv"}},
		"403":       {fails(403, `{"detail":"not you"}`), []string{"403", "not you"}},
		"404":       {fails(404, `<html>nothing here</html>`), []string{"404", "nothing here", "provider.url"}},
		"413":       {fails(413, `{"message":"too big"}`), []string{"413", "too big"}},
		"a list":    {fails(400, `[{"error":{"message":"API key not valid","status":"INVALID_ARGUMENT"}}]`), []string{"API key not valid"}},
		"no money":  {fails(429, quota), []string{"You have no money"}},
		"full":      {fails(400, `{"error":{"message":"x","code":"context_length_exceeded"}}`), []string{"context window", "another session"}},
		"full too":  {fails(400, `{"error":"prompt is too long: 9 tokens > 8 maximum"}`), []string{"context window"}},
		"long wait": {fails(429, `{}`, "Retry-After", "3600"), []string{"1h0m0s", "longer than a turn waits"}},
		"endless":   {fails(429, `{}`, "Retry-After", "1e300"), []string{"longer than a turn waits"}},
		"hopeless":  {fails(500, `{}`, "X-Should-Retry", "false"), []string{"500"}},
		"redirect":  {fails(307, ``, "Location", "http://elsewhere.test/v1/chat/completions"), []string{"307", "final address"}},
		"html": {func(w http.ResponseWriter, _ *sent) {
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, "<p>Log in")
		}, []string{"text/html", "Log in"}},
		"in a stream": {
			func(w http.ResponseWriter, _ *sent) { stream(w, `{"error":{"message":"no such model","code":404}}`) }, []string{"404", "no such model"},
		},
		"in an answer": {func(w http.ResponseWriter, _ *sent) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, `{"error":{"message":"fell over","code":418}}`)
		}, []string{"fell over"}},
		"too large": {func(w http.ResponseWriter, _ *sent) {
			stream(w, pieces("x", "")[0])
			for range 17 {
				stream(w, fmt.Sprintf(`{"choices":[{"index":0,"delta":{"other":%q}}]}`, strings.Repeat("x", 1<<20)))
			}
		}, []string{"larger than 16 MiB"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l, p := newLab(t), newLine(c.fault)
				turn, _, seen := l.turn(p.at())
				ended(t, run(t, turn), schemas.StopFailed, c.words...)
				if n := len(p.requests()); n != 1 || len(only[agent.Retrying](seen)) != 0 {
					t.Errorf("%d requests", n)
				}
			})
		})
	}
}

// What only keeps the connection open is no answer.
func TestSpec_V4_AStreamWithoutContentEnds(t *testing.T) {
	for name, event := range map[string]string{
		"comments": ": still here\n\n", "empty events": "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"\"}}]}\n\n", "spaces": "\n",
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newLab(t)
				p := newLine(func(w http.ResponseWriter, req *sent) {
					w.Header().Set("Content-Type", "text/event-stream")
					for {
						fmt.Fprint(w, event)
						select {
						case <-time.After(time.Second):
						case <-req.Gone:
							return
						}
					}
				}, says("Done."))
				at := p.at()
				at.Silence = 5 * time.Second
				turn, _, seen := l.turn(at)
				start := time.Now()
				ended(t, run(t, turn), schemas.StopAnswered)
				if took := time.Since(start); took < 50*time.Second || took > 55*time.Second {
					t.Errorf("given up after %s", took)
				}
				if again := only[agent.Retrying](seen); len(again) != 1 || !strings.Contains(again[0].Why, "nothing of use") {
					t.Errorf("told %+v", again)
				}
			})
		})
	}
}

// An answer that is complete is one, though the provider doesn't end its stream.
func TestSpec_V4_AStreamThatGoesOnAfterItsAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t)
		events := pieces("Done.", "stop")
		turn, _, _ := l.turn(newLine(stalls(events[:len(events)-2]...)).at())
		start := time.Now()
		r := run(t, turn)
		ended(t, r, schemas.StopAnswered)
		if took := time.Since(start); r.Text != "Done." || took > 5*time.Second || r.Uncounted != 1 {
			t.Errorf("%+v after %s", r, took)
		}
	})
}

// What says again and again that the answer is over doesn't hold the turn.
func TestSpec_V4_AStreamThatEndsForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t)
		events := pieces("Done.", "stop")
		turn, _, _ := l.turn(newLine(func(w http.ResponseWriter, req *sent) {
			stream(w, events[:len(events)-2]...)
			for range 3600 {
				select {
				case <-time.After(time.Second): // virtual: an hour of a provider that doesn't stop
					stream(w, events[len(events)-3])
				case <-req.Gone:
					return
				}
			}
		}).at())
		start := time.Now()
		r := run(t, turn)
		ended(t, r, schemas.StopAnswered)
		if took := time.Since(start); r.Text != "Done." || took > time.Minute {
			t.Errorf("%+v after %s", r, took)
		}
	})
}

func TestSpec_V4_AProviderThatCantBeReached(t *testing.T) {
	l := newLab(t)
	turn, _, _ := l.turn(agent.Provider{Name: "test", Model: "m", URL: "http://127.0.0.1:1/v1", Key: secret, HTTP: &http.Client{Transport: &http.Transport{}}})
	ended(t, run(t, turn), schemas.StopFailed, "http://127.0.0.1:1/v1 can't be reached", "refused")
}

func TestSpec_V4_AProviderThatRefusesToCount(t *testing.T) {
	l := newLab(t)
	p := newLine(fails(400, `{"error":{"message":"unknown field stream_options"}}`), calls(asks{"c1", "twice", `{}`}), says("Done."))
	turn, _, _ := l.turn(p.at())
	ended(t, run(t, turn), schemas.StopAnswered)
	if r := p.requests(); len(r) != 3 || strings.Contains(string(r[1].Body)+string(r[2].Body), "stream_options") {
		t.Errorf("%d requests, the last %s", len(r), r[len(r)-1].Body)
	}
}

func TestSpec_V4_AProviderThatDoesntStream(t *testing.T) {
	l := newLab(t)
	p := newLine(func(w http.ResponseWriter, req *sent) {
		req.Stream = false
		says("In one piece.")(w, req)
	})
	turn, _, _ := l.turn(p.at())
	if r := run(t, turn); r.Text != "In one piece." || r.Entry.Stop != schemas.StopAnswered {
		t.Errorf("%+v", r)
	}
}

func TestSpec_V4_BadInputStartsNoTurn(t *testing.T) {
	l := newLab(t)
	p := newLine(says("Done."))
	for name, c := range map[string]struct {
		change func(*agent.Turn)
		field  string
	}{
		"no URL":      {func(turn *agent.Turn) { turn.Provider.URL = "" }, "provider.url"},
		"no scheme":   {func(turn *agent.Turn) { turn.Provider.URL = "api.example.com/v1" }, "provider.url"},
		"a file":      {func(turn *agent.Turn) { turn.Provider.URL = "file:///etc/passwd" }, "provider.url"},
		"a password":  {func(turn *agent.Turn) { turn.Provider.URL = "http://me:" + secret + "@x.test" }, "provider.url"},
		"a query":     {func(turn *agent.Turn) { turn.Provider.URL = "http://x.test/?key=" + secret }, "provider.url"},
		"no URL, too": {func(turn *agent.Turn) { turn.Provider.URL = "http://[" + secret }, "provider.url"},
		"no model":    {func(turn *agent.Turn) { turn.Provider.Model = "" }, "provider.model"},
		"a bad key":   {func(turn *agent.Turn) { turn.Provider.Key = secret + "\n" }, "provider.key"},
	} {
		turn, rec, _ := l.turn(p.at())
		c.change(turn)
		report, err := turn.Run(t.Context(), "Go.")
		refused, ok := err.(*schemas.Error) //nolint:errorlint // it must be this one itself
		if !ok || report != nil || refused.Field != c.field || strings.Contains(err.Error(), secret) || rec.speech() != "" {
			t.Errorf("%s: %+v, %v", name, report, err)
		}
	}
	turn, _, _ := l.turn(p.at())
	if _, err := turn.Run(t.Context(), " \n"); err == nil || !strings.Contains(err.Error(), "prompt is empty") {
		t.Errorf("an empty prompt: %v", err)
	}
	if len(p.requests()) != 0 {
		t.Errorf("%d requests", len(p.requests()))
	}
	turn.Client = bus.NewClient(bustest.Conn(t))
	if _, err := turn.Run(t.Context(), "Go."); err == nil || !strings.Contains(err.Error(), "no cell host") {
		t.Errorf("without a host: %v", err)
	}
}
