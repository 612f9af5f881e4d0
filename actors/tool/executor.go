package tool

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/codecell/codecell/actors/approval"
	"github.com/codecell/codecell/bus"
	"github.com/codecell/codecell/schemas"
)

const (
	// DefaultConcurrency is how many calls of an executor run at once; DefaultQueue is how
	// many more wait before further ones are refused.
	DefaultConcurrency = 64
	DefaultQueue       = 1024
	// closeGrace is what cancelled calls and closing providers get beyond the end of a drain.
	closeGrace = 3 * time.Second
)

// Options say what an executor offers and how.
type Options struct {
	// ID of the executor, a new one if empty. It must be unique on the bus.
	ID string
	// Providers are offered under their owners, which must differ. The executor closes them.
	Providers []Provider
	// Namespaces are put before programs by owners of native tools among the providers (K1).
	Namespaces []Namespace
	// Pipeline is what every call passes before and after its tool (P1).
	Pipeline Pipeline
	// Hooks are asked about every call, in this order and after those of the pipeline.
	Hooks []Hook
	// Concurrency and Queue bound the calls that run and that wait; 0 means the default.
	Concurrency, Queue int
	// Feed gets the executor's facts. If nil, the executor has one of its own.
	Feed *bus.Feed
	// Progress is told how far a tool is, where it says so (P2). It must not block.
	Progress func(call *schemas.Call, done, total float64, message string)
	// Logger gets stacks of panics and trouble with servers; slog.Default() if nil.
	Logger *slog.Logger
}

// Executor offers the tools of its providers on the bus, and runs their calls.
type Executor struct {
	id       string
	conn     *bus.Conn
	log      *slog.Logger
	pipeline Pipeline
	progress func(*schemas.Call, float64, float64, string)
	feed     *bus.Feed
	ownFeed  bool
	registry *bus.Registry
	desk     *desk
	gate     *approval.Gate // nil if the pipeline has an approver of its own
	owners   []*owner
	subs     []*bus.Subscription
	scopes   *scopes // nil without namespaces
	service  *bus.Announcement

	stop  context.CancelFunc // ends the owners' watching
	watch sync.WaitGroup
	close sync.Once
	err   error
}

// Start offers the tools. When it returns, calls of those that the providers have by then
// are taken; tools of MCP servers follow as the servers come up (see [Executor.Ready]). After
// an error the providers are still the caller's to close.
func Start(ctx context.Context, conn *bus.Conn, o Options) (_ *Executor, err error) {
	e, err := newExecutor(conn, o)
	if err != nil {
		return nil, err
	}
	if err := e.adopt(o.Providers); err != nil {
		return nil, err
	}
	if err := e.addNamespaces(o.Namespaces); err != nil {
		return nil, err
	}
	if e.registry, err = bus.OpenRegistry(ctx, conn); err != nil {
		return nil, fmt.Errorf("tool: start executor: %w", err)
	}
	e.equip(o)
	watching, stop := context.WithCancel(context.Background())
	e.stop = stop
	defer func() {
		if err != nil {
			e.undo()
		}
	}()
	ping, err := bus.Serve(conn, bus.ExecutorSubject(e.id), "", e.ping)
	if err != nil {
		return nil, fmt.Errorf("tool: start executor: %w", err)
	}
	e.subs = append(e.subs, ping)
	if len(o.Namespaces) > 0 {
		if e.scopes, err = serveScopes(conn, o.Namespaces, e.log); err != nil {
			return nil, err
		}
	}
	for _, w := range e.owners {
		stops, err := bus.Listen(conn, bus.StopsOf(w.token), "", e.stopped)
		if err != nil {
			return nil, fmt.Errorf("tool: start executor: %w", err)
		}
		e.subs = append(e.subs, stops)
		if err := w.update(ctx); err != nil {
			return nil, fmt.Errorf("tool: offer the tools of %s: %w", w.name, err)
		}
		e.tell(&schemas.ExecutorJoined{At: now(), Executor: e.id, Owner: w.name, Tools: len(w.offered().Tools)})
	}
	if e.service, err = bus.Announce(conn, e.describe); err != nil {
		return nil, fmt.Errorf("tool: start executor: %w", err)
	}
	for _, w := range e.owners {
		e.watch.Go(func() { w.follow(watching) })
	}
	return e, nil
}

// newExecutor makes an executor that has no tools and holds nothing yet.
func newExecutor(conn *bus.Conn, o Options) (*Executor, error) {
	e := &Executor{id: o.ID, conn: conn, log: o.Logger, pipeline: o.Pipeline, progress: o.Progress, feed: o.Feed}
	if e.id == "" {
		e.id = bus.NewExecutorID()
	}
	if e.log == nil {
		e.log = slog.Default()
	}
	e.desk = newDesk(orDefault(o.Concurrency, DefaultConcurrency), orDefault(o.Queue, DefaultQueue), e.run)
	e.pipeline.Dispatching = e.dispatching(o.Pipeline.Dispatching)
	if err := e.pipeline.addHooks(o.Hooks, e.log); err != nil {
		return nil, err
	}
	return e, nil
}

// equip gives the executor what must be closed: a feed and a gate for approvals, unless it was given its own.
func (e *Executor) equip(o Options) {
	if e.feed == nil {
		e.feed, e.ownFeed = bus.NewFeed(e.conn), true
	}
	if e.pipeline.Approval == nil {
		e.gate = approval.New(e.conn, approval.Options{
			Executor: e.id, Timeout: cmp.Or(o.Pipeline.ApprovalTimeout, DefaultApprovalTimeout), Tell: e.tell, Wanted: e.wanted, Logger: e.log,
		})
		e.pipeline.Approval = e.gate
	}
}

