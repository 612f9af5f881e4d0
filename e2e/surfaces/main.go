// Surfaces measures what a model is sent and what it has to do for the same tasks on each surface: every tool shown, Tool
// Search in its three modes, and Code Mode. The host, the bus, the engine, the executors and the turns are real; the model
// is a process that knows what it wants when it sees it (e2e/provider). Tools answer a canned list.
//
//	go run ./e2e/surfaces -provider bin/provider -data FOLDER
//
// FOLDER has public catalogs with queries, as NAME.tools.jsonl and NAME.queries.jsonl. Without it, the catalog is that of
// the MCP servers among the packages of e2e.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/codecell/codecell/e2e/provider/brain"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "surfaces:", err)
		os.Exit(1)
	}
}

// run measures, and prints a JSON line for each row, then the table.
func run(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("surfaces", flag.ContinueOnError)
	binary := flags.String("provider", filepath.Join("bin", "provider"), "the built provider")
	data := flags.String("data", "", "folder with public catalogs")
	set := flags.String("set", "livemcpbench", "name of the catalog")
	queries := flags.String("queries", "livemcpbench_steps", "name of the queries")
	tools := flags.Int("tools", 500, "how many tools the catalog has")
	tasks := flags.Int("tasks", 40, "how many queries are tried at most")
	modules := flags.String("modules", filepath.Join("e2e", "node_modules"), "folder with the MCP servers for a run without -data")
	if err := flags.Parse(args); err != nil {
		return err
	}
	var rows []row
	for _, times := range []int{1, 10} {
		for _, mcp := range []bool{false, true} {
			c, err := collect(ctx, *data, *set, *queries, *modules)
			if err != nil {
				return err
			}
			c.sample(*tools, *tasks)
			measured, err := measure(ctx, c, *binary, mcp, times, out)
			if err != nil {
				return err
			}
			rows = append(rows, measured...)
		}
	}
	table(out, rows)
	return nil
}

func collect(ctx context.Context, data, set, queries, modules string) (*collection, error) {
	if data == "" {
		return listNPM(ctx, modules)
	}
	return load(data, set, queries)
}

// measure tries all tasks on all surfaces. Programs that call what they find first are tried with one call only.
func measure(ctx context.Context, c *collection, binary string, mcp bool, times int, out io.Writer) (rows []row, err error) {
	source := "MCP servers"
	if !mcp {
		source = "plugins"
		c.rename()
	}
	l, err := equip(ctx, c, binary, mcp, times)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, l.close()) }()
	for _, s := range surfaces {
		if times > 1 && s.model == brain.Bold {
			continue
		}
		r := row{Catalog: c.name, Source: source, Surface: s.name, Tools: len(c.entries), Times: times}
		for n := range l.cases {
			t, err := l.turn(ctx, s, n)
			if err != nil {
				return nil, fmt.Errorf("%s, %q: %w", s.name, l.cases[n].Prompt, err)
			}
			r.add(t)
		}
		if err := r.print(out); err != nil {
			return nil, err
		}
		rows = append(rows, r)
	}
	return slices.Clip(rows), nil
}
