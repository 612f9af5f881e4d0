package bus

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/codecell/codecell/schemas"
)

const (
	// probeEvery is how often the owner of a long request is asked whether it lives, and
	// probeTimeout how long it may take to say so: only word
	// that nobody listens means that it is gone, a slow host is asked again.
	probeEvery   = 2 * time.Second
	probeTimeout = 2 * time.Second
	// cutOffFor is how long the bus may be out of reach during a request. A server that restarts is back sooner.
	cutOffFor = 10 * time.Second
	// quiet ends a gathering of all hosts: nobody has answered for so long.
	quiet = 300 * time.Millisecond
)

// Client speaks to cell hosts. A refusal by a host is a *schemas.Error; a host that is gone
// is one with the code runtime_unavailable, reported at once (U5).
type Client struct{ c *Conn }

// NewClient makes a client of a connection.
func NewClient(c *Conn) *Client { return &Client{c: c} }

// Run is an open run.
type Run struct {
	// Host and ID address the run on the bus.
	Host, ID string
	// Identity is the one that the run was opened with.
	Identity schemas.Identity
	// Surface is what a model is to be shown.
	Surface schemas.Surface

	client *Client
}

// Open opens a run on any host, or attaches to the one with the same identity.
func (c *Client) Open(ctx context.Context, open schemas.Open) (*Run, error) {
	rep, err := Ask[schemas.Opened](ctx, c.c, OpenSubject(), &open)
	if errors.Is(err, ErrNoResponders) {
		return nil, &schemas.Error{Code: schemas.RuntimeUnavailable, Message: "no cell host is on the bus: start one with `codecell up`, or check the bus URL"}
	}
	if err != nil {
		return nil, err
	}
	if rep.Err != nil {
		return nil, rep.Err
	}
	return &Run{Host: rep.Host, ID: rep.Run, Identity: open.Identity, Surface: rep.Surface, client: c}, nil
}

// Exec runs a program in a new cell. A host that is gone is a failed result, as every failure
// of a cell is; the error is for ctx and the connection.
func (r *Run) Exec(ctx context.Context, exec schemas.Exec) (*schemas.Result, error) {
	return r.client.result(ctx, r.Host, ExecSubject(r.Host, r.ID), &exec)
}

// Direct calls a direct-only tool of the run's surface. A tool's own failure is in the answer.
func (r *Run) Direct(ctx context.Context, direct schemas.Direct) (*schemas.Directed, error) {
	rep, err := askHost[schemas.Directed](ctx, r.client, r.Host, DirectSubject(r.Host, r.ID), &direct)
	if err == nil && rep.Err != nil {
		return nil, rep.Err
	}
	return rep, err
}

// Describe gives the run's surface and catalog as they are now.
func (r *Run) Describe(ctx context.Context) (*schemas.Described, error) {
	return r.describe(ctx, &schemas.Describe{})
}

// Changed is Describe, but waits until the surface has another version than the known one. After
// half a minute or so it returns without a change.
func (r *Run) Changed(ctx context.Context, known string) (*schemas.Described, error) {
	return r.describe(ctx, &schemas.Describe{Known: known})
}

func (r *Run) describe(ctx context.Context, ask *schemas.Describe) (*schemas.Described, error) {
	rep, err := askHost[schemas.Described](ctx, r.client, r.Host, DescribeSubject(r.Host, r.ID), ask)
	if err == nil && rep.Err != nil {
		return nil, rep.Err
	}
	return rep, err
}

// Search looks a query up in the run's catalog.
func (r *Run) Search(ctx context.Context, search schemas.Search) (*schemas.Found, error) {
	rep, err := askHost[schemas.Found](ctx, r.client, r.Host, SearchSubject(r.Host, r.ID), &search)
	if err == nil && rep.Err != nil {
		return nil, rep.Err
	}
	return rep, err
}

// Hold tells the run that its caller is there. A run that was opened with a lease ends without.
func (r *Run) Hold(ctx context.Context) error {
	return r.client.ack(ctx, r.Host, HoldSubject(r.Host, r.ID), &schemas.Hold{Identity: r.Identity})
}

// Close ends the run and every cell in it.
func (r *Run) Close(ctx context.Context, reason string) error {
	_, err := r.Finish(ctx, reason)
	return err
}

// Finish is Close, and tells what the run has come to (L5): nil if it had ended before.
func (r *Run) Finish(ctx context.Context, reason string) (*schemas.RunTotals, error) {
	ack, err := askHost[schemas.Ack](ctx, r.client, r.Host, CloseSubject(r.Host, r.ID), &schemas.Close{Identity: r.Identity, Reason: reason})
	switch {
	case err != nil:
		return nil, err
	case ack.Err != nil:
		return nil, ack.Err
	}
	return ack.Totals, nil
}

// Abort ends the cell that an exec started, whose answer isn't wanted any more, and returns when its
// guest has stopped. The run goes on.
func (r *Run) Abort(ctx context.Context, callID, reason string) error {
	return r.client.ack(ctx, r.Host, CloseSubject(r.Host, r.ID), &schemas.Close{Identity: r.Identity, Reason: reason, CallID: callID})
}

