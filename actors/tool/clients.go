package tool

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/codecell/codecell/bus"
	"github.com/codecell/codecell/schemas"
)

// Clients is the executor of the tools that callers bring for the runs of one host (S8). It is a part of the host: a call
// passes its pipeline here, on the trusted side (P1), and only what is dispatched goes to the caller. What comes back is
// checked here, too.
//
// A call whose caller can't be reached is refused at once. One whose caller is gone after it was sent, or doesn't answer any
// more, ends as unknown.
type Clients struct {
	e       *Executor
	host    string
	changed func()

	start sync.Once
	err   error
	stop  context.CancelFunc // ends the watching, once it has begun
	watch sync.WaitGroup

	close  sync.Once
	mu     sync.Mutex
	closed bool
	runs   map[string]*broughtRun
}

// broughtRun is what was brought for one run. Its fields are guarded by the mutex of Clients, but for owner, whose
// contracts are swapped as one, and update.
type broughtRun struct {
	all   *Clients
	token string
	owner *owner
	// update orders changes: schemas are compiled outside of the mutex.
	update sync.Mutex
	// clients are those that offer tools, the one that did last at the end.
	clients []*client
	// tools are those that can be called, and by says whose each is.
	tools   []schemas.Tool
	by      map[string]*client
	version uint64
	gone    bool
}

// NewClients makes the executor for a host. The options are those of other executors; providers are none of them. changed is
// told of every change of what was brought, and must not block.
func NewClients(conn *bus.Conn, host string, o Options, changed func()) (*Clients, error) {
	e, err := newExecutor(conn, o)
	if err != nil {
		return nil, err
	}
	e.equip(o)
	return &Clients{e: e, host: host, changed: changed, runs: map[string]*broughtRun{}}, nil
}

// open begins to answer and to ask for signs of life, when there is somebody whose tools are called.
func (c *Clients) open() error {
	c.start.Do(func() {
		sub, err := bus.Serve(c.e.conn, bus.ExecutorSubject(c.e.id), "", c.e.ping)
		if err != nil {
			c.err = fmt.Errorf("tool: take tools of clients: %w", err)
			return
		}
		c.e.subs = append(c.e.subs, sub)
		watching, stop := context.WithCancel(context.Background())
		c.stop = stop
		c.watch.Go(func() { c.attend(watching) })
	})
	return c.err
}

// Bring makes the tools of a message those that its client offers for a run, and says which of them can't be called and why.
// Compiling schemas takes its time: don't call it in an actor.
func (c *Clients) Bring(run string, b *schemas.Bring) ([]string, *schemas.Error) {
	if bus.Token(b.Client) != b.Client || b.Client == "" {
		return nil, schemas.Refuse("client", "client must be an id of 1 to 64 letters, digits, _ and -: mint a new one")
	}
	tools, refused := brought(run, b.Tools)
	if refused != nil {
		return nil, refused
	}
	if err := c.open(); err != nil {
		return nil, &schemas.Error{Code: schemas.RuntimeUnavailable, Message: err.Error()}
	}
	r := c.of(run)
	if r == nil {
		return nil, &schemas.Error{Code: schemas.RuntimeUnavailable, Message: "this host is shutting down: open a new run on another host"}
	}
	r.update.Lock()
	defer r.update.Unlock()
	next, refused := r.with(b.Client, tools)
	if refused != nil {
		return nil, refused
	}
	return r.set(next), nil
}

// brought checks what doesn't depend on other clients, and gives the tools as far as they are believed.
func brought(run string, tools []schemas.Tool) ([]schemas.Tool, *schemas.Error) {
	seen := make(map[string]bool, len(tools))
	out := make([]schemas.Tool, len(tools))
	for i, t := range tools {
		if seen[t.Name] {
			return nil, schemas.Refuse("tools", fmt.Sprintf("tools has %q twice: names must differ", clip(t.Name, maxNameBytes)))
		}
		seen[t.Name] = true
		t.Source, t.Tier, t.Owner = schemas.SourceClient, schemas.TierClient, run
		t.ReplaySafe, t.Idempotent, t.DirectOnly, t.Awaitable = false, false, false, false
		out[i] = t
	}
	return out, nil
}

// of gives what was brought for a run, nothing yet if it is new, and nil once the host ends.
func (c *Clients) of(run string) *broughtRun {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil
	}
	r := c.runs[run]
	if r == nil {
		r = &broughtRun{all: c, token: run}
		r.owner = &owner{e: c.e, provider: r, source: schemas.SourceClient, name: run}
		r.owner.current.Store(&contracts{})
		c.runs[run] = r
	}
	return r
}

// offer is one client with the tools that it is to have.
type offer struct {
	client *client
	tools  []schemas.Tool
}

