package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/codecell/codecell/bus"
	"github.com/codecell/codecell/schemas"
)

const (
	// clientWatch is how often clients that hold calls are asked for a sign of life; others are asked every clientIdle-th time.
	clientWatch = time.Second
	clientIdle  = 15
	// clientTimeout is how long one may take to give it, and clientSilences how often in a row it may fail to.
	clientTimeout  = 2 * time.Second
	clientSilences = 3
	// clientAnswers is how long the answer to a call that its client no longer holds may be on its way: a large one is stored
	// and fetched first. cutOffAnswers is that of a client that was cut off after it was sent the call, and is back: what it has
	// sent has come before it, and what it was sent may never have.
	clientAnswers = 40 * time.Second
	cutOffAnswers = 3 * time.Second
	// maxErrorName bounds the name of an error that a client gives.
	maxErrorName = 64
)

// Why a call that was sent to a client is lost.
var (
	errCallerGone   = errors.New("the caller that brought it is gone")
	errCallerSilent = errors.New("the caller that brought it doesn't answer any more")
	errCallMissing  = errors.New("the caller that brought it no longer holds the call, and its answer was lost")
	errRunOver      = errors.New("the run has ended")
)

// client is one process that has brought tools for a run. Its fields are guarded by the mutex of Clients.
type client struct {
	run   *broughtRun
	id    string
	tools []schemas.Tool
	// epoch counts its offers: one that is back isn't taken for what it was before.
	epoch uint64
	// offered is when it did so last.
	offered time.Time
	calls   map[string]*forwarded // by "<cell>.<call>"
	// asked: a question for a sign of life is open. silent counts those without an answer, in a row.
	asked  bool
	silent int
}

// forwarded is a call that a client was sent.
type forwarded struct {
	lose    context.CancelCauseFunc
	sent    time.Time
	missing time.Time // since when the client doesn't hold it; zero while it does
}

// lose ends the calls that the client was sent. The mutex is held.
func (c *client) lose(why error) {
	for _, f := range c.calls {
		f.lose(why)
	}
}

// Call sends a call to the client that has brought the tool last, and waits for its answer. It is the provider of what
// was brought for a run.
func (r *broughtRun) Call(ctx context.Context, call *schemas.Call, _ Progress) (schemas.JSON, error) {
	sent, lose := context.WithCancelCause(ctx)
	defer lose(nil)
	r.all.mu.Lock()
	c := r.by[call.Tool]
	if c == nil || r.gone {
		r.all.mu.Unlock()
		return nil, refused(schemas.CallToolError, atTransport, "%s is no longer offered: the caller that brought it has taken it back", call.Tool)
	}
	key, epoch := call.Address.Cell+"."+call.ID, c.epoch
	c.calls[key] = &forwarded{lose: lose, sent: time.Now()}
	r.all.mu.Unlock()
	defer func() {
		r.all.mu.Lock()
		defer r.all.mu.Unlock()
		delete(c.calls, key)
	}()
	conn := r.all.e.conn
	answer, err := bus.Ask[schemas.Answer](sent, conn, bus.ClientSubject(r.all.host, r.token, c.id), call)
	switch {
	case err == nil:
		return readAnswer(call, answer)
	case errors.Is(err, bus.ErrNoResponders):
		r.leave(c, epoch)
		return nil, refused(schemas.CallToolError, atTransport, "%s was not started: the caller that brought it is gone", call.Tool)
	case errors.Is(err, bus.ErrTooLarge), errors.Is(err, bus.ErrBusy):
		return nil, refused(schemas.CallToolError, atTransport, "%s was not started: %s", call.Tool, bus.Reason(err))
	case ctx.Err() != nil:
		token := bus.OwnerToken(schemas.SourceClient, r.token)
		_ = conn.Publish(bus.StopSubject(token, call.Address.Host, call.Address.Cell, call.ID), "", &schemas.Stop{Reason: "cancelled"})
		return nil, ctx.Err()
	case sent.Err() != nil:
		err = context.Cause(sent)
	case errors.Is(err, bus.ErrMalformed):
		err = errors.New("its answer can't be read")
	}
	return nil, lost("%s was called, and its result is lost: %s. Whether it acted is unknown: check its effect before you repeat it",
		call.Tool, clip(bus.Reason(err), 300))
}

