package bus

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/codecell/codecell/schemas"
)

// maxBrought is how many calls of brought tools one [Bringing] answers at once; further ones are refused.
const maxBrought = 1024

const (
	// offerTimeout bounds one attempt to offer the tools again after a reconnection, offerRetry is the pause before the next, and
	// offerFor how long it is tried: the host may have been cut off too.
	offerTimeout = 5 * time.Second
	offerRetry   = 500 * time.Millisecond
	offerFor     = 30 * time.Second
)

// ToolFunc answers one call of a tool that this process brought for a run. The call tells which tool, with arguments that
// fit its input schema, and who calls. The result is one JSON text, or empty for undefined. An error, like a panic, rejects
// the call; one that is no *schemas.CallError is a tool_error. ctx ends when nobody waits for the answer any more.
type ToolFunc func(ctx context.Context, call *schemas.Call) (schemas.JSON, error)

// Bringing is tools that this process brought for a run (S8). They are offered until it is closed, the run has ended, or
// the process is gone.
type Bringing struct {
	// Surface is what a model is to be shown from now on. Problems are tools that can't be used, with the reason.
	Surface  schemas.Surface
	Problems []string

	run    *Run
	client string
	tools  []schemas.Tool
	answer ToolFunc
	// ctx is that of all functions: it ends with the bringing.
	ctx    context.Context
	cancel context.CancelFunc
	subs   []*Subscription
	// again is told when the host may have forgotten the tools, ended when the run has ended.
	again chan struct{}
	ended chan struct{}
	over  chan struct{}
	close sync.Once

	mu      sync.Mutex
	running map[string]context.CancelFunc // by "<cell>.<call>"
	closing bool
	calls   sync.WaitGroup
}

// Bring offers tools of this process for the run: programs that start from now on find them, after all others, and call
// them instead of native tools of the same names (C1, C3). Every call passes policy, hooks and approvals at the host, as
// those of other tools do. answer is called by many goroutines at once. At most 128 tools of 1 MiB can be brought for a run;
// bringing others later adds to them, or takes the place of those of the same names. Close the bringing after use.
func (r *Run) Bring(ctx context.Context, tools []schemas.Tool, answer ToolFunc) (*Bringing, error) {
	switch {
	case len(tools) == 0:
		return nil, schemas.Refuse("tools", "tools is empty: bring at least one")
	case answer == nil:
		return nil, errors.New("bring tools: the function that answers their calls is missing")
	}
	b := &Bringing{
		run: r, client: NewClientID(), tools: tools, answer: answer, running: map[string]context.CancelFunc{},
		again: make(chan struct{}, 1), ended: make(chan struct{}, 1), over: make(chan struct{}),
	}
	b.ctx, b.cancel = context.WithCancel(context.Background())
	err := b.serve()
	if err == nil {
		err = b.offer(ctx, tools)
	}
	if err != nil {
		b.stop()
		return nil, fmt.Errorf("bring tools: %w", err)
	}
	go b.attend()
	return b, nil
}

// serve listens before the tools are offered: a call may come before the offer is answered.
func (b *Bringing) serve() error {
	c, host, run := b.run.client.c, b.run.Host, b.run.ID
	for _, row := range []func() (*Subscription, error){
		func() (*Subscription, error) { return Serve(c, ClientSubject(host, run, b.client), "", b.take) },
		func() (*Subscription, error) { return Serve(c, AliveSubject(host, run, b.client), "", b.alive) },
		func() (*Subscription, error) {
			return Listen(c, StopsOf(OwnerToken(schemas.SourceClient, run)), "", b.stopped)
		},
		func() (*Subscription, error) {
			return Listen(c, join2("feed.run.closed", host, run), "", func(string, *schemas.RunClosed) { note(b.ended) })
		},
	} {
		sub, err := row()
		if err != nil {
			return err
		}
		b.subs = append(b.subs, sub)
	}
	return nil
}

// offer tells the host what there is.
func (b *Bringing) offer(ctx context.Context, tools []schemas.Tool) error {
	r := b.run
	rep, err := askHost[schemas.Brought](ctx, r.client, r.Host, BringSubject(r.Host, r.ID),
		&schemas.Bring{Identity: r.Identity, Client: b.client, Tools: tools})
	if err != nil {
		return err
	}
	if rep.Err != nil {
		return rep.Err
	}
	if len(tools) > 0 && b.Surface.Version == "" {
		b.Surface, b.Problems = rep.Surface, rep.Problems
	}
	return nil
}

// attend ends the bringing with its run or connection, and offers the tools again after a reconnection: while the
// connection was down the host couldn't tell this process from one that is gone.
func (b *Bringing) attend() {
	c := b.run.client.c
	defer c.OnReconnect(func() { note(b.again) })()
	var retry <-chan time.Time
	var until time.Time
	for {
		select {
		case <-b.ctx.Done():
			return
		case <-b.ended:
			b.stop()
			return
		case <-c.Lost():
			b.stop()
			return
		case <-b.again:
			until = time.Now().Add(offerFor)
		case <-retry:
		}
		retry = nil
		ctx, cancel := context.WithTimeout(b.ctx, offerTimeout)
		err := b.offer(ctx, b.tools)
		cancel()
		switch {
		case err == nil || b.ctx.Err() != nil:
		case errors.Is(err, schemas.InvalidInput) || time.Now().After(until): // the run or its host is gone
			b.stop()
			return
		default:
			retry = time.After(offerRetry)
		}
	}
}

