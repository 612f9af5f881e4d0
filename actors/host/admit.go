package host

import (
	"fmt"
	"slices"

	"github.com/codecell/codecell/actors/catalog"
	"github.com/codecell/codecell/actors/policy"
	"github.com/codecell/codecell/actors/run"
	"github.com/codecell/codecell/schemas"
)

// admitting is an admission in the making.
type admitting struct {
	d     *directory
	id    schemas.Identity
	as    presentation
	rules policy.Rules
	// tools are the effective ones.
	tools      []schemas.Tool
	servers    map[string]schemas.ServerInfo
	namespaces []catalog.Namespace
	limits     schemas.Limits
	problems   []string
}

// make admits tools in the order of A1: identity, effective tools, allow and deny, activation, surface. What callers have
// brought is among the effective tools.
func (d *directory) make(
	id schemas.Identity, as *presentation, offers []schemas.Registration, brought []schemas.Tool, namespaces []catalog.Namespace,
) (*run.Admission, error) {
	// A restricted run sees what it would see otherwise; its calls are decided one by one (A6).
	id.Restricted = false
	m := &admitting{
		d: d, id: id, as: *as, rules: policy.RulesFor(d.config, id), namespaces: namespaces, limits: d.config.LimitsFor(id.Agent),
	}
	if !as.raw {
		m.gather(offers, brought)
	}
	if len(m.tools) == 0 && !as.firm && (!as.early || m.rules.None()) {
		m.as.mode = schemas.ModeDirect // nothing engages without tools (A3)
	}
	if d.skills != nil && m.as.mode == schemas.ModeCode {
		_, wrong := d.skills.look()
		m.problems = append(m.problems, wrong...)
	}
	a, err := m.present()
	if err != nil {
		return nil, err
	}
	a.Limits, a.Problems = m.limits, m.problems
	a.Live = d.config.ParkingFor(id.Agent) == schemas.ParkLive
	if a.Surface.Mode == schemas.ModeCode { // programs of Tool Search are always plain JavaScript
		a.Languages = d.config.LanguagesFor(id.Agent)
	}
	return a, nil
}

// gather finds the effective tools.
func (m *admitting) gather(offers []schemas.Registration, brought []schemas.Tool) {
	tools, servers, problems := merge(offers)
	m.tools, m.servers, m.problems = policy.Effective(tools, m.rules), servers, problems
	if m.as.leaf {
		m.tools = slices.DeleteFunc(m.tools, isSwarmTool)
	}
	policy.MarkDirect(m.tools, m.d.config, m.id.Agent)
	for i := range brought {
		if err := m.rules.Decide(&brought[i]); err != nil {
			m.problem("tool %.100q, which the caller brought, isn't available: %v", brought[i].Name, err)
			continue
		}
		m.tools = append(m.tools, brought[i])
	}
}

func (m *admitting) problem(format string, args ...any) {
	m.problems = append(m.problems, fmt.Sprintf(format, args...))
}

// present puts the tools before the model in the run's mode.
func (m *admitting) present() (*run.Admission, error) {
	a, err := m.inMode()
	if err == nil {
		a.Sequential = a.Catalog.Sequential() || slices.ContainsFunc(a.Direct, func(d run.DirectTool) bool { return d.Tool.Sequential })
	}
	return a, err
}

func (m *admitting) inMode() (*run.Admission, error) {
	switch m.as.mode {
	case schemas.ModeDirect:
		return m.directly(), nil
	case schemas.ModeSearch:
		return m.searching()
	default:
		return m.coding()
	}
}

// directly shows every tool, as it was declared, in catalog order.
func (m *admitting) directly() *run.Admission {
	for i := range m.tools {
		m.tools[i].DirectOnly = false // none of them is hidden
	}
	cat := m.build(catalog.Options{Contract: m.d.config.Contract, SearchDefault: m.limits.SearchDefault, SearchMax: m.limits.SearchMax})
	entries := cat.All()
	shown := make([]schemas.Tool, len(entries))
	for i, e := range entries {
		shown[i] = e.Tool
	}
	direct := nameDirect(shown, nil)
	s := schemas.Surface{Mode: schemas.ModeDirect, CatalogSize: len(direct)}
	for i := range direct {
		s.Sources.Add(direct[i].Tool.Source)
	}
	return &run.Admission{Catalog: cat, Direct: direct, Surface: surface(s, direct)}
}

