package run

import (
	"fmt"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/codecell/codecell/schemas"
)

// attach keeps the run for another caller, who is going to use it.
func (r *run) attach(ctx actor.Context, m *Attach) {
	if err := r.differs(m); r.closing == nil && err != nil {
		m.Reply(false, err)
		return
	}
	if r.closing == nil {
		r.used = false
		r.touch(ctx)
		r.renew(ctx)
	}
	m.Reply(r.closing == nil, nil)
}

// differs says why the run isn't the one that somebody asks for.
func (r *run) differs(m *Attach) *schemas.Error {
	is := func(yes bool, what string) string {
		if yes {
			return "is " + what
		}
		return "isn't " + what
	}
	switch {
	case r.spec.DryRun != m.DryRun:
		return another("dryRun", is(r.spec.DryRun, "a dry run"))
	case r.spec.Bind != m.Bind:
		return another("bind", is(r.spec.Bind, "bound to its session"))
	case r.spec.Raw != m.Raw:
		return another("raw", is(r.spec.Raw, "a raw model call"))
	case r.spec.Front != m.Front:
		return another("front", is(r.spec.Front, "for the clients of a front"))
	case r.spec.Mode != m.Mode && r.spec.Mode == "":
		return another("mode", "was opened without a mode")
	case r.spec.Mode != m.Mode:
		return another("mode", fmt.Sprintf("was opened in mode %q", r.spec.Mode))
	case r.spec.Model != m.Model:
		return another("model", fmt.Sprintf("is for another model, %q", r.spec.Model))
	}
	return nil
}

func another(field, is string) *schemas.Error {
	return schemas.Refuse(field, field+": this identity has an open run that "+is+
		": close it first, or open the other one under another identity")
}
