// Package host is the process side of cells: it owns the actors, admits catalogs, and carries
// messages between the bus and the actors.
//
// [Start] makes a cell host on a bus that is there. [Up] makes a whole node: an embedded bus,
// a host on it, and an executor for the tools of the configuration.
package host

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/codecell/codecell/actors/cell"
	"github.com/codecell/codecell/actors/run"
	"github.com/codecell/codecell/actors/slot"
	"github.com/codecell/codecell/actors/tool"
	"github.com/codecell/codecell/bus"
	"github.com/codecell/codecell/schemas"
	"github.com/codecell/codecell/wasm"
)

const (
	// runIdleTTL ends runs that nobody uses and nobody closed.
	runIdleTTL = 24 * time.Hour
	// ephemeralIdleTTL ends those that were opened for one program that never came.
	ephemeralIdleTTL = time.Minute
)

// Options say how a host runs. Conn, Engine and Config are required.
type Options struct {
	// ID of the host, a new one if empty; see [bus.NewHostID].
	ID     string
	Conn   *bus.Conn
	Engine *wasm.Engine
	Config *schemas.Config
	// Workers is the number of guests that may be live at once, [slot.DefaultWorkers] if 0 (S3).
	Workers int
	// Hooks of the embedding program are asked about programs (X8) and about calls of tools that callers bring (P1), before
	// those of the configuration. Calls of other tools are their executors' to ask about.
	Hooks []tool.Hook
	// Problems, unless nil, tells what else is wrong in the process of the host, for its status.
	Problems func() []string
	// Version of the program, for status and facts.
	Version string
	// Logger gets our own faults, never a program's; slog.Default() if nil.
	Logger *slog.Logger
}

// Host owns cells. It serves the host subjects of the bus until it is closed.
type Host struct {
	id      string
	options Options
	conn    *bus.Conn
	log     *slog.Logger
	hooks   run.Hooks
	// asking counts answers of programs that hooks are asked about.
	asking atomic.Int64
	// redactor is for what sessions keep; nil where they keep all.
	redactor *run.Redactor
	feed     *bus.Feed
	sessions *sessions
	system   *actor.ActorSystem
	root     *actor.PID
	ledger   *actor.PID

	directory *directory
	registry  *bus.Registry
	view      *bus.View
	flights   *flights
	clients   *tool.Clients
	watchdog  *watchdog
	cells     routes[string, cellRoute]
	runs      routes[string, *actor.PID]
	// openings is what the run of a token was opened with, and identities the way back.
	openings   routes[string, *opening]
	identities routes[schemas.Identity, string]
	brought    routes[string, *broughtCatalog]
	subs       []*bus.Subscription

	draining atomic.Bool
	// stopping is closed when draining begins.
	stopping chan struct{}
	close    sync.Once
	failed   chan error
}

// cellRoute is where messages for a cell go.
type cellRoute struct{ run, cell *actor.PID }

