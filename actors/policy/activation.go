package policy

import "github.com/codecell/codecell/schemas"

// Turn is what the decision depends on besides the configuration.
type Turn struct {
	Agent string
	// Model is "provider/model".
	Model string
	// Preferred: the model is flagged as one that does better with Code Mode; "auto" means on for it.
	Preferred bool
	// Front: a front shows tools to clients whose model nobody knows. It is there for Code Mode (V1), so that limits
	// alone don't turn it off.
	Front bool
	// Raw: a plain model call without tools.
	Raw bool
	// Asked is what the caller asked for in place of what the configuration says; empty is [schemas.ModeAuto].
	Asked schemas.Mode
}

// Activation decides how a model reaches its tools, as soon as there are any (F1, F3): without, nothing engages (A3). It
// doesn't know whether a guest can be had: if [schemas.ModeCode] can't be served, the turn fails; it never falls back to
// [schemas.ModeDirect] (A4).
func Activation(c *schemas.Config, t Turn) schemas.Mode {
	if c == nil || t.Raw {
		return schemas.ModeDirect
	}
	if t.Asked != "" && t.Asked != schemas.ModeAuto {
		return t.Asked
	}
	said := c.CodeModeFor(t.Agent, t.Model)
	if t.Front && c.CodeModeSaid(t.Agent, t.Model) == schemas.SwitchUnset {
		said = schemas.SwitchAuto
	}
	if said == schemas.SwitchOn || said == schemas.SwitchAuto && (t.Preferred || t.Front) {
		return schemas.ModeCode
	}
	if c.ToolSearchFor(t.Agent).Enabled {
		return schemas.ModeSearch
	}
	return schemas.ModeDirect
}
