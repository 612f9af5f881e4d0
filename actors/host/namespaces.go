package host

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/codecell/codecell/actors/catalog"
	"github.com/codecell/codecell/actors/run"
	"github.com/codecell/codecell/actors/tool"
	"github.com/codecell/codecell/bus"
	"github.com/codecell/codecell/schemas"
)

const (
	// askAgain is how long a run goes without a namespace whose owner gave no scope for it.
	askAgain = 10 * time.Second
	// scopedKept is how many runs' scopes are kept at most. Those of runs that end are forgotten with them.
	scopedKept = 4096
)

// scopeAsker asks the owner of a namespace what it holds for a run.
type scopeAsker func(ctx context.Context, n *catalog.Namespace, id schemas.Identity) (schemas.JSON, error)

// scoped is the admission of one run where namespaces are visible: what they hold is the run's own (K1).
type scoped struct {
	once sync.Once
	// class is the admission that it was made of.
	class      *admission
	namespaces []catalog.Namespace
	problems   []string
	value      *run.Admission
	err        error
	// stale, unless zero, is when owners that gave no scope are asked again.
	stale time.Time
}

// namespacesOf gathers what owners of native tools put before programs.
func namespacesOf(offers []schemas.Registration) (all []catalog.Namespace, problems []string) {
	for i := range offers {
		reg := &offers[i]
		switch {
		case len(reg.Namespaces) == 0:
			continue
		case reg.Source != schemas.SourceNative:
			problems = append(problems, reg.Owner+": only plugins, the owners of native tools, can have namespaces")
			continue
		case len(reg.Namespaces) > schemas.MaxNamespaces:
			problems = append(problems, fmt.Sprintf("%s: it has %d namespaces; an owner may have %d", reg.Owner, len(reg.Namespaces), schemas.MaxNamespaces))
			continue
		}
		for _, n := range reg.Namespaces {
			all = append(all, catalog.Namespace{Namespace: n, Owner: reg.Owner})
		}
	}
	return all, problems
}

// see finds out which namespaces the runs of a class may have. Only programs of Code Mode have any.
func (a *admission) see() {
	if a.value.Surface.Mode != schemas.ModeCode {
		return
	}
	candidates, problems := namespacesOf(a.offers)
	visible, faults := a.value.Catalog.Visible(candidates)
	for _, f := range faults {
		problems = append(problems, f.String())
	}
	a.visible, a.problems = visible, problems
	a.value.Problems = append(a.value.Problems, problems...)
}

// scopedOf gives the admission of a run for which namespaces are visible, and nil if the class is no longer the current one.
func (d *directory) scopedOf(id schemas.Identity, key admissionKey, class *admission) *scoped {
	d.mu.Lock()
	if d.admissions[key] != class {
		d.mu.Unlock()
		return nil
	}
	s := d.scoped[id]
	if s == nil || s.class != class || !s.stale.IsZero() && time.Now().After(s.stale) {
		if len(d.scoped) >= scopedKept {
			clear(d.scoped)
		}
		s = &scoped{class: class}
		d.scoped[id] = s
	}
	d.mu.Unlock()
	s.once.Do(func() {
		namespaces, problems := d.ask(id, class.visible)
		s.namespaces, s.problems = namespaces, slices.Concat(class.problems, problems)
		s.value, s.err = d.makeScoped(id, &key.presentation, class.offers, nil, s)
		if s.err != nil || len(problems) > 0 {
			d.mu.Lock()
			s.stale = time.Now().Add(askAgain)
			d.mu.Unlock()
		}
	})
	return s
}

// makeScoped makes an admission with the run's namespaces.
func (d *directory) makeScoped(
	id schemas.Identity, as *presentation, offers []schemas.Registration, brought []schemas.Tool, s *scoped,
) (*run.Admission, error) {
	value, err := d.make(id, as, offers, brought, s.namespaces)
	if err == nil {
		value.Problems = append(value.Problems, s.problems...)
	}
	return value, err
}

// ask gets the scopes for a run, all at once. A namespace without one is left out, and a problem says why.
func (d *directory) ask(id schemas.Identity, visible []catalog.Namespace) (namespaces []catalog.Namespace, problems []string) {
	ctx, cancel := context.WithTimeout(context.Background(), tool.ScopeTimeout)
	defer cancel()
	namespaces = slices.Clone(visible)
	errs := make([]error, len(namespaces))
	var asking sync.WaitGroup
	for i := range namespaces {
		asking.Go(func() {
			n := &namespaces[i]
			if n.Scope, errs[i] = d.askScope(ctx, n, id); errs[i] != nil {
				return
			}
			if refused := catalog.CheckScope(&n.Namespace, n.Scope); refused != nil {
				errs[i] = refused
			}
		})
	}
	asking.Wait()
	for i, err := range errs {
		if err != nil {
			problems = append(problems, fmt.Sprintf("namespace %.100q of plugin %.100q isn't available: %s", namespaces[i].ID, namespaces[i].Owner, messageOf(err)))
			namespaces[i].Scope = nil
		}
	}
	return slices.DeleteFunc(namespaces, func(n catalog.Namespace) bool { return n.Scope == nil }), problems
}

// forget drops what was made for a run that has ended.
func (d *directory) forget(id schemas.Identity) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.scoped, id)
}

// maxScopeProblem bounds what an owner's words add to a problem, in bytes.
const maxScopeProblem = 500

func messageOf(err error) string {
	return strings.ToValidUTF8(fmt.Sprintf("%.*s", maxScopeProblem, err.Error()), "\uFFFD")
}

// askScope asks whoever serves the namespace.
func (h *Host) askScope(ctx context.Context, n *catalog.Namespace, id schemas.Identity) (schemas.JSON, error) {
	scope, err := bus.Ask[schemas.Scope](ctx, h.conn, bus.ScopeSubject(n.Owner, n.ID), &schemas.ScopeAsk{Namespace: n.ID, Identity: id})
	switch {
	case ctx.Err() != nil:
		return nil, fmt.Errorf("its owner did not say within %v what it holds", tool.ScopeTimeout)
	case err != nil:
		return nil, err
	case scope.Err != nil:
		return nil, scope.Err
	case len(scope.JSON) == 0:
		return nil, fmt.Errorf("its owner answered nothing")
	}
	return scope.JSON, nil
}
