package policy

import (
	"slices"

	"github.com/codecell/codecell/schemas"
)

// message stays visible to the model whenever it is enabled (A2).
const message = "message"

// IsControl tells whether a tool drives a catalog. A tool of that name from elsewhere doesn't.
func IsControl(t *schemas.Tool) bool {
	return t.Source == schemas.SourceNative && t.Tier == schemas.TierCore && schemas.IsControlName(t.Name)
}

// Split divides effective tools for a mode that hides them, keeping their order. direct is what the model sees
// besides the mode's control tools: native message, and tools whose results can't cross a JSON bridge.
// catalog is what is reached through the control tools: all but control and direct-only tools, message included.
//
// Of direct tools with one name there is one: ours before others', then the first. Nothing takes the place of the
// mode's control tools, and nothing from elsewhere that of message; such a lookalike of message is in the
// catalog only, if it can be there at all.
func Split(tools []schemas.Tool, mode schemas.Mode) (direct, catalog []schemas.Tool) {
	ours, shown := map[string]bool{message: true}, make(map[string]bool)
	for _, name := range Reserved(mode) {
		ours[name], shown[name] = true, true
	}
	for i := range tools {
		if t := &tools[i]; t.Source == schemas.SourceNative && t.DirectOnly {
			ours[t.Name] = true
		}
	}
	for _, t := range tools {
		if IsControl(&t) {
			continue
		}
		native := t.Source == schemas.SourceNative
		visible := t.DirectOnly && (native || !ours[t.Name]) || native && t.Name == message
		if visible && !shown[t.Name] {
			shown[t.Name] = true
			direct = append(direct, t)
		}
		if !t.DirectOnly {
			catalog = append(catalog, t)
		}
	}
	return direct, catalog
}

// Reserved are the names that only the control tools of a mode can have before a model.
func Reserved(mode schemas.Mode) []string {
	switch mode {
	case schemas.ModeCode:
		return []string{schemas.ExecTool, schemas.WaitTool}
	case schemas.ModeSearch:
		return schemas.ToolSearchNames()
	default:
		return nil
	}
}

// MarkDirect marks those of the tools as direct-only that the configuration lists for the whole of it
// or for the agent. It changes the slice's elements.
func MarkDirect(tools []schemas.Tool, c *schemas.Config, agent string) {
	entries := slices.Concat(c.Tools.Direct, c.Agent(agent).Tools.Direct)
	for i := range tools {
		t := &tools[i]
		if Includes(entries, t) {
			t.DirectOnly = true
		}
	}
}
