package approval

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/codecell/codecell/bus"
	"github.com/codecell/codecell/schemas"
)

const (
	// MaxWaiting is how many calls of one executor wait for decisions at once; further ones are refused.
	MaxWaiting = 1024
	// MaxShownBytes is how much of an input an approval shows. A longer one is shown as a JSON string, its beginning.
	MaxShownBytes = 64 << 10
	// keptBytes is how much of it stays in the record once the approval has ended.
	keptBytes = 4 << 10
	// recordTimeout bounds one write of the record.
	recordTimeout = 5 * time.Second
	// maxReasonBytes bounds a hook's words on why it asks.
	maxReasonBytes = 1 << 10
)

// Options say what a [Gate] works with.
type Options struct {
	// Executor is the id of the executor whose calls are decided.
	Executor string
	// Timeout is how long a call waits for a decision, at most a day.
	Timeout time.Duration
	// Tell publishes a fact. It must not block.
	Tell func(fact any)
	// Wanted tells whether anybody still waits for a call that is about to be approved: a host that was killed has
	// withdrawn nothing. If it is nil, everybody does.
	Wanted func(ctx context.Context, call *schemas.Call) bool
	// Logger gets trouble with the record; slog.Default() if nil.
	Logger *slog.Logger
}

// Gate is where the calls of one executor wait for decisions. It costs nothing until a call needs one.
type Gate struct {
	Options
	conn *bus.Conn
	book *bus.ApprovalBook
	// turn is held by who uses or gives a grant: within one executor nobody has to try twice.
	turn    chan struct{}
	closing chan struct{}
	// open are tickets, and records of ends that nobody waits for.
	open sync.WaitGroup
	// given counts the grants that this gate knows to have been given.
	given atomic.Uint64

	listening sync.Mutex
	subs      []*bus.Subscription
	deaf      bool // for good: the gate is closed

	mu      sync.Mutex
	waiting map[string]*ticket
	ended   memory
	closed  bool
}

// New makes a gate. It must be closed.
func New(conn *bus.Conn, o Options) *Gate {
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	return &Gate{
		Options: o, conn: conn, book: bus.NewApprovalBook(conn),
		turn: make(chan struct{}, 1), closing: make(chan struct{}), waiting: map[string]*ticket{},
	}
}

// errClosing is why a call that needs an approval is refused by an executor that is leaving.
var errClosing = errors.New("its executor is shutting down before anybody has decided, so it was not run")

// Approve returns nil once the call may run: at once where a grant covers it, or when somebody has approved it. asked is
// why it needs an approval; empty means that it needs none. Before it waits for a person it calls awaiting with the
// approval's id, once. The error says whether the call was denied and by whom, that nobody decided in time, that the
// call isn't wanted any more, or that nobody could be asked; in each case it must not run (P3).
func (g *Gate) Approve(ctx context.Context, call *schemas.Call, _ *schemas.Tool, asked string, awaiting func(approval string)) error {
	if asked == "" {
		return nil
	}
	given := g.given.Load()
	used, err := g.useGrant(ctx, call)
	switch {
	case err != nil:
		return fmt.Errorf("it needs an approval, and grants can't be looked up, so it was not run: %w", err)
	case used != nil:
		return nil
	}
	t, err := g.ask(ctx, call, asked)
	switch {
	case errors.Is(err, errClosing):
		return err
	case err != nil:
		return fmt.Errorf("it needs an approval, and nobody can be asked for one, so it was not run: %w", err)
	}
	if g.given.Load() != given { // after the look at the grants, before anybody could have told the ticket
		t.look()
	}
	awaiting(t.now.ID)
	g.Tell(&schemas.ApprovalOpened{
		At: t.now.Opened, Address: call.Address, Call: call.ID, Approval: t.now.ID,
		Source: call.Source, Owner: call.Owner, Tool: call.Tool, Deadline: t.now.Deadline,
	})
	return t.wait(ctx)
}

