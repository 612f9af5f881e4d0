package host

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/codecell/codecell/actors/catalog"
	"github.com/codecell/codecell/actors/policy"
	"github.com/codecell/codecell/actors/run"
	"github.com/codecell/codecell/schemas"
	"github.com/codecell/codecell/wasm"
)

// imagesKept is how many catalogs' images are kept for the next run or generation.
const imagesKept = 16

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

// admissionKey is what an admission depends on besides the offers.
type admissionKey struct {
	agent, sandbox string
	owner          bool
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

// admit gives what a new cell of this identity may see (A1). It may take milliseconds, and longer where owners of namespaces
// must be asked.
func (d *directory) admit(id schemas.Identity) (*run.Admission, error) {
	for {
		key, class := d.class(id)
		if class.err != nil || len(class.visible) == 0 {
			return class.value, class.err
		}
		if s := d.scopedOf(id, key, class); s != nil {
			return s.value, s.err
		}
	}
}

// class gives the admission that all identities like this one share.
func (d *directory) class(id schemas.Identity) (admissionKey, *admission) {
	key := admissionKey{agent: id.Agent, sandbox: id.Sandbox, owner: d.config.IsOwner(id)}
	d.mu.Lock()
	a := d.admissions[key]
	if a == nil {
		a = &admission{offers: d.offers}
		d.admissions[key] = a
	}
	d.mu.Unlock()
	a.once.Do(func() {
		if a.value, a.err = d.make(id, a.offers, nil, nil); a.err == nil {
			a.see()
		}
	})
	return key, a
}

// admitWith gives what a new cell of this identity may see with tools that were brought for its run.
func (d *directory) admitWith(id schemas.Identity, brought []schemas.Tool) (*run.Admission, error) {
	for {
		key, class := d.class(id)
		if class.err != nil || len(class.visible) == 0 {
			return d.makeScoped(id, class.offers, brought, &scoped{problems: class.problems})
		}
		if s := d.scopedOf(id, key, class); s != nil {
			return d.makeScoped(id, class.offers, brought, s)
		}
	}
}

// make admits tools in the order of A1: identity, effective tools, allow and deny, surface. What callers have brought is
// never shown to the model.
func (d *directory) make(
	id schemas.Identity, offers []schemas.Registration, brought []schemas.Tool, namespaces []catalog.Namespace,
) (*run.Admission, error) {
	tools, servers, problems := merge(offers)
	rules := policy.RulesFor(d.config, id)
	tools = policy.Effective(tools, rules)
	policy.MarkDirect(tools, d.config, id.Agent)
	shown, tools := policy.Split(tools)
	direct, unnamed := nameDirect(shown)
	problems = append(problems, unnamed...)
	for i := range brought {
		if err := rules.Decide(&brought[i]); err != nil {
			problems = append(problems, fmt.Sprintf("tool %.100q, which the caller brought, isn't available: %v", brought[i].Name, err))
			continue
		}
		tools = append(tools, brought[i])
	}
	limits := d.config.LimitsFor(id.Agent)
	cat, faults := catalog.Build(tools, catalog.Options{
		Contract: d.config.Contract, Languages: d.config.LanguagesFor(id.Agent), Servers: servers,
		Permit:        func(operation *schemas.Tool) bool { return rules.Decide(operation) == nil },
		SearchDefault: limits.SearchDefault, SearchMax: limits.SearchMax,
		Features: d.features(), Namespaces: namespaces,
	})
	for _, f := range faults {
		problems = append(problems, f.String())
	}
	if d.skills != nil {
		_, wrong := d.skills.look()
		problems = append(problems, wrong...)
	}
	image, err := d.image(cat.Install())
	if err != nil {
		return nil, fmt.Errorf("the guest's image could not be made: %w", err)
	}
	return &run.Admission{
		Catalog: cat, Image: image, Limits: limits, Problems: problems,
		Live:    d.config.ParkingFor(id.Agent) == schemas.ParkLive,
		Surface: d.surface(cat, limits, id.Agent, direct), Direct: direct, Languages: d.config.LanguagesFor(id.Agent),
	}, nil
}

// features are the globals that programs have besides their tools.
func (d *directory) features() catalog.Features {
	current := d.config.Contract != schemas.Contract202607
	return catalog.Features{
		Namespaces: true, Results: current, Store: current,
		Skills: d.skills != nil, SkillSearch: d.config.Skills.Search,
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

// image gives the memory of a catalog.
func (d *directory) image(install []byte) (*wasm.Image, error) {
	if image := d.images.get(string(install)); image != nil {
		return image, nil
	}
	image, err := d.engine.NewImage(context.Background(), install)
	if err != nil {
		return nil, err
	}
	d.images.put(string(install), image)
	return image, nil
}

// imageCache keeps the last images, by the text that they were made from.
type imageCache struct {
	limit int

	mu    sync.Mutex
	texts []string // oldest first
	table map[string]*wasm.Image
}

func (c *imageCache) get(text string) *wasm.Image {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.table[text]
}

func (c *imageCache) put(text string, image *wasm.Image) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.table == nil {
		c.table = make(map[string]*wasm.Image)
	}
	if c.table[text] == nil {
		c.texts = append(c.texts, text)
	}
	c.table[text] = image
	if len(c.texts) > c.limit {
		delete(c.table, c.texts[0])
		c.texts = c.texts[1:]
	}
}
