package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/codecell/codecell/actors/host"
	"github.com/codecell/codecell/actors/tool"
	"github.com/codecell/codecell/bus"
	"github.com/codecell/codecell/bus/bustest"
	"github.com/codecell/codecell/schemas"
)

// cache holds the compiled engine for all tests: compiling it takes longer than they do.
var cache string

func TestMain(m *testing.M) {
	if url := os.Getenv(bringerEnv); url != "" {
		panic(runBringer(url))
	}
	if url := os.Getenv(pluginEnv); url != "" {
		runPlugin(url)
	}
	dir, err := os.MkdirTemp("", "codecell-host-")
	if err != nil {
		panic(err)
	}
	if err := os.Setenv("XDG_CACHE_HOME", dir); err != nil { // the examples leave the cache where it is by default
		panic(err)
	}
	cache = host.DefaultCacheDir()
	goleak.VerifyTestMain(m, bustest.Clock(), goleak.Cleanup(func(code int) {
		os.RemoveAll(dir)
		os.Exit(code)
	}))
}

type echoIn struct {
	N int `json:"n"`
}
type echoOut struct {
	N int `json:"n"`
}

// gate is a tool that answers when the test lets it.
type gate chan struct{}

func (g gate) tool(name string) tool.Func {
	return tool.New(name, "Answers when the gate is open.", func(ctx context.Context, in echoIn) (echoOut, error) {
		select {
		case <-g:
			return echoOut(in), nil
		case <-ctx.Done():
			return echoOut{}, ctx.Err()
		}
	})
}

// node starts a node with some Go tools.
func node(t *testing.T, config *schemas.Config, tools ...tool.Func) *host.Node {
	t.Helper()
	tools = append(tools,
		tool.New("echo", "Gives back what it gets.", func(_ context.Context, in echoIn) (echoOut, error) { return echoOut(in), nil }),
		tool.New("boom", "Always fails.", func(context.Context, struct{}) (struct{}, error) { return struct{}{}, errors.New("it broke") }),
	)
	funcs, err := tool.Funcs("lab", tools...)
	if err != nil {
		t.Fatal(err)
	}
	return nodeWith(t, host.NodeOptions{Config: config, Providers: []tool.Provider{funcs}})
}

// nodeWith starts a node with these.
func nodeWith(t *testing.T, o host.NodeOptions) *host.Node {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	o.CacheDir = cache
	n, err := host.Up(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		if err := n.Close(ctx); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	if err := n.Ready(ctx); err != nil {
		t.Fatal(err)
	}
	return n
}

// someone is an identity of its own.
func someone(name string) schemas.Identity {
	return schemas.Identity{Agent: "default", SessionID: "s-" + name, SessionKey: "k-" + name, Run: "run-" + name}
}

func open(t *testing.T, n *host.Node, name string) *bus.Run {
	t.Helper()
	run, err := n.Client().Open(t.Context(), schemas.Open{Identity: someone(name)})
	if err != nil {
		t.Fatal(err)
	}
	return run
}

func exec(t *testing.T, run *bus.Run, code string) *schemas.Result {
	t.Helper()
	input, err := json.Marshal(map[string]any{"title": t.Name()[:min(len(t.Name()), 100)], "code": code})
	if err != nil {
		t.Fatal(err)
	}
	result, err := run.Exec(t.Context(), schemas.Exec{CallID: "call-1", Input: input})
	if err != nil {
		t.Fatal(err)
	}
	return result
}

func TestSpec_V3_EmbeddedNodeRunsAProgram(t *testing.T) {
	n := node(t, nil)
	run := open(t, n, "a")
	result := exec(t, run, `
		const found = await catalog.search("gives back");
		const all = await Promise.all([1, 2, 3].map(n => echo({n})));
		text("half way");
		let caught; try { await boom({}) } catch (e) { caught = e.code + ": " + e.message }
		return {sum: all.reduce((s, r) => s + r.n, 0), found: found.map(f => f.callableName), caught}`)
	if result.Status != schemas.StatusCompleted {
		t.Fatalf("result = %+v", result)
	}
	want := `{"sum":6,"found":["echo"],"caught":"tool_error: it broke"}`
	if string(result.Value) != want {
		t.Errorf("value = %s, want %s", result.Value, want)
	}
	if len(result.Output) != 1 || result.Output[0].Text != "half way" {
		t.Errorf("output = %v", result.Output)
	}
	if c := result.Telemetry; c.CallCount != 4 || c.SearchCount != 1 || c.CatalogSize != 2 || c.Sources.Native != 2 || len(c.CounterScope) != 24 {
		t.Errorf("telemetry = %+v", c)
	}
}
