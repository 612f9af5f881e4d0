package host

import (
	"fmt"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/codecell/codecell/actors/policy"
	"github.com/codecell/codecell/actors/run"
	"github.com/codecell/codecell/actors/slot"
	"github.com/codecell/codecell/schemas"
)

// openRun asks the root for a run, or for the one with the same identity.
type openRun struct {
	ask       *schemas.Open
	opening   *opening
	admission *run.Admission
	reply     func(token string, err *schemas.Error)
}

// root is the parent of the slot ledger and of all runs. It alone opens and forgets runs.
type root struct {
	host  *Host
	ready chan<- struct{}
}

// Receive routes.
func (r *root) Receive(ctx actor.Context) {
	switch m := ctx.Message().(type) {
	case *actor.Started:
		r.started(ctx)
	case *openRun:
		r.openRun(ctx, m)
	case *run.Closed:
		r.closed(ctx, m)
	case *bury:
		ctx.Poison(m.run)
	}
}

func (r *root) started(ctx actor.Context) {
	r.host.ledger = ctx.SpawnPrefix(slot.New(r.host.slotOptions()), "slots")
	close(r.ready)
}

func (r *root) openRun(ctx actor.Context, m *openRun) {
	id := m.ask.Identity
	if token, ok := r.host.identities.get(id); ok {
		if pid, ok := r.host.runs.get(token); ok {
			r.attach(ctx, m, token, pid)
			return
		}
	}
	token := newRunToken()
	var skills func() *run.Skills
	if folders := r.host.directory.skills; folders != nil {
		skills = folders.now
	}
	pid, err := ctx.SpawnNamed(run.New(run.Spec{
		Host: r.host.id, Token: token, Identity: id, Ephemeral: m.ask.Ephemeral, Bind: m.ask.Bind, DryRun: m.ask.DryRun,
		Mode: m.ask.Mode, Model: m.ask.Model, Raw: m.ask.Raw, Front: m.ask.Front, Decide: r.decide(id), Admission: m.admission,
		Contract: r.host.options.Config.Contract, Skills: skills,
		Env: &env{r.host, token, m.opening}, Redact: r.host.redactor, Hooks: r.host.hooks, Cells: r.host.cellDeps(), IdleTTL: idleTTL(m.ask),
		LeaseMs: m.ask.LeaseMs,
	}), token)
	if err != nil {
		m.reply("", &schemas.Error{Code: schemas.InternalError, Message: "the run could not be opened: " + err.Error()})
		return
	}
	r.host.openings.set(token, m.opening)
	r.host.identities.set(id, token)
	r.host.runs.set(token, pid)
	m.reply(token, nil)
}

// decide authorises the calls of a restricted run on the host's side; executors do it on theirs (A6).
func (r *root) decide(id schemas.Identity) func(*schemas.Tool) error {
	if !id.Restricted {
		return nil
	}
	return policy.RulesFor(r.host.options.Config, id).Decide
}

// attach asks the run whether it goes on. One that has just ended has said so before it answers, so
// that asking again opens a new one.
func (r *root) attach(ctx actor.Context, m *openRun, token string, pid *actor.PID) {
	self, system := ctx.Self(), ctx.ActorSystem()
	ask := m.ask
	ctx.Send(pid, &run.Attach{Bind: ask.Bind, DryRun: ask.DryRun, Mode: ask.Mode, Model: ask.Model, Raw: ask.Raw, Front: ask.Front, Reply: func(open bool, err *schemas.Error) {
		switch {
		case err != nil:
			m.reply("", err)
		case open:
			m.reply(token, nil)
		default:
			system.Root.Send(self, m)
		}
	}})
}

// idleTTL is when a run that nobody uses is closed.
func idleTTL(ask *schemas.Open) time.Duration {
	if ask.Ephemeral {
		return ephemeralIdleTTL
	}
	return runIdleTTL
}

// lingering is how long an ended run answers what was on its way to it when its route was taken away.
const lingering = time.Second

// bury stops a run that has lingered.
type bury struct{ run *actor.PID }

func (r *root) closed(ctx actor.Context, m *run.Closed) {
	pid, ok := r.host.runs.get(m.Token)
	if !ok {
		return
	}
	r.host.runs.remove(m.Token)
	r.host.forgetBrought(m.Token)
	if o, ok := r.host.openings.get(m.Token); ok {
		id := o.identity
		r.host.openings.remove(m.Token)
		if token, _ := r.host.identities.get(id); token == m.Token {
			r.host.identities.remove(id)
			r.host.directory.forget(id)
		}
	}
	self, system := ctx.Self(), ctx.ActorSystem()
	time.AfterFunc(lingering, func() { system.Root.Send(self, &bury{run: pid}) })
}

// rootSupervisor stops what fails. The slot ledger is the truth about the process's limits, so
// the process can't go on without it; a run that fails ends with its cells.
type rootSupervisor struct{ host *Host }

// HandleFailure stops the child.
func (s rootSupervisor) HandleFailure(_ *actor.ActorSystem, sup actor.Supervisor, child *actor.PID, _ *actor.RestartStatistics, reason, _ any) {
	sup.StopChildren(child)
	s.host.log.Error("an actor failed and was stopped", "actor", child.Id, "reason", fmt.Sprint(reason))
	if s.host.ledger != nil && child.Id == s.host.ledger.Id {
		s.host.fail(fmt.Errorf("the slot ledger failed: %v", reason))
	}
}
