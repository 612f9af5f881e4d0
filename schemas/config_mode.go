package schemas

import (
	"bytes"
	"encoding/json"
)

// Switch says whether a mode of presenting tools is on. The zero value says nothing.
type Switch string

const (
	// SwitchUnset: nothing is said here; ask the next place.
	SwitchUnset Switch = ""
	SwitchOn    Switch = "on"
	SwitchOff   Switch = "off"
	// SwitchAuto: on for models that are flagged as preferring it.
	SwitchAuto Switch = "auto"
)

// UnmarshalJSON reads true, false or "auto".
func (s *Switch) UnmarshalJSON(b []byte) error {
	switch string(b) {
	case "true":
		*s = SwitchOn
	case "false":
		*s = SwitchOff
	case `"auto"`:
		*s = SwitchAuto
	default:
		return Refuse("enabled", `expected true, false or "auto"`)
	}
	return nil
}

// CodeModeConfig is tools.codeMode: true, false, "auto", or an object. Numbers are as written;
// take the effective ones from [Config.LimitsFor].
type CodeModeConfig struct {
	Enabled             Switch   `json:"enabled"`
	Mode                string   `json:"mode"`
	Parking             string   `json:"parking"`
	TimeoutMs           *float64 `json:"timeoutMs"`
	MemoryLimitBytes    *float64 `json:"memoryLimitBytes"`
	MaxOutputBytes      *float64 `json:"maxOutputBytes"`
	MaxSnapshotBytes    *float64 `json:"maxSnapshotBytes"`
	MaxPendingToolCalls *float64 `json:"maxPendingToolCalls"`
	SnapshotTTLSeconds  *float64 `json:"snapshotTtlSeconds"`
	SearchDefaultLimit  *float64 `json:"searchDefaultLimit"`
	MaxSearchLimit      *float64 `json:"maxSearchLimit"`
	// Languages are those of programs under [Contract202607]; take the effective ones from [Config.LanguagesFor].
	Languages []string `json:"languages"`
}

// UnmarshalJSON reads the short forms and the object.
func (c *CodeModeConfig) UnmarshalJSON(b []byte) error {
	type object CodeModeConfig
	if isObject(b) {
		return json.Unmarshal(b, (*object)(c))
	}
	*c = CodeModeConfig{}
	return c.Enabled.UnmarshalJSON(b)
}

// ToolSearchConfig is tools.toolSearch: true, false, or an object. Take the effective values
// from [Config.ToolSearchFor].
type ToolSearchConfig struct {
	Enabled            Switch   `json:"enabled"`
	Mode               string   `json:"mode"`
	CodeTimeoutMs      *float64 `json:"codeTimeoutMs"`
	SearchDefaultLimit *float64 `json:"searchDefaultLimit"`
	MaxSearchLimit     *float64 `json:"maxSearchLimit"`
}

// UnmarshalJSON reads the short forms and the object. An object turns Tool Search on unless it
// says enabled: false.
func (c *ToolSearchConfig) UnmarshalJSON(b []byte) error {
	type object ToolSearchConfig
	*c = ToolSearchConfig{}
	return readSwitched(b, &c.Enabled, (*object)(c))
}

// readSwitched reads a switch, or the object that has it: one that is there turns on what it's for.
func readSwitched(b []byte, enabled *Switch, object any) error {
	if !isObject(b) {
		return enabled.UnmarshalJSON(b)
	}
	*enabled = SwitchOn
	return json.Unmarshal(b, object)
}

func isObject(b []byte) bool { return bytes.HasPrefix(bytes.TrimLeft(b, " \t\r\n"), []byte("{")) }

// CodeModeFor decides whether Code Mode is on for an agent and a model ("provider/model"). The
// first place that says so wins: the agent's entry for the model, the agent, the default entry
// for the model, the whole configuration (F1). An object without "enabled" never says on: if
// there are only such objects it is off. If there is nothing at all it is [SwitchAuto].
func (c *Config) CodeModeFor(agent, model string) Switch {
	if s := c.CodeModeSaid(agent, model); s != SwitchUnset {
		return s
	}
	if c.Agent(agent).Tools.CodeMode != nil || c.Tools.CodeMode != nil {
		return SwitchOff
	}
	return SwitchAuto
}

// CodeModeSaid is what the configuration says in so many words: [SwitchUnset] where it has nothing, or only limits.
func (c *Config) CodeModeSaid(agent, model string) Switch {
	a := c.Agent(agent)
	if s := a.Models[model].codeMode(); s != SwitchUnset {
		return s
	}
	if s := a.Tools.CodeMode.enabled(); s != SwitchUnset {
		return s
	}
	if s := c.Agents.Defaults.Models[model].codeMode(); s != SwitchUnset {
		return s
	}
	return c.Tools.CodeMode.enabled()
}

func (m ModelConfig) codeMode() Switch {
	switch {
	case m.CodeMode == nil:
		return SwitchUnset
	case *m.CodeMode:
		return SwitchOn
	default:
		return SwitchOff
	}
}

func (c *CodeModeConfig) enabled() Switch {
	if c == nil {
		return SwitchUnset
	}
	return c.Enabled
}
