package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/codecell/codecell/schemas"
)

// Exit codes.
const (
	exitCompleted = 0
	exitFailed    = 1
	// exitUsage: the command line, the configuration or the way to the bus is wrong.
	exitUsage   = 2
	exitWaiting = 3
	// exitInterrupted: Ctrl-C or a signal has ended the turn of an agent.
	exitInterrupted = 130
)

// app is the program with what it has of the world, so that tests can run it in their process.
type app struct {
	in       io.Reader
	out, err io.Writer
	env      func(string) string
	// color and errColor: out and err are terminals that show colours. live: err is a terminal, for progress.
	color, errColor, live bool
	// asks: in is a terminal, at which somebody can be asked. shows: out is one.
	asks, shows bool

	// Persistent flags.
	configPath string
	bus        string
	json       bool
	verbose    bool
	agent      string
	session    string
	unbound    bool
	storeDir   string
}

// exit is an error that has been reported already, or needs no words, and its exit code.
type exit int

func (e exit) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// run runs one command line and gives its exit code.
func (a *app) run(ctx context.Context, args []string) int {
	root := a.command()
	root.SetArgs(args)
	root.SetIn(a.in)
	root.SetOut(a.out)
	root.SetErr(a.err)
	err := root.ExecuteContext(ctx)
	var code exit
	switch {
	case err == nil:
		return exitCompleted
	case errors.As(err, &code):
		return int(code)
	}
	// A command line that can't be parsed may have failed before --json was seen.
	a.json = a.json || slices.Contains(args, "--json")
	a.report(err)
	return exitUsage
}

// report tells an error: as the one JSON object, or in words, each problem on a line.
func (a *app) report(err error) {
	if a.json {
		a.printJSON(map[string]*schemas.Error{"error": asError(err)})
		return
	}
	if config, ok := errors.AsType[*configError](err); ok {
		for i := range config.problems {
			fmt.Fprintln(a.err, "codecell: "+printable(config.problems[i].Message))
		}
		return
	}
	fmt.Fprintln(a.err, "codecell: "+printable(message(err)))
}

// asError gives an error the shape that programs read.
func asError(err error) *schemas.Error {
	var e *schemas.Error
	switch {
	case errors.As(err, &e):
		return e
	case errors.Is(err, context.Canceled):
		return &schemas.Error{Code: schemas.Aborted, Message: message(err)}
	}
	return &schemas.Error{Code: schemas.InvalidInput, Message: err.Error()}
}

// message is an error's text without its code, which is for programs.
func message(err error) string {
	var e *schemas.Error
	switch {
	case errors.As(err, &e) && e.Message != "":
		return e.Message
	case errors.Is(err, context.Canceled):
		return "interrupted"
	}
	return err.Error()
}

func (a *app) printJSON(v any) {
	e := json.NewEncoder(a.out)
	e.SetEscapeHTML(false)
	_ = e.Encode(v) // nobody is left to tell when standard output is gone
}

// Groups of commands, as help shows them.
const (
	groupRun   = "run"
	groupLook  = "look"
	groupServe = "serve"
)

// command is the command tree.
func (a *app) command() *cobra.Command {
	root := &cobra.Command{
		Use:   "codecell",
		Short: "Run an agent's programs in sandboxed cells that call tools over NATS",
		Long: `codecell shows a model two tools, exec and wait. The model writes a small JavaScript program; the program runs
in a sandboxed cell, finds tools in a catalog, calls them in loops and in parallel, and returns what matters.

Tools come from a configuration file: MCP servers in the block that every MCP client uses (mcpServers), and tools for
the files of a folder (workspace.root). Without a configuration there are none.

A command that needs a host and isn't told of a running one (--bus, CODECELL_BUS, or bus.urls in the configuration)
brings its own, which ends with it.`,
		SilenceUsage: true, SilenceErrors: true, Version: version,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return fmt.Errorf("%w; see `%s --help`", err, cmd.CommandPath())
	})
	f := root.PersistentFlags()
	f.StringVar(&a.configPath, "config", "", "configuration `file` (default $CODECELL_CONFIG, else codecell.json5 in this folder, else none)")
	f.StringVar(&a.bus, "bus", "", "`URL` of a running bus, such as nats://127.0.0.1:4222 (default $CODECELL_BUS, else bus.urls of the configuration)")
	f.BoolVar(&a.json, "json", false, "print exactly one JSON object (tail and session export: one a line)")
	f.BoolVarP(&a.verbose, "verbose", "v", false, "log to standard error")
	for _, group := range []struct {
		id, title string
		commands  []*cobra.Command
	}{
		{groupRun, "Run programs:", []*cobra.Command{a.agentCommand(), a.execCommand(), a.waitCommand(), a.cancelCommand(), a.approvalsCommand(), a.nodesCommand()}},
		{groupLook, "Look:", []*cobra.Command{a.toolsCommand(), a.searchCommand(), a.tailCommand(), a.slotsCommand(), a.sessionCommand(), a.configCommand()}},
		{groupServe, "Serve:", []*cobra.Command{a.mcpCommand(), a.upCommand(), a.executorCommand(), a.nodeCommand()}},
		{"", "", []*cobra.Command{a.benchCommand(), a.versionCommand()}},
	} {
		if group.id != "" {
			root.AddGroup(&cobra.Group{ID: group.id, Title: group.title})
		}
		for _, c := range group.commands {
			c.GroupID = group.id
			root.AddCommand(c)
		}
	}
	return root
}

// log is where our own faults go: nowhere much, unless asked for.
func (a *app) log() *slog.Logger {
	level := slog.LevelError
	if a.verbose {
		level = slog.LevelInfo
	}
	return slog.New(slog.NewTextHandler(a.err, &slog.HandlerOptions{Level: level}))
}

// terminal tells whether somebody may sit at a file: it's a device of characters, and not the one that has none.
func terminal(f *os.File) bool {
	info, err := f.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return false
	}
	null, err := os.Stat(os.DevNull)
	return err != nil || !os.SameFile(info, null)
}

// colorful honours NO_COLOR, see https://no-color.org.
func colorful(f *os.File) bool {
	return terminal(f) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}
