package bus

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"strings"

	"github.com/codecell/codecell/schemas"
)

// Session opens a run of the default agent for a Go program: a session by its name, of at most 256
// bytes. Sessions of one name are one run, for as long as it is open: close it with [Run.Close]. For
// another agent, a sender, or a run of its own, use [Client.Open] (V3).
func (c *Client) Session(ctx context.Context, name string) (*Run, error) {
	return c.Open(ctx, schemas.Open{Identity: schemas.Identity{
		Agent: schemas.DefaultAgent, SessionID: name, SessionKey: name, Run: name,
	}})
}

// Do runs a program in a new cell, as [Run.Exec] does, and says what it is for in a title of at most
// 120 characters. A result that is waiting goes on with [Run.Wait] (V3).
func (r *Run) Do(ctx context.Context, title, code string) (*schemas.Result, error) {
	input, err := json.Marshal(map[string]string{"title": title, "code": code})
	if err != nil {
		return nil, err
	}
	return r.Exec(ctx, schemas.Exec{CallID: newCallID(), Input: input})
}

// Wait continues a cell that this run left waiting: runID is the RunID of the waiting result. It
// answers as [Run.Do] does; the result may be waiting again (V3).
func (r *Run) Wait(ctx context.Context, runID string) (*schemas.Result, error) {
	return r.WaitAs(ctx, newCallID(), runID)
}

// WaitAs is [Run.Wait] for callers with an id of their own for the call: the same one twice is one wait that was delivered
// twice (W5). An id that exec can't have returned names no host. The run's own answers then: it knows what its programs can
// look after (W3).
func (r *Run) WaitAs(ctx context.Context, callID, runID string) (*schemas.Result, error) {
	wait := schemas.Wait{CallID: callID, Identity: r.Identity, RunID: runID}
	if _, err := HostOf(runID); err != nil && clean(runID) == runID {
		return r.client.result(ctx, r.Host, WaitSubject(r.Host, runID), &wait)
	}
	return r.client.Wait(ctx, wait)
}

// newCallID stands for the id that a model's provider gives to a tool call.
func newCallID() string { return "go-" + strings.ToLower(rand.Text()) }
