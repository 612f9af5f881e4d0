package agent

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/codecell/codecell/bus"
	"github.com/codecell/codecell/schemas"
)

// maxIdentityBytes bounds one field of an identity: hosts open no run with a longer one.
const maxIdentityBytes = 256

// Spawn starts an agent for the run that the call is of, and returns at once. The error says which argument is wrong, or
// which limit is reached and what to do (G10).
func (s *Swarm) Spawn(ctx context.Context, call *schemas.Call, args *schemas.SpawnArgs) (*schemas.Spawned, error) {
	turn, err := s.plan(call, args)
	if err != nil {
		return nil, err
	}
	c, err := s.adopt(call, args, turn)
	if err != nil {
		return nil, err
	}
	if ctx.Err() != nil { // nobody learns of its id
		c.cancel(errUnwanted)
		return nil, ctx.Err()
	}
	return &schemas.Spawned{ID: c.id, Label: c.label, SessionKey: turn.Identity.SessionKey, Status: "accepted"}, nil
}

// plan is the turn that the arguments describe.
func (s *Swarm) plan(call *schemas.Call, args *schemas.SpawnArgs) (*Turn, error) {
	if err := checkSpawn(args); err != nil {
		return nil, err
	}
	config, parent := s.o.Config, &call.Identity
	if parent.Depth < 0 || parent.Depth >= s.limits.Depth {
		return nil, denied("agents at depth %d can't start others: tools.swarm.maxDepth is %d. Do the task yourself", parent.Depth, s.limits.Depth)
	}
	name := cmp.Or(args.Agent, parent.Agent, schemas.DefaultAgent)
	if _, ok := config.Agents.Entries[name]; !ok && name != parent.Agent && name != schemas.DefaultAgent {
		return nil, denied("agent: there is no agent %.64q: use one of agents.entries of the configuration, or leave it out", name)
	}
	if own := cmp.Or(parent.Agent, schemas.DefaultAgent); !s.limits.MayStart(own, name) {
		return nil, denied("agent: %.64q may not be started by agent %.64q: tools.swarm.agents of the configuration doesn't list it. Leave agent out", name, own)
	}
	entry, id := config.Agent(name), bus.NewAgentID(s.id)
	turn := &Turn{
		Client: s.client, Provider: s.o.Provider, Mode: args.Mode, Instructions: childInstructions(entry.Instructions),
		Identity: schemas.Identity{
			Agent: name, SessionID: id, SessionKey: parent.SessionKey + "/" + id, Run: parent.Run + "/" + id,
			Sender: parent.Sender, Channel: parent.Channel, Sandbox: parent.Sandbox,
			Depth: parent.Depth + 1, Restricted: parent.Restricted,
		},
		Limits: Limits{
			Requests: s.limits.Requests, Tokens: s.limits.Tokens, CostUSD: config.Turns.CostUSD(), Timeout: s.timeout(args.TimeoutMs),
		},
		Debug: s.o.Debug, Logger: s.log.With("agent", id),
	}
	if len(turn.Identity.SessionKey) > maxIdentityBytes || len(turn.Identity.Run) > maxIdentityBytes {
		return nil, denied("the session key and the run's id, with an agent's id behind them, have %d and %d bytes, and %d are allowed: "+
			"use shorter ones where the turn is started", len(turn.Identity.SessionKey), len(turn.Identity.Run), maxIdentityBytes)
	}
	configured := cmp.Or(entry.Model, s.o.Provider.Model)
	turn.Provider.Model = cmp.Or(args.Model, configured)
	if turn.Provider.Model != configured && !s.limits.MayUse(turn.Provider.Ref()) {
		return nil, denied("model: agents may not be started with %.100q: tools.swarm.models of the configuration doesn't list it. Leave model out", args.Model)
	}
	if turn.Provider.Model == "" {
		return nil, denied("model: agent %.64q has none: give one, or set agents.entries.<agent>.model or provider.model in the configuration", name)
	}
	switch price := config.TraitsOf(turn.Provider.Ref()).Price; {
	case price != nil:
		turn.Price = *price
	case turn.Limits.CostUSD > 0:
		return nil, denied("model: turns.maxCostUsd bounds what agents may cost, and nobody has said what %.100q costs: use a model whose price is in models of the configuration",
			turn.Provider.Ref())
	}
	if call.Bound && s.o.Transcript != nil {
		turn.Bind, turn.Transcript = true, s.o.Transcript(turn.Identity.SessionKey)
	}
	turn.Fact = s.telling(args)
	return turn, nil
}

