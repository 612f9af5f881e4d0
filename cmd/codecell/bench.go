package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// benchSeconds is how long each figure that is timed in rounds may take, unless --seconds says otherwise.
const benchSeconds = 2.0

// measurement is one row of the benchmark. Rows without a run are timed together, in rounds.
type measurement struct {
	name, what string
	// unit of the value, and aim: what it should be at most. 0: no aim.
	unit string
	aim  float64
	// run measures what isn't timed in rounds.
	run func(*bench, context.Context) (sample, error)
}

// roundTrips is the unit of everything that is timed in rounds but the unit itself.
const roundTrips = "round trips"

// measurements are all rows, in the order in which they are shown.
var measurements = []measurement{
	{name: "unit", what: "round trip to a queue group over bare in-process NATS", unit: "µs"},
	{name: "cell", what: "exec of `return 1+2` over the bus", unit: roundTrips, aim: 15},
	{name: "sequential", what: "one of 50 tool calls after each other", unit: roundTrips, aim: 4},
	{name: "parallel", what: "one of 16 tool calls at once", unit: roundTrips, aim: 2.5},
	{name: "hooked", what: "one of 50 tool calls after each other, with one hook on the bus", unit: roundTrips},
	{name: "bound", what: "the same without a hook, with a session bound", unit: roundTrips},
	{name: "yield", what: "exec of a program that yields, and its wait", unit: roundTrips, aim: 30},
	{name: "throughput", what: "`return 1+2` by 32 callers", unit: "cells/s", run: (*bench).throughput},
	{name: "parked", what: "memory of one of 64 parked cells", unit: "KiB", aim: 128, run: (*bench).parked},
	{name: "start", what: "process start to first result, compiled engine cached", unit: "s", aim: 0.5, run: (*bench).warmStart},
	{name: "cold", what: "the same without the cache", unit: "s", run: (*bench).coldStart},
	{name: "idle", what: "resident memory of an idle `codecell up`", unit: "MiB", aim: 80, run: (*bench).idle},
}

func (a *app) benchCommand() *cobra.Command {
	var only []string
	var seconds float64
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Measure this build on this machine",
		Long: `Measures cells, tool calls and processes, and prints a JSON line for each figure, then a table (--json: the lines only).
The unit is the round trip over bare in-process NATS, measured again around every other block of work, so that what
else the machine does falls on both. Each figure is a median, with the quartiles of its rounds.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if seconds <= 0 || seconds > 600 {
				return fmt.Errorf("--seconds %v: give more than 0 and at most 600", seconds)
			}
			wanted, err := chosen(only)
			if err != nil {
				return err
			}
			return a.bench(cmd.Context(), wanted, time.Duration(seconds*float64(time.Second)))
		},
	}
	cmd.Flags().StringSliceVar(&only, "only", nil, "measure these only: "+strings.Join(measurementNames(), ", "))
	cmd.Flags().Float64Var(&seconds, "seconds", benchSeconds, "time for each figure that is measured in rounds")
	return cmd
}

func measurementNames() []string {
	names := make([]string, len(measurements))
	for i, m := range measurements {
		names[i] = m.name
	}
	return names
}

// chosen gives the named rows, in their own order; all of them for no names.
func chosen(names []string) ([]measurement, error) {
	if len(names) == 0 {
		return measurements, nil
	}
	for _, name := range names {
		if !slices.Contains(measurementNames(), name) {
			return nil, fmt.Errorf("--only %s: there is no such figure; there are %s", name, strings.Join(measurementNames(), ", "))
		}
	}
	var wanted []measurement
	for _, m := range measurements {
		if slices.Contains(names, m.name) {
			wanted = append(wanted, m)
		}
	}
	return wanted, nil
}

// bench measures and prints. A figure that can't be had on this machine is a row that says why.
func (a *app) bench(ctx context.Context, wanted []measurement, each time.Duration) error {
	b := &bench{app: a, each: each, labs: make(map[labKind]*lab)}
	defer b.close()
	timed, err := b.rounds(ctx, wanted)
	if err != nil {
		return err
	}
	var figures []figure
	for _, m := range wanted {
		s, ok := timed[m.name]
		if !ok {
			if s, err = m.run(b, ctx); errors.Is(err, errNotHere) {
				s, err = sample{note: err.Error()}, nil
			}
		}
		if err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
		f := newFigure(m, s)
		figures = append(figures, f)
		a.printJSON(f)
	}
	if !a.json {
		a.printFigures(figures)
	}
	return nil
}

// bench is one run of the benchmark. What several measurements need is made by the first of them.
type bench struct {
	app  *app
	each time.Duration
	labs map[labKind]*lab
}

// errNotHere: a figure can't be had on this system.
var errNotHere = errors.New("not measured")

// benchLab gives the node that cells are run on.
func (b *bench) benchLab(ctx context.Context, kind labKind) (*lab, error) {
	if l := b.labs[kind]; l != nil {
		return l, nil
	}
	l, err := newLab(ctx, kind, b.app.log())
	if err != nil {
		return nil, err
	}
	b.labs[kind] = l
	return l, nil
}

func (b *bench) close() {
	for _, l := range b.labs {
		l.close()
	}
}
