package agent_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/codecell/codecell/actors/agent"
	"github.com/codecell/codecell/schemas"
)

// stopIt cancels a turn when it hears an event of a type, after a moment.
func stopIt[T any](w *watcher, after time.Duration) context.Context {
	ctx, cancel := context.WithCancelCause(context.Background())
	w.on = func(e agent.Event) {
		if _, ok := e.(T); ok {
			time.AfterFunc(after, func() { cancel(errors.New("interrupted")) })
		}
	}
	return ctx
}

func TestSpec_V4_ACancelledTurnEndsWhatItStarted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t)
		l.exec = func(*schemas.Exec) *schemas.Result { return nil }
		p := newLine(calls(asks{"a", "exec", `{}`}, asks{"b", "twice", `{"n":1}`}))
		turn, rec, w := l.turn(p.at())
		ctx := stopIt[agent.Called](w, time.Minute)
		start := time.Now()
		report, err := turn.Run(ctx, "Go.")
		if err != nil {
			t.Fatal(err)
		}
		ended(t, report, schemas.StopCancelled, "interrupted")
		if took := time.Since(start); took != time.Minute || len(p.requests()) != 1 {
			t.Errorf("ended after %s", took)
		}
		if len(l.closes) != 1 || l.closes[0].CallID != "" || report.Entry.Totals.Calls != 2 {
			t.Errorf("closed %+v, totals %+v", l.closes, report.Entry.Totals)
		}
		want := "user: Go.\nassistant: [exec {}][twice {\"n\":1}]\ntool: This call was stopped before it ended, with the turn. It may have run.\ntool: {\"n\":1}"
		if rec.speech() != want || len(rec.entries) != 1 || rec.entries[0].Stop != schemas.StopCancelled {
			t.Errorf("transcript: %s, %+v", rec.speech(), rec.entries)
		}
	})
}

func TestSpec_V4_WhatWasHeardBeforeTheEndIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t)
		turn, rec, w := l.turn(newLine(stalls(pieces("It is forty-two.", "stop")[:3]...)).at())
		report, err := turn.Run(stopIt[agent.Delta](w, time.Second), "Go.")
		if err != nil {
			t.Fatal(err)
		}
		ended(t, report, schemas.StopCancelled)
		if last := rec.said[len(rec.said)-1].Said(); report.Text != "It is fort" || last.Text != report.Text || !last.Truncated {
			t.Errorf("kept %+v, reported %q", last, report.Text)
		}
	})
}

// U5: a host that goes while it works ends the turn, and nothing is run again.
func TestSpec_U5_V4_AHostThatGoesEndsTheTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t)
		l.exec = func(*schemas.Exec) *schemas.Result {
			time.AfterFunc(time.Minute, l.conn.Close)
			return nil
		}
		p := newLine(calls(asks{"a", "exec", `{}`}, asks{"b", "twice", `{"n":1}`}), says("Done."))
		turn, rec, _ := l.turn(p.at())
		report := run(t, turn)
		ended(t, report, schemas.StopFailed, "runtime_unavailable", "may have run")
		if len(p.requests()) != 1 || l.made() != 2 || !strings.Contains(rec.speech(), `tool: {"n":1}`) || strings.Count(rec.speech(), "tool: ") != 2 {
			t.Errorf("%d requests, %d calls, transcript: %s", len(p.requests()), l.made(), rec.speech())
		}
		if len(rec.entries) != 1 {
			t.Errorf("entries: %+v", rec.entries)
		}
	})
}

func TestSpec_U5_V4_ACancelledTurnEndsThoughItsHostIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t)
		l.exec = func(*schemas.Exec) *schemas.Result {
			l.conn.Close() // while the call runs: a moment later nobody answers
			return nil
		}
		turn, rec, w := l.turn(newLine(calls(asks{"a", "exec", `{}`})).at())
		start := time.Now()
		report, err := turn.Run(stopIt[agent.Calling](w, time.Second), "Go.")
		if err != nil {
			t.Fatal(err)
		}
		ended(t, report, schemas.StopCancelled)
		if took := time.Since(start); took > 6*time.Second || len(rec.entries) != 1 || !strings.Contains(rec.speech(), "was stopped") {
			t.Errorf("after %s: %s, %+v", took, rec.speech(), rec.entries)
		}
	})
}

// What can't be put on record isn't run.
func TestSpec_V4_ATranscriptThatFailsEndsTheTurn(t *testing.T) {
	for name, c := range map[string]struct{ failAt, requests, calls int }{
		"the prompt": {1, 0, 0}, "the calls": {2, 1, 0}, "what they gave": {3, 1, 1}, "the answer": {4, 2, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l, p := newLab(t), newLine(calls(asks{"a", "twice", `{}`}), says("Done."))
				turn, rec, _ := l.turn(p.at())
				rec.failAt, rec.fail = c.failAt, errors.New("the disk is full")
				ended(t, run(t, turn), schemas.StopFailed, "the disk is full")
				if len(p.requests()) != c.requests || l.made() != c.calls || len(l.closes) != 1 || len(rec.entries) != 1 {
					t.Errorf("%d requests, %d calls, %d closed", len(p.requests()), l.made(), len(l.closes))
				}
			})
		})
	}
}