// adopt makes an owner of each provider.
func (e *Executor) adopt(providers []Provider) error {
	if len(providers) == 0 {
		return errors.New("tool: an executor needs a provider: give it functions, core tools or MCP servers")
	}
	seen := map[string]bool{}
	for _, p := range providers {
		offer := p.Offer()
		if offer.Owner == "" {
			return errors.New("tool: a provider names no owner")
		}
		w := &owner{
			e: e, provider: p, source: offer.Source, name: offer.Owner,
			token: bus.OwnerToken(offer.Source, offer.Owner), queue: bus.ToolQueue(offer.Source, offer.Owner),
			subs: map[string]*bus.Subscription{},
		}
		if seen[w.token] {
			return fmt.Errorf("tool: two providers have the owner %q: give each its own", w.name)
		}
		seen[w.token] = true
		e.owners = append(e.owners, w)
	}
	return nil
}

// undo takes back what a failed Start has done.
func (e *Executor) undo() {
	e.stop()
	e.desk.close()
	for _, s := range e.subs {
		s.Close()
	}
	for _, w := range e.owners {
		for _, s := range w.subs {
			s.Close()
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeGrace)
	defer cancel()
	if e.scopes != nil {
		_ = e.scopes.close(ctx)
	}
	e.closeGate(ctx)
	_ = e.registry.Close(ctx)
	if e.ownFeed {
		_ = e.feed.Close(ctx)
	}
}

// ID is the executor's id.
func (e *Executor) ID() string { return e.id }

// Ready waits until every provider has settled: an MCP server is connected, or its first
// attempt has failed, and the registry says so. Trouble is no error: see [Executor.Problems].
func (e *Executor) Ready(ctx context.Context) error {
	for _, w := range e.owners {
		if slow, ok := w.provider.(interface{ Ready(context.Context) error }); ok {
			if err := slow.Ready(ctx); err != nil {
				return fmt.Errorf("tool: waiting for %s: %w", w.name, err)
			}
		}
		if err := w.update(ctx); err != nil {
			return fmt.Errorf("tool: offer the tools of %s: %w", w.name, err)
		}
	}
	return nil
}

// Problems lists why tools are missing or can't be called.
func (e *Executor) Problems() (all []string) {
	for _, w := range e.owners {
		all = append(all, w.offered().Problems...)
	}
	return all
}

// Load tells how many calls run and how many wait.
func (e *Executor) Load() (running, queued int) { return e.desk.counts() }

// Close drains: the executor leaves the registry and the queue groups, and lets the calls
// that it holds end; those that wait for an approval end at once, and are not run. When ctx ends first, calls that wait are refused, calls that run are
// cancelled, and those that don't listen end as unknown. Then the providers are closed.
func (e *Executor) Close(ctx context.Context) error {
	e.close.Do(func() { e.err = e.drain(ctx) })
	return e.err
}

func (e *Executor) drain(ctx context.Context) error {
	e.stop()
	e.watch.Wait()
	late, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	grace := func() {
		timer := time.AfterFunc(closeGrace, cancel)
		context.AfterFunc(late, func() { timer.Stop() })
	}
	defer context.AfterFunc(ctx, grace)()

	var errs []error
	e.service.Close()
	errs = append(errs, e.registry.Close(late))
	for _, w := range e.owners {
		errs = append(errs, w.leave(late))
	}
	if e.scopes != nil {
		errs = append(errs, e.scopes.close(late))
	}
	e.desk.close()
	e.closeGate(late)
	select {
	case <-e.desk.idle:
	case <-ctx.Done():
		e.abandon(late)
	}
	errs = append(errs, e.closeProviders(ctx))
	// Stops and pings were heard until the last call had ended.
	for _, s := range e.subs {
		s.Close()
	}
	for _, w := range e.owners {
		e.tell(&schemas.ExecutorLeft{At: now(), Executor: e.id, Owner: w.name, Reason: "closed"})
	}
	end, stop := context.WithTimeout(context.WithoutCancel(ctx), closeGrace)
	defer stop()
	if e.ownFeed {
		errs = append(errs, e.feed.Close(end))
	} else {
		errs = append(errs, e.conn.Flush(end))
	}
	return errors.Join(errs...)
}

// closeGate ends the calls that wait for a person. They may wait for longer than a drain.
func (e *Executor) closeGate(ctx context.Context) {
	if e.gate != nil {
		e.gate.Close(ctx)
	}
}

// abandon ends what is still held.
func (e *Executor) abandon(late context.Context) {
	for _, h := range e.desk.abandon() {
		h.ack.cancel()
		e.answer(h, nil, refused(schemas.CallToolError, atTransport, "%s was not started: the executor is shutting down", h.call.Tool))
	}
	moment, cancel := context.WithTimeout(late, closeGrace/3)
	defer cancel()
	select {
	case <-e.desk.idle:
	case <-moment.Done():
		for _, h := range e.desk.forsake() {
			e.answer(h, nil, lost("the executor shut down while %s ran; whether it acted is unknown", h.call.Tool))
		}
	}
}

// closeProviders closes all at once.
func (e *Executor) closeProviders(ctx context.Context) error {
	if ctx.Err() != nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), closeGrace)
		defer cancel()
	}
	errs := make([]error, len(e.owners))
	var wg sync.WaitGroup
	for i, w := range e.owners {
		wg.Go(func() { errs[i] = w.provider.Close(ctx) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// tell publishes a fact.
func (e *Executor) tell(fact any) { e.feed.Publish(fact) }

func now() int64 { return time.Now().UnixNano() }

func orDefault(n, otherwise int) int {
	if n <= 0 {
		return otherwise
	}
	return n
}
