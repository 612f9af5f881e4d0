package schemas

import (
	"math"
	"time"
)

// DefaultSlots is how many continuations a host holds unless told otherwise (S1).
const DefaultSlots = 64

const maxSlots = 1 << 16

// SlotLimit is the effective number of slots.
func (c *Config) SlotLimit() int { return limit(DefaultSlots, 1, maxSlots, c.Slots) }

// LimitsFor gives an agent's effective limits: what the agent's object says, else what the
// global one says, else the default; always within the clamps. There is no "unlimited" (F2).
func (c *Config) LimitsFor(agent string) Limits {
	var none CodeModeConfig
	a, g := c.Agent(agent).Tools.CodeMode, c.Tools.CodeMode
	if a == nil {
		a = &none
	}
	if g == nil {
		g = &none
	}
	l := DefaultLimits()
	l.Timeout = time.Duration(limit(int(l.Timeout.Milliseconds()), 100, 60_000, a.TimeoutMs, g.TimeoutMs)) * time.Millisecond
	l.MemoryBytes = limit(l.MemoryBytes, 1<<20, 1<<30, a.MemoryLimitBytes, g.MemoryLimitBytes)
	l.OutputBytes = limit(l.OutputBytes, 1<<10, 10<<20, a.MaxOutputBytes, g.MaxOutputBytes)
	l.SnapshotBytes = limit(l.SnapshotBytes, 1<<10, 256<<20, a.MaxSnapshotBytes, g.MaxSnapshotBytes)
	l.PendingCalls = limit(l.PendingCalls, 1, 128, a.MaxPendingToolCalls, g.MaxPendingToolCalls)
	l.SnapshotTTL = time.Duration(limit(int(l.SnapshotTTL.Seconds()), 1, 86_400, a.SnapshotTTLSeconds, g.SnapshotTTLSeconds)) * time.Second
	l.SearchMax = limit(l.SearchMax, 1, 50, a.MaxSearchLimit, g.MaxSearchLimit)
	l.SearchDefault = limit(min(l.SearchDefault, l.SearchMax), 1, l.SearchMax, a.SearchDefaultLimit, g.SearchDefaultLimit)
	return l
}

// limit takes the first usable value, cut to whole numbers and clamped; without one it is def. A
// value that is missing, zero, negative or not a number isn't usable.
func limit(def, low, high int, values ...*float64) int {
	for _, v := range values {
		if v == nil || !(*v > 0) {
			continue
		}
		return int(math.Trunc(min(max(*v, float64(low)), float64(high))))
	}
	return def
}

// positive gives a usable value, as [limit] does, and 0 without one. It is bounded so that sums of some can't overflow.
func positive(v *float64) float64 {
	if v == nil || !(*v > 0) {
		return 0
	}
	return min(*v, 1e15)
}

// Tool Search modes (F3).
const (
	ToolSearchCode      = "code"
	ToolSearchTools     = "tools"
	ToolSearchDirectory = "directory"
)

// ToolSearch is an agent's effective Tool Search setting.
type ToolSearch struct {
	Enabled bool
	// Mode is [ToolSearchCode], [ToolSearchTools] or [ToolSearchDirectory].
	Mode          string
	CodeTimeout   time.Duration
	SearchDefault int
	SearchMax     int
}

// ToolSearchFor gives an agent's effective Tool Search setting: the agent's before the global
// one, field by field. It is off unless something turns it on (F3).
func (c *Config) ToolSearchFor(agent string) ToolSearch {
	var none ToolSearchConfig
	a, g := c.Agent(agent).Tools.ToolSearch, c.Tools.ToolSearch
	if a == nil {
		a = &none
	}
	if g == nil {
		g = &none
	}
	t := ToolSearch{Mode: ToolSearchCode}
	t.Enabled = a.Enabled == SwitchOn || a.Enabled == SwitchUnset && g.Enabled == SwitchOn
	for _, mode := range []string{g.Mode, a.Mode} {
		if mode != "" {
			t.Mode = mode
		}
	}
	t.CodeTimeout = time.Duration(limit(10_000, 100, 60_000, a.CodeTimeoutMs, g.CodeTimeoutMs)) * time.Millisecond
	t.SearchMax = limit(20, 1, 50, a.MaxSearchLimit, g.MaxSearchLimit)
	t.SearchDefault = limit(min(8, t.SearchMax), 1, t.SearchMax, a.SearchDefaultLimit, g.SearchDefaultLimit)
	return t
}

// Ways to park a cell (S10).
const (
	ParkSnapshot = "snapshot"
	ParkLive     = "live"
)

// ParkingFor is how an agent's cells are parked: [ParkSnapshot] unless configured.
func (c *Config) ParkingFor(agent string) string {
	for _, m := range []*CodeModeConfig{c.Agent(agent).Tools.CodeMode, c.Tools.CodeMode} {
		if m != nil && m.Parking != "" {
			return m.Parking
		}
	}
	return ParkSnapshot
}

// LanguagesFor gives the languages that an agent's programs may be written in: JavaScript, and TypeScript under
// [Contract202607] unless configured otherwise (J1).
func (c *Config) LanguagesFor(agent string) []string {
	if c.Contract != Contract202607 {
		return []string{LanguageJavaScript}
	}
	for _, m := range []*CodeModeConfig{c.Agent(agent).Tools.CodeMode, c.Tools.CodeMode} {
		if m != nil && len(m.Languages) > 0 {
			return m.Languages
		}
	}
	return []string{LanguageJavaScript, LanguageTypeScript}
}
