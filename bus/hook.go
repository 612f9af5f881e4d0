package bus

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/codecell/codecell/schemas"
)

// hookPlaces is how many questions one process answers for a hook at once; further ones wait.
const hookPlaces = 64

// HookFunc decides about one call. A nil Verdict lets it pass as it is. An error, like a panic, is no decision: the call
// fails closed, and its program reads the error.
type HookFunc func(ctx context.Context, event *schemas.HookEvent) (*schemas.Verdict, error)

// HookServer answers for one hook until it's closed.
type HookServer struct {
	c      *Conn
	sub    *Subscription
	decide HookFunc
	crew   *Crew // whose context also ends with the connection
}

// ServeHook makes this process one of those that are the hook (P1): name is the one that configurations give it in the
// phase, such as [schemas.BeforeToolCall]. Processes that serve the same hook share the questions. Hosts and executors
// that have it configured ask, and wait for an answer as long as their configuration says. decide is called by up to 64
// goroutines at once; its context ends when the server is closed in a hurry, or the connection is lost.
func ServeHook(c *Conn, phase, name string, decide HookFunc) (*HookServer, error) {
	switch {
	case phase != schemas.BeforeToolCall && phase != schemas.AfterToolCall:
		return nil, fmt.Errorf("serve hook %q: the phase is %q: expected %q or %q", name, phase, schemas.BeforeToolCall, schemas.AfterToolCall)
	case name == "" || clean(name) != name:
		return nil, fmt.Errorf("serve hook %q: expected a name of letters, digits, _ and -, as in the configuration", name)
	case decide == nil:
		return nil, fmt.Errorf("serve hook %q: the function is missing", name)
	}
	s := &HookServer{c: c, decide: decide, crew: NewCrew(hookPlaces)}
	var err error
	if s.sub, err = Serve(c, HookSubject(phase, name), HookQueue(name), s.take); err != nil {
		s.crew.Cancel()
		return nil, fmt.Errorf("serve hook %q: %w", name, err)
	}
	go func() {
		select {
		case <-c.Lost():
			s.crew.Cancel()
		case <-s.crew.Context().Done():
		}
	}()
	return s, nil
}

type hookRequest = Request[schemas.HookEvent, schemas.Verdict]

// take hands a question to a goroutine.
func (s *HookServer) take(r *hookRequest) {
	taken := s.crew.Do(func(ctx context.Context) {
		verdict, err := s.ask(ctx, &r.Body)
		s.answer(r, verdict, err)
	})
	if !taken {
		s.answer(r, nil, errHookCloses)
	}
}

var errHookCloses = errors.New("the process that was asked is shutting down")

// ask calls the function. What panics in it stays in this process.
func (s *HookServer) ask(ctx context.Context, event *schemas.HookEvent) (verdict *schemas.Verdict, err error) {
	defer func() {
		if p := recover(); p != nil {
			s.c.log.Error("panic", "in", "hook "+event.Hook, "panic", p, "stack", string(debug.Stack()))
			verdict, err = nil, errors.New("it failed inside")
		}
	}()
	return s.decide(ctx, event)
}

func (s *HookServer) answer(r *hookRequest, verdict *schemas.Verdict, err error) {
	switch {
	case err != nil:
		verdict = &schemas.Verdict{Err: &schemas.Error{Code: schemas.InternalError, Message: err.Error()}}
	case verdict == nil:
		verdict = &schemas.Verdict{}
	}
	if err := r.Respond(verdict); err != nil {
		s.c.log.Warn("a hook's answer could not be sent; whoever asked refuses the call", "hook", r.Body.Hook, "error", err)
	}
}

// Close leaves the hook to others: it takes no more questions, and answers those that it has taken. When ctx ends first it
// ends the functions' context and returns ctx's error; functions that don't heed it are left behind.
func (s *HookServer) Close(ctx context.Context) error {
	defer s.crew.Cancel()
	if err := s.sub.Drain(ctx); err != nil {
		return fmt.Errorf("close a hook: %w", err)
	}
	if err := s.crew.Close(ctx); err != nil {
		return fmt.Errorf("close a hook: %w", err)
	}
	return s.c.Flush(ctx)
}
