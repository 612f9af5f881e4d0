package tool

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"time"

	"github.com/codecell/codecell/actors/catalog"
	"github.com/codecell/codecell/bus"
	"github.com/codecell/codecell/schemas"
)

// Namespace is an object that a plugin puts before programs: data, and ways to call the plugin's tools (K1). Programs find it
// as a global and as a member of `namespaces`, if the run's catalog has all required tools, and has them from that plugin.
type Namespace struct {
	// Owner is the plugin: the owner of one of the executor's providers of native tools.
	Owner string
	// ID tells the namespaces of an owner apart.
	ID string
	// Global is its name in programs, an identifier that nothing else has. A tool of that name gets another one.
	Global string
	// Description says in a line what it is for. Prompt says to a model how to use it.
	Description, Prompt string
	// RequiredTools are those of the owner's tools that its callables reach.
	RequiredTools []string
	// Scope gives what it holds for a run: a map or a struct of data, in which [Callable] is a function. It is asked once a
	// run, and again when tools have changed. It has two seconds, must heed ctx, and may be called by several goroutines.
	Scope func(ctx context.Context, run schemas.Identity) (any, error)
}

// registered is the namespace as hosts see it.
func (n *Namespace) registered() schemas.Namespace {
	return schemas.Namespace{
		ID: n.ID, Global: n.Global, Description: n.Description, Prompt: n.Prompt, RequiredTools: slices.Clone(n.RequiredTools),
	}
}

const (
	// ScopeTimeout bounds the answer of a namespace's Scope.
	ScopeTimeout = 2 * time.Second
	// scopePlaces is how many runs an executor makes scopes for at once; further ones wait.
	scopePlaces = 16
)

// addNamespaces gives the owners what they put before programs. It refuses what nobody could have (K2): the errors are
// invalid_input and name the field.
func (e *Executor) addNamespaces(all []Namespace) error {
	owners := make(map[string]*owner)
	for _, w := range e.owners {
		if w.source == schemas.SourceNative {
			owners[w.name] = w
		}
	}
	globals := make(map[string]string)
	for i := range all {
		n := &all[i]
		w := owners[n.Owner]
		switch {
		case w == nil:
			return refuseNamespace(schemas.Refuse("owner", fmt.Sprintf("namespace %q: its owner %q offers no native tools here", n.ID, n.Owner)))
		case n.Scope == nil:
			return refuseNamespace(schemas.Refuse("scope", fmt.Sprintf("namespace %q has no Scope: give it a function that makes what it holds", n.ID)))
		}
		w.namespaces = append(w.namespaces, n.registered())
		if err := catalog.CheckNamespaces(w.namespaces); err != nil {
			return refuseNamespace(err)
		}
		if other, taken := globals[n.Global]; taken {
			return refuseNamespace(schemas.Refuse("globalName", fmt.Sprintf(
				"namespace collision: the namespace %q of %q has the global name %s already; give %q of %q its own", all[i].ID, other, n.Global, n.ID, n.Owner)))
		}
		globals[n.Global] = n.Owner
	}
	return nil
}

func refuseNamespace(err *schemas.Error) error { return fmt.Errorf("tool: %w", err) }

// scopes answers for the namespaces of an executor until it is closed.
type scopes struct {
	log  *slog.Logger
	subs []*bus.Subscription
	crew *bus.Crew
}

// serveScopes listens for the questions about namespaces.
func serveScopes(conn *bus.Conn, all []Namespace, log *slog.Logger) (*scopes, error) {
	s := &scopes{log: log, crew: bus.NewCrew(scopePlaces)}
	for _, n := range all {
		reg := n.registered()
		sub, err := bus.Serve(conn, bus.ScopeSubject(n.Owner, n.ID), bus.ToolQueue(schemas.SourceNative, n.Owner), func(r *scopeRequest) {
			s.take(r, &reg, n.Scope)
		})
		if err != nil {
			ending, cancel := context.WithTimeout(context.Background(), closeGrace)
			defer cancel()
			_ = s.close(ending)
			return nil, fmt.Errorf("tool: serve namespace %s: %w", n.ID, err)
		}
		s.subs = append(s.subs, sub)
	}
	return s, nil
}

type (
	scopeRequest = bus.Request[schemas.ScopeAsk, schemas.Scope]
	scopeFunc    = func(context.Context, schemas.Identity) (any, error)
)

var errScopesClosed = errors.New("the executor is shutting down")

// take hands a question to a goroutine.
func (s *scopes) take(r *scopeRequest, n *schemas.Namespace, fn scopeFunc) {
	taken := s.crew.Do(func(ctx context.Context) {
		text, err := s.scope(ctx, r.Body.Identity, n, fn)
		s.answer(r, text, err)
	})
	if !taken {
		s.answer(r, nil, errScopesClosed)
	}
}

// scope makes the scope for one run. What panics stays in this process.
func (s *scopes) scope(ctx context.Context, run schemas.Identity, n *schemas.Namespace, fn scopeFunc) (text schemas.JSON, err error) {
	defer func() {
		if p := recover(); p != nil {
			s.log.Error("panic", "in", "the scope of namespace "+n.ID, "panic", p, "stack", string(debug.Stack()))
			text, err = nil, errors.New("it failed inside")
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, ScopeTimeout)
	defer cancel()
	made, err := fn(ctx, run)
	if err != nil {
		return nil, err
	}
	if text, err = scopeJSON(made); err != nil {
		return nil, err
	}
	if refused := catalog.CheckScope(n, text); refused != nil {
		return nil, refused
	}
	return text, nil
}

func (s *scopes) answer(r *scopeRequest, text schemas.JSON, err error) {
	reply := &schemas.Scope{JSON: text}
	if known, ok := errors.AsType[*schemas.Error](err); ok {
		reply.Err = known
	} else if err != nil {
		reply.Err = &schemas.Error{Code: schemas.InternalError, Message: clip(err.Error(), 1000)}
	}
	if err := r.Respond(reply); err != nil {
		s.log.Warn("a scope could not be sent; the run goes without the namespace", "namespace", r.Body.Namespace, "error", err)
	}
}

// close ends the functions that run, and answers those that wait. A plugin that leaves has nothing to put before programs.
// Functions that don't heed their context are left behind when ctx ends.
func (s *scopes) close(ctx context.Context) error {
	s.crew.Cancel()
	err := drainAll(ctx, s.subs)
	return errors.Join(err, s.crew.Close(ctx))
}
