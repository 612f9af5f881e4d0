package host

import (
	"errors"
	"sync/atomic"

	"github.com/codecell/codecell/actors/policy"
	"github.com/codecell/codecell/actors/run"
	"github.com/codecell/codecell/schemas"
)

// presentation is how the tools of a run are put before its model.
type presentation struct {
	mode schemas.Mode
	// search is the mode of Tool Search, in [schemas.ModeSearch].
	search string
	// context is the size of the model's context window in tokens, 0 where nothing depends on it.
	context int
	// raw: a model call without tools (A3).
	raw bool
	// leaf: the run's agents can't start others. silent: it is restricted, and its programs have no globals for it (G10).
	leaf, silent bool
	// firm: the mode stays even if there is no tool, or no guest to be had. early: even if there is no tool yet.
	firm, early bool
}

// opening is what a run was opened with, as far as its admissions depend on it.
type opening struct {
	identity schemas.Identity
	key      admissionKey
	// fixed is the mode that the run has taken, once it has. A conversation's tools are a prefix of what the provider has
	// cached, and of what the model has learnt to call. So the mode, which the configuration and the opening alone
	// decide, doesn't change any more once the first tools were there: neither if the last of them goes (A3), nor if a
	// guest that couldn't be had can be had later, or the other way round (L1).
	fixed atomic.Pointer[taken]
}

// taken is the mode that a run has taken.
type taken struct {
	mode   schemas.Mode
	search string
}

// newOpening decides how the run's tools are put before its model (F1, F3).
func newOpening(c *schemas.Config, ask *schemas.Open) *opening {
	id := ask.Identity
	p := present(c, ask)
	if s := c.Swarm(); s.Enabled {
		p.leaf, p.silent = id.Depth >= s.Depth, id.Restricted
	}
	return &opening{identity: id, key: admissionKey{
		agent: id.Agent, sandbox: id.Sandbox, owner: c.IsOwner(id), presentation: p,
	}}
}

func present(c *schemas.Config, ask *schemas.Open) presentation {
	if ask.Mode == "" && !ask.Raw { // whoever asks writes programs
		return presentation{mode: schemas.ModeCode, firm: true}
	}
	traits := c.TraitsOf(ask.Model)
	p := presentation{raw: ask.Raw, early: ask.Front && !ask.Raw, mode: policy.Activation(c, policy.Turn{
		Agent: ask.Identity.Agent, Model: ask.Model, Preferred: traits.Preferred(), Front: ask.Front && ask.Model == "",
		Raw: ask.Raw, Asked: ask.Mode,
	})}
	if p.mode == schemas.ModeSearch {
		p.search = c.ToolSearchFor(ask.Identity.Agent).Mode
		p.context = contextFor(p.search, traits.Context())
	}
	return p
}

// contextFor is the size of the context where the surface depends on it (L3).
func contextFor(search string, context int) int {
	if search == schemas.ToolSearchDirectory {
		return context
	}
	return 0
}

// fix keeps the mode of the run's first admission that has tools.
func (o *opening) fix(a *run.Admission) {
	if o.fixed.Load() == nil && a.Surface.CatalogSize+len(a.Direct) > 0 {
		o.fixed.CompareAndSwap(nil, &taken{a.Surface.Mode, a.Surface.Search})
	}
}

// shownBy tells whether a surface has the mode that the run has taken.
func (t *taken) shownBy(s *schemas.Surface) bool { return s.Mode == t.mode && s.Search == t.search }

// firmly is the presentation in the mode that the run has taken, whatever there is.
func (t *taken) firmly(p presentation) presentation {
	p.mode, p.search, p.context, p.firm = t.mode, t.search, contextFor(t.search, p.context), true
	return p
}

// checkOpen refuses what no run can be opened as.
func checkOpen(ask *schemas.Open) *schemas.Error {
	if err := checkIdentity(&ask.Identity); err != nil {
		return err
	}
	if ask.Mode != "" {
		_, err := schemas.ParseMode(string(ask.Mode))
		if refused, ok := errors.AsType[*schemas.Error](err); ok {
			return refused
		}
	}
	if len(ask.Model) > maxIdentityBytes {
		return schemas.Refuse("model", "model is too long: 256 bytes are allowed")
	}
	return nil
}
