package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/codecell/codecell/actors/host"
	"github.com/codecell/codecell/bus"
	"github.com/codecell/codecell/schemas"
)

const (
	// dialTimeout bounds the way to a bus.
	dialTimeout = 10 * time.Second
	// bootTimeout is for how long an executor or a node waits for a bus that isn't there yet: whoever starts them all, does so
	// in any order. They say so after bootQuiet.
	bootTimeout = 30 * time.Second
	bootQuiet   = time.Second
	// readyTimeout bounds the wait for MCP servers: the slowest may first be fetched by npx.
	readyTimeout = 90 * time.Second
	// closeTimeout bounds the end of a command's own host.
	closeTimeout = 5 * time.Second
)

// link is the way to a host: over a bus, or to one of this process.
type link struct {
	conn *bus.Conn
	node *host.Node // nil over a bus
}

func (l *link) client() *bus.Client { return bus.NewClient(l.conn) }

func (l *link) close() {
	if l.node == nil {
		l.conn.Close()
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	_ = l.node.Close(ctx) // the process ends anyway
}

// connect gives the way to a host, and waits until a host of this process knows its tools.
func (a *app) connect(ctx context.Context) (*link, error) {
	l, err := a.link(ctx)
	if err != nil {
		return nil, err
	}
	defer a.progress("starting the tools")()
	l.awaitTools(ctx)
	if err := ctx.Err(); err != nil {
		l.close()
		return nil, err
	}
	return l, nil
}

// link connects to the bus that there is, or else starts a host in this process.
func (a *app) link(ctx context.Context) (*link, error) {
	config, err := a.config()
	if err != nil {
		return nil, err
	}
	return a.linkWith(ctx, config)
}

// linkWith is link with a configuration that flags may have changed.
func (a *app) linkWith(ctx context.Context, config *schemas.Config) (*link, error) {
	if l, err := a.dial(ctx, config); l != nil || err != nil {
		return l, err
	}
	if err := a.checkAgent(config); err != nil {
		return nil, err
	}
	node, err := host.Up(ctx, host.NodeOptions{Config: config, Version: version, Logger: a.log()})
	if err != nil {
		return nil, err
	}
	return &link{conn: node.Conn(), node: node}, nil
}

// awaitTools waits until a host of this process knows its tools, or has given up on some.
func (l *link) awaitTools(ctx context.Context) {
	if l.node == nil {
		return
	}
	ready, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	_ = l.node.Ready(ready) // what is missing then is a problem, not the end
}

// problems says what a host of this process is missing.
func (l *link) problems() []string {
	if l.node == nil {
		return nil
	}
	return l.node.Problems()
}

// warn tells what is missing.
func (a *app) warn(problems []string) {
	for _, problem := range problems {
		fmt.Fprintln(a.err, "codecell: warning: "+printable(problem))
	}
}

// dial connects to the bus that --bus, the environment or the configuration names, in this order.
// Without one it gives nothing.
func (a *app) dial(ctx context.Context, config *schemas.Config) (*link, error) {
	l, err := a.dialFor(ctx, config, dialTimeout, false)
	return l, a.unreachable(ctx, err)
}

// dialAtBoot is dial for processes that may be there before the bus is.
func (a *app) dialAtBoot(ctx context.Context, config *schemas.Config) (*link, error) {
	l, err := a.dialFor(ctx, config, bootQuiet, true)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		b, _ := a.busOf(config.Bus)
		a.note(fmt.Sprintf("codecell: waiting up to %v for a bus at %s", bootTimeout, printable(schemas.VeilURLs(strings.Join(b.URLs, ", ")))))
		l, err = a.dialFor(ctx, config, bootTimeout-bootQuiet, true)
	}
	return l, a.unreachable(ctx, err)
}

func (a *app) unreachable(ctx context.Context, err error) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	}
	_, field := a.busOf(schemas.BusConfig{})
	return &schemas.Error{Code: schemas.RuntimeUnavailable, Message: err.Error(), Field: field}
}

// busOf is the bus to use, and the setting that says so.
func (a *app) busOf(b schemas.BusConfig) (_ schemas.BusConfig, field string) {
	if url := cmp.Or(a.bus, a.env("CODECELL_BUS")); url != "" {
		b.URLs = []string{url}
		return b, "bus"
	}
	return b, "bus.urls"
}

// dialFor tries for so long, once or until a server is there.
func (a *app) dialFor(ctx context.Context, config *schemas.Config, limit time.Duration, wait bool) (*link, error) {
	b, _ := a.busOf(config.Bus)
	if b.Embedded() {
		return nil, nil
	}
	timed, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	o := host.DialOptions(b, "codecell cli", a.log())
	o.Wait = wait
	conn, err := bus.Dial(timed, o)
	if err != nil {
		return nil, err
	}
	return &link{conn: conn}, nil
}

// errNoBus is for commands that make no sense without a running bus.
var errNoBus = errors.New("this command needs a running bus: give --bus or CODECELL_BUS the URL that `codecell up --listen 127.0.0.1:4222` prints, or set bus.urls in the configuration")

// mustDial is dial for commands that need a running bus.
func (a *app) mustDial(ctx context.Context) (*link, error) {
	config, err := a.config()
	if err != nil {
		return nil, err
	}
	l, err := a.dial(ctx, config)
	if l == nil && err == nil {
		return nil, errNoBus
	}
	return l, err
}

// defaultSession is the session of programs that are given none.
const defaultSession = "cli"

func (a *app) identityFlags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&a.session, "session", defaultSession, "`name` of the session that the program belongs to")
	a.agentFlag(cmd)
}

func (a *app) agentFlag(cmd *cobra.Command) {
	cmd.Flags().StringVar(&a.agent, "agent", schemas.DefaultAgent, "`name` of the configured agent to act as")
}

// identity is who this command line acts for: an agent and a session by name, so that a later command
// can go on with what an earlier one left waiting.
func (a *app) identity() schemas.Identity {
	id := schemas.Identity{Agent: a.agent, SessionID: a.session, SessionKey: a.session, Run: "cli:" + a.session}
	if a.unbound { // a run is bound or not for as long as it is open
		id.Run = "cli-unbound:" + a.session
	}
	return id
}

// boundFlag is for commands whose programs are recorded in the session unless told otherwise.
func (a *app) boundFlag(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&a.unbound, "no-session", false, "leave nothing in the session's transcript, and store nothing in it")
}

// checkAgent refuses an agent that a host of this process has no entry for: it would silently get what
// any other gets.
func (a *app) checkAgent(config *schemas.Config) error {
	if _, ok := config.Agents.Entries[a.agent]; ok || a.agent == "" || a.agent == schemas.DefaultAgent {
		return nil
	}
	return fmt.Errorf("--agent %s: there is no such agent: add it to agents.entries of the configuration", a.agent)
}
