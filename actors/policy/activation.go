package policy

import "github.com/codecell/codecell/schemas"

// Mode is how a model reaches its tools.
type Mode string

const (
	// Direct: the model sees every tool.
	Direct Mode = "direct"
	// CodeMode: the model sees exec and wait.
	CodeMode Mode = "code"
	// ToolSearch: the model sees the search tools.
	ToolSearch Mode = "search"
)

// Turn is what the decision depends on besides the configuration.
type Turn struct {
	Agent string
	// Model is "provider/model".
	Model string
	// Preferred: the model is flagged as one that does better with Code Mode; "auto" means on for it.
	Preferred bool
	// Tools are the effective tools. A run without any never engages (A3).
	Tools []schemas.Tool
	// Raw: a plain model call without tools.
	Raw bool
}

// Activation decides how a model reaches its tools (F1, F3, A3). It doesn't know whether a guest
// can be had: if [CodeMode] can't be served, the turn fails; it never falls back to [Direct] (A4).
func Activation(c *schemas.Config, t Turn) Mode {
	if c == nil || t.Raw || len(t.Tools) == 0 {
		return Direct
	}
	said := c.CodeModeFor(t.Agent, t.Model)
	if said == schemas.SwitchOn || said == schemas.SwitchAuto && t.Preferred {
		return CodeMode
	}
	if c.ToolSearchFor(t.Agent).Enabled {
		return ToolSearch
	}
	return Direct
}