// coding shows exec and wait. Without a guest it fails: the tools are never shown instead (A4).
func (m *admitting) coding() (*run.Admission, error) {
	config := m.d.config
	direct := m.split()
	cat := m.build(catalog.Options{
		Contract: config.Contract, Languages: config.LanguagesFor(m.id.Agent), SearchDefault: m.limits.SearchDefault,
		SearchMax: m.limits.SearchMax, Features: m.features(), Namespaces: m.namespaces,
	})
	install := cat.Install()
	if m.as.silent {
		install = cat.InstallRestricted()
	}
	image, err := m.d.image(install)
	if err != nil {
		return nil, noImage(err)
	}
	input := schemas.ExecInputSchema()
	if config.Contract == schemas.Contract202607 {
		input = schemas.ExecInputSchema202607(config.LanguagesFor(m.id.Agent))
	}
	s := schemas.Surface{Mode: schemas.ModeCode, CatalogSize: cat.Size(), Sources: cat.Counts(), Tools: []schemas.SurfaceTool{
		{
			Control: true, Name: schemas.ExecTool, Title: "Run a program", Description: cat.ExecDescription(m.limits, 0), InputSchema: input,
		},
		{
			Control: true, Name: schemas.WaitTool, Title: "Continue a program", Description: cat.WaitDescription(),
			InputSchema: schemas.WaitInputSchema(),
		},
	}}
	return &run.Admission{Catalog: cat, Image: image, Direct: direct, Surface: surface(s, direct)}, nil
}

// searching shows the tools of Tool Search. Where its programs can't have a guest, its plain tools take their place: the
// catalog isn't hidden before that is known (L1).
func (m *admitting) searching() (*run.Admission, error) {
	settings := m.d.config.ToolSearchFor(m.id.Agent)
	settings.Enabled, settings.Mode = true, m.as.search
	options := catalog.Options{SearchDefault: settings.SearchDefault, SearchMax: settings.SearchMax}
	a := &run.Admission{}
	if settings.Mode == schemas.ToolSearchCode {
		options.Contract = catalog.ContractToolSearch
		empty, _ := catalog.Build(nil, options)
		image, err := m.d.image(empty.Install())
		switch {
		case err == nil:
			a.Image, m.limits.Timeout = image, settings.CodeTimeout
		case m.as.firm:
			return nil, noImage(err)
		default:
			m.problem("Tool Search has no programs here, and has its plain tools instead: %v", noImage(err))
			settings.Mode, options.Contract = schemas.ToolSearchTools, ""
		}
	}
	a.Direct = m.split()
	a.Catalog, a.Search = m.build(options), settings
	s := schemas.Surface{
		Mode: schemas.ModeSearch, Search: settings.Mode, CatalogSize: a.Catalog.Size(), Sources: a.Catalog.Counts(),
		Tools: a.Catalog.SearchControls(settings),
	}
	if settings.Mode == schemas.ToolSearchDirectory {
		s.Prompt = a.Catalog.Directory(m.as.context)
	}
	a.Surface = surface(s, a.Direct)
	return a, nil
}

func noImage(err error) error { return fmt.Errorf("the guest's image could not be made: %w", err) }

// split takes out the tools that are hidden, and names those that the model sees.
func (m *admitting) split() []run.DirectTool {
	shown, hidden := policy.Split(m.tools, m.as.mode)
	for i := range m.tools {
		t := &m.tools[i]
		if t.DirectOnly && !policy.IsControl(t) && !slices.ContainsFunc(shown, func(s schemas.Tool) bool { return s.ID() == t.ID() }) {
			m.problem(unshown, t.Name, t.Owner)
		}
	}
	m.tools = hidden
	return nameDirect(shown, policy.Reserved(m.as.mode))
}

// build makes the catalog of what is hidden; in direct mode, of all.
func (m *admitting) build(o catalog.Options) *catalog.Catalog {
	o.Servers = m.servers
	o.Permit = func(operation *schemas.Tool) bool { return m.rules.Decide(operation) == nil }
	cat, faults := catalog.Build(m.tools, o)
	for _, f := range faults {
		m.problems = append(m.problems, f.String())
	}
	return cat
}

// features are the globals that programs have besides their tools. What a restricted run may use is decided call by
// call: features are the same for it, or its admission needs a key of its own.
func (m *admitting) features() catalog.Features {
	config := m.d.config
	current := config.Contract != schemas.Contract202607
	return catalog.Features{
		Namespaces: true, Results: current, Store: current,
		Skills: m.d.skills != nil, SkillSearch: config.Skills.Search, Swarm: config.Swarm().Enabled,
	}
}
