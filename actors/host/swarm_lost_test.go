package host_test

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/codecell/codecell/actors/host"
	"github.com/codecell/codecell/bus"
	"github.com/codecell/codecell/bus/bustest"
	"github.com/codecell/codecell/schemas"
)

// forge calls a tool of the swarm on the bus, from a run that says it is this.
func forge[T any](t *testing.T, n *host.Node, address schemas.Address, id schemas.Identity, name, args string) (v T, fail *schemas.CallError) {
	t.Helper()
	settled := make(chan schemas.Answer, 1)
	sub, err := bus.Replies(n.Conn(), address.Host, func(r *bus.Reply) {
		if r.Cell == address.Cell && (r.Answer.State == schemas.AnswerDone || r.Answer.State == schemas.AnswerFailed) {
			settled <- r.Answer
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	defer sub.Close()
	err = n.Conn().Publish(bus.ToolSubject(schemas.SourceNative, schemas.SwarmOwner, name), bus.ReplySubject(address.Host, address.Cell, "1"), &schemas.Call{
		ID: "1", Address: address, Source: schemas.SourceNative, Owner: schemas.SwarmOwner, Tool: name, Args: schemas.JSON(args), Identity: id,
	})
	if err != nil {
		t.Fatal(err)
	}
	a := <-settled
	if a.Err == nil {
		if err := json.Unmarshal(a.Value, &v); err != nil {
			t.Fatalf("%s: %v", a.Value, err)
		}
	}
	return v, a.Err
}

// Facts may get lost: a swarm that hears nothing asks, and an agent of a run that isn't there any more ends.
func TestSpec_G10_WithoutAFact(t *testing.T) {
	m := newModel(t, holding(never()))
	n := swarmNode(t, m, "", "")
	for name, hostID := range map[string]string{"its host is gone": "aaaaaaaaaa", "its host doesn't know it": n.Host().ID()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			at := schemas.Address{Host: hostID, Run: bus.NewRunID(hostID), Cell: bus.NewRunID(hostID)}
			begun := time.Now()
			s, fail := forge[schemas.Spawned](t, n, at, someone("x"), schemas.SpawnTool, `{"task": "hold it"}`)
			if fail != nil {
				t.Fatal(fail)
			}
			at.Cell = bus.NewRunID(hostID) // another call of the same run
			got, fail := forge[awaited](t, n, at, someone("x"), schemas.AwaitTool, fmt.Sprintf(`{"ids": [%q], "awaitResults": true}`, s.ID))
			if fail != nil || got.Results[0].Status != schemas.AgentCancelled || got.Results[0].Error != "cancelled: the run that started it was closed" {
				t.Errorf("%v %+v", fail, got)
			}
			if d := time.Since(begun); d < time.Second {
				t.Errorf("it was given up after %v, without asking again", d)
			}
		})
	}
}

// The catalog of an agent at the greatest depth hasn't the tools, and the executor doesn't rely on that.
func TestSpec_G10_DepthIsCheckedTwice(t *testing.T) {
	n := swarmNode(t, newModel(t, echoes), "maxDepth: 2", "")
	id := someone("x")
	id.Depth, id.SessionKey = 2, "k/a/b"
	hostID := n.Host().ID()
	at := schemas.Address{Host: hostID, Run: bus.NewRunID(hostID), Cell: bus.NewRunID(hostID)}
	if _, fail := forge[schemas.Spawned](t, n, at, id, schemas.SpawnTool, `{"task": "x"}`); fail == nil || fail.Effect != schemas.NotStarted {
		t.Errorf("%+v", fail)
	}
	for _, wrong := range []int{-1, math.MinInt, math.MaxInt} {
		id.Depth, id.SessionKey = wrong, "k"
		if _, err := n.Client().Open(t.Context(), schemas.Open{Identity: id}); err == nil || !strings.Contains(err.Error(), "identity.depth") {
			t.Errorf("a run at depth %d: %v", wrong, err)
		}
		if _, fail := forge[schemas.Spawned](t, n, at, id, schemas.SpawnTool, `{"task": "x"}`); fail == nil || fail.Effect != schemas.NotStarted {
			t.Errorf("an agent at depth %d: %+v", wrong, fail)
		}
	}
	id.Depth, id.SessionKey = 0, string(make([]byte, 250))
	if _, fail := forge[schemas.Spawned](t, n, at, id, schemas.SpawnTool, `{"task": "x"}`); fail == nil {
		t.Error("a session key that is too long for its children")
	}
}

// Whatever comes on the subjects, nothing falls over (B4).
func TestSpec_G10_B4_RandomBytes(t *testing.T) {
	n := swarmNode(t, newModel(t, echoes), "", "")
	run := open(t, n, "a")
	swarm, err := bus.SwarmOf(value[string](t, exec(t, run, `return (await sessions_spawn({task: "x"})).id`)))
	if err != nil {
		t.Fatal(err)
	}
	bustest.RandomBytes(t, n.Conn(), bus.ToolSubject(schemas.SourceNative, schemas.SwarmOwner, schemas.SpawnTool),
		bus.ToolSubject(schemas.SourceNative, schemas.SwarmOwner, schemas.AwaitTool+"-"+swarm))
	if got := value[string](t, exec(t, run, `return (await agents.run("x")).text`)); got != "done: x" {
		t.Errorf("%q", got)
	}
}

// Whoever answers for another process's agents isn't asked without end, nor believed.
func TestSpec_G10_B4_APeerThatMakesNoSense(t *testing.T) {
	n := swarmNode(t, newModel(t, echoes), "", "")
	run := open(t, n, "a")
	swarm := bus.NewSwarmID()
	id := bus.NewAgentID(swarm)
	for name, answer := range map[string]string{
		"at once":  `{"results": [{"id": "` + id + `", "status": "running"}], "pending": ["` + id + `"]}`,
		"another":  `{"results": [{"id": "` + bus.NewAgentID(swarm) + `", "status": "completed"}], "pending": []}`,
		"no state": `{"results": [{"id": "` + id + `"}], "pending": []}`,
	} {
		t.Run(name, func(t *testing.T) {
			var asked atomic.Int64
			subject := bus.ToolSubject(schemas.SourceNative, schemas.SwarmOwner, schemas.AwaitTool+"-"+swarm)
			sub, err := bus.Serve(n.Conn(), subject, "", func(r *bus.Request[schemas.Call, schemas.Answer]) {
				asked.Add(1)
				_ = r.Respond(&schemas.Answer{ID: r.Body.ID, State: schemas.AnswerDone, Value: schemas.JSON(answer)})
			})
			if err != nil {
				t.Fatal(err)
			}
			defer sub.Close()
			code := fmt.Sprintf(`try { return await agents_wait({ids: [%q], timeoutMs: 10000}) } catch (e) { return e.message }`, id)
			if r := execNamed(t, run, name, code); !strings.Contains(string(r.Value), "makes no sense") || asked.Load() != 1 {
				t.Errorf("asked %d times: %s %s", asked.Load(), r.Value, r.Error)
			}
		})
	}
}
