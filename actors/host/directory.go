package host

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/codecell/codecell/actors/catalog"
	"github.com/codecell/codecell/actors/run"
	"github.com/codecell/codecell/schemas"
	"github.com/codecell/codecell/wasm"
)

// directory knows what executors offer, and turns it into what a run may see. Admissions are
// made once per generation of the offers and class of identities, and shared.
type directory struct {
	engine *wasm.Engine
	config *schemas.Config
	skills *skillFolders // nil without any

	mu         sync.Mutex
	offers     []schemas.Registration
	changed    chan struct{} // closed by the next offer or touch
	admissions map[admissionKey]*admission
	scoped     map[schemas.Identity]*scoped
	images     imageCache

	// askScope is set before the first admission.
	askScope scopeAsker
}

// admissionKey is what an admission depends on besides the offers. It has nothing of an identity by which a restricted
// run differs from another: both see the same (A6).
type admissionKey struct {
	agent, sandbox string
	owner          bool
	presentation
}

// admission is made by the first who needs it.
type admission struct {
	once   sync.Once
	offers []schemas.Registration
	value  *run.Admission
	err    error
	// visible are the namespaces that the runs of these identities may have; problems those that nobody can have.
	visible  []catalog.Namespace
	problems []string
}

// admissionsKept bounds the classes of identities whose admissions are kept: anybody may call an agent what they like.
const admissionsKept = 256

func newDirectory(engine *wasm.Engine, config *schemas.Config) *directory {
	d := &directory{
		engine: engine, config: config, changed: make(chan struct{}),
		admissions: make(map[admissionKey]*admission), scoped: make(map[schemas.Identity]*scoped), images: imageCache{limit: imagesKept},
	}
	if folders := config.Skills.Folders; len(folders) > 0 {
		d.skills = &skillFolders{folders: folders}
	}
	return d
}

// offer replaces what executors offer. Cells that have started keep what they were admitted with.
func (d *directory) offer(offers []schemas.Registration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.offers = offers
	clear(d.admissions)
	clear(d.scoped)
	close(d.changed)
	d.changed = make(chan struct{})
}

// touch wakes those who wait for a change: what was brought for a run has changed.
func (d *directory) touch() {
	d.mu.Lock()
	defer d.mu.Unlock()
	close(d.changed)
	d.changed = make(chan struct{})
}

// change gives a channel that the next offer or touch closes.
func (d *directory) change() <-chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.changed
}

// wait returns when the offers include all of these, or with ctx's error.
func (d *directory) wait(ctx context.Context, wanted []schemas.Registration) error {
	for {
		d.mu.Lock()
		offers, changed := d.offers, d.changed
		d.mu.Unlock()
		if !slices.ContainsFunc(wanted, func(w schemas.Registration) bool { return !offered(offers, &w) }) {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("waiting for the tools to be registered: %w", ctx.Err())
		}
	}
}

// offered tells whether a registration is among the offers, as large as it should be.
func offered(offers []schemas.Registration, w *schemas.Registration) bool {
	return slices.ContainsFunc(offers, func(o schemas.Registration) bool {
		return o.Executor == w.Executor && o.Source == w.Source && o.Owner == w.Owner && o.Server == w.Server &&
			len(o.Tools) == len(w.Tools) && len(o.Problems) == len(w.Problems)
	})
}

// admit gives what a new cell of a run may see (A1). It may take milliseconds, and longer where owners of namespaces
// must be asked.
func (d *directory) admit(o *opening) (*run.Admission, error) {
	for {
		key, class := d.class(o)
		if class.err != nil || len(class.visible) == 0 {
			return class.value, class.err
		}
		if s := d.scopedOf(o.identity, key, class); s != nil {
			return s.value, s.err
		}
	}
}

// class gives the admission that all runs like this one share.
func (d *directory) class(o *opening) (admissionKey, *admission) {
	key := o.key
	a := d.classOf(o.identity, key)
	if fixed := o.fixed.Load(); fixed != nil && a.err == nil && !fixed.shownBy(&a.value.Surface) {
		key.presentation = fixed.firmly(key.presentation)
		a = d.classOf(o.identity, key)
	}
	return key, a
}

func (d *directory) classOf(id schemas.Identity, key admissionKey) *admission {
	d.mu.Lock()
	a := d.admissions[key]
	if a == nil {
		a = &admission{offers: d.offers}
		for old := range d.admissions {
			if len(d.admissions) < admissionsKept {
				break
			}
			delete(d.admissions, old) // its runs keep it, and another is made for later ones
		}
		d.admissions[key] = a
	}
	d.mu.Unlock()
	a.once.Do(func() {
		if a.value, a.err = d.make(id, &key.presentation, a.offers, nil, nil); a.err == nil {
			a.see()
		}
	})
	return a
}

// admitWith gives what a new cell of a run may see with tools that were brought for it.
func (d *directory) admitWith(o *opening, brought []schemas.Tool) (*run.Admission, error) {
	for {
		key, class := d.class(o)
		if class.err != nil || len(class.visible) == 0 {
			return d.makeScoped(o.identity, &key.presentation, class.offers, brought, &scoped{problems: class.problems})
		}
		if s := d.scopedOf(o.identity, key, class); s != nil {
			return d.makeScoped(o.identity, &key.presentation, class.offers, brought, s)
		}
	}
}

// merge gathers what all executors offer. Executors of one owner are replicas: the first of
// them in key order says what a tool looks like.
func merge(offers []schemas.Registration) (tools []schemas.Tool, servers map[string]schemas.ServerInfo, problems []string) {
	servers = make(map[string]schemas.ServerInfo)
	seen := make(map[string]bool)
	for i := range offers {
		reg := &offers[i]
		if reg.Source == schemas.SourceClient { // it would be in every run
			problems = append(problems, reg.Owner+": tools of callers aren't registered: their caller brings them for its run")
			continue
		}
		if reg.Source == schemas.SourceMCP && servers[reg.Owner] == (schemas.ServerInfo{}) {
			servers[reg.Owner] = reg.Server
		}
		replica := make(map[string]bool, len(reg.Tools))
		for _, t := range reg.Tools {
			// An executor speaks only for the owner that it registered.
			t.Source, t.Owner = reg.Source, reg.Owner
			id := t.ID()
			if seen[id] && !replica[id] {
				continue // another executor's word came first
			}
			seen[id], replica[id] = true, true
			tools = append(tools, t)
		}
		for _, p := range reg.Problems {
			problems = append(problems, reg.Owner+": "+p)
		}
	}
	return tools, servers, problems
}