// note never blocks.
func note(signal chan<- struct{}) {
	select {
	case signal <- struct{}{}:
	default:
	}
}

type clientRequest = Request[schemas.Call, schemas.Answer]

// take hands a call to a goroutine.
func (b *Bringing) take(r *clientRequest) {
	key := r.Body.Address.Cell + "." + r.Body.ID
	ctx, cancel := context.WithCancel(b.ctx)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.running[key] != nil {
		cancel() // the same call, delivered twice
		return
	}
	if b.closing || len(b.running) >= maxBrought {
		cancel()
		b.respond(r, nil, &schemas.CallError{
			Code: schemas.CallToolError, Location: "transport", Effect: schemas.NotStarted,
			Message: r.Body.Tool + " was not started: its caller is leaving, or has too many calls at once",
		})
		return
	}
	b.running[key] = cancel
	b.calls.Go(func() {
		value, err := b.call(ctx, &r.Body)
		b.respond(r, value, err)
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.running, key)
		cancel()
	})
}

// call calls the function. What panics in it stays in this process.
func (b *Bringing) call(ctx context.Context, call *schemas.Call) (value schemas.JSON, err error) {
	defer func() {
		if p := recover(); p != nil {
			b.run.client.c.log.Error("panic", "in", "brought tool "+call.Tool, "panic", p, "stack", string(debug.Stack()))
			value, err = nil, errors.New(call.Tool+" failed inside")
		}
	}()
	return b.answer(ctx, call)
}

func (b *Bringing) respond(r *clientRequest, value schemas.JSON, err error) {
	a := &schemas.Answer{ID: r.Body.ID, Executor: b.client, State: schemas.AnswerDone, Value: value, Untrusted: true}
	if err != nil {
		a.State, a.Value = schemas.AnswerFailed, nil
		if !errors.As(err, &a.Err) {
			a.Err = &schemas.CallError{Code: schemas.CallToolError, Location: "tool", Message: err.Error(), Effect: schemas.Failed}
		}
	}
	sent := r.Respond(a)
	switch {
	case sent == nil:
	case err == nil && (errors.Is(sent, ErrTooLarge) || errors.Is(sent, ErrBusy)):
		b.respond(r, nil, &schemas.CallError{
			Code: schemas.CallToolError, Location: "transport", Effect: schemas.Done,
			Message: r.Body.Tool + " ran, and its result could not be sent: " + Reason(sent) + ". Return less",
		})
	default:
		b.run.client.c.log.Warn("the answer of a brought tool could not be sent", "tool", r.Body.Tool, "error", sent)
	}
}

// alive tells which of the named calls aren't being answered.
func (b *Bringing) alive(r *Request[schemas.Ping, schemas.Pong]) {
	pong := &schemas.Pong{Executor: b.client}
	b.mu.Lock()
	for _, key := range r.Body.Calls {
		if b.running[key] == nil {
			pong.Gone = append(pong.Gone, key)
		}
	}
	b.mu.Unlock()
	_ = r.Respond(pong) // who asks asks again
}

// stopped ends the function of a call that nobody waits for any more.
func (b *Bringing) stopped(subject string, _ *schemas.Stop) {
	_, _, cell, call, err := ParseStop(subject)
	if err != nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if cancel := b.running[cell+"."+call]; cancel != nil {
		cancel()
	}
}

// Done is closed when the tools aren't offered any more: the run has ended, the bringing was closed, or the connection is
// lost.
func (b *Bringing) Done() <-chan struct{} { return b.over }

// Close takes the tools back: programs that start from now on don't find them, calls of programs that have them are
// refused. Calls that run are answered, until ctx ends; then their functions' context does, and ctx's error is returned.
func (b *Bringing) Close(ctx context.Context) error {
	defer b.stop()
	select {
	case <-b.over:
		return nil
	default:
	}
	err := b.offer(ctx, nil)
	if errors.Is(err, schemas.InvalidInput) || errors.Is(err, schemas.RuntimeUnavailable) {
		err = nil // the run is gone, and the tools with it
	}
	b.mu.Lock()
	b.closing = true
	b.mu.Unlock()
	err = errors.Join(err, b.subs[0].Drain(ctx)) // what is on its way here is refused, and not lost
	answered := make(chan struct{})
	go func() { b.calls.Wait(); close(answered) }()
	select {
	case <-answered:
		err = errors.Join(err, b.run.client.c.Flush(ctx))
	case <-ctx.Done():
		err = errors.Join(err, ctx.Err())
	}
	if err != nil {
		return fmt.Errorf("take brought tools back: %w", err)
	}
	return nil
}

// stop ends everything at once.
func (b *Bringing) stop() {
	b.close.Do(func() {
		b.mu.Lock()
		b.closing = true
		b.mu.Unlock()
		b.cancel()
		for _, s := range b.subs {
			s.Close()
		}
		close(b.over)
	})
}
