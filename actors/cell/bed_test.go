package cell

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"go.uber.org/goleak"

	"github.com/codecell/codecell/actors/slot"
	"github.com/codecell/codecell/schemas"
	"github.com/codecell/codecell/wasm"
)

var (
	testEngine *wasm.Engine
	testImage  *wasm.Image
)

func TestMain(m *testing.M) { os.Exit(runTests(m)) }

func runTests(m *testing.M) int {
	// Random orders are cheap, and rare ones matter.
	if err := flag.Set("rapid.checks", "2000"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	ctx := context.Background()
	cache, err := os.UserCacheDir()
	if err == nil {
		cache = filepath.Join(cache, "codecell-test")
	}
	if testEngine, err = wasm.NewEngine(ctx, wasm.Config{CacheDir: cache}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if testImage, err = testEngine.NewImage(ctx, installText()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	code := m.Run()
	if err := testEngine.Close(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if err := goleak.Find(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

// The tools of the test catalog, by ref.
var testTools = []string{"echo", "after", "boom", "never", "refused", "big", "web", "broken", "panics", "asks"}

func installText() []byte {
	type tool struct {
		Ref          int    `json:"ref"`
		CallableName string `json:"callableName"`
		ToolName     string `json:"toolName"`
		Description  string `json:"description"`
		Source       string `json:"source"`
	}
	var tools []tool
	for i, name := range testTools {
		tools = append(tools, tool{i, name, name, "A tool for tests.", "openclaw"})
	}
	b, err := json.Marshal(map[string]any{"contract": "current", "tools": tools, "mcp": []any{}, "features": map[string]bool{}})
	if err != nil {
		panic(err)
	}
	return b
}

// bed is a place for cells: an actor system with a ledger, and a parent that does a run's duties.
type bed struct {
	t      testing.TB
	sys    *actor.ActorSystem
	ledger *actor.PID
	parent *actor.PID

	over map[string]*Ended // by pid; only the parent uses it

	mu    sync.Mutex
	cells map[string]*probe // by pid
	count int
}

// probe is one cell under test, and its in-process run.
type probe struct {
	*bed
	pid   *actor.PID
	reply chan *schemas.Result // of the exec

	ended chan *Ended
	gone  chan struct{}

	sent, cancelled []string
	args            []string
	budgets         []time.Duration
	settled         []Settled
	facts           []any
	telemetry       schemas.Telemetry
	dry             *schemas.DryRun

	tainted []bool // what Local was told, in order
	local   *Local // what Local answers to look-ups other than searches
	keep    func(value schemas.JSON, tainted bool) (schemas.JSON, error)
	commit  func(tainted bool, done func(warning string)) // nil: nothing was stored
}

// route is a message on its way to a cell; it goes through the parent, as a run's would.
type route struct {
	to  *actor.PID
	msg any
}

type spawnCell struct {
	props *actor.Props
	name  string
}

func newBed(t testing.TB, o slot.Options) *bed {
	t.Helper()
	sys := actor.NewActorSystem(actor.WithDeadLetterThrottleInterval(time.Millisecond),
		actor.WithLoggerFactory(func(*actor.ActorSystem) *slog.Logger { return discard }))
	b := &bed{t: t, sys: sys, ledger: sys.Root.Spawn(slot.New(o)), over: map[string]*Ended{}, cells: map[string]*probe{}}
	b.parent = sys.Root.Spawn(actor.PropsFromFunc(b.receive))
	return b
}

var discard = slog.New(slog.DiscardHandler)

func noLog() *slog.Logger { return discard }

func (b *bed) receive(ctx actor.Context) {
	switch m := ctx.Message().(type) {
	case *spawnCell:
		if _, err := ctx.SpawnNamed(m.props, m.name); err != nil {
			panic(err)
		}
	case *route:
		b.route(ctx, m)
	case *Ended:
		b.over[m.Cell.Id] = m
		ctx.Poison(m.Cell)
		b.cell(m.Cell).ended <- m
	case *actor.Terminated:
		if b.over[m.Who.Id] == nil {
			b.over[m.Who.Id] = &Ended{}
		}
		close(b.cell(m.Who).gone)
	}
}

// route passes a message on, or answers for a cell that has ended.
func (b *bed) route(ctx actor.Context, r *route) {
	e := b.over[r.to.Id]
	if e == nil {
		ctx.Send(r.to, r.msg)
		return
	}
	switch m := r.msg.(type) {
	case *Cancel:
		m.Done()
	case *Wait:
		for _, w := range e.Waits {
			if w.CallID == m.CallID {
				m.Reply(w.Result)
				return
			}
		}
		m.Reply(&schemas.Result{Status: schemas.StatusFailed, Code: schemas.InvalidInput, Error: "unavailable or expired"})
	}
}

func (b *bed) cell(pid *actor.PID) *probe {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.cells[pid.Id]
}

// limits are defaults with a budget of one second.
func limits() schemas.Limits {
	l := schemas.DefaultLimits()
	l.Timeout = time.Second
	return l
}

// exec starts a cell; change may alter its spec.
func (b *bed) exec(source string, change ...func(*Spec)) *probe {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.count++
	p := &probe{bed: b, reply: make(chan *schemas.Result, 1), ended: make(chan *Ended, 1), gone: make(chan struct{})}
	p.telemetry = schemas.Telemetry{CatalogSize: len(testTools), CounterScope: "scope", VisibleTools: []string{"exec", "wait"}}
	spec := Spec{
		Address: schemas.Address{Host: "h", Run: "r", Cell: fmt.Sprint("cell", b.count)}, Title: "test", CallID: "exec-call",
		Source: source, Image: testImage, Limits: limits(), Port: p, Reply: func(r *schemas.Result) { p.reply <- r },
	}
	for _, c := range change {
		c(&spec)
	}
	m := &spawnCell{props: New(Deps{Engine: testEngine, Ledger: b.ledger, Logger: discard}, spec), name: spec.Address.Cell}
	p.pid = b.sys.NewLocalPID(b.parent.Id + "/" + m.name)
	b.cells[p.pid.Id] = p
	b.sys.Root.Send(b.parent, m)
	return p
}

// counts are the ledger's numbers.
func (b *bed) counts() slot.Counts {
	b.t.Helper()
	r, err := b.sys.Root.RequestFuture(b.ledger, &slot.Count{}, 20*time.Second).Result()
	if err != nil {
		b.t.Fatal(err)
	}
	return *r.(*slot.Counts)
}

// close stops everything; the ledger must have got everything back.
func (b *bed) close() {
	b.t.Helper()
	for _, p := range b.cells {
		select {
		case <-p.gone:
		default:
			<-p.cancel("end of test")
			<-p.gone
		}
	}
	if c := b.counts(); c.Slots.Held != 0 || c.Workers.Held != 0 || c.Waiting != 0 {
		b.t.Errorf("left in the ledger: %+v", c)
	}
	_ = b.sys.Root.PoisonFuture(b.parent).Wait()
	_ = b.sys.Root.PoisonFuture(b.ledger).Wait()
}

// virtual runs a test in virtual time, with a bed.
func virtual(t *testing.T, o slot.Options, f func(b *bed)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, o)
		f(b)
		b.close()
		time.Sleep(time.Second) // virtual: lets the ticker end that a dead letter starts
	})
}

func (p *probe) send(m any) { p.sys.Root.Send(p.parent, &route{p.pid, m}) }

func (p *probe) wait(callID string) chan *schemas.Result {
	c := make(chan *schemas.Result, 1)
	p.send(&Wait{CallID: callID, Reply: func(r *schemas.Result) { c <- r }})
	return c
}

func (p *probe) cancel(reason string) chan struct{} {
	c := make(chan struct{})
	p.send(&Cancel{Reason: reason, Done: func() { close(c) }})
	return c
}

func (p *probe) status() *schemas.CellStatus {
	p.t.Helper()
	r, err := p.sys.Root.RequestFuture(p.pid, &Ask{}, 20*time.Second).Result()
	if err != nil {
		p.t.Fatal(err)
	}
	return r.(*schemas.CellStatus)
}

// hog is an actor that takes a worker and never gives it up.
func hog(b *bed) *actor.Props {
	return actor.PropsFromFunc(func(ctx actor.Context) {
		if _, ok := ctx.Message().(*actor.Started); ok {
			ctx.Send(b.ledger, &slot.Ask{Holder: ctx.Self(), Kind: slot.Worker})
		}
	})
}