// readAnswer gives what a client answers. Nothing of it is believed but that it is the client's.
func readAnswer(call *schemas.Call, a *schemas.Answer) (schemas.JSON, error) {
	switch {
	case a.ID != call.ID:
		return nil, lost("%s was called, and the answer is another call's. Whether it acted is unknown", call.Tool)
	case a.State == schemas.AnswerFailed && a.Err != nil:
		fail := &schemas.CallError{
			Code: schemas.CallToolError, Location: atTool, Name: clip(a.Err.Name, maxErrorName), Message: a.Err.Message, Effect: schemas.Failed,
		}
		switch a.Err.Effect {
		case schemas.NotStarted, schemas.Done, schemas.Unknown:
			fail.Effect = a.Err.Effect
		case schemas.Started, schemas.Failed:
		}
		if fail.Message == "" {
			fail.Message = call.Tool + " failed without saying why"
		}
		return nil, fail
	case a.State != schemas.AnswerDone || a.Err != nil:
		return nil, lost("%s was called, and the answer makes no sense. Whether it acted is unknown", call.Tool)
	case len(a.Value) > 0 && !json.Valid(a.Value):
		return nil, &schemas.CallError{
			Code: schemas.CallOutputContract, Location: atOutput, Effect: schemas.Done,
			Message: call.Tool + " ran, and what it returned is no JSON. Its effects may have happened; calling it again may repeat them",
		}
	}
	return a.Value, nil
}

// leave takes out a client that nobody listens for any more, with its tools. The calls that it was sent are lost.
func (r *broughtRun) leave(c *client, epoch uint64) {
	r.all.mu.Lock()
	if r.gone || c.epoch != epoch || r.all.closed { // it is back
		r.all.mu.Unlock()
		return
	}
	c.epoch++ // one leave is enough
	c.lose(errCallerGone)
	r.all.mu.Unlock()
	r.all.watch.Go(func() {
		r.update.Lock()
		defer r.update.Unlock()
		r.all.mu.Lock()
		var next []offer
		for _, other := range r.clients {
			if other != c || c.epoch != epoch+1 {
				next = append(next, offer{other, other.tools})
			}
		}
		r.all.mu.Unlock()
		r.set(next)
	})
}

// attend asks clients for signs of life until ctx ends.
func (c *Clients) attend(ctx context.Context) {
	ticker := time.NewTicker(clientWatch)
	defer ticker.Stop()
	for n := 1; ; n++ {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			c.look(ctx, n%clientIdle == 0)
		}
	}
}

// look asks those that hold calls, or all, unless they are being asked.
func (c *Clients) look(ctx context.Context, all bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range c.runs {
		for _, one := range r.clients {
			if one.asked || len(one.calls) == 0 && !all {
				continue
			}
			keys := make([]string, 0, len(one.calls))
			for key := range one.calls {
				keys = append(keys, key)
			}
			one.asked = true
			epoch := one.epoch
			c.watch.Go(func() { r.ask(ctx, one, epoch, keys) })
		}
	}
}

// ask asks one client whether it is there and holds these calls.
func (r *broughtRun) ask(ctx context.Context, c *client, epoch uint64, keys []string) {
	ctx, cancel := context.WithTimeout(ctx, clientTimeout)
	defer cancel()
	pong, err := bus.Ask[schemas.Pong](ctx, r.all.e.conn, bus.AliveSubject(r.all.host, r.token, c.id), &schemas.Ping{Calls: keys})
	if errors.Is(err, bus.ErrNoResponders) {
		defer r.leave(c, epoch)
	}
	r.all.mu.Lock()
	defer r.all.mu.Unlock()
	c.asked = false
	if err != nil {
		if c.silent++; c.silent >= clientSilences {
			c.lose(errCallerSilent)
		}
		return
	}
	c.silent = 0
	gone := make(map[string]bool, len(pong.Gone))
	for _, key := range pong.Gone {
		gone[key] = true
	}
	for _, key := range keys {
		f := c.calls[key]
		switch {
		case f == nil:
		case !gone[key]:
			f.missing = time.Time{}
		case f.missing.IsZero():
			f.missing = time.Now()
		case time.Since(f.missing) >= clientAnswers, f.sent.Before(c.offered) && time.Since(f.missing) >= cutOffAnswers:
			f.lose(errCallMissing)
		}
	}
}

// Offer gives the tools that were brought.
func (r *broughtRun) Offer() schemas.Registration {
	tools, _ := r.all.Tools(r.token)
	return schemas.Registration{Source: schemas.SourceClient, Owner: r.token, Tools: tools}
}

// Changed is never signalled: nobody follows what was brought, [Clients] is told.
func (r *broughtRun) Changed() <-chan struct{} { return nil }

// Close does nothing: [Clients.Forget] does.
func (r *broughtRun) Close(context.Context) error { return nil }

// Bring offers Go functions of this process for one run (S8, V3), as [bus.Run.Bring] does with what it is given.
func Bring(ctx context.Context, run *bus.Run, tools ...Func) (*bus.Bringing, error) {
	set, err := Funcs(run.ID, tools...)
	if err != nil {
		return nil, err
	}
	brought, err := run.Bring(ctx, set.Offer().Tools, func(ctx context.Context, call *schemas.Call) (schemas.JSON, error) {
		return set.Call(ctx, call, nil)
	})
	if err != nil {
		return nil, fmt.Errorf("tool: %w", err)
	}
	return brought, nil
}
