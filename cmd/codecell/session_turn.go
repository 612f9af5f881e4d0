package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/codecell/codecell/schemas"
)

// shownTools is how many of the tools that a turn has called are listed.
const shownTools = 16

// messageText is what was said, at a glance.
func messageText(m *schemas.MessageEntry) string {
	said := m.Said()
	who := m.Role
	if said.Name != "" {
		who += " " + said.Name
	}
	if said.Truncated {
		who += " (cut)"
	}
	if len(said.ToolCalls) > 0 && said.Text == "" {
		return who + " calls"
	}
	return who + ": " + schemas.Outside(said.Text)
}

// entryMore is what an entry has to say besides its line: the calls of a model's message, and what a turn came to (L5).
func entryMore(e *schemas.SessionEntry) []string {
	switch {
	case e.Message != nil:
		var lines []string
		for _, c := range e.Message.Said().ToolCalls {
			lines = append(lines, "→ "+c.Name+" "+c.Arguments)
		}
		return lines
	case e.Turn != nil:
		return turnLines(e.Turn)
	}
	return nil
}

// turnLines answer what one wants to know of a turn: how many schemas the model saw first, what it searched and
// described, and which tools ran in the end, from which source.
func turnLines(t *schemas.TurnEntry) []string {
	saw := fmt.Sprintf("saw %d tools first, in %d bytes", t.Tools, t.ToolBytes)
	if t.PromptBytes > 0 {
		saw += fmt.Sprintf(" and %d of the prompt", t.PromptBytes)
	}
	saw += fmt.Sprintf("; catalog %d%s", t.CatalogSize, sourcesText(&t.Sources))
	did := fmt.Sprintf("searches %d, describes %d, calls %d", t.Totals.Searches, t.Totals.Describes, t.Totals.Calls)
	lines := []string{saw, did}
	for i := range t.Totals.Called[:min(len(t.Totals.Called), shownTools)] {
		c := &t.Totals.Called[i]
		lines = append(lines, fmt.Sprintf("called %s (%s) ×%d", c.ID, c.Source, c.Count))
	}
	if more := len(t.Totals.Called) + t.Totals.Dropped - shownTools; more > 0 {
		lines = append(lines, fmt.Sprintf("called %d more tools", more))
	}
	asked := strings.Join(spentParts(t), ", ") + fmt.Sprintf(", %d bytes sent", t.RequestBytes)
	if t.Retries > 0 {
		asked += fmt.Sprintf(", retries %d", t.Retries)
	}
	lines = append(lines, asked)
	if t.Error != "" {
		lines = append(lines, "error: "+t.Error)
	}
	return lines
}

func sourcesText(s *schemas.SourceCounts) string {
	var parts []string
	for _, one := range []struct {
		source schemas.Source
		n      int
	}{{schemas.SourceNative, s.Native}, {schemas.SourceMCP, s.MCP}, {schemas.SourceClient, s.Client}} {
		if one.n > 0 {
			parts = append(parts, fmt.Sprintf("%s %d", one.source, one.n))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return " (" + strings.Join(parts, ", ") + ")"
}

// turnCounts is what a turn came to, in a line.
func turnCounts(t *schemas.TurnEntry) string {
	var parts []string
	for _, one := range []struct {
		name string
		n    int
	}{{"searches", t.Totals.Searches}, {"describes", t.Totals.Describes}, {"calls", t.Totals.Calls}} {
		if one.n > 0 {
			parts = append(parts, fmt.Sprintf("%s %d", one.name, one.n))
		}
	}
	return strings.Join(append(parts, spentParts(t)...), ", ")
}

// spentParts is what a turn took.
func spentParts(t *schemas.TurnEntry) []string {
	parts := []string{fmt.Sprintf("requests %d", t.Requests)}
	if u := &t.Usage; u.InputTokens+u.OutputTokens > 0 { // some providers don't say
		in := fmt.Sprintf("tokens in %d", u.InputTokens)
		if u.CachedTokens > 0 {
			in += fmt.Sprintf(" (%d cached)", u.CachedTokens)
		}
		parts = append(parts, in, fmt.Sprintf("out %d", u.OutputTokens))
	}
	if t.CostUSD > 0 {
		parts = append(parts, fmt.Sprintf("$%.4f", t.CostUSD))
	}
	return append(parts, (time.Duration(t.DurationMs) * time.Millisecond).String())
}
