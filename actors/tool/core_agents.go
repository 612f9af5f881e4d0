package tool

import (
	"context"

	"github.com/codecell/codecell/schemas"
)

// Swarm starts agents and knows what became of them (G10). Its errors are a *schemas.CallError or ctx's.
type Swarm interface {
	// Spawn starts an agent for the run that the call is of.
	Spawn(ctx context.Context, call *schemas.Call, args *schemas.SpawnArgs) (*schemas.Spawned, error)
	// Await waits for some. untrusted says that what they answered may be words of an MCP server or a client (O5).
	Await(ctx context.Context, call *schemas.Call, args *schemas.AwaitArgs) (result *schemas.Awaited, untrusted bool, err error)
	// Close ends all agents.
	Close(ctx context.Context) error
}

// agents is the provider of the tools with which agents start agents.
type agents struct {
	*FuncSet
	swarm Swarm
}

// Agents offers sessions_spawn and agents_wait. The provider closes the swarm.
func Agents(swarm Swarm) Provider {
	a := &agents{swarm: swarm, FuncSet: &FuncSet{owner: schemas.SwarmOwner, tier: schemas.TierCore, changed: newSignal()}}
	if err := a.Set(a.spawnTool(), a.awaitTool()); err != nil {
		panic(err) // the tools below are good ones
	}
	return a
}

// NoAgents offers nothing, and says why.
func NoAgents(problem string) Provider {
	return &FuncSet{owner: schemas.SwarmOwner, tier: schemas.TierCore, changed: newSignal(), offer: schemas.Registration{
		Source: schemas.SourceNative, Owner: schemas.SwarmOwner, Problems: []string{problem},
	}}
}

// Close ends all agents.
func (a *agents) Close(ctx context.Context) error { return a.swarm.Close(ctx) }

func (a *agents) spawnTool() Func {
	return coreTool(schemas.SpawnTool,
		"Start another agent on a task, in the background. It has its own model, session and tools, and knows nothing but the task: say all that it needs. agents_wait gives its answer. It ends with the run that started it.",
		`{"type":"object","properties":{`+
			`"task":{"type":"string","minLength":1,"maxLength":262144,"description":"what to do, with all that the agent must know, and what to answer"},`+
			`"label":{"type":"string","maxLength":120,"description":"a few words for people"},`+
			`"agent":{"type":"string","maxLength":256,"description":"a configured agent; default: the same as yours"},`+
			`"model":{"type":"string","maxLength":256,"description":"default: the agent's own"},`+
			`"mode":{"enum":["direct","search","code","auto"],"description":"how it reaches its tools"},`+
			`"phase":{"type":"string","maxLength":120,"description":"what this belongs to, for people"},`+
			`"scope":{"enum":["run","cell"],"default":"run","description":"cell: it ends with the program that started it"},`+
			`"timeoutMs":{"type":"integer","minimum":1,"maximum":86400000,"description":"less time than agents have otherwise"}},`+
			`"required":["task"],"additionalProperties":false}`,
		`{"type":"object","properties":{"id":{"type":"string","description":"for agents_wait"},"label":{"type":"string"},`+
			`"sessionKey":{"type":"string"},"status":{"enum":["accepted"]}},"required":["id","sessionKey","status"]}`,
		func(ctx context.Context, in schemas.SpawnArgs) (*schemas.Spawned, error) {
			return a.swarm.Spawn(ctx, CallOf(ctx), &in)
		})
}

func (a *agents) awaitTool() Func {
	f := coreTool(schemas.AwaitTool,
		"Wait for agents that sessions_spawn has started in this run, and get what they answered. With awaitResults: true until all have ended, else for timeoutMs at most. A failed agent is a result with an error, not an Error.",
		`{"type":"object","properties":{`+
			`"ids":{"type":"array","minItems":1,"maxItems":64,"uniqueItems":true,"items":{"type":"string","maxLength":64}},`+
			`"awaitResults":{"type":"boolean","default":false,"description":"wait until all have ended"},`+
			`"timeoutMs":{"type":"integer","minimum":0,"maximum":600000,"default":30000,"description":"not with awaitResults"},`+
			`"background":{"type":"boolean","default":false,"description":"don't hold the program's exec open meanwhile"}},`+
			`"required":["ids"],"additionalProperties":false}`,
		`{"type":"object","properties":{`+
			`"results":{"type":"array","items":{"type":"object","properties":{"id":{"type":"string"},`+
			`"status":{"enum":["running","completed","failed","cancelled"]},"text":{"type":"string","description":"what it answered"},`+
			`"error":{"type":"string"},"label":{"type":"string"},"phase":{"type":"string"},`+
			`"truncated":{"type":"boolean","description":"text is the beginning"},`+
			`"usage":{"type":"object","properties":{"inputTokens":{"type":"integer"},"cachedTokens":{"type":"integer"},"outputTokens":{"type":"integer"}},"required":["inputTokens","outputTokens"]},`+
			`"costUsd":{"type":"number"}},"required":["id","status","usage"]}},`+
			`"pending":{"type":"array","items":{"type":"string"},"description":"ids of those that go on"}},"required":["results","pending"]}`,
		func(ctx context.Context, in schemas.AwaitArgs) (*schemas.Awaited, error) {
			result, untrusted, err := a.swarm.Await(ctx, CallOf(ctx), &in)
			if h, ok := ctx.Value(heldKey{}).(*held); ok {
				h.tainted = untrusted
			}
			return result, err
		})
	f.tool.Awaitable = true
	return f
}

// heldKey is the context key of the call as its executor holds it.
type heldKey struct{}

// callHeld is Call for an executor. Who waits for agents gives up the call's place: they may need it for calls of their own.
func (a *agents) callHeld(ctx context.Context, call *schemas.Call, progress Progress, h *held) (schemas.JSON, error) {
	if err := h.awaitTurn(); err != nil {
		return nil, err
	}
	h.passTurn()
	if call.Tool == schemas.AwaitTool {
		h.owner.e.desk.pause(h)
		ctx = context.WithValue(ctx, heldKey{}, h)
	}
	return a.Call(ctx, call, progress)
}
