package host

import (
	"context"
	"slices"
	"sync"

	"github.com/codecell/codecell/actors/run"
	"github.com/codecell/codecell/actors/tool"
	"github.com/codecell/codecell/bus"
	"github.com/codecell/codecell/schemas"
)

type bringRequest = bus.Request[schemas.Bring, schemas.Brought]

// callsInACell is the most calls that one cell can have in flight (F2).
const callsInACell = 128

// broughtCatalog is the last admission of a run for which tools were brought: made of the admission that it would have
// without them, and of one version of them.
type broughtCatalog struct {
	mu      sync.Mutex
	base    *run.Admission
	version uint64
	value   *run.Admission
}

// startClients makes the executor of the tools that callers bring. It has a place for each call that the cells of this
// host can have in flight: a caller that doesn't answer takes no other's.
func (h *Host) startClients() (err error) {
	o := h.options
	h.clients, err = tool.NewClients(h.conn, h.id, tool.Options{
		Pipeline: Pipeline(o.Config), Hooks: slices.Concat(o.Hooks, tool.BusHooks(h.conn, o.Config.Hooks)),
		Concurrency: o.Config.SlotLimit() * callsInACell, Feed: h.feed, Logger: h.log,
	}, h.directory.touch)
	return err
}

func (h *Host) onBring(r *bringRequest) {
	go func() { h.answer(r.Respond(h.bring(address(r.Subject), &r.Body))) }()
}

// bring makes a caller's tools part of the catalogs of a run's cells from now on (S8).
func (h *Host) bring(token string, ask *schemas.Bring) *schemas.Brought {
	gone := &schemas.Brought{Err: schemas.Refuse("", noRunMessage)}
	o, ok := h.openings.get(token)
	switch {
	case h.draining.Load():
		return &schemas.Brought{Err: &schemas.Error{Code: schemas.RuntimeUnavailable, Message: drainingMessage}}
	case !ok:
		return gone
	case ask.Identity != o.identity:
		return &schemas.Brought{Err: schemas.Refuse("identity", "only the run's own caller can bring tools for it: give the identity that it was opened with")}
	}
	problems, err := h.clients.Bring(token, ask)
	if err != nil {
		return &schemas.Brought{Err: err}
	}
	if _, open := h.runs.get(token); !open { // it ended meanwhile, and may have been forgotten before
		h.clients.Forget(token)
		return gone
	}
	admission, failed := h.admit(token, o)
	if failed != nil {
		return &schemas.Brought{Err: &schemas.Error{Code: schemas.RuntimeUnavailable, Message: failed.Error()}}
	}
	base, failed := h.directory.admit(o)
	if failed != nil {
		return &schemas.Brought{Err: &schemas.Error{Code: schemas.RuntimeUnavailable, Message: failed.Error()}}
	}
	for _, p := range admission.Problems {
		if !slices.Contains(base.Problems, p) {
			problems = append(problems, p)
		}
	}
	return &schemas.Brought{Surface: admission.Surface, Problems: problems}
}

// admit gives what a new cell of a run may see: what its identity may, and what was brought for this run alone (A6).
func (h *Host) admit(token string, o *opening) (*run.Admission, error) {
	base, err := h.directory.admit(o)
	if err != nil {
		return nil, err
	}
	admission := base
	if tools, version := h.clients.Tools(token); len(tools) > 0 {
		if admission, err = h.admitBrought(token, o, base, tools, version); err != nil {
			return nil, err
		}
	}
	o.fix(admission)
	return admission, nil
}

// admitBrought is admit for a run for which tools were brought.
func (h *Host) admitBrought(token string, o *opening, base *run.Admission, tools []schemas.Tool, version uint64) (*run.Admission, error) {
	c, ok := h.brought.get(token)
	if !ok {
		c = &broughtCatalog{}
		h.brought.set(token, c) // two at once make it twice
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.base == base && c.version == version {
		return c.value, nil
	}
	value, err := h.directory.admitWith(o, tools)
	if err != nil {
		return nil, err
	}
	c.base, c.version, c.value = base, version, value
	return value, nil
}

// forgetBrought forgets what was brought for a run that has ended.
func (h *Host) forgetBrought(token string) {
	h.clients.Forget(token)
	h.brought.remove(token)
}

// closeClients ends what was brought, before the feed.
func (h *Host) closeClients(ctx context.Context) {
	if h.clients != nil {
		h.clients.Close(ctx)
	}
}
