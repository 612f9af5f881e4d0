package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/codecell/codecell/actors/host"
	"github.com/codecell/codecell/bus"
	"github.com/codecell/codecell/schemas"
)

const (
	// dialTimeout bounds the way to a bus.
	dialTimeout = 10 * time.Second
	// readyTimeout bounds the wait for MCP servers: the slowest may first be fetched by npx.
	readyTimeout = 90 * time.Second
	// closeTimeout bounds the end of a command's own host.
	closeTimeout = 5 * time.Second
)

// config reads the configuration of this command line.
func (a *app) config() (*schemas.Config, error) {
	path := a.configPath
	if path == "" {
		path = a.env("CODECELL_CONFIG")
	}
	if path == "" {
		const here = "codecell.json5"
		if _, err := os.Stat(here); err != nil {
			return &schemas.Config{}, nil
		}
		path = here
	}
	return schemas.LoadConfig(path)
}

// link is the way to a host: over a bus, or to one of this process.
type link struct {
	conn *bus.Conn
	node *host.Node // nil over a bus
}

// connect gives the way to a host, and waits until a host of this process knows its tools.
func (a *app) connect(ctx context.Context) (*link, error) {
	if l, err := a.dial(ctx); l != nil || err != nil {
		return l, err
	}
	config, err := a.config()
	if err != nil {
		return nil, err
	}
	node, err := host.Up(ctx, host.NodeOptions{Config: config, Version: version, Logger: a.log()})
	if err != nil {
		return nil, err
	}
	l := &link{conn: node.Conn(), node: node}
	ready, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	if err := node.Ready(ready); err != nil && ctx.Err() != nil {
		l.close()
		return nil, err
	}
	for _, problem := range node.Problems() {
		fmt.Fprintln(a.err, "codecell: warning: "+problem)
	}
	return l, nil
}

// dial connects to the bus that --bus or the environment names. Without one it gives nothing.
func (a *app) dial(ctx context.Context) (*link, error) {
	url := a.bus
	if url == "" {
		url = a.env("CODECELL_BUS")
	}
	if url == "" {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	conn, err := bus.Dial(ctx, bus.Options{URLs: []string{url}, Name: "codecell cli", Logger: a.log()})
	if err != nil {
		return nil, &schemas.Error{Code: schemas.RuntimeUnavailable, Message: err.Error(), Field: "bus"}
	}
	return &link{conn: conn}, nil
}

// mustDial is dial for commands that make no sense without a running bus.
func (a *app) mustDial(ctx context.Context) (*link, error) {
	l, err := a.dial(ctx)
	if l == nil && err == nil {
		return nil, errors.New("this command needs a running bus: give --bus or CODECELL_BUS the URL that `codecell up --listen 127.0.0.1:4222` prints")
	}
	return l, err
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

// identity is who this command line acts for: an agent and a session by name, so that a later command
// can go on with what an earlier one left waiting.
func (a *app) identity() schemas.Identity {
	return schemas.Identity{Agent: a.agent, SessionID: a.session, SessionKey: a.session, Run: "cli:" + a.session}
}

// dialConfig connects to the bus that the configuration names.
func (a *app) dialConfig(ctx context.Context, config *schemas.Config) (*link, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	conn, err := bus.Dial(ctx, host.DialOptions(config.Bus, "codecell cli", a.log()))
	if err != nil {
		return nil, &schemas.Error{Code: schemas.RuntimeUnavailable, Message: err.Error(), Field: "bus.urls"}
	}
	return &link{conn: conn}, nil
}
