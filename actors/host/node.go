package host

import (
	"context"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/codecell/codecell/actors/policy"
	"github.com/codecell/codecell/actors/run"
	"github.com/codecell/codecell/actors/tool"
	"github.com/codecell/codecell/bus"
	"github.com/codecell/codecell/schemas"
	"github.com/codecell/codecell/wasm"
)

// NodeOptions say how a node runs. The zero value is a private node with the default
// configuration: an embedded bus without a port, no tools.
type NodeOptions struct {
	// Config is the configuration; nil means the defaults.
	Config *schemas.Config
	// Providers are tools of the embedding program, beside those of the configuration.
	Providers []tool.Provider
	// Namespaces are put before programs by owners of native tools among the providers (K1).
	Namespaces []tool.Namespace
	// Hooks are functions of the embedding program that are asked about programs and about calls of the node's own
	// executor (P1, X8), in this order and before those of the configuration.
	Hooks []tool.Hook
	// CacheDir keeps the compiled engine between starts; "" means [DefaultCacheDir], "-" none.
	CacheDir string
	// Workers is the number of guests that may be live at once, see [Options].
	Workers int
	Version string
	Logger  *slog.Logger
}

// Node is a host with its bus and an executor for the configured tools.
type Node struct {
	server   *bus.Server // nil on an external bus
	conn     *bus.Conn
	engine   *wasm.Engine
	host     *Host
	executor *tool.Executor
	// agents are those that agents have started; nil without the tools for that.
	agents tool.Provider
	close  sync.Once
}

