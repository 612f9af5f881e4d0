package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/codecell/codecell/actors/host"
	"github.com/codecell/codecell/actors/run"
	"github.com/codecell/codecell/actors/tool"
	"github.com/codecell/codecell/bus"
	"github.com/codecell/codecell/schemas"
)

func (a *app) executorCommand() *cobra.Command {
	var only []string
	drain := drainTimeout
	cmd := &cobra.Command{
		Use:   "executor",
		Short: "Run tools in a process of their own, on a shared bus",
		Long: `Offers the configured tools (the core tools of the workspace, the MCP servers and the services) on a bus. Start as many as you
like, anywhere: executors of the same tools share the calls. SIGINT or SIGTERM lets running calls end.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			config, err := a.config()
			if err != nil {
				return err
			}
			if err := restrict(config, only); err != nil {
				return err
			}
			l, err := a.dialAtBoot(ctx, config)
			if err != nil {
				return err
			}
			if l == nil {
				return errNoBus
			}
			defer l.close()
			redactor, err := run.NewRedactor(config)
			if err != nil {
				return err
			}
			log := redactor.Logger(a.log())
			providers, err := host.Providers(config, log)
			if err != nil {
				return err
			}
			providers = append(providers, host.Services(l.conn, config, log)...)
			if len(providers) == 0 {
				return errors.New("there are no tools to run: configure mcpServers, services, nodes.enabled or workspace.root")
			}
			executor, err := tool.Start(ctx, l.conn, tool.Options{
				Providers: providers, Pipeline: host.Pipeline(config), Hooks: tool.BusHooks(l.conn, config.Hooks), Logger: log,
			})
			if err != nil {
				for _, p := range providers {
					_ = p.Close(ctx)
				}
				return err
			}
			ready, cancel := context.WithTimeout(ctx, readyTimeout)
			_ = executor.Ready(ready) // a slow server is a problem, not the end
			cancel()
			if ctx.Err() == nil {
				a.executorReady(executor)
			}
			select {
			case <-ctx.Done():
			case <-l.conn.Lost():
				// Nobody can reach the tools any more; whoever watches this process is to start it again.
				a.report(cmp.Or(l.conn.Err(), bus.ErrDisconnected))
				return exit(exitFailed)
			}
			late, cancel := context.WithTimeout(context.WithoutCancel(ctx), drain)
			defer cancel()
			if err := executor.Close(late); err != nil {
				a.log().Warn("the end was not orderly", "error", err)
			}
			return nil
		},
	}
	cmd.Flags().StringSliceVar(&only, "only", nil, "offer these only: `names` of mcpServers and services, core, nodes, or agents")
	cmd.Flags().DurationVar(&drain, "drain-timeout", drainTimeout, "how long running calls may take to end")
	return cmd
}

// restrict leaves the named parts of a configuration.
func restrict(config *schemas.Config, only []string) error {
	if len(only) == 0 {
		return nil
	}
	for _, name := range only {
		if _, ok := config.MCPServers[name]; !ok && name != "core" && name != tool.NodesOwner && name != schemas.SwarmOwner && !slices.Contains(config.Services, name) {
			return fmt.Errorf("--only %s: there is no such server in mcpServers and no such service (core stands for the core tools, nodes for the nodes tool, agents for those that start agents)", name)
		}
	}
	for name := range config.MCPServers {
		if !slices.Contains(only, name) {
			delete(config.MCPServers, name)
		}
	}
	config.Services = slices.DeleteFunc(config.Services, func(name string) bool { return !slices.Contains(only, name) })
	if !slices.Contains(only, "core") {
		config.Workspace.Root = ""
	}
	config.Nodes.Enabled = config.Nodes.Enabled && slices.Contains(only, tool.NodesOwner)
	if !slices.Contains(only, schemas.SwarmOwner) {
		config.Tools.Swarm = nil
	}
	return nil
}

func (a *app) executorReady(e *tool.Executor) {
	a.warn(e.Problems())
	tools := 0
	var owners []string
	for _, o := range e.Offers() {
		tools += len(o.Tools)
		owners = append(owners, o.Owner)
	}
	if a.json {
		a.printJSON(map[string]any{"ready": true, "executor": e.ID(), "tools": tools, "owners": owners})
		return
	}
	fmt.Fprintf(a.out, "ready: executor %s, %d tools of %s\n", e.ID(), tools, strings.Join(owners, ", "))
}
