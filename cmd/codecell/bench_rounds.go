package main

import (
	"context"
	"fmt"
	"time"
)

const (
	// unitTrips is the number of round trips in one block of the unit.
	unitTrips = 100
	// blockTime is about how long one block of other work takes, and blockMost how many operations it has at most.
	blockTime = 10 * time.Millisecond
	blockMost = 100
	// leastRounds are made however long they take.
	leastRounds = 5
	// warmUps are made before anything is timed.
	warmUps = 20
)

// probe is one operation that is timed in rounds.
type probe struct {
	name string
	// once does it, and fails if it didn't do what it should.
	once func(context.Context) error
	// without, if set, does all of it but what the figure is about, of which there are parts in once.
	without func(context.Context) error
	parts   int

	block int // operations in one block
}

// rounds times what is timed in rounds. In every round each probe has a block of its own between two blocks of the
// unit: what else the machine does falls on both.
func (b *bench) rounds(ctx context.Context, wanted []measurement) (map[string]sample, error) {
	out := make(map[string]sample)
	var probes []*probe
	for _, m := range wanted {
		if m.run != nil {
			continue
		}
		out[m.name] = sample{}
		if m.name == "unit" {
			continue
		}
		l, err := b.benchLab(ctx, kindOf(m.name))
		if err != nil {
			return nil, err
		}
		probes = append(probes, l.probe(m.name))
	}
	if len(out) == 0 {
		return out, nil
	}
	unit, err := newUnit(ctx, b.app.log())
	if err != nil {
		return nil, err
	}
	defer unit.close()
	if err := prepare(ctx, unit, probes); err != nil {
		return nil, err
	}
	deadline := time.Now().Add(b.each * time.Duration(len(out)))
	for round := 0; round < leastRounds || time.Now().Before(deadline); round++ {
		before, err := unit.block(ctx)
		if err != nil {
			return nil, err
		}
		note(out, "unit", before, 0)
		for _, p := range probes {
			took, err := p.measure(ctx)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", p.name, err)
			}
			after, err := unit.block(ctx)
			if err != nil {
				return nil, err
			}
			note(out, "unit", after, 0)
			note(out, p.name, took, (before+after)/2)
			before = after
		}
	}
	return out, nil
}

// note adds a round. Without a unit the value is in µs.
func note(out map[string]sample, name string, took, unit time.Duration) {
	s, wanted := out[name]
	if !wanted {
		return
	}
	if unit == 0 {
		s.values = append(s.values, took.Seconds()*1e6)
	} else {
		s.values = append(s.values, took.Seconds()/unit.Seconds())
		s.times = append(s.times, took)
	}
	out[name] = s
}

// prepare warms everything up and sizes the blocks.
func prepare(ctx context.Context, unit *unit, probes []*probe) error {
	if _, err := unit.block(ctx); err != nil {
		return err
	}
	for _, p := range probes {
		start := time.Now()
		for range warmUps {
			start = time.Now()
			if err := p.once(ctx); err != nil {
				return fmt.Errorf("%s: %w", p.name, err)
			}
		}
		p.block = int(min(max(blockTime/time.Since(start), 1), blockMost))
	}
	return nil
}

// measure times one block and gives the time of one operation, or of one of its parts.
func (p *probe) measure(ctx context.Context) (time.Duration, error) {
	var with, without time.Duration
	for range p.block {
		start := time.Now()
		if err := p.once(ctx); err != nil {
			return 0, err
		}
		with += time.Since(start)
		if p.without == nil {
			continue
		}
		start = time.Now()
		if err := p.without(ctx); err != nil {
			return 0, err
		}
		without += time.Since(start)
	}
	return (with - without) / time.Duration(p.block*max(p.parts, 1)), nil
}
