package host_test

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/codecell/codecell/actors/host"
	"github.com/codecell/codecell/actors/tool"
	"github.com/codecell/codecell/bus"
	"github.com/codecell/codecell/schemas"
)

// hookedNode starts a node like [node], with hooks that are functions of its program.
func hookedNode(t *testing.T, config *schemas.Config, hooks []tool.Hook, tools ...tool.Func) *host.Node {
	t.Helper()
	tools = append(tools, tool.New("echo", "Gives back what it gets.", func(_ context.Context, in echoIn) (echoOut, error) { return echoOut(in), nil }))
	funcs, err := tool.Funcs("lab", tools...)
	if err != nil {
		t.Fatal(err)
	}
	return nodeWith(t, host.NodeOptions{Config: config, Providers: []tool.Provider{funcs}, Hooks: hooks})
}

// spy is a hook that notes what it's asked, and decides as the test says.
type spy struct {
	mu     sync.Mutex
	events []schemas.HookEvent
	decide bus.HookFunc // nil: everything passes
}

func (s *spy) hook(name, phase string, tools ...string) tool.Hook {
	return tool.Hook{Name: name, Phase: phase, Tools: tools, Ask: s.ask}
}

func (s *spy) ask(ctx context.Context, e *schemas.HookEvent) (*schemas.Verdict, error) {
	s.mu.Lock()
	s.events = append(s.events, *e)
	s.mu.Unlock()
	if s.decide == nil {
		return nil, nil //nolint:nilnil // lets the call pass
	}
	return s.decide(ctx, e)
}

// seen gives what the spy was asked in a phase.
func (s *spy) seen(phase string) []schemas.HookEvent {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(s.events), func(e schemas.HookEvent) bool { return e.Phase != phase })
}

// always gives a hook function that decides one way.
func always(v schemas.Verdict) bus.HookFunc {
	return func(context.Context, *schemas.HookEvent) (*schemas.Verdict, error) { return &v, nil }
}

// startExec sends an exec and gives its answer later.
func startExec(t *testing.T, run *bus.Run, callID, code string) <-chan *schemas.Result {
	t.Helper()
	input, err := json.Marshal(map[string]any{"title": "t", "code": code})
	if err != nil {
		t.Fatal(err)
	}
	answer := make(chan *schemas.Result, 1)
	go func() {
		result, err := run.Exec(context.WithoutCancel(t.Context()), schemas.Exec{CallID: callID, Input: input})
		if err != nil {
			t.Error(err)
			result = &schemas.Result{}
		}
		answer <- result
	}()
	return answer
}

// within takes what comes in a time in which a hook that hangs hasn't answered.
func within[T any](t *testing.T, from <-chan T) (v T) {
	t.Helper()
	select {
	case v = <-from:
	case <-time.After(20 * time.Second):
		t.Fatal("it takes too long")
	}
	return v
}
