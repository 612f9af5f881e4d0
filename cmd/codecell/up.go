package main

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/oklog/run"
	"github.com/spf13/cobra"

	"github.com/codecell/codecell/actors/host"
	"github.com/codecell/codecell/schemas"
)

// drainTimeout is how long running programs may take to end when a process is told to.
const drainTimeout = 10 * time.Second

func (a *app) upCommand() *cobra.Command {
	var listen, storeDir string
	var drain time.Duration
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Run a host with an embedded bus",
		Long: `Runs a host: an embedded bus (or the one that --bus or bus.urls name), cells, and the configured tools.
Prints one line when it is ready, with the URL that other commands take as --bus. SIGINT or SIGTERM drains it: no new
programs are taken, running ones may end within --drain-timeout. A second signal ends it at once.

CODECELL_BUS says where other commands find a host; up itself doesn't look at it.`,
		Example: "  codecell up --listen 127.0.0.1:4222",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			config, err := a.config()
			if err != nil {
				return err
			}
			if listen != "" {
				config.Bus.Listen = listen
			}
			if storeDir != "" {
				config.Bus.StoreDir = storeDir
			}
			if a.bus != "" {
				config.Bus.URLs = []string{a.bus}
			}
			if (listen != "" || storeDir != "") && !config.Bus.Embedded() {
				return fmt.Errorf("--listen and --store-dir are for an embedded bus, but this host is to use the one at %s: leave them out", strings.Join(config.Bus.URLs, ", "))
			}
			node, err := host.Up(cmd.Context(), host.NodeOptions{Config: config, Version: version, Logger: a.log()})
			if err != nil {
				return err
			}
			return a.keep(cmd.Context(), node, strings.Join(config.Bus.URLs, ", "), drain)
		},
	}
	cmd.Flags().StringVar(&listen, "listen", "", "`host:port` at which the embedded bus takes clients; port 0 takes a free one (default: no port)")
	cmd.Flags().StringVar(&storeDir, "store-dir", "", "`folder` for what the bus must keep (default: in memory)")
	cmd.Flags().DurationVar(&drain, "drain-timeout", drainTimeout, "how long running programs may take to end")
	return cmd
}

// keep keeps a node until a signal or a fault ends it. others are the URLs of a bus that isn't its own.
func (a *app) keep(ctx context.Context, node *host.Node, others string, drain time.Duration) error {
	var group run.Group
	// What the signal asks for.
	stopping, stop := context.WithCancel(ctx)
	group.Add(func() error {
		<-stopping.Done()
		return nil
	}, func(error) { stop() })
	// A host that lost its ledger can't go on.
	gone := make(chan struct{})
	group.Add(func() error {
		select {
		case err := <-node.Host().Failed():
			return err
		case <-gone:
			return nil
		}
	}, func(error) { close(gone) })
	// Readiness.
	group.Add(func() error {
		ready, cancel := context.WithTimeout(stopping, readyTimeout)
		defer cancel()
		_ = node.Ready(ready) // a slow server is a problem, not the end
		if stopping.Err() == nil {
			a.ready(node, others)
		}
		<-stopping.Done()
		return nil
	}, func(error) { stop() })
	err := group.Run()

	late, cancel := context.WithTimeout(context.WithoutCancel(ctx), drain)
	defer cancel()
	if closeErr := node.Close(late); err == nil && closeErr != nil {
		a.log().Warn("the end was not orderly", "error", closeErr)
	}
	if err != nil {
		a.report(err)
		return exit(exitFailed)
	}
	return nil
}

// ready prints the one line that says that programs can be run.
func (a *app) ready(node *host.Node, others string) {
	a.warn(node.Problems())
	at := cmp.Or(node.URL(), schemas.VeilURLs(others))
	if a.json {
		a.printJSON(map[string]any{"ready": true, "host": node.Host().ID(), "bus": at, "problems": append([]string{}, node.Problems()...)})
		return
	}
	where := "no port; give --listen to let others in"
	if at != "" {
		where = "bus at " + at
	}
	fmt.Fprintf(a.out, "ready: host %s, %s\n", node.Host().ID(), where)
}
