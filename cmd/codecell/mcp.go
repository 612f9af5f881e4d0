package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"

	"github.com/codecell/codecell/bus"
)

// mcpOptions are the flags of `codecell mcp`.
type mcpOptions struct {
	http     string
	session  string
	surface  surfaceFlags
	drain    time.Duration
	idle     time.Duration
	sessions int
}

func (a *app) mcpCommand() *cobra.Command {
	var o mcpOptions
	cmd := &cobra.Command{
		Use:   "mcp",
		Short: "Show exec and wait, or the tools in another way, to an MCP client",
		Long: `Serves MCP over standard input and output, or over streamable HTTP with --http. The client sees two tools, exec and
wait; the tools of the configured mcpServers are what programs call. Each MCP session is a run of its own: its waiting
programs end with it.

With --mode search the client sees tools that search and call the others instead, with --mode direct all tools. auto leaves that
to tools.codeMode and tools.toolSearch of the configuration. Nobody says which model is behind an MCP client: where the
configuration says "auto", or nothing, it has Code Mode. With --model the configuration decides for that model.

Standard output carries the protocol and nothing else. What isn't as it should be is told on standard error.

Over HTTP, only this machine may connect, unless the environment variable ` + tokenVariable + ` holds a token that
clients must then show ("Authorization: Bearer …").

With --session, what programs store is there when the client starts the server again, if the bus keeps it (bus.storeDir,
or a bus of its own).`,
		Example: `  codecell mcp --config codecell.json5
  codecell mcp --http 127.0.0.1:8811
  codecell mcp --mode search`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			err := a.mcp(cmd.Context(), o)
			if err != nil && o.http == "" {
				a.json = false // standard output is the protocol's
				a.report(err)
				return exit(exitUsage)
			}
			return err
		},
	}
	cmd.Flags().StringVar(&o.http, "http", "", "`host:port` at which to serve streamable HTTP; port 0 takes a free one")
	cmd.Flags().DurationVar(&o.drain, "drain-timeout", drainTimeout, "how long running calls may take to end on SIGINT or SIGTERM")
	cmd.Flags().DurationVar(&o.idle, "idle-timeout", time.Hour, "with --http: end sessions that have been silent for so long")
	cmd.Flags().IntVar(&o.sessions, "max-sessions", 100, "with --http: how many sessions may be open at once")
	cmd.Flags().StringVar(&o.session, "session", "", "`name` of the session that programs are recorded and store values in (default: one that is new each time)")
	o.surface.register(cmd)
	a.boundFlag(cmd)
	a.agentFlag(cmd)
	return cmd
}

// mcp serves until the client leaves or ctx ends.
func (a *app) mcp(ctx context.Context, o mcpOptions) error {
	if o.idle <= 0 || o.sessions <= 0 || o.drain < 0 {
		return errors.New("--idle-timeout and --max-sessions must be positive, and --drain-timeout not negative")
	}
	if o.session != "" && o.http != "" {
		return errors.New("--session is for standard input and output: over HTTP, each client has a session of its own")
	}
	config, err := a.config()
	if err != nil {
		return err
	}
	asked, err := o.surface.open(config)
	if err != nil {
		return err
	}
	var web *mcpWeb
	if o.http != "" {
		if web, err = listenWeb(ctx, o, a.env(tokenVariable)); err != nil {
			return err
		}
		defer web.close()
	}
	l, err := a.linkWith(ctx, config)
	if err != nil {
		return err
	}
	defer l.close()
	// Without its bus the server answers nobody any more; whoever started it is to see that.
	ctx, end := context.WithCancel(ctx)
	defer end()
	go func() {
		select {
		case <-l.conn.Lost():
			end()
		case <-ctx.Done():
		}
	}()
	service := newMCPService(l.client(), a.agent, o.sessions, a.log())
	service.named, service.unbound = o.session, a.unbound
	service.mode, service.model = asked.Mode, asked.Model
	// The client needn't wait for slow servers before it can shake hands.
	starting, stop := context.WithCancel(ctx)
	started := make(chan struct{})
	go func() {
		defer close(started)
		l.awaitTools(starting)
		if starting.Err() == nil {
			a.warn(l.problems())
		}
		service.toolsReady()
	}()
	defer func() {
		stop()
		<-started
	}()
	if web == nil {
		err = a.mcpStdio(ctx, service, o)
	} else {
		a.mcpReady(web)
		err = web.serve(ctx, service, o)
	}
	service.close()
	select {
	case <-l.conn.Lost():
		a.report(cmp.Or(l.conn.Err(), bus.ErrDisconnected))
		return exit(exitFailed)
	default:
		return err
	}
}

// mcpStdio serves the one session of standard input and output.
func (a *app) mcpStdio(ctx context.Context, service *mcpService, o mcpOptions) error {
	session, err := service.open()
	if err != nil {
		return err
	}
	// The connection outlives the signal: running calls may answer while the service drains.
	out := &locked{w: a.out}
	transport := counted{&mcp.IOTransport{Reader: newLines(a.in, out), Writer: out}, service}
	conn, err := session.server.Connect(context.WithoutCancel(ctx), transport, nil)
	if err != nil {
		return fmt.Errorf("can't serve MCP: %w", err)
	}
	left := make(chan error, 1)
	go func() { left <- conn.Wait() }()
	select {
	case err = <-left:
		// End of input is how a client leaves; it may do so while it is being written to.
		if err == nil || errors.Is(err, io.EOF) || errors.Is(err, io.ErrClosedPipe) || errors.Is(err, syscall.EPIPE) {
			return nil
		}
		return fmt.Errorf("the connection to the MCP client broke: %w", err)
	case <-ctx.Done():
		service.drain(ctx, o.drain)
		return nil // the reader may never return; the process ends anyway
	}
}

// mcpReady says where clients connect.
func (a *app) mcpReady(web *mcpWeb) {
	if a.json {
		a.printJSON(map[string]any{"ready": true, "url": web.url})
		return
	}
	fmt.Fprintln(a.err, "codecell: MCP at "+web.url)
}
