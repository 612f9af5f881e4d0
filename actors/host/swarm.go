package host

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"os"
	"strings"

	"github.com/codecell/codecell/actors/agent"
	"github.com/codecell/codecell/actors/run"
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
	key, secret := strings.TrimSpace(os.Getenv(cmp.Or(c.Provider.APIKeyEnv, "OPENAI_API_KEY"))), *c
	if key != "" {
		secret.History.Secrets = append([]string{key}, c.History.Secrets...)
	}
	redactor, err := run.NewRedactor(&secret)
	if err != nil {
		return tool.NoAgents(err.Error())
	}
	debug.Redact, log = redactor.Text, redactor.Logger(log)
	kept := &sessions{conn: conn, log: log}
	s, err := agent.NewSwarm(agent.SwarmOptions{
		Conn: conn, Config: c, Debug: debug, Logger: log,
		Transcript: func(key string) agent.Transcript { return &transcript{kept, key} },
		Provider: agent.Provider{
			Name: cmp.Or(c.Provider.Name, "openai"), Model: c.Provider.Model, URL: c.Provider.URL, Key: key,
			Silence: c.Provider.Silence(), Retries: c.Provider.Retries(),
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

// transcript is the session of one agent.
type transcript struct {
	sessions *sessions
	key      string
}

// History is what was said before.
func (t *transcript) History(ctx context.Context) ([]schemas.MessageEntry, error) {
	store, err := t.sessions.open(ctx)
	if err != nil {
		return nil, err
	}
	return store.History(ctx, t.key)
}

// Say keeps a message.
func (t *transcript) Say(ctx context.Context, message schemas.MessageEntry) error {
	store, err := t.sessions.open(ctx)
	if err == nil {
		_, err = store.Say(ctx, t.key, "", message)
	}
	return err
}

// Turn keeps what the turn has come to.
func (t *transcript) Turn(ctx context.Context, entry schemas.TurnEntry) error {
	store, err := t.sessions.open(ctx)
	if err != nil {
		return err
	}
	return store.Turn(ctx, t.key, entry)
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