// timeout is what is configured, or less.
func (s *Swarm) timeout(ms int64) time.Duration {
	if ms <= 0 || ms >= s.limits.Timeout.Milliseconds() {
		return s.limits.Timeout
	}
	return time.Duration(ms) * time.Millisecond
}

// telling publishes the facts of a turn, and says in the first what the child is for.
func (s *Swarm) telling(args *schemas.SpawnArgs) func(any) {
	label, phase := args.Label, args.Phase
	return func(fact any) {
		if started, ok := fact.(*schemas.TurnStarted); ok {
			started.Label, started.Phase = label, phase
		}
		s.feed.Publish(fact)
	}
}

// adopt starts the turn, if the bounds allow it.
func (s *Swarm) adopt(call *schemas.Call, args *schemas.SpawnArgs, turn *Turn) (*child, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, denied("the process that would run the agent is shutting down: try again later")
	}
	f := s.familyOf(call)
	switch {
	case f.bonds[""].ctx.Err() != nil:
		return nil, denied("the run that would start the agent is closed")
	case f.running >= s.limits.Agents:
		return nil, denied("%d agents of this run are at work, which is all that tools.swarm.maxAgents allows: wait for one with %s, or do the task yourself",
			f.running, schemas.AwaitTool)
	case f.root.started >= s.limits.Total:
		return nil, denied("%d agents have been started in all, which is what tools.swarm.maxTotal allows: do the task yourself", f.root.started)
	}
	cell := ""
	if args.Scope == schemas.ScopeCell {
		cell = call.Address.Cell
	}
	c := newChild(turn, args, f, s.tie(f, cell))
	f.root.started++
	f.running++
	c.bond.children++
	f.members[c.id], s.children[c.id] = c, c
	s.work.Go(func() { s.raise(c, turn, args.Task) })
	return c, nil
}

// checkSpawn refuses what the tool's schema doesn't. It has counted characters, and a cell's program may be any.
func checkSpawn(args *schemas.SpawnArgs) error {
	switch {
	case strings.TrimSpace(args.Task) == "":
		return misused("task: expected what the agent is to do, got only blanks")
	case strings.ContainsRune(args.Task, 0):
		return misused("task: a NUL character can't be in it")
	case len(args.Task) > schemas.MaxTaskBytes:
		return misused("task: it has %d bytes, at most %d can be given: keep the data where the agent's tools can read it", len(args.Task), schemas.MaxTaskBytes)
	case args.Scope != "" && args.Scope != schemas.ScopeRun && args.Scope != schemas.ScopeCell:
		return misused("scope: expected %q or %q, got %.40q", schemas.ScopeRun, schemas.ScopeCell, args.Scope)
	}
	for _, text := range [...]struct {
		name, value string
		most        int
	}{{"label", args.Label, schemas.MaxLabel}, {"phase", args.Phase, schemas.MaxPhase}, {"agent", args.Agent, maxIdentityBytes}, {"model", args.Model, maxIdentityBytes}} {
		if n := utf8.RuneCountInString(text.value); n > text.most {
			return misused("%s: it has %d characters, at most %d are allowed", text.name, n, text.most)
		}
		if strings.ContainsFunc(text.value, unicode.IsControl) {
			return misused("%s: line ends and other control characters can't be in it", text.name)
		}
	}
	if args.Mode != "" {
		if _, err := schemas.ParseMode(string(args.Mode)); err != nil {
			return misused("mode: expected \"direct\", \"search\", \"code\" or \"auto\", got %.40q", args.Mode)
		}
	}
	return nil
}

const toldChildren = "Another agent has started you to do one task. Do it with the tools that you have, without asking anything back. " +
	"Your last message is all that the other agent gets: put the whole result into it, and nothing else."

// childInstructions are what a child is told first.
func childInstructions(own string) string {
	if own == "" {
		return toldChildren
	}
	return own + "\n\n" + toldChildren
}

// denied is a refusal of something that may be right another time; misused one of arguments.
func denied(format string, args ...any) error {
	return &schemas.CallError{Code: schemas.CallToolError, Location: "tool", Effect: schemas.NotStarted, Message: fmt.Sprintf(format, args...)}
}

func misused(format string, args ...any) error {
	return &schemas.CallError{Code: schemas.CallInvalidInput, Location: "input", Effect: schemas.NotStarted, Message: fmt.Sprintf(format, args...)}
}
