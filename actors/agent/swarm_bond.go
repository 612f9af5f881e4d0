package agent

import (
	"context"
	"slices"
	"time"

	"github.com/codecell/codecell/bus"
	"github.com/codecell/codecell/schemas"
)

const (
	// askEvery is how often it is asked whether a run or a cell is still there; the feed says so much sooner, if it does.
	askEvery = 15 * time.Second
	// askAgain is when a "no" is asked again: a host that reconnects isn't heard for a moment.
	askAgain = 2 * time.Second
	// askTimeout bounds one question.
	askTimeout = 5 * time.Second
)

// bond ties children to a run, or to a cell of it: its context ends when that has ended.
type bond struct {
	family *family
	// cell is empty for the run itself.
	cell string
	ctx  context.Context
	end  context.CancelCauseFunc
	// children counts those that run.
	children int
}

// tie gives the bond of a family to a cell, or with "" to its run. Called under the lock.
func (s *Swarm) tie(f *family, cell string) *bond {
	if b := f.bonds[cell]; b != nil {
		return b
	}
	above := s.ctx
	if run := f.bonds[""]; run != nil {
		above = run.ctx
	}
	b := &bond{family: f, cell: cell}
	b.ctx, b.end = context.WithCancelCause(above)
	f.bonds[cell] = b
	s.work.Go(func() { s.watch(b) })
	return b
}

// loosen ends the bond to a cell that no child needs any more. That to the run stays: results are kept until it is closed.
// Called under the lock.
func (f *family) loosen(b *bond) {
	b.children--
	if b.cell != "" && b.children == 0 {
		delete(f.bonds, b.cell)
		b.end(nil)
	}
}

// watch returns when the bond has ended, for whatever reason.
func (s *Swarm) watch(b *bond) {
	cause := errRunClosed
	if b.cell != "" {
		cause = errCellEnded
	}
	defer func() {
		b.end(cause)
		if b.cell == "" {
			s.disband(b.family)
		}
	}()
	s.work.Go(func() {
		if s.hear(b) {
			b.end(cause)
		}
	})
	missed := 0
	for wait := time.Duration(0); ; {
		select {
		case <-time.After(wait):
		case <-b.ctx.Done():
			return
		}
		there, err := s.ask(b)
		switch {
		case err != nil: // nobody knows
			wait = askEvery
			continue
		case there:
			missed, wait = 0, askEvery
			continue
		}
		if missed++; missed == 2 {
			return
		}
		wait = askAgain
	}
}

// hear waits for the fact that ends the bond, and tells whether it has come.
func (s *Swarm) hear(b *bond) bool {
	var subjects []string
	for _, fact := range b.endings() {
		subject, err := bus.FactSubject(fact)
		if err != nil {
			s.log.Error("watching a run", "error", err)
			return false
		}
		subjects = append(subjects, subject)
	}
	events, err := s.client.Watch(b.ctx, subjects...)
	if err != nil {
		s.log.Debug("a run is only asked about", "error", err)
		return false
	}
	for e := range events {
		if e.Err == nil {
			return true
		}
	}
	return false
}

// endings are the facts that end the bond: no others are told on their subjects.
func (b *bond) endings() []any {
	if b.cell != "" {
		return []any{&schemas.CellEnded{Address: schemas.Address{Host: b.family.key.host, Run: b.family.key.run, Cell: b.cell}}}
	}
	return []any{
		&schemas.RunClosed{Host: b.family.key.host, Run: b.family.key.run},
		&schemas.HostStopped{Host: b.family.key.host},
	}
}

// ask asks the host whether what the bond is to is still there.
func (s *Swarm) ask(b *bond) (bool, error) {
	ctx, cancel := context.WithTimeout(b.ctx, askTimeout)
	defer cancel()
	if b.cell == "" {
		return s.client.HasRun(ctx, b.family.key.host, b.family.key.run)
	}
	status, err := s.client.Status(ctx, b.family.key.host)
	if err != nil {
		return false, err // that the host is gone is the run's bond's to see
	}
	return slices.ContainsFunc(status.Cells, func(c schemas.CellStatus) bool { return c.Address.Cell == b.cell }), nil
}
