package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/codecell/codecell/schemas"
)

// overtime is what a turn gets beyond its own timeout to end in order.
const overtime = 10 * time.Second

// child is one started agent. Results stay until the run that started it is closed.
type child struct {
	id, label string
	family    *family
	bond      *bond
	ctx       context.Context
	cancel    context.CancelCauseFunc
	done      chan struct{} // closed with the result

	// What follows is guarded by the swarm's lock until done is closed, and doesn't change any more then.
	result schemas.AgentResult
	// untrusted: its model may have read text of an MCP server or a client, so that its words are such text too (O5).
	untrusted bool
}

func newChild(turn *Turn, args *schemas.SpawnArgs, f *family, b *bond) *child {
	c := &child{id: turn.Identity.SessionID, label: args.Label, family: f, bond: b, done: make(chan struct{})}
	c.ctx, c.cancel = context.WithCancelCause(b.ctx)
	c.result = schemas.AgentResult{ID: c.id, Label: args.Label, Phase: args.Phase, Status: schemas.AgentRunning}
	return c
}

// raise takes the child's turn, and keeps what became of it.
func (s *Swarm) raise(c *child, turn *Turn, task string) {
	defer c.cancel(nil)
	ctx, cancel := context.WithTimeout(c.ctx, turn.Limits.Timeout+overtime)
	defer cancel()
	report, err := s.take(ctx, turn, task)
	if err != nil && c.ctx.Err() == nil {
		s.log.Warn("an agent's turn failed", "agent", c.id, "error", err)
	}
	s.settle(c, report, err)
}

// take is the turn; a panic is a failure of this child alone.
func (s *Swarm) take(ctx context.Context, turn *Turn, task string) (report *Report, err error) {
	defer func() {
		if r := recover(); r != nil {
			s.log.Error("an agent's turn panicked", "panic", r, "stack", string(debug.Stack()))
			report, err = nil, errors.New("internal error")
		}
	}()
	return turn.Run(ctx, task)
}

// settle keeps the child's result.
func (s *Swarm) settle(c *child, report *Report, err error) {
	r := c.result
	switch {
	case err != nil:
		r.Status, r.Error = schemas.AgentFailed, err.Error()
	default:
		r.Text = clip(report.Text, schemas.MaxAgentText)
		r.Truncated = len(report.Text) > schemas.MaxAgentText
		r.Usage, r.CostUSD = report.Entry.Usage, report.Entry.CostUSD
		r.Status, r.Error = schemas.AgentFailed, cmp.Or(report.Entry.Error, "the agent stopped without an answer")
		if report.Entry.Stop == schemas.StopAnswered {
			r.Status, r.Error = schemas.AgentCompleted, ""
		}
	}
	if cause := context.Cause(c.ctx); cause != nil && r.Status != schemas.AgentCompleted {
		r.Status, r.Error = schemas.AgentCancelled, "cancelled: "+cause.Error()
	}
	r.Error = clip(r.Error, maxErrorBytes)
	s.mu.Lock()
	defer s.mu.Unlock()
	c.result = r
	c.untrusted = c.untrusted || err == nil && secondHand(&report.Entry)
	if above := s.children[c.family.above]; above != nil && c.untrusted {
		above.untrusted = true
	}
	c.family.running--
	c.family.loosen(c.bond)
	close(c.done)
}

// secondHand tells whether the turn's model may have read what a server or a client says: it had such a tool before it, or
// called something of theirs.
func secondHand(e *schemas.TurnEntry) bool {
	return e.Sources.MCP+e.Sources.Client > 0 || e.Totals.Dropped > 0 ||
		slices.ContainsFunc(e.Totals.Called, func(t schemas.CalledTool) bool { return t.Source != schemas.SourceNative })
}

// maxErrorBytes bounds what is said of a failure.
const maxErrorBytes = 4 << 10

// clip cuts a text to so many bytes, whole characters, and says so.
func clip(text string, most int) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= most {
		return text
	}
	mark := fmt.Sprintf("\n[cut: %d bytes in all]", len(text))
	at := most - len(mark)
	for at > 0 && !utf8.RuneStart(text[at]) {
		at--
	}
	return text[:at] + mark
}
