package agent_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/codecell/codecell/bus"
	"github.com/codecell/codecell/schemas"
)

// A few bytes of nothing each would become gigabytes of structures.
func TestSpec_B4_V4_AnAnswerOfTooManyPartsEndsTheTurn(t *testing.T) {
	many := strings.TrimSuffix(strings.Repeat("{},", 100_000), ",")
	for name, c := range map[string]struct{ kind, body string }{
		"choices":      {"application/json", `{"choices":[` + many + `]}`},
		"on lines":     {"application/json", `{"choices":[` + strings.ReplaceAll(many, ",", ",\n\n") + `]}`},
		"calls":        {"application/json", `{"choices":[{"index":0,"message":{"tool_calls":[` + many + `]}}]}`},
		"of an event":  {"text/event-stream", `data: {"choices":[` + many + "]}\n\n"},
		"after quotes": {"text/event-stream", ": \"\\\ndata: {\"choices\":[" + many + "]}\n\n"},
		"of lines":     {"text/event-stream", "data: {\"choices\":[" + strings.ReplaceAll(many, ",", ",\r\ndata: ") + "]}\n\n"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l, p := newLab(t), newLine(func(w http.ResponseWriter, _ *sent) {
					w.Header().Set("Content-Type", c.kind)
					fmt.Fprint(w, c.body)
				})
				turn, _, _ := l.turn(p.at())
				turn.Provider.NoStream = c.kind == "application/json"
				ended(t, run(t, turn), schemas.StopFailed, "more than 65536 values")
				if len(p.requests()) != 1 {
					t.Errorf("%d requests", len(p.requests()))
				}
			})
		})
	}
}

// Braces of a text are no parts, and those of one event aren't those of the next.
func TestSpec_V4_ALongAnswerIsNoneOfManyParts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		text := strings.Repeat(`{"a":[1,2]},`, 20_000)
		for _, whole := range []bool{true, false} {
			l := newLab(t)
			turn, _, _ := l.turn(newLine(says(text)).at())
			turn.Provider.NoStream = whole
			if r := run(t, turn); r.Text != text {
				t.Errorf("whole %v: %s %s, %d bytes", whole, r.Entry.Stop, r.Entry.Error, len(r.Text))
			}
		}
	})
}

func TestSpec_U6_V4_WhatCantBeSentIsToldToTheModel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t)
		huge := `{"code":"` + strings.Repeat("x", 15<<20) + `"}`
		elsewhere := bus.NewRunID("bbbbbbbbbb")
		p := newLine(calls(asks{"a", "wait", `{"runId":"` + elsewhere + `"}`}, asks{"b", "twice", huge}), says("Done."))
		turn, _, _ := l.turn(p.at())
		turn.Provider.NoStream = true
		ended(t, run(t, turn), schemas.StopAnswered)
		if got := told(p.requests()[1]); !strings.Contains(got["a"], "runtime_unavailable") || got["b"] == "" {
			t.Errorf("told %.200q, %.200q", got["a"], got["b"])
		}
	})
}

func TestSpec_B5_V4_ACutKeyIsStillHidden(t *testing.T) {
	for name, a := range map[string]step{
		"a message":   fails(401, `{"error":{"message":"`+strings.Repeat("x", 490)+secret+`"}}`),
		"a page":      fails(404, strings.Repeat("x", 490)+secret),
		"a long page": fails(404, strings.Repeat(" ", 64<<10-10)+secret),
		"an event": func(w http.ResponseWriter, _ *sent) {
			stream(w, `{"error":{"code":400,"message":"`+strings.Repeat("x", 490)+secret+`"}}`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := newLab(t)
				turn, _, _ := l.turn(newLine(a).at())
				if r := run(t, turn); r.Entry.Stop != schemas.StopFailed || strings.Contains(r.Entry.Error, secret[:6]) {
					t.Errorf("%s: %s", r.Entry.Stop, r.Entry.Error)
				}
			})
		})
	}
}
