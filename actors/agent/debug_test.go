package agent_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/codecell/codecell/actors/agent"
	"github.com/codecell/codecell/schemas"
)

// leaky answers with the key wherever it can.
func leaky() []step {
	return []step{
		fails(500, `{"error":{"message":"I got `+secret+`","code":"`+secret+`"}}`),
		drops(append(pieces(secret+" is the key, sk-v", "x")[:11], `{"error":{"message":"`+secret+`"}}`)...),
		answers(secret, secret, asks{secret, secret, `{"n":"` + secret + `"}`}, asks{"b", "twice", secret}),
		fails(401, secret),
	}
}

func TestSpec_B5_NobodySeesTheKey(t *testing.T) {
	for _, payload := range []agent.Payload{agent.PayloadNone, agent.PayloadTools, agent.PayloadFull} {
		for _, redact := range []func(string) string{nil, func(s string) string { return s }} {
			t.Run(fmt.Sprint(payload, redact != nil), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					l := newLab(t)
					turn, rec, seen := l.turn(newLine(leaky()...).at())
					var log bytes.Buffer
					turn.Logger = slog.New(slog.NewTextHandler(&log, nil))
					turn.Debug = agent.Debug{CodeMode: true, Transport: true, Payload: payload, SSE: agent.SSEPeek, Redact: redact}
					report := run(t, turn)
					ended(t, report, schemas.StopFailed, "401")
					var heard strings.Builder
					for _, e := range seen.heard {
						if d, ok := e.(agent.Delta); ok {
							heard.WriteString(d.Text)
						}
						if text := fmt.Sprintf("%+v", e); strings.Contains(text, secret) {
							t.Errorf("told %s", text)
						}
					}
					if strings.Contains(heard.String(), secret) || strings.Count(heard.String(), "[the provider's key]") != 2 {
						t.Errorf("heard %s", heard.String())
					}
					for what, text := range map[string]string{"log": log.String(), "transcript": rec.speech(), "entry": fmt.Sprintf("%+v", rec.entries)} {
						if strings.Contains(text, secret) {
							t.Errorf("%s: %s", what, text)
						}
					}
					if strings.Contains(log.String(), "Bearer") || strings.Contains(log.String(), "Go.") != (payload == agent.PayloadFull && redact != nil) {
						t.Errorf("log: %s", log.String())
					}
				})
			})
		}
	}
}

func TestSpec_V4_DebugShowsWhatItIsAskedFor(t *testing.T) {
	for name, c := range map[string]struct {
		debug agent.Debug
		words []string
		none  []string
	}{
		"nothing":   {agent.Debug{}, nil, []string{"turn:"}},
		"code mode": {agent.Debug{CodeMode: true}, []string{"turn: surface", "mode=code", "catalog=7", `tools="exec, wait, twice"`, "turn: call", "tool=twice", "calls=1"}, []string{"turn: answer"}},
		"transport": {agent.Debug{Transport: true}, []string{"turn: answer", "status=200", "status=503", "attempt=2", "finish=tool_calls"}, []string{"turn: surface", "twice"}},
		"tools":     {agent.Debug{Payload: agent.PayloadTools}, []string{"request's tools", "Doubles."}, []string{"Go.", "Done."}},
		"full":      {agent.Debug{Payload: agent.PayloadFull}, []string{"Go.", "Done.", "Doubles.", "[masked]"}, []string{"hunter2"}},
		"events":    {agent.Debug{SSE: agent.SSEEvents}, []string{"turn: events", `kinds="finish=1 role=1 tool_calls=2 usage=1"`}, []string{"Done.", "turn: event "}},
		"peek":      {agent.Debug{SSE: agent.SSEPeek}, []string{"turn: event", "kind=content", "Done."}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newLab(t)
				turn, _, _ := l.turn(newLine(calls(asks{"a", "twice", `{"n":1}`}), fails(503, ``), says("Done.")).at())
				turn.Instructions = "The password is hunter2."
				var log bytes.Buffer
				turn.Logger, turn.Debug = slog.New(slog.NewTextHandler(&log, nil)), c.debug
				turn.Debug.Redact = func(s string) string { return strings.ReplaceAll(s, "hunter2", "[masked]") }
				ended(t, run(t, turn), schemas.StopAnswered)
				for _, w := range c.words {
					if !strings.Contains(log.String(), w) {
						t.Errorf("%q isn't in the log:\n%s", w, log.String())
					}
				}
				for _, w := range c.none {
					if strings.Contains(log.String(), w) {
						t.Errorf("%q is in the log:\n%s", w, log.String())
					}
				}
			})
		})
	}
}

func TestSpec_V4_DebugIsReadFromTheEnvironment(t *testing.T) {
	env := map[string]string{"CODECELL_DEBUG_CODE_MODE": "1", "CODECELL_DEBUG_MODEL_TRANSPORT": "0", "CODECELL_DEBUG_MODEL_PAYLOAD": "full-redacted", "CODECELL_DEBUG_SSE": "peek"}
	d, err := agent.DebugOf(func(name string) string { return env[name] })
	if err != nil || !d.CodeMode || d.Transport || d.Payload != agent.PayloadFull || d.SSE != agent.SSEPeek || !d.Any() {
		t.Errorf("%+v, %v", d, err)
	}
	for _, name := range []string{"CODECELL_DEBUG_MODEL_PAYLOAD", "CODECELL_DEBUG_SSE"} {
		if _, err := agent.DebugOf(func(n string) string { return map[string]string{name: "all"}[n] }); err == nil || !strings.Contains(err.Error(), name+" must be") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
