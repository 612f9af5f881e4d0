package cell

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
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
var testTools = []string{"echo", "after", "boom", "never", "refused", "big", "web", "broken"}

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
	facts           []any
	telemetry       schemas.Telemetry
	panics          string // name of the tool in whose dispatch the run panics
}

type spawnCell struct {
	props *actor.Props
	name  string
}

func newBed(t testing.TB, o slot.Options) *bed {
	sys := actor.NewActorSystem(actor.WithDeadLetterThrottleInterval(time.Millisecond),
		actor.WithLoggerFactory(func(*actor.ActorSystem) *slog.Logger { return discard }))
	b := &bed{t: t, sys: sys, ledger: sys.Root.Spawn(slot.New(o)), cells: map[string]*probe{}}
	b.parent = sys.Root.Spawn(actor.PropsFromFunc(b.receive))
	return b
}

var discard = slog.New(slog.NewTextHandler(io.Discard, nil))

func (b *bed) receive(ctx actor.Context) {
	switch m := ctx.Message().(type) {
	case *spawnCell:
		if _, err := ctx.SpawnNamed(m.props, m.name); err != nil {
			panic(err)
		}
	case *Ended:
		ctx.Poison(m.Cell)
		b.cell(m.Cell).ended <- m
	case *actor.Terminated:
		close(b.cell(m.Who).gone)
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
	r, err := b.sys.Root.RequestFuture(b.ledger, &slot.Count{}, time.Second).Result()
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
			b.sys.Root.Send(p.pid, &Cancel{Reason: "end of test"})
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

func (p *probe) wait(callID string) chan *schemas.Result {
	c := make(chan *schemas.Result, 1)
	p.sys.Root.Send(p.pid, &Wait{CallID: callID, Reply: func(r *schemas.Result) { c <- r }})
	return c
}

func (p *probe) cancel(reason string) chan struct{} {
	c := make(chan struct{})
	p.sys.Root.Send(p.pid, &Cancel{Reason: reason, Done: func() { close(c) }})
	return c
}

func (p *probe) status() *schemas.CellStatus {
	p.t.Helper()
	r, err := p.sys.Root.RequestFuture(p.pid, &Ask{}, time.Second).Result()
	if err != nil {
		p.t.Fatal(err)
	}
	return r.(*schemas.CellStatus)
}

// The probe is the cell's Port.
var _ Port = (*probe)(nil)

func (p *probe) Dispatch(c Call) *schemas.CallError {
	name := p.Tool(c.Ref)
	p.mu.Lock()
	p.sent = append(p.sent, name)
	p.args = append(p.args, string(c.Args))
	pid := p.pid
	p.mu.Unlock()
	if name == p.panics && name != "" {
		panic("the run panics")
	}
	a := &schemas.Answer{ID: c.ID, State: schemas.AnswerDone}
	var delay time.Duration
	switch name {
	case "echo":
		a.Value = c.Args
	case "web":
		a.Value, a.Untrusted = c.Args, true
	case "after":
		var in struct {
			Ms    int
			Value json.RawMessage
			Fail  string
		}
		if err := json.Unmarshal(c.Args, &in); err != nil {
			return &schemas.CallError{Code: schemas.CallInputContract, Message: err.Error()}
		}
		delay, a.Value = time.Duration(in.Ms)*time.Millisecond, schemas.JSON(in.Value)
		if in.Fail != "" {
			a.State, a.Err = schemas.AnswerFailed, &schemas.CallError{Code: schemas.CallToolError, Message: in.Fail}
		}
	case "boom":
		a.State = schemas.AnswerFailed
		a.Err = &schemas.CallError{Code: schemas.CallToolError, Message: "boom", Location: "tool", Effect: schemas.Unknown}
	case "broken":
		a.State = schemas.AnswerFailed
	case "never":
		return nil
	case "big":
		var in struct{ N int }
		if err := json.Unmarshal(c.Args, &in); err != nil {
			return &schemas.CallError{Code: schemas.CallInputContract, Message: err.Error()}
		}
		a.Value = schemas.JSON(strconv.Quote(strings.Repeat("b", in.N)))
	default:
		return &schemas.CallError{Code: schemas.CallInvalidInput, Message: "refused", Location: "policy", Effect: schemas.NotStarted}
	}
	answer := func() { p.sys.Root.Send(pid, &Answered{a}) }
	if delay == 0 {
		answer()
	} else {
		time.AfterFunc(delay, answer)
	}
	return nil
}

func (p *probe) Cancel(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cancelled = append(p.cancelled, id)
}

func (p *probe) Tool(ref int) string {
	if ref >= len(testTools) {
		return ""
	}
	return testTools[ref]
}

func (p *probe) Local(kind string, payload schemas.JSON) Local {
	if kind == "search" {
		return Local{Value: schemas.JSON(`[{"ref":0,"callableName":"echo","toolName":"echo","description":"d","source":"openclaw"}]`)}
	}
	return Local{Err: &schemas.CallError{Code: schemas.CallInvalidInput, Message: "no " + kind}}
}

func (p *probe) Sync(method string, payload []byte) ([]byte, bool) {
	return []byte(`{"ok":{"files":[]}}`), method == "api.list"
}

func (p *probe) Telemetry() schemas.Telemetry { return p.telemetry }

func (p *probe) Fact(f any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.facts = append(p.facts, f)
}

func (p *probe) sentTools() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.sent...)
}

// Expectations.

func completed(t testing.TB, r *schemas.Result, value string) {
	t.Helper()
	if r.Status != schemas.StatusCompleted || string(r.Value) != value {
		t.Fatalf("got %s, want completed %s", show(r), value)
	}
}

func failed(t testing.TB, r *schemas.Result, code schemas.Code, text string) {
	t.Helper()
	if r.Status != schemas.StatusFailed || r.Code != code || !strings.Contains(r.Error, text) {
		t.Fatalf("got %s, want failed %s with %q", show(r), code, text)
	}
}

func waiting(t testing.TB, r *schemas.Result, reason string, pending ...string) {
	t.Helper()
	var got []string
	for _, p := range r.Pending {
		name := p.Kind
		if p.Tool != "" {
			name = p.Tool
		}
		got = append(got, name+" "+p.State)
	}
	if r.Status != schemas.StatusWaiting || r.Reason != reason || strings.Join(got, ", ") != strings.Join(pending, ", ") {
		t.Fatalf("got %s, want waiting %s for %v", show(r), reason, pending)
	}
}

func show(r *schemas.Result) string {
	return fmt.Sprintf("%s value=%.200s code=%s error=%.300q reason=%s pending=%+v output=%+v", r.Status, r.Value, r.Code, r.Error,
		r.Reason, r.Pending, r.Output)
}

func output(r *schemas.Result) string {
	var parts []string
	for _, o := range r.Output {
		if o.Type == "text" {
			parts = append(parts, o.Text)
		} else {
			parts = append(parts, string(o.Value))
		}
	}
	return strings.Join(parts, "|")
}
