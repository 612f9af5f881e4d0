package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"

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
)

// app is the program with what it has of the world, so that tests can run it in their process.
type app struct {
	in       io.Reader
	out, err io.Writer
	env      func(string) string
	// color: out is a terminal that shows colours. live: err is a terminal, for progress.
	color, live bool

	// Persistent flags.
	configPath string
	bus        string
	json       bool
	verbose    bool
	agent      string
	session    string
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
	a.report(err)
	return exitUsage
}

// report tells an error: as the one JSON object, or in words.
func (a *app) report(err error) {
	if !a.json {
		fmt.Fprintln(a.err, "codecell: "+message(err))
		return
	}
	var e *schemas.Error
	if !errors.As(err, &e) {
		e = &schemas.Error{Code: schemas.InvalidInput, Message: err.Error()}
	}
	a.printJSON(map[string]*schemas.Error{"error": e})
}

// message is an error's text without its code, which is for programs.
func message(err error) string {
	var e *schemas.Error
	if errors.As(err, &e) && e.Message != "" {
		return e.Message
	}
	return err.Error()
}

func (a *app) printJSON(v any) {
	e := json.NewEncoder(a.out)
	e.SetEscapeHTML(false)
	_ = e.Encode(v) // nobody is left to tell when standard output is gone
}

// command is the command tree.
func (a *app) command() *cobra.Command {
	root := &cobra.Command{
		Use:   "codecell",
		Short: "Run an agent's programs in sandboxed cells that call tools over NATS",
		Long: `codecell shows a model two tools, exec and wait. The model writes a small JavaScript program; the program runs
in a sandboxed cell, finds tools in a catalog, calls them in loops and in parallel, and returns what matters.`,
		SilenceUsage: true, SilenceErrors: true, Version: version,
		// Cobra would print help and succeed.
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	f := root.PersistentFlags()
	f.StringVar(&a.configPath, "config", "", "configuration file (default $CODECELL_CONFIG, else codecell.json5 in this folder, else none)")
	f.StringVar(&a.bus, "bus", "", "URL of a running bus, such as nats://127.0.0.1:4222 (default $CODECELL_BUS, else a host of this command's own)")
	f.BoolVar(&a.json, "json", false, "print exactly one JSON object (tail: one a line)")
	f.BoolVarP(&a.verbose, "verbose", "v", false, "log to standard error")
	root.AddCommand(
		a.execCommand(), a.waitCommand(), a.cancelCommand(), a.toolsCommand(), a.searchCommand(),
		a.tailCommand(), a.slotsCommand(), a.upCommand(), a.executorCommand(),
		a.mcpCommand(), a.configCommand(), a.benchCommand(),
	)
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

func terminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// colorful honours NO_COLOR, see https://no-color.org.
func colorful(f *os.File) bool {
	return terminal(f) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}