// Up starts a node. When it returns, runs can be opened; tools of MCP servers follow as the
// servers come up, see [Node.Ready].
func Up(ctx context.Context, o NodeOptions) (_ *Node, err error) {
	if o.Config == nil {
		o.Config = &schemas.Config{}
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	redactor, err := run.NewRedactor(o.Config)
	if err != nil {
		return nil, err
	}
	o.Logger = redactor.Logger(o.Logger)
	n := &Node{}
	defer func() {
		if err != nil {
			n.abandon(ctx)
		}
	}()
	// The engine and the bus don't know of each other: they start side by side.
	engine := make(chan error, 1)
	go func() {
		var err error
		n.engine, err = wasm.NewEngine(ctx, wasm.Config{CacheDir: cacheDir(o.CacheDir)})
		engine <- err
	}()
	busErr := n.connect(ctx, o.Config.Bus, o.Logger)
	if err := <-engine; err != nil {
		return nil, &schemas.Error{Code: schemas.RuntimeUnavailable, Message: err.Error()}
	}
	if busErr != nil {
		return nil, busErr
	}
	providers, err := Providers(o.Config, o.Logger)
	if err != nil {
		return nil, err
	}
	providers = slices.Concat(providers, Services(n.conn, o.Config, o.Logger), o.Providers)
	if i := slices.IndexFunc(providers, func(p tool.Provider) bool { return p.Offer().Owner == schemas.SwarmOwner }); i >= 0 {
		n.agents = providers[i]
	}
	if len(providers) > 0 || len(o.Namespaces) > 0 {
		n.executor, err = tool.Start(ctx, n.conn, tool.Options{
			Providers: providers, Namespaces: o.Namespaces, Pipeline: Pipeline(o.Config), Logger: o.Logger,
			Hooks: slices.Concat(o.Hooks, tool.BusHooks(n.conn, o.Config.Hooks)),
		})
		if err != nil {
			closeProviders(ctx, providers)
			return nil, err
		}
	}
	n.host, err = Start(ctx, Options{
		Conn: n.conn, Engine: n.engine, Config: o.Config, Hooks: o.Hooks, Workers: o.Workers, Version: o.Version, Logger: o.Logger,
		Problems: n.Problems,
	})
	return n, err
}

// connect starts the embedded bus, or dials the configured one.
func (n *Node) connect(ctx context.Context, c schemas.BusConfig, log *slog.Logger) (err error) {
	if !c.Embedded() {
		n.conn, err = bus.Dial(ctx, DialOptions(c, "codecell host", log))
		return err
	}
	n.server, err = bus.Start(ctx, bus.ServerOptions{
		Listen: c.Listen, StoreDir: c.StoreDir, Name: "codecell", Token: c.Token, Logger: log,
	})
	if err != nil {
		return err
	}
	n.conn, err = n.server.Connect("codecell host")
	return err
}

// DialOptions turns a configuration into the way to an external bus.
func DialOptions(c schemas.BusConfig, name string, log *slog.Logger) bus.Options {
	return bus.Options{
		URLs: c.URLs, Credentials: c.Credentials, Token: c.Token, User: c.User, Password: c.Password, Name: name, Logger: log,
	}
}

// Ready waits until every configured MCP server has come up or failed, services were looked for, and until the host knows
// their tools.
func (n *Node) Ready(ctx context.Context) error {
	if n.executor == nil {
		return nil
	}
	if err := n.executor.Ready(ctx); err != nil {
		return err
	}
	return n.host.directory.wait(ctx, n.executor.Offers())
}

// Problems says which of the configured tools and servers are missing, and why, and what is wrong with the folder of the
// embedded bus.
func (n *Node) Problems() []string {
	var found []string
	if n.server != nil {
		found = n.server.Problems()
	}
	if n.executor != nil {
		found = append(found, n.executor.Problems()...)
	}
	return found
}

// Client speaks to hosts on the node's bus.
func (n *Node) Client() *bus.Client { return bus.NewClient(n.conn) }

// Conn is the node's connection to its bus.
func (n *Node) Conn() *bus.Conn { return n.conn }

// Host is the node's host.
func (n *Node) Host() *Host { return n.host }

// URL is where other processes reach the embedded bus; empty if it has no port.
func (n *Node) URL() string {
	if n.server == nil {
		return ""
	}
	return n.server.URL()
}

// Close drains the node: agents that agents have started are cancelled first, since they would begin more and more; then goes
// the host, whose cells still need the tools, then the tools, then the bus. See [Host.Close] for ctx.
func (n *Node) Close(ctx context.Context) (err error) {
	n.close.Do(func() {
		if n.agents != nil {
			_ = n.agents.Close(ctx)
		}
		if n.host != nil {
			err = n.host.Close(ctx)
		}
		n.abandon(ctx)
	})
	return err
}

// abandon closes everything below the host.
func (n *Node) abandon(ctx context.Context) {
	if n.executor != nil {
		_ = n.executor.Close(ctx)
	}
	if n.conn != nil {
		n.conn.Close()
	}
	if n.server != nil {
		n.server.Close()
	}
	if n.engine != nil {
		_ = n.engine.Close()
	}
}

// Providers makes the tools of a configuration: the core tools of its workspace and its MCP
// servers.
func Providers(c *schemas.Config, log *slog.Logger) (out []tool.Provider, err error) {
	if names := tool.EnabledCore(c.Workspace); c.Workspace.Root != "" && len(names) > 0 {
		core, err := tool.Core(tool.CoreOptions{Root: c.Workspace.Root, Tools: names, Env: c.Workspace.Env})
		if err != nil {
			return nil, schemas.Refuse("workspace.root", "workspace.root must be a folder: create it, or name another ("+err.Error()+")")
		}
		out = append(out, core)
	}
	for _, name := range slices.Sorted(maps.Keys(c.MCPServers)) {
		if server := c.MCPServers[name]; !server.Disabled {
			out = append(out, tool.MCP(name, server, log))
		}
	}
	return out, nil
}

// Services makes the tools of a configuration that are on the bus themselves: paired nodes (N2), agents that agents start
// (G10), and micro services (U3).
func Services(conn *bus.Conn, c *schemas.Config, log *slog.Logger) (out []tool.Provider) {
	if c.Nodes.Enabled {
		out = append(out, tool.Nodes(conn))
	}
	if c.Swarm().Enabled {
		out = append(out, swarm(conn, c, log))
	}
	for _, name := range c.Services {
		out = append(out, tool.Service(conn, name, log))
	}
	return out
}

func closeProviders(ctx context.Context, providers []tool.Provider) {
	for _, p := range providers {
		_ = p.Close(ctx)
	}
}

// Pipeline is what an executor checks of every call by a configuration (P1): the host has filtered
// the catalog, and the executor doesn't rely on it.
func Pipeline(c *schemas.Config) tool.Pipeline {
	return tool.Pipeline{Policy: policy.Check(c), Asks: policy.Approve(c), ApprovalTimeout: c.Approvals.Timeout()}
}

// DefaultCacheDir is where compiled engines are kept: codecell's folder in the user's cache.
func DefaultCacheDir() string {
	dir, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "codecell", "wasm")
}

func cacheDir(dir string) string {
	switch dir {
	case "":
		return DefaultCacheDir()
	case "-":
		return ""
	}
	return dir
}
