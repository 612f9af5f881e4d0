package schemas

import (
	"encoding/json"
	"time"
)

// SwarmConfig is tools.swarm: true, false, or an object, which turns it on: whether agents may start agents (G10).
type SwarmConfig struct {
	Enabled Switch `json:"enabled"`
	// MaxDepth is how many agents may stand above one, MaxAgents how many one may have at once, MaxTotal how many all
	// those below one that somebody started may be. Take them from [Config.Swarm].
	MaxDepth  *float64 `json:"maxDepth"`
	MaxAgents *float64 `json:"maxAgents"`
	MaxTotal  *float64 `json:"maxTotal"`
	// TimeoutSeconds bounds the time of each, MaxRequests and MaxTokens what it asks of its model.
	TimeoutSeconds *float64 `json:"timeoutSeconds"`
	MaxRequests    *float64 `json:"maxRequests"`
	MaxTokens      *float64 `json:"maxTokens"`
}

// UnmarshalJSON reads the short forms and the object, which turns the swarm on unless it says enabled: false.
func (c *SwarmConfig) UnmarshalJSON(b []byte) error {
	type object SwarmConfig
	if !isObject(b) {
		*c = SwarmConfig{}
		return c.Enabled.UnmarshalJSON(b)
	}
	*c = SwarmConfig{Enabled: SwitchOn}
	return json.Unmarshal(b, (*object)(c))
}

// Swarm is the effective setting.
type Swarm struct {
	Enabled bool
	// Depth: an agent at this depth can't start others. Default 1, from 1 to 5.
	Depth int
	// Agents is how many children of one agent may run at once. Default 8, from 1 to 64.
	Agents int
	// Total is how many agents may be started below one that somebody started. Default 64, from 1 to 1000.
	Total int
	// Timeout bounds each child. Default 10 min, from 1 s to a day.
	Timeout time.Duration
	// Requests and Tokens bound what each child asks of its model. Defaults 24 requests and no bound.
	Requests int
	Tokens   int64
}

// Swarm gives the effective setting of tools.swarm: off unless something turns it on.
func (c *Config) Swarm() Swarm {
	s := c.Tools.Swarm
	if s == nil {
		s = new(SwarmConfig)
	}
	return Swarm{
		Enabled: s.Enabled == SwitchOn, Depth: limit(1, 1, 5, s.MaxDepth), Agents: limit(8, 1, 64, s.MaxAgents),
		Total: limit(64, 1, 1000, s.MaxTotal), Timeout: time.Duration(limit(600, 1, 86_400, s.TimeoutSeconds)) * time.Second,
		Requests: limit(24, 1, 1000, s.MaxRequests), Tokens: int64(positive(s.MaxTokens)),
	}
}
