package tool

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/codecell/codecell/bus"
	"github.com/codecell/codecell/schemas"
)

// How a service is watched.
const (
	// lookEvery is the time between two looks for a service's instances; a call that finds nobody brings the next one
	// forward, to no less than lookAgain after the last.
	lookEvery = 2 * time.Second
	lookAgain = 100 * time.Millisecond
	// lookFor is how long one look takes answers.
	lookFor = 250 * time.Millisecond
	// maxMisses is how many looks an instance may leave unanswered before it is gone. That nobody at all is there is known
	// at once.
	maxMisses = 2
)

// Services is the [Provider] of one NATS micro service, in whatever language: those of its endpoints are tools whose metadata
// says so (U3). It asks for the running instances every two seconds. An endpoint takes the arguments as one JSON object and
// answers with one JSON text, or with nothing for undefined; the error headers of micro services make the call fail.
//
// Whoever may answer for the service's name on the bus says what its tools are and gets their arguments: only services that an
// operator has named are made providers.
type Services struct {
	name    string
	conn    *bus.Conn
	log     *slog.Logger
	changed signal
	poke    signal // somebody found nobody there
	stop    context.CancelFunc
	first   chan struct{} // closed after the first look
	done    chan struct{}

	mu        sync.Mutex
	offer     schemas.Registration
	endpoints map[string]endpoint
}

// Service offers the tools of the micro service of that name under its name, as those of a plugin. log may be nil.
func Service(conn *bus.Conn, name string, log *slog.Logger) *Services {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	ctx, stop := context.WithCancel(context.Background())
	s := &Services{
		name: name, conn: conn, log: log, changed: newSignal(), poke: newSignal(), stop: stop,
		first: make(chan struct{}), done: make(chan struct{}),
	}
	s.offer = s.registration(nil, []string{"is looked for"})
	go s.keep(ctx)
	return s
}

// Ready waits for the end of the first look, successful or not.
func (s *Services) Ready(ctx context.Context) error {
	select {
	case <-s.first:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Offer gives the tools of the running instances. Problems says why there are none, or not all.
func (s *Services) Offer() schemas.Registration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.offer
}

// Changed is signalled when tools or problems have changed.
func (s *Services) Changed() <-chan struct{} { return s.changed }

// Close ends the watching.
func (s *Services) Close(context.Context) error {
	s.stop()
	<-s.done
	return nil
}

// keep looks for instances until ctx ends.
func (s *Services) keep(ctx context.Context) {
	defer close(s.done)
	known := map[string]*sighting{}
	for first := true; ; first = false {
		found, err := bus.FindService(ctx, s.conn, s.name, lookFor)
		switch {
		case ctx.Err() != nil:
		case err == nil, errors.Is(err, bus.ErrNoResponders):
			sight(known, found, err != nil)
			s.settle(slices.Collect(maps.Values(known)))
		default:
			s.log.Warn("a service couldn't be looked for", "service", s.name, "err", err)
		}
		if first {
			close(s.first)
		}
		if !pause(ctx, lookAgain, nil) || !pause(ctx, lookEvery-lookAgain, s.poke) {
			return
		}
	}
}

// pause waits for a time, or less if it is cut short, and tells whether ctx goes on.
func pause(ctx context.Context, d time.Duration, short <-chan struct{}) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-short:
	case <-ctx.Done():
	}
	return ctx.Err() == nil
}

// sighting is an instance and how many looks it has left unanswered since.
type sighting struct {
	bus.Instance
	misses int
}

// sight brings what is known up to date by one look.
func sight(known map[string]*sighting, found []bus.Instance, nobody bool) {
	for id, i := range known {
		if i.misses++; nobody || i.misses >= maxMisses {
			delete(known, id)
		}
	}
	for _, i := range found {
		known[i.ID] = &sighting{Instance: i}
	}
}

// settle makes the offer, and says so if it is another one.
func (s *Services) settle(instances []*sighting) {
	endpoints, tools, problems := endpointsOf(s.name, instances)
	if len(instances) == 0 {
		problems = []string{"has no running instance on the bus"}
	}
	offer := s.registration(tools, problems)
	s.mu.Lock()
	same := sameOffer(&s.offer, &offer)
	s.offer, s.endpoints = offer, endpoints
	s.mu.Unlock()
	if !same {
		s.changed.note()
	}
}

func (s *Services) registration(tools []schemas.Tool, problems []string) schemas.Registration {
	offer := schemas.Registration{Source: schemas.SourceNative, Owner: s.name, Tools: tools}
	for _, p := range problems {
		offer.Problems = append(offer.Problems, fmt.Sprintf("service %q %s", s.name, p))
	}
	return offer
}

// Call sends the arguments to an instance and takes its answer.
func (s *Services) Call(ctx context.Context, call *schemas.Call, _ Progress) (schemas.JSON, error) {
	return s.ask(ctx, call, nil)
}

// callHeld is Call for an executor. The turn passes on when the request is on its way.
func (s *Services) callHeld(ctx context.Context, call *schemas.Call, _ Progress, h *held) (schemas.JSON, error) {
	if err := h.awaitTurn(); err != nil {
		return nil, err
	}
	return s.ask(ctx, call, h.passTurn)
}

// ask calls the endpoint. sent, unless it is nil, is called when the request is on its way.
func (s *Services) ask(ctx context.Context, call *schemas.Call, sent func()) (schemas.JSON, error) {
	s.mu.Lock()
	to, ok := s.endpoints[call.Tool]
	s.mu.Unlock()
	if !ok {
		return nil, refused(schemas.CallToolError, atTransport, "%s was not called: the service %q doesn't offer it now", call.Tool, s.name)
	}
	ctx, cancel := within(ctx, to.timeout)
	defer cancel()
	body, err := bus.AskService(ctx, s.conn, to.subject, serviceHeaders(call), call.Args, sent)
	if err != nil {
		return nil, s.failure(ctx, call.Tool, err)
	}
	return serviceValue(call.Tool, body)
}

// failure says what is known of a call that came to nothing.
func (s *Services) failure(ctx context.Context, tool string, err error) error {
	said, answered := errors.AsType[*bus.ServiceError](err)
	slow, _ := errors.AsType[tooSlowError](context.Cause(ctx))
	switch {
	case answered:
		message := tool + ": " + said.Error()
		if len(said.Body) > 0 {
			message += ": " + string(said.Body)
		}
		return &schemas.CallError{Code: schemas.CallToolError, Location: atTool, Effect: schemas.Failed, Message: message}
	case errors.Is(err, bus.ErrNoResponders):
		s.poke.note()
		return refused(schemas.CallToolError, atTransport, "%s was not called: nobody answers for the service %q", tool, s.name)
	case errors.Is(err, bus.ErrTooLarge):
		return refused(schemas.CallInvalidInput, atTransport, "%s was not called: its arguments are too large for a service on the bus: %s", tool, bus.Reason(err))
	case slow > 0:
		return lost("%s: the service %q gave no answer within %v; whether it acted is unknown", tool, s.name, time.Duration(slow))
	case ctx.Err() != nil:
		return lost("%s was cancelled while the service %q had it; whether it acted is unknown", tool, s.name)
	}
	return lost("%s: the answer of the service %q was lost: %s; whether it acted is unknown", tool, s.name, bus.Reason(err))
}
