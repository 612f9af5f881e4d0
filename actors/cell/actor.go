package cell

import "github.com/asynkron/protoactor-go/actor"

// New makes the properties of a cell actor.
func New(deps Deps, spec Spec) *actor.Props {
	return actor.PropsFromProducer(func() actor.Actor { return &shell{deps: deps, spec: spec} })
}

// shell is the actor.
type shell struct {
	deps Deps
	spec Spec
}

// Receive routes.
func (s *shell) Receive(ctx actor.Context) {}
