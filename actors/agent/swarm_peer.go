package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/codecell/codecell/bus"
	"github.com/codecell/codecell/schemas"
)

// Several processes may offer the swarm's tools on one bus, and share the calls: a call that waits may come to another than
// the one that started the agent. That one is asked.

// peerSlice is how long one question to another swarm may take, and peerMargin what its answer gets beyond: if the swarm is
// gone, that is noticed by then.
const (
	peerSlice  = 20 * time.Second
	peerMargin = 5 * time.Second
)

// peerSubject takes the calls for the agents of one swarm: Call → Answer.
func peerSubject(swarm string) string {
	return bus.ToolSubject(schemas.SourceNative, schemas.SwarmOwner, schemas.AwaitTool+"-"+swarm)
}

// onPeer answers another swarm.
func (s *Swarm) onPeer(r *bus.Request[schemas.Call, schemas.Answer]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	s.work.Go(func() { _ = r.Respond(s.answerPeer(&r.Body)) })
}

func (s *Swarm) answerPeer(call *schemas.Call) *schemas.Answer {
	ctx, cancel := context.WithTimeout(s.ctx, peerSlice)
	defer cancel()
	a := &schemas.Answer{ID: call.ID, State: schemas.AnswerDone}
	fail := func(err error) *schemas.Answer {
		known, ok := errors.AsType[*schemas.CallError](err)
		if !ok {
			known = &schemas.CallError{Code: schemas.CallToolError, Location: "tool", Effect: schemas.Failed, Message: err.Error()}
		}
		a.State, a.Value, a.Err = schemas.AnswerFailed, nil, known
		return a
	}
	var args schemas.AwaitArgs
	if err := json.Unmarshal(call.Args, &args); err != nil {
		return fail(misused("the arguments don't fit: %v", err))
	}
	for _, id := range args.IDs {
		if swarm, err := bus.SwarmOf(id); err != nil || swarm != s.id {
			return fail(unknownAgent(id)) // or swarms could send each other round
		}
	}
	args.AwaitResults = false
	found, untrusted, err := s.Await(ctx, call, &args)
	if err != nil {
		return fail(err)
	}
	a.Untrusted = untrusted
	if a.Value, err = json.Marshal(found); err != nil {
		return fail(err)
	}
	return a
}

// askPeers begins to ask other swarms for agents, by swarm. What it gives waits for the answers.
func (s *Swarm) askPeers(ctx, deadline context.Context, call *schemas.Call, agents map[string][]string) func() (map[string]schemas.AgentResult, bool, error) {
	if len(agents) == 0 {
		return func() (map[string]schemas.AgentResult, bool, error) { return nil, false, nil }
	}
	var (
		asking    sync.WaitGroup
		mu        sync.Mutex
		found     = make(map[string]schemas.AgentResult)
		untrusted bool
		failed    error
	)
	for swarm, ids := range agents {
		asking.Go(func() {
			results, tainted, err := s.askPeer(ctx, deadline, call, swarm, ids)
			mu.Lock()
			defer mu.Unlock()
			for _, r := range results {
				found[r.ID] = r
			}
			untrusted, failed = untrusted || tainted, errors.Join(failed, err)
		})
	}
	return func() (map[string]schemas.AgentResult, bool, error) {
		asking.Wait()
		return found, untrusted, failed
	}
}

// askPeer asks one swarm until its agents are done, or the deadline has passed.
func (s *Swarm) askPeer(ctx, deadline context.Context, call *schemas.Call, swarm string, ids []string) ([]schemas.AgentResult, bool, error) {
	for {
		slice := peerSlice
		if end, ok := deadline.Deadline(); ok {
			slice = min(slice, max(time.Until(end), 0))
		}
		ms := slice.Milliseconds()
		args, err := json.Marshal(map[string]any{"ids": ids, "timeoutMs": ms})
		if err != nil {
			return nil, false, err
		}
		forwarded := *call
		forwarded.Args = args
		begun := time.Now()
		asking, cancel := context.WithTimeout(ctx, slice+peerMargin)
		answer, err := bus.Ask[schemas.Answer](asking, s.o.Conn, peerSubject(swarm), &forwarded)
		cancel()
		switch {
		case ctx.Err() != nil:
			return nil, false, ctx.Err()
		case errors.Is(err, bus.ErrNoResponders):
			return lostAgents(ids), false, nil
		case err != nil:
			return nil, false, fmt.Errorf("the process that runs agent %s can't be asked: %w", ids[0], err)
		case answer.Err != nil:
			return nil, false, answer.Err
		}
		var got schemas.Awaited
		if err := json.Unmarshal(answer.Value, &got); err != nil || !fits(&got, ids) || len(got.Pending) > 0 && time.Since(begun).Milliseconds() < ms/2 {
			return nil, false, errors.New("the answer of the process that runs the agents makes no sense") // or it would be asked at once, for ever
		}
		if len(got.Pending) == 0 || ms == 0 {
			return got.Results, answer.Untrusted, nil
		}
	}
}

// fits tells whether an answer has what was asked for.
func fits(got *schemas.Awaited, ids []string) bool {
	if len(got.Results) != len(ids) {
		return false
	}
	for i := range got.Results {
		switch r := &got.Results[i]; r.Status {
		case schemas.AgentRunning, schemas.AgentCompleted, schemas.AgentFailed, schemas.AgentCancelled:
			if r.ID != ids[i] {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// lostAgents are the results of agents whose process is gone.
func lostAgents(ids []string) []schemas.AgentResult {
	lost := make([]schemas.AgentResult, len(ids))
	for i, id := range ids {
		lost[i] = schemas.AgentResult{ID: id, Status: schemas.AgentFailed, Error: "the process that ran the agent is gone, and the agent with it; what it did stays done"}
	}
	return lost
}
