package agent

import (
	"context"
	"errors"
	"time"

	"github.com/codecell/codecell/bus"
	"github.com/codecell/codecell/schemas"
)

const (
	// defaultAwait is how long agents are waited for unless the call says so, maxAwait the longest that it may say.
	defaultAwait = 30 * time.Second
	maxAwait     = 10 * time.Minute
	// maxAwaits bounds the calls of one run that wait at once.
	maxAwaits = 256
)

// Await gives what became of agents that the call's run has started, after it has waited as long as the arguments say; see
// [schemas.AwaitArgs]. untrusted says that one of them may have spoken the words of an MCP server or a client (O5).
func (s *Swarm) Await(ctx context.Context, call *schemas.Call, args *schemas.AwaitArgs) (_ *schemas.Awaited, untrusted bool, err error) {
	if len(args.IDs) == 0 || len(args.IDs) > schemas.MaxAwaited {
		return nil, false, misused("ids: expected 1 to %d ids of agents, got %d", schemas.MaxAwaited, len(args.IDs))
	}
	deadline, bounded := ctx, func() {}
	if !args.AwaitResults {
		patience := defaultAwait
		if args.TimeoutMs != nil {
			patience = time.Duration(min(max(*args.TimeoutMs, 0), maxAwait.Milliseconds())) * time.Millisecond
		}
		deadline, bounded = context.WithTimeout(ctx, patience)
	}
	defer bounded()
	here, elsewhere, err := s.sort(args.IDs)
	if err != nil {
		return nil, false, err
	}
	asked := s.askPeers(ctx, deadline, call, elsewhere)
	known, err := s.local(ctx, deadline, call, here)
	found, untrusted, failed := asked()
	if err = errors.Join(err, failed); err != nil {
		return nil, false, err
	}
	out := &schemas.Awaited{Results: make([]schemas.AgentResult, len(args.IDs)), Pending: []string{}}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, id := range args.IDs {
		if c := known[id]; c != nil {
			out.Results[i] = c.result
			untrusted = untrusted || c.untrusted && c.result.Status != schemas.AgentRunning
		} else {
			out.Results[i] = found[id]
		}
		if out.Results[i].Status == schemas.AgentRunning {
			out.Pending = append(out.Pending, id)
		}
	}
	return out, untrusted, nil
}

// sort tells the ids of this swarm from those of others, by swarm.
func (s *Swarm) sort(ids []string) (here []string, elsewhere map[string][]string, err error) {
	for _, id := range ids {
		swarm, err := bus.SwarmOf(id)
		switch {
		case err != nil:
			return nil, nil, unknownAgent(id)
		case swarm == s.id:
			here = append(here, id)
		default:
			if elsewhere == nil {
				elsewhere = make(map[string][]string)
			}
			elsewhere[swarm] = append(elsewhere[swarm], id)
		}
	}
	return here, elsewhere, nil
}

// local waits for agents of this swarm until the deadline has passed. An error is that of ctx, or says which id is unknown.
func (s *Swarm) local(ctx, deadline context.Context, call *schemas.Call, ids []string) (map[string]*child, error) {
	known, leave, err := s.members(call, ids)
	if err != nil {
		return nil, err
	}
	defer leave()
	for _, c := range known {
		select {
		case <-c.done:
		case <-deadline.Done():
			return known, ctx.Err()
		}
	}
	return known, nil
}

// members finds agents that the call's run has started; leave is to be called when they aren't waited for any more.
func (s *Swarm) members(call *schemas.Call, ids []string) (known map[string]*child, leave func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.families[runKey{call.Address.Host, call.Address.Run}]
	known = make(map[string]*child, len(ids))
	for _, id := range ids {
		if f == nil || f.members[id] == nil {
			return nil, nil, unknownAgent(id)
		}
		known[id] = f.members[id]
	}
	if f == nil {
		return known, func() {}, nil
	}
	if f.waits >= maxAwaits {
		return nil, nil, denied("%d calls of this run wait for agents already, which is all that may: wait for several agents in one call", f.waits)
	}
	f.waits++
	return known, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		f.waits--
	}, nil
}

// unknownAgent is the same for an agent of somebody else as for one that never was.
func unknownAgent(id string) error {
	return misused("ids: %.40q is no agent that this run has started: give the id that %s returned", id, schemas.SpawnTool)
}
