package agent_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/codecell/codecell/schemas"
)

// conversation makes messages of lines such as "user: text", "assistant: text [id name args]" and "tool id: text".
func conversation(lines ...string) (out []schemas.MessageEntry) {
	for _, line := range lines {
		who, text, _ := strings.Cut(line, ": ")
		role, id, _ := strings.Cut(who, " ")
		said := schemas.Said{Text: text, ToolCallID: id}
		if role == schemas.RoleAssistant {
			parts := strings.Split(text, "[")
			said.Text = strings.TrimSpace(parts[0])
			for _, p := range parts[1:] {
				f := strings.SplitN(strings.TrimSuffix(strings.TrimSpace(p), "]"), " ", 3)
				said.ToolCalls = append(said.ToolCalls, schemas.SaidCall{ID: f[0], Name: f[1], Arguments: f[2]})
			}
		}
		out = append(out, schemas.NewMessage(role, said))
	}
	return out
}

func TestSpec_V4_WhatWasSaidBeforeIsSent(t *testing.T) {
	for name, c := range map[string]struct {
		past []schemas.MessageEntry
		want string
	}{
		"whole": {
			conversation("user: one", "assistant: I look. [a exec {\"x\":1}] [b twice {}]", "tool a: A", "tool b: B", "assistant: done"),
			"user: one|assistant: I look.[a exec {\"x\":1}][b twice {}]|tool a: A|tool b: B|assistant: done",
		},
		"killed in the middle": {
			conversation("user: one", "assistant: [a exec {}] [b twice {}]", "tool b: B"),
			"user: one|assistant: [a exec {}][b twice {}]|tool a: LOST|tool b: B",
		},
		"and gone on": {
			conversation("user: one", "assistant: [a exec {}]", "user: two", "tool a: late"),
			"user: one|assistant: [a exec {}]|tool a: LOST|user: two",
		},
		"orphans": {
			conversation("tool x: X", "user: one", "assistant: [a exec {}]", "tool a: A", "tool a: again", "tool y: Y", "assistant: done"),
			"user: one|assistant: [a exec {}]|tool a: A|assistant: done",
		},
		"broken arguments": {conversation("user: one", "assistant: [a exec {\"x\":]"), "user: one|assistant: [a exec {}]|tool a: LOST"},
		"a summary":        {conversation("system: before", "user: one", "assistant: ok"), "system: before|user: one|assistant: ok"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l, p := newLab(t), newLine(says("Done."))
				turn, rec, _ := l.turn(p.at())
				rec.past = c.past
				ended(t, run(t, turn), schemas.StopAnswered)
				r := p.requests()[0]
				var got []string
				for i, m := range r.Messages[1 : len(r.Messages)-1] {
					line := strings.TrimSpace(m.Role+" "+m.ToolCallID) + ": "
					if len(m.Content) > 0 {
						line += r.text(i + 1)
					}
					for _, call := range m.ToolCalls {
						line += fmt.Sprintf("[%s %s %s]", call.ID, call.Function.Name, call.Function.Arguments)
					}
					if strings.Contains(line, "was lost") && strings.Contains(line, "may have run") {
						line, _, _ = strings.Cut(line, "The result")
						line += "LOST"
					}
					got = append(got, line)
				}
				if text := strings.Join(got, "|"); text != c.want {
					t.Errorf("sent %s\nwant %s", text, c.want)
				}
			})
		})
	}
}

// Ids that a session has on record aren't given again.
func TestSpec_V4_IdsAreOfTheirOwnInASession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, p := newLab(t), newLine(calls(asks{"call_0", "twice", `{}`}), says("Done."))
		turn, rec, _ := l.turn(p.at())
		rec.past = conversation("user: one", "assistant: [call_0 twice {}]", "tool call_0: {}")
		ended(t, run(t, turn), schemas.StopAnswered)
		if l.calls[0] == "call_0" || rec.said[1].Said().ToolCalls[0].ID != l.calls[0] {
			t.Errorf("called as %q, on record as %+v", l.calls[0], rec.said[1].Said())
		}
	})
}

func TestSpec_V4_ALongConversationLosesItsBeginning(t *testing.T) {
	long := strings.Repeat("x", 1000)
	var lines []string
	for i := range 500 {
		lines = append(lines, fmt.Sprintf("user: u%d", i), fmt.Sprintf("assistant: %s [c%d exec {}]", long, i), fmt.Sprintf("tool c%d: t", i))
	}
	for name, c := range map[string]struct{ tokens, exchanges int }{
		"unknown": {0, 395}, "small": {10_000, 19}, "large": {1_000_000, 500}, "tiny": {10, 0}, "absurd": {1 << 62, 500},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l, p := newLab(t), newLine(says("Done."))
				turn, rec, _ := l.turn(p.at())
				rec.past, turn.ContextTokens = conversation(append([]string{"system: in short"}, lines...)...), c.tokens
				ended(t, run(t, turn), schemas.StopAnswered)
				r := p.requests()[0]
				if got := (len(r.Messages) - 3) / 3; got != c.exchanges || r.Messages[2].Role != "user" || r.text(1) != "in short" || r.text(-1) != "Go." {
					t.Errorf("%d exchanges, roles %s …", got, r.roles()[:40])
				}
				if left := strings.Contains(r.text(0), "beginning of this conversation was left out"); left != (c.exchanges < 500) {
					t.Errorf("said %q", r.text(0))
				}
			})
		})
	}
}

func TestSpec_L3_InstructionsAndTheSurfacesPromptComeFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, p := newLab(t), newLine(says("Done."))
		l.surface.Prompt = "# Tools\n- one"
		turn, _, _ := l.turn(p.at())
		turn.Instructions = "Be brief."
		r := run(t, turn)
		if got := p.requests()[0].text(0); got != "Be brief.\n\n# Tools\n- one" || r.Entry.PromptBytes != len(l.surface.Prompt) {
			t.Errorf("told %q, %+v", got, r.Entry)
		}
	})
}