// with gives what there will be when a client offers these tools, or says that it would be too much.
func (r *broughtRun) with(id string, tools []schemas.Tool) (next []offer, refused *schemas.Error) {
	r.all.mu.Lock()
	defer r.all.mu.Unlock()
	mine := &client{run: r, id: id, calls: map[string]*forwarded{}}
	count, bytes := 0, 0
	for _, c := range r.clients {
		if c.id == id {
			mine = c
			continue
		}
		next = append(next, offer{c, c.tools})
	}
	next = append(next, offer{mine, tools})
	for _, o := range next {
		count += len(o.tools)
		for i := range o.tools {
			bytes += o.tools[i].Size()
		}
	}
	if count > schemas.MaxBroughtTools || bytes > schemas.MaxBroughtBytes {
		return nil, schemas.Refuse("tools", fmt.Sprintf("tools are too many: %d tools of %d bytes would be brought for this run, "+
			"at most %d tools of %d bytes are allowed; bring fewer, or with shorter descriptions and schemas",
			count, bytes, schemas.MaxBroughtTools, schemas.MaxBroughtBytes))
	}
	mine.epoch++
	mine.offered = time.Now()
	return next, nil
}

// set makes the offers what is called from now on. The run's update lock is held.
func (r *broughtRun) set(next []offer) (problems []string) {
	by := make(map[string]*client)
	named := make(map[string]schemas.Tool)
	for _, o := range next {
		for _, t := range o.tools {
			by[t.Name], named[t.Name] = o.client, t
		}
	}
	tools := make([]schemas.Tool, 0, len(named))
	for _, t := range named {
		tools = append(tools, t)
	}
	slices.SortFunc(tools, func(a, b schemas.Tool) int { return strings.Compare(a.Name, b.Name) })
	made, problems := compileOffer(schemas.Registration{Source: schemas.SourceClient, Owner: r.token, Tools: tools}, *r.owner.current.Load())
	r.all.mu.Lock()
	defer r.all.mu.Unlock()
	if r.gone {
		return nil
	}
	r.owner.current.Store(&made)
	r.tools, r.by, r.clients = tools, by, nil
	r.version++
	for _, o := range next {
		o.client.tools = o.tools
		if len(o.tools) > 0 || len(o.client.calls) > 0 { // one that takes its tools back still answers what it was sent
			r.clients = append(r.clients, o.client)
		}
	}
	r.all.changed()
	return problems
}

// Tools gives what was brought for a run, and a number that changes with it. Don't change them.
func (c *Clients) Tools(run string) (tools []schemas.Tool, version uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r := c.runs[run]; r != nil {
		return r.tools, r.version
	}
	return nil, 0
}

// Take takes a call of the host's own. Its answer goes to the reply subject of the call. It doesn't block.
func (c *Clients) Take(call *schemas.Call) {
	c.mu.Lock()
	r := c.runs[call.Address.Run]
	c.mu.Unlock()
	reply := bus.ReplySubject(call.Address.Host, call.Address.Cell, call.ID)
	if r == nil {
		c.e.answer(&held{call: call, reply: reply, owner: &owner{source: schemas.SourceClient}}, nil,
			refused(schemas.CallToolError, atTransport, "%s is no longer offered", call.Tool))
		return
	}
	r.owner.take(&callRequest{Reply: reply, Body: *call})
}

// Stop ends a call that nobody waits for any more, and lets its caller know.
func (c *Clients) Stop(cell, call string) { c.e.desk.stop(cell + "." + call) }

// Forget ends what was brought for a run, when the run has ended.
func (c *Clients) Forget(run string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := c.runs[run]
	if r == nil {
		return
	}
	delete(c.runs, run)
	r.gone = true
	for _, client := range r.clients {
		client.lose(errRunOver)
	}
	r.clients = nil
}

// Close ends all calls, and lets the gate for approvals end until ctx does.
func (c *Clients) Close(ctx context.Context) { c.close.Do(func() { c.shut(ctx) }) }

func (c *Clients) shut(ctx context.Context) {
	c.mu.Lock()
	c.closed = true
	runs := make([]string, 0, len(c.runs))
	for token := range c.runs {
		runs = append(runs, token)
	}
	c.mu.Unlock()
	for _, token := range runs {
		c.Forget(token)
	}
	c.start.Do(func() {}) // none begins any more, and one that was beginning has
	if c.stop != nil {
		c.stop()
	}
	c.watch.Wait()
	e := c.e
	e.desk.close()
	e.closeGate(ctx)
	moment, cancel := context.WithTimeout(ctx, closeGrace)
	defer cancel()
	select {
	case <-e.desk.idle:
	case <-moment.Done():
		e.abandon(ctx)
	}
	for _, s := range e.subs {
		s.Close()
	}
	if e.ownFeed {
		_ = e.feed.Close(ctx)
	}
}