// Wait continues a parked cell, wherever it is. An unknown id or an owner that is gone is a
// failed result.
func (c *Client) Wait(ctx context.Context, wait schemas.Wait) (*schemas.Result, error) {
	host, err := HostOf(wait.RunID)
	if err != nil {
		return failed(err), nil
	}
	return c.result(ctx, host, WaitSubject(host, wait.RunID), &wait)
}

// Cancel ends a cell and returns when its guest has stopped.
func (c *Client) Cancel(ctx context.Context, runID string, cancel schemas.Cancel) error {
	host, err := HostOf(runID)
	if err != nil {
		return err
	}
	return c.ack(ctx, host, CancelSubject(host, runID), &cancel)
}

// Status tells who holds what on a host.
func (c *Client) Status(ctx context.Context, host string) (*schemas.HostStatus, error) {
	return askHost[schemas.HostStatus](ctx, c, host, StatusSubject(host), &schemas.StatusAsk{})
}

// HasRun asks a host whether it has a run. A host that isn't there has none.
func (c *Client) HasRun(ctx context.Context, host, run string) (bool, error) {
	// A search is answered by every host that is alive, draining ones included, and its answer is small.
	rep, err := Ask[schemas.Found](ctx, c.c, SearchSubject(host, run), &schemas.Search{Query: "?", Limit: 1})
	if errors.Is(err, ErrNoResponders) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return rep.Err == nil || rep.Err.Code != schemas.InvalidInput, nil
}

func (c *Client) ack(ctx context.Context, host, subject string, req any) error {
	rep, err := askHost[schemas.Ack](ctx, c, host, subject, req)
	if err == nil && rep.Err != nil {
		return rep.Err
	}
	return err
}

// result asks for a result; what a host would say of itself if it could becomes one.
func (c *Client) result(ctx context.Context, host, subject string, req any) (*schemas.Result, error) {
	rep, err := askHost[schemas.Result](ctx, c, host, subject, req)
	if e, ok := errors.AsType[*schemas.Error](err); ok {
		return failed(e), nil
	}
	return rep, err
}

func failed(err error) *schemas.Result {
	var e *schemas.Error
	if !errors.As(err, &e) {
		e = &schemas.Error{Code: schemas.InternalError, Message: err.Error()}
	}
	return &schemas.Result{Status: schemas.StatusFailed, Code: e.Code, Error: e.Message}
}

// gone says that a host has vanished while it was asked.
func gone(host string) *schemas.Error {
	return &schemas.Error{Code: schemas.RuntimeUnavailable, Message: fmt.Sprintf("host %s, which owns this run, went away in the middle, and "+
		"the run's cells with it; calls that were under way may have run. Look at their effects before you run anything again", host)}
}

// absent says that a host had vanished before it was asked, so that it hasn't heard the question.
func absent(host string) *schemas.Error {
	return &schemas.Error{Code: schemas.RuntimeUnavailable, Message: fmt.Sprintf("host %s, which owned this run, is gone, and the run's cells "+
		"with it. What was asked now was not started; what was under way then may have run: look at earlier results before you run it "+
		"again, in a new run", host)}
}

// cutOff says that a request was given up because the bus can't be reached.
func cutOff() *schemas.Error {
	return &schemas.Error{Code: schemas.RuntimeUnavailable, Message: "the bus went away while the request was under way, and isn't back: " +
		"what became of it is unknown, and its calls may have run. Look at their effects before you run anything again"}
}

// askHost asks a host. While the answer is outstanding it asks now and then whether the host
// is alive, so that one that dies in the middle is noticed too.
func askHost[Rep any](ctx context.Context, c *Client, host, subject string, req any) (*Rep, error) {
	asking, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	probing := time.AfterFunc(probeEvery, func() { c.probe(asking, host, stop) })
	defer probing.Stop()
	rep, err := Ask[Rep](asking, c.c, subject, req)
	if err == nil {
		return rep, nil
	}
	if errors.Is(err, ErrNoResponders) {
		return nil, absent(host)
	}
	if e, ok := errors.AsType[*schemas.Error](context.Cause(asking)); ok {
		return nil, e
	}
	return nil, err
}

// probe stops a request when its host has gone, or the bus.
func (c *Client) probe(ctx context.Context, host string, stop context.CancelCauseFunc) {
	var since time.Time // the bus is out of reach; zero while it isn't
	for ctx.Err() == nil {
		probe, cancel := context.WithTimeout(ctx, probeTimeout)
		_, err := Ask[schemas.HostStatus](probe, c.c, StatusSubject(host), &schemas.StatusAsk{})
		cancel()
		if errors.Is(err, ErrNoResponders) {
			stop(gone(host))
			return
		}
		switch {
		case c.c.nats.IsConnected():
			since = time.Time{}
		case since.IsZero():
			since = time.Now()
		case time.Since(since) >= cutOffFor:
			stop(cutOff())
			return
		}
		select {
		case <-ctx.Done():
		case <-c.c.Lost():
			stop(cutOff())
			return
		case <-time.After(probeEvery):
		}
	}
}