// Start starts a host. When it returns, the host answers on the bus and knows every tool that
// was registered before.
func Start(ctx context.Context, o Options) (_ *Host, err error) {
	switch {
	case o.Conn == nil:
		return nil, errors.New("host: Options.Conn is missing: connect with bus.Dial or Server.Connect")
	case o.Engine == nil:
		return nil, errors.New("host: Options.Engine is missing: make one with wasm.NewEngine")
	case o.Config == nil:
		return nil, errors.New("host: Options.Config is missing: pass &schemas.Config{} for the defaults")
	}
	redactor, err := run.NewRedactor(o.Config)
	if err != nil {
		return nil, err
	}
	if o.ID == "" {
		o.ID = bus.NewHostID()
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	o.Logger = redactor.Logger(o.Logger)
	h := &Host{
		id: o.ID, options: o, conn: o.Conn, log: o.Logger, feed: bus.NewFeed(o.Conn), sessions: &sessions{conn: o.Conn, log: o.Logger},
		directory: newDirectory(o.Engine, o.Config), flights: newFlights(), failed: make(chan error, 1),
		stopping: make(chan struct{}), redactor: redactor.ForSessions(o.Config),
	}
	hooks, err := tool.AboutPrograms(slices.Concat(o.Hooks, tool.BusHooks(o.Conn, o.Config.Hooks)), h.log)
	if err != nil {
		return nil, err
	}
	h.hooks = h.counted(run.Hooks(hooks))
	defer func() {
		if err != nil {
			h.abandon()
			err = fmt.Errorf("host: %w", err)
		}
	}()
	h.directory.askScope = h.askScope
	if err = h.startClients(); err != nil {
		return nil, err
	}
	if h.registry, err = bus.OpenRegistry(ctx, o.Conn); err != nil {
		return nil, err
	}
	if h.view, err = h.registry.Watch(ctx, h.directory.offer); err != nil {
		return nil, err
	}
	h.directory.offer(h.view.All())
	if err = h.spawn(); err != nil {
		return nil, err
	}
	h.watchdog = startWatchdog(h)
	if err = h.serve(); err != nil {
		return nil, err
	}
	h.feed.Publish(&schemas.HostStarted{
		At: time.Now().UnixNano(), Host: h.id, Version: o.Version, Slots: o.Config.SlotLimit(),
	})
	return h, nil
}

// counted counts questions about answers, so that a draining host doesn't end before they can be given.
func (h *Host) counted(hooks run.Hooks) run.Hooks {
	if ask := hooks.After; ask != nil {
		hooks.After = func(ctx context.Context, event *schemas.HookEvent) error {
			h.asking.Add(1)
			defer h.asking.Add(-1)
			return ask(ctx, event)
		}
	}
	return hooks
}

// spawn starts the actors.
func (h *Host) spawn() error {
	// The throttle of dead-letter logs keeps a goroutine for its interval, after the system has ended too.
	throttle := actor.WithDeadLetterThrottleInterval(time.Millisecond)
	h.system = actor.NewActorSystem(throttle, actor.WithLoggerFactory(func(*actor.ActorSystem) *slog.Logger {
		return slog.New(quiet{h.log.Handler()}).With("part", "actors")
	}), actor.WithDeadLetterThrottleInterval(time.Millisecond)) // a goroutine waits this long, also past the host's end
	ready := make(chan struct{})
	props := actor.PropsFromProducer(func() actor.Actor { return &root{host: h, ready: ready} }, actor.WithSupervisor(rootSupervisor{h}))
	var err error
	if h.root, err = h.system.Root.SpawnNamed(props, "host-"+h.id); err != nil {
		return err
	}
	<-ready
	return nil
}

// ID is the host's id on the bus.
func (h *Host) ID() string { return h.id }

// Failed gives the error that a host can't go on after: its slot ledger is lost, or its connection
// for good. The process should end.
func (h *Host) Failed() <-chan error { return h.failed }

// fail tells the error that the host can't go on after; the first one counts.
func (h *Host) fail(err error) {
	select {
	case h.failed <- fmt.Errorf("host: %w", err):
	default:
	}
}

// Close drains the host: it leaves the queue, refuses new programs, and lets the running calls
// end until ctx does; then it cancels what is left. Parked cells that nobody waits for by then are
// aborted with it: their continuations live in this process only (R3).
func (h *Host) Close(ctx context.Context) error {
	var err error
	h.close.Do(func() { err = h.shutdown(ctx) })
	return err
}

func (h *Host) shutdown(ctx context.Context) error {
	h.draining.Store(true)
	close(h.stopping)
	h.idle(ctx)
	// Cancelling can't be cut short by the deadline that has just passed.
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	h.closeRuns(ending)
	h.closeClients(ending)
	h.feed.Publish(&schemas.HostStopped{
		At: time.Now().UnixNano(), Host: h.id, Reason: "closed", Dropped: h.feed.Dropped(),
	})
	for _, s := range h.subs {
		s.Close()
	}
	err := errors.Join(h.sessions.close(ending), h.feed.Close(ending))
	h.abandon()
	return err
}

// abandon ends what is left of the host, without ceremony.
func (h *Host) abandon() {
	for _, s := range h.subs {
		s.Close()
	}
	if h.watchdog != nil {
		h.watchdog.close()
	}
	if h.view != nil {
		h.view.Close()
	}
	if h.root != nil {
		_ = h.system.Root.StopFuture(h.root).Wait()
		h.system.Shutdown()
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if h.registry != nil {
		_ = h.registry.Close(ctx)
	}
	h.closeClients(ctx)
	_ = h.sessions.close(ctx) // of a host that failed
	_ = h.feed.Close(ctx)
}

// cellDeps is what all cells share.
func (h *Host) cellDeps() cell.Deps {
	return cell.Deps{Engine: h.options.Engine, Ledger: h.ledger, Logger: h.log}
}

// slotOptions is the ledger's configuration.
func (h *Host) slotOptions() slot.Options {
	return slot.Options{
		Slots: h.options.Config.SlotLimit(), Workers: h.options.Workers,
		OnChange: func(c slot.Change) {
			at := time.Now().UnixNano()
			if c.Taken {
				h.feed.Publish(&schemas.SlotTaken{At: at, Host: h.id, Cell: c.Name, Held: c.Held})
				return
			}
			h.feed.Publish(&schemas.SlotFreed{At: at, Host: h.id, Cell: c.Name, Held: c.Held})
		},
	}
}
