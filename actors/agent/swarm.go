package agent

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/codecell/codecell/bus"
	"github.com/codecell/codecell/schemas"
)

// SwarmOptions are what agents that are started by agents share.
type SwarmOptions struct {
	Conn *bus.Conn
	// Config says what there may be of them, and what each agent is.
	Config *schemas.Config
	// Provider is whom they ask. Its Model is that of agents that name none.
	Provider Provider
	// Transcript gives the session of a child, by its key, where its parent's run is recorded in one; nil keeps none.
	Transcript func(key string) Transcript
	Debug      Debug
	// Logger is nil for slog.Default.
	Logger *slog.Logger
}

// Swarm runs the turns that agents start (G10): [Swarm.Spawn] starts one in the background, [Swarm.Await] gives what became
// of some. Each belongs to the run that started it, and ends with it: the swarm hears of that by the feed, and, since facts
// may get lost, asks now and then. Bounds are exact for what one Swarm has started; several on one bus don't count together.
//
// A child gets nothing that its parent hasn't: it has the same sender, channel, sandbox and restriction. What its agent's
// entry in the configuration allows is its own.
type Swarm struct {
	o      SwarmOptions
	limits schemas.Swarm
	client *bus.Client
	log    *slog.Logger
	// id is part of the ids of all children, so that they are found from other processes; peers asks for them.
	id    string
	peers *bus.Subscription
	feed  *bus.Feed

	ctx  context.Context
	stop context.CancelCauseFunc
	// work counts the goroutines of turns and bonds.
	work sync.WaitGroup

	mu       sync.Mutex
	closed   bool
	families map[runKey]*family
	roots    map[rootKey]*tally
	// children are all that families have, by id.
	children map[string]*child
}

// runKey addresses a run; rootKey is what all runs below one that somebody started have in common.
type (
	runKey  struct{ host, run string }
	rootKey struct{ session, run string }
)

// family is one run with the agents that it has started. It ends with the run, and they with it.
type family struct {
	key  runKey
	root *tally
	// above is the id of the agent whose run it is; empty for one that somebody started.
	above string
	// bonds are what children are tied to, by cell; the run's own has none.
	bonds   map[string]*bond
	members map[string]*child
	running int
	// waits counts the calls that wait for members.
	waits int
}

// tally counts the agents below one root. It is kept as long as one of its families is.
type tally struct {
	key      rootKey
	started  int
	families int
}

// Why children end before their time.
var (
	errRunClosed = stopped("the run that started it was closed")
	errCellEnded = stopped("the program that started it has ended")
	errShutdown  = stopped("the process that runs it is shutting down")
	errUnwanted  = stopped("the call that started it was cancelled")
)

// stopped is the cause of a cancelled context.
type stopped string

func (s stopped) Error() string { return string(s) }

// NewSwarm makes a swarm. It must be closed.
func NewSwarm(o SwarmOptions) (*Swarm, error) {
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	s := &Swarm{
		o: o, limits: o.Config.Swarm(), client: bus.NewClient(o.Conn), log: o.Logger, id: bus.NewSwarmID(), feed: bus.NewFeed(o.Conn),
		families: make(map[runKey]*family), roots: make(map[rootKey]*tally), children: make(map[string]*child),
	}
	s.ctx, s.stop = context.WithCancelCause(context.Background())
	var err error
	if s.peers, err = bus.Serve(o.Conn, peerSubject(s.id), "", s.onPeer); err != nil {
		_ = s.Close(context.Background())
		return nil, err
	}
	return s, nil
}

// closeGrace is what cancelled children get beyond the end of a close's context.
const closeGrace = 2 * time.Second

// Close cancels all children and waits until they have ended, for a moment beyond the end of ctx at most. It may be called
// again.
func (s *Swarm) Close(ctx context.Context) error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.stop(errShutdown)
	if s.peers != nil {
		s.peers.Close()
	}
	ended := make(chan struct{})
	go func() { s.work.Wait(); close(ended) }()
	if ctx.Err() != nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), closeGrace)
		defer cancel()
	}
	select {
	case <-ended:
	case <-ctx.Done():
		s.log.Warn("agents didn't end in time", "error", ctx.Err())
	}
	return s.feed.Close(ctx)
}

// familyOf gives the family of a run, and makes it if it has none yet. Called under the lock.
func (s *Swarm) familyOf(call *schemas.Call) *family {
	key := runKey{call.Address.Host, call.Address.Run}
	if f := s.families[key]; f != nil {
		return f
	}
	root := rootOf(&call.Identity)
	t := s.roots[root]
	if t == nil {
		t = &tally{key: root}
		s.roots[root] = t
	}
	t.families++
	f := &family{key: key, root: t, bonds: make(map[string]*bond), members: make(map[string]*child)}
	if call.Identity.Depth > 0 {
		f.above = call.Identity.Run[strings.LastIndexByte(call.Identity.Run, '/')+1:]
	}
	s.families[key] = f
	s.tie(f, "")
	return f
}

// disband forgets a family whose run is gone. Its members are cancelled by then.
func (s *Swarm) disband(f *family) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.families[f.key] != f {
		return
	}
	delete(s.families, f.key)
	for id := range f.members {
		delete(s.children, id)
	}
	if f.root.families--; f.root.families == 0 {
		delete(s.roots, f.root.key)
	}
}

// rootOf finds the run that somebody started: a child's session key and run are its parent's with its id behind them.
func rootOf(id *schemas.Identity) rootKey {
	root := rootKey{id.SessionKey, id.Run}
	for range id.Depth {
		for _, name := range [...]*string{&root.session, &root.run} {
			if at := strings.LastIndexByte(*name, '/'); at > 0 {
				*name = (*name)[:at]
			}
		}
	}
	return root
}