// Close ends the waiting: the calls end as cancelled, and further ones are refused. Decisions are answered until the
// ends are on record or ctx has ended.
func (g *Gate) Close(ctx context.Context) {
	g.mu.Lock()
	if !g.closed {
		g.closed = true
		close(g.closing)
	}
	g.mu.Unlock()
	recorded := make(chan struct{})
	go func() {
		g.open.Wait() // closing ends the tickets, and recordTimeout their records
		close(recorded)
	}()
	select {
	case <-recorded:
	case <-ctx.Done():
	}
	g.listening.Lock()
	defer g.listening.Unlock()
	for _, s := range g.subs {
		s.Close()
	}
	g.subs, g.deaf = nil, true
}

// Waiting counts the calls that wait for a decision.
func (g *Gate) Waiting() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.waiting)
}

// ask puts a call on record as waiting.
func (g *Gate) ask(ctx context.Context, call *schemas.Call, asked string) (*ticket, error) {
	if err := g.listen(); err != nil {
		return nil, err
	}
	now := time.Now()
	t := &ticket{
		g: g, call: call, opened: now, due: time.NewTimer(g.Timeout),
		decisions: make(chan *decideRequest, 1), recheck: make(chan struct{}, 1),
		now: schemas.Approval{
			ID: bus.NewApprovalID(bus.Token(g.Executor)), Executor: g.Executor, State: schemas.ApprovalPending,
			Tool: call.Tool, Source: call.Source, Owner: call.Owner, Input: shown(call.Args, MaxShownBytes),
			Call: call.ID, ParentID: call.ParentID, Address: call.Address, Identity: call.Identity,
			Reason: cut(asked, maxReasonBytes), Opened: now.UnixNano(), Deadline: now.Add(g.Timeout).UnixNano(),
		},
	}
	g.mu.Lock()
	switch {
	case g.closed:
		g.mu.Unlock()
		return nil, errClosing
	case len(g.waiting) >= MaxWaiting:
		g.mu.Unlock()
		return nil, fmt.Errorf("%d calls wait for decisions already: decide some, or ask for fewer at once", MaxWaiting)
	}
	g.waiting[t.now.ID] = t
	g.open.Add(1)
	g.mu.Unlock()

	ctx, cancel := context.WithTimeout(ctx, recordTimeout)
	defer cancel()
	revision, err := g.book.Open(ctx, &t.now)
	if err != nil {
		t.leave()
		return nil, err
	}
	t.revision = revision
	return t, nil
}

// listen subscribes to decisions, and to word of grants that were given elsewhere, once.
func (g *Gate) listen() error {
	g.listening.Lock()
	defer g.listening.Unlock()
	switch {
	case g.deaf:
		return errClosing
	case len(g.subs) > 0:
		return nil
	}
	decisions, err := bus.Serve(g.conn, bus.DecisionsFor(bus.Token(g.Executor)), "", g.take)
	if err != nil {
		return err
	}
	closed, err := bus.Listen(g.conn, bus.Facts("approval", "closed"), "", func(_ string, fact *schemas.ApprovalClosed) {
		if fact.Granted > 0 {
			g.reconsider()
		}
	})
	if err != nil {
		decisions.Close()
		return err
	}
	g.subs = []*bus.Subscription{decisions, closed}
	return nil
}

// reconsider has every waiting call look whether a grant covers it now.
func (g *Gate) reconsider() {
	g.given.Add(1)
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, t := range g.waiting {
		t.look()
	}
}

// shown bounds an input. What isn't whole, or no JSON, becomes a JSON string.
func shown(input schemas.JSON, limit int) schemas.JSON {
	if len(input) <= limit && json.Valid(input) {
		return bytes.Clone(input)
	}
	text, err := json.Marshal(cut(string(input), limit))
	if err != nil {
		return schemas.JSON(`""`)
	}
	return text
}

// cut bounds a text to about limit bytes of valid UTF-8, and says how long it was.
func cut(text string, limit int) string {
	if len(text) > limit {
		text = fmt.Sprintf("%s… (%d bytes)", strings.ToValidUTF8(text[:limit], ""), len(text))
	}
	return strings.ToValidUTF8(text, "\uFFFD")
}
