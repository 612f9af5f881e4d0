package e2e

import (
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/codecell/codecell/actors/tool"
	"github.com/codecell/codecell/bus"
	"github.com/codecell/codecell/schemas"
)

// plugin is an executor in this process, whose tools note what they are called with.
type plugin struct {
	conn  *bus.Conn
	gate  chan struct{}
	mu    sync.Mutex
	calls []string // "name arguments"
	gone  int      // calls that were cancelled at the gate
}

// pluginArgs are the parameters of a plugin's tools, unless they have their own.
const pluginArgs = `{"type":"object","properties":{"item":{"type":"string"},"gate":{"type":"boolean","description":"Wait at the gate"}}}`

// dial connects to a host's bus.
func dial(t *testing.T, host hostProcess) *bus.Conn {
	t.Helper()
	conn, err := bus.Dial(t.Context(), bus.Options{URLs: []string{host.url}, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	return conn
}

// servePlugin serves tools as those of an owner, and waits until the host has them. Those without a description get one.
func servePlugin(t *testing.T, host hostProcess, owner string, tools ...schemas.Tool) *plugin {
	t.Helper()
	p := &plugin{conn: dial(t, host), gate: make(chan struct{})}
	funcs := make([]tool.Func, len(tools))
	for i, described := range tools {
		if described.Parameters == nil {
			described.Parameters = schemas.JSON(pluginArgs)
		}
		if described.Description == "" {
			described.Description = "The tool " + described.Name
		}
		funcs[i] = tool.Raw(described, func(ctx context.Context, args schemas.JSON) (schemas.JSON, error) {
			return p.answer(ctx, described.Name, args)
		})
	}
	provider, err := tool.Funcs(owner, funcs...)
	if err != nil {
		t.Fatal(err)
	}
	executor, err := tool.Start(t.Context(), p.conn, tool.Options{Providers: []tool.Provider{provider}, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		_ = executor.Close(ctx) // the bus may have gone with its host
	})
	awaitTools(t, p.conn, tools[len(tools)-1].Name)
	return p
}

// answer answers, at the gate only when it is opened.
func (p *plugin) answer(ctx context.Context, name string, args schemas.JSON) (schemas.JSON, error) {
	p.note(name, args)
	var in struct{ Gate bool }
	if err := json.Unmarshal(args, &in); err != nil {
		return nil, err
	}
	if in.Gate {
		select {
		case <-p.gate:
		case <-ctx.Done():
			p.mu.Lock()
			p.gone++
			p.mu.Unlock()
			return nil, ctx.Err()
		}
	}
	return json.Marshal(map[string]any{"tool": name, "pieces": 1200})
}

// open lets one call through the gate.
func (p *plugin) open(t *testing.T) {
	t.Helper()
	select {
	case p.gate <- struct{}{}:
	case <-time.After(patience):
		t.Fatal("nobody is at the gate")
	}
}

// awaitGone waits until so many calls were cancelled at the gate.
func (p *plugin) awaitGone(t *testing.T, n int) {
	t.Helper()
	if !eventually(patience, func() bool { p.mu.Lock(); defer p.mu.Unlock(); return p.gone >= n }) {
		t.Fatal("the call goes on")
	}
}

func (p *plugin) note(name string, args schemas.JSON) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls = append(p.calls, name+" "+string(args))
}

// ran gives the calls until now, sorted.
func (p *plugin) ran() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Sorted(slices.Values(p.calls))
}

// awaitRan waits until so many calls have arrived.
func (p *plugin) awaitRan(t *testing.T, n int) {
	t.Helper()
	if !eventually(patience, func() bool { return len(p.ran()) >= n }) {
		t.Fatalf("%q ran, want %d calls", p.ran(), n)
	}
}

// awaitTools waits until a new run has the tools.
func awaitTools(t *testing.T, conn *bus.Conn, names ...string) {
	t.Helper()
	missing := func() []string {
		run, err := bus.NewClient(conn).Open(t.Context(), schemas.Open{Identity: identityOf("look"), Mode: schemas.ModeDirect})
		if err != nil {
			t.Fatal(err)
		}
		defer run.Close(t.Context(), "seen")
		return slices.DeleteFunc(slices.Clone(names), func(name string) bool { _, ok := run.Surface.Tool(name); return ok })
	}
	if !eventually(patience, func() bool { return len(missing()) == 0 }) {
		t.Fatalf("no run has %q", missing())
	}
}

// identityOf is an identity whose session and run have the same name.
func identityOf(name string) schemas.Identity {
	return schemas.Identity{Agent: schemas.DefaultAgent, SessionID: name, SessionKey: name, Run: name}
}
