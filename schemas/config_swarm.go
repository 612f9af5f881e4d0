package schemas

import (
	"slices"
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
	// Agents are the agents that one may start besides its own kind, Models the models that it may ask for besides those
	// of the configuration. Take them from [Swarm.MayStart] and [Swarm.MayUse].
	Agents []string `json:"agents"`
	Models []string `json:"models"`
}

// UnmarshalJSON reads the short forms and the object, which turns the swarm on unless it says enabled: false.
func (c *SwarmConfig) UnmarshalJSON(b []byte) error {
	type object SwarmConfig
	*c = SwarmConfig{}
	return readSwitched(b, &c.Enabled, (*object)(c))
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

	// Others and Models are tools.swarm.agents and models as they stand there: see MayStart and MayUse.
	Others, Models []string
}

// MayStart tells whether an agent may start one of that name: its own kind, and what tools.swarm.agents lists.
func (s *Swarm) MayStart(own, name string) bool {
	return name == own || slices.Contains(s.Others, name) || slices.Contains(s.Others, "*")
}

// MayUse tells whether an agent may be started with a model, "provider/model", that isn't configured for it: one that a
// pattern of tools.swarm.models matches, as in models.
func (s *Swarm) MayUse(model string) bool {
	return slices.ContainsFunc(s.Models, func(pattern string) bool { return matchModel(pattern, model) })
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
		Others: s.Agents, Models: s.Models,
	}
}
