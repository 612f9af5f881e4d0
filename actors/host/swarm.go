package host

import (
	"context"
	"errors"
	"log/slog"
	"os"

	"github.com/codecell/codecell/actors/agent"
	"github.com/codecell/codecell/actors/run"
	"github.com/codecell/codecell/actors/session"
	"github.com/codecell/codecell/actors/tool"
	"github.com/codecell/codecell/bus"
	"github.com/codecell/codecell/schemas"
)

// isSwarmTool tells whether a tool is one of those with which agents start agents.
func isSwarmTool(t schemas.Tool) bool {
	return t.Source == schemas.SourceNative && t.Owner == schemas.SwarmOwner && (t.Name == schemas.SpawnTool || t.Name == schemas.AwaitTool)
}

// swarm makes the tools with which agents start agents (G10), or none that say what is missing.
func swarm(conn *bus.Conn, c *schemas.Config, log *slog.Logger) tool.Provider {
	if c.Provider.URL == "" {
		return tool.NoAgents("tools.swarm is on, and agents have no provider to ask: set provider.url in the configuration")
	}
	if !hasModel(c) {
		return tool.NoAgents("tools.swarm is on, and no agent has a model: set provider.model in the configuration, or agents.entries.<agent>.model")
	}
	debug, err := agent.DebugOf(os.Getenv)
	if err != nil {
		return tool.NoAgents(err.Error())
	}
	provider := agent.NewProvider(&c.Provider, os.Getenv)
	redactor, err := run.NewRedactor(c, provider.Key)
	if err != nil {
		return tool.NoAgents(err.Error())
	}
	debug.Redact, log = redactor.Text, redactor.Logger(log)
	kept, masked := &sessions{conn: conn, log: log}, redactor.ForSessions(c)
	s, err := agent.NewSwarm(agent.SwarmOptions{
		Conn: conn, Config: c, Provider: provider, Debug: debug, Logger: log,
		Transcript: func(key string) agent.Transcript {
			return &session.Transcript{Store: kept.open, Key: key, Mask: masked.Message}
		},
	})
	if err != nil {
		return tool.NoAgents("agents can't be started: " + err.Error())
	}
	return tool.Agents(&keptSwarm{s, kept})
}

// keptSwarm is a swarm with the sessions of its children.
type keptSwarm struct {
	*agent.Swarm
	sessions *sessions
}

// Close ends the agents, and keeps what they have said.
func (s *keptSwarm) Close(ctx context.Context) error {
	return errors.Join(s.Swarm.Close(ctx), s.sessions.close(ctx))
}

// hasModel tells whether any agent can be asked.
func hasModel(c *schemas.Config) bool {
	if c.Provider.Model != "" {
		return true
	}
	for _, entry := range c.Agents.Entries {
		if entry.Model != "" {
			return true
		}
	}
	return false
}
