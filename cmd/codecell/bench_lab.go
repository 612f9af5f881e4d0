package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/codecell/codecell/actors/host"
	"github.com/codecell/codecell/actors/tool"
	"github.com/codecell/codecell/bus"
	"github.com/codecell/codecell/schemas"
)

const (
	sequentialCalls   = 50
	parallelCalls     = 16
	throughputCallers = 32
	parkedCells       = 64
)

// labKind is what is special about a [lab].
type labKind string

const (
	plainLab labKind = "plain"
	// hookedLab asks one hook about each call, and nothing about programs.
	hookedLab labKind = "hooked"
	// boundLab records its run in a session.
	boundLab labKind = "bound"
)

// kindOf gives the lab in which a figure is measured.
func kindOf(figure string) labKind {
	if kind := labKind(figure); kind == hookedLab || kind == boundLab {
		return kind
	}
	return plainLab
}

// lab is a node with one tool, and a run on it: what `codecell up` is, with a client in the same process. Programs
// and calls travel over its bus as they do between processes.
type lab struct {
	node     *host.Node
	hook     *bus.HookServer // of a hookedLab
	run      *bus.Run
	identity schemas.Identity
	calls    atomic.Int64
}

type labNumber struct {
	N int `json:"n"`
}

func newLab(ctx context.Context, kind labKind, log *slog.Logger) (_ *lab, err error) {
	funcs, err := tool.Funcs("bench", tool.New("echo", "Gives back its number.",
		func(_ context.Context, in labNumber) (labNumber, error) { return in, nil }))
	if err != nil {
		return nil, err
	}
	l := &lab{identity: schemas.Identity{Agent: schemas.DefaultAgent, SessionID: "bench", SessionKey: "bench", Run: "bench"}}
	var config schemas.Config
	if kind == hookedLab {
		config.Hooks = []schemas.HookConfig{{Name: "bench", Phase: schemas.BeforeToolCall, Tools: []string{"echo"}}}
	}
	l.node, err = host.Up(ctx, host.NodeOptions{Config: &config, Providers: []tool.Provider{funcs}, Version: version, Logger: log})
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			l.close()
		}
	}()
	if kind == hookedLab {
		l.hook, err = bus.ServeHook(l.node.Conn(), schemas.BeforeToolCall, "bench", func(context.Context, *schemas.HookEvent) (*schemas.Verdict, error) {
			return &schemas.Verdict{}, nil
		})
		if err != nil {
			return nil, err
		}
	}
	if err = l.node.Ready(ctx); err != nil {
		return nil, err
	}
	l.run, err = l.node.Client().Open(ctx, schemas.Open{Identity: l.identity, Bind: kind == boundLab})
	if err == nil && kind == boundLab {
		err = l.program(`store("bench", 1); return load("bench")`, "1")(ctx) // without a session it fails
	}
	return l, err
}

func (l *lab) close() {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	if l.hook != nil {
		_ = l.hook.Close(ctx)
	}
	_ = l.node.Close(ctx) // nothing is left that needs an orderly end
}

// probe makes the probe of a figure that is timed in rounds.
func (l *lab) probe(name string) *probe {
	nothing := l.program("return 1+2", "3")
	switch name {
	case "sequential", "hooked", "bound":
		return &probe{name: name, parts: sequentialCalls, without: nothing, once: l.program(fmt.Sprintf(
			"let sum = 0; for (let n = 0; n < %d; n++) sum += (await echo({n})).n; return sum", sequentialCalls),
			strconv.Itoa(sequentialCalls*(sequentialCalls-1)/2))}
	case "parallel":
		return &probe{name: name, parts: parallelCalls, without: nothing, once: l.program(fmt.Sprintf(
			"const all = await Promise.all(Array.from({length: %d}, (_, n) => echo({n}))); return all.reduce((s, r) => s + r.n, 0)", parallelCalls),
			strconv.Itoa(parallelCalls*(parallelCalls-1)/2))}
	case "yield":
		return &probe{name: name, once: l.yieldAndWait}
	default:
		return &probe{name: name, once: nothing}
	}
}

// program gives a function that runs a program and checks its value.
func (l *lab) program(code, value string) func(context.Context) error {
	input := benchInput(code)
	return func(ctx context.Context) error {
		r, err := l.exec(ctx, input)
		if err != nil {
			return err
		}
		return expect(r, schemas.StatusCompleted, value)
	}
}

func (l *lab) exec(ctx context.Context, input schemas.JSON) (*schemas.Result, error) {
	return l.run.Exec(ctx, schemas.Exec{CallID: l.callID(), Input: input})
}

func (l *lab) callID() string { return "bench-" + strconv.FormatInt(l.calls.Add(1), 10) }

var yieldInput = benchInput("await yield_control(); return 3")

func (l *lab) yieldAndWait(ctx context.Context) error {
	r, err := l.exec(ctx, yieldInput)
	if err == nil {
		err = expect(r, schemas.StatusWaiting, "")
	}
	if err != nil {
		return err
	}
	r, err = l.node.Client().Wait(ctx, schemas.Wait{CallID: l.callID(), Identity: l.identity, RunID: r.RunID})
	if err != nil {
		return err
	}
	return expect(r, schemas.StatusCompleted, "3")
}

// expect fails unless a program ended as it should: what went wrong must not count as fast.
func expect(r *schemas.Result, status schemas.Status, value string) error {
	if r.Status != status || string(r.Value) != value {
		return fmt.Errorf("a program ended as %q with %q (%s), want %q with %q", r.Status, r.Value, r.Error, status, value)
	}
	return nil
}

func benchInput(code string) schemas.JSON {
	input, err := json.Marshal(map[string]string{"title": "Benchmark", "code": code})
	if err != nil {
		panic(err) // two strings are JSON
	}
	return input
}

// throughput counts cells by many callers, in slices of the time that it has.
func (b *bench) throughput(ctx context.Context) (sample, error) {
	l, err := b.benchLab(ctx, plainLab)
	if err != nil {
		return sample{}, err
	}
	once := l.program("return 1+2", "3")
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var done atomic.Int64
	var callers sync.WaitGroup
	for range throughputCallers {
		callers.Go(func() {
			for ctx.Err() == nil {
				if err := once(ctx); err != nil {
					cancel(err)
					return
				}
				done.Add(1)
			}
		})
	}
	s := sample{note: fmt.Sprintf("%d callers share one connection and one run", throughputCallers)}
	const slices = 10
	ticker := time.NewTicker(max(b.each/slices, time.Millisecond))
	defer ticker.Stop()
	start, before := time.Now(), done.Load()
	for len(s.values) < slices && ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-ticker.C:
			now, count := time.Now(), done.Load()
			if count == before {
				continue // a slice is long enough for a cell to end in it
			}
			s.values = append(s.values, float64(count-before)/now.Sub(start).Seconds())
			start, before = now, count
		}
	}
	err = context.Cause(ctx)
	cancel(context.Canceled)
	callers.Wait()
	return s, err
}

// parkedProgram has some state to keep: what a program knows between two steps of its work.
const parkedProgram = `const seen = new Map();
for (let i = 0; i < 100; i++) seen.set("key " + i, {i, text: "row " + i});
await yield_control();
return seen.size`

// parked divides the memory that parked cells hold by their number: Go's heap after a collection, and stacks. Guests'
// memory is outside of the heap; parked cells have none, which the note's growth of it shows.
func (b *bench) parked(ctx context.Context) (sample, error) {
	l, err := b.benchLab(ctx, plainLab)
	if err != nil {
		return sample{}, err
	}
	input := benchInput(parkedProgram)
	park := func() (ids []string, err error) {
		for len(ids) < parkedCells {
			r, err := l.exec(ctx, input)
			if err == nil {
				err = expect(r, schemas.StatusWaiting, "")
			}
			if err != nil {
				return ids, err
			}
			ids = append(ids, r.RunID)
		}
		return ids, nil
	}
	cancel := func(ids []string) error {
		for _, id := range ids {
			if err := l.node.Client().Cancel(ctx, id, schemas.Cancel{Identity: l.identity}); err != nil {
				return err
			}
		}
		return nil
	}
	var s sample
	// The first time fills pools and caches, which aren't the cells'.
	for round := range leastRounds + 1 {
		heap, outside := memory()
		ids, err := park()
		if err != nil {
			return sample{}, err
		}
		heapAfter, outsideAfter := memory()
		if round > 0 {
			s.values = append(s.values, float64(heapAfter-heap)/parkedCells/1024)
			s.note = "heap and stacks after a collection"
			if outside > 0 {
				s.note += fmt.Sprintf("; outside of the heap %+.1f KiB a cell", float64(outsideAfter-outside)/parkedCells/1024)
			}
		}
		if err := cancel(ids); err != nil {
			return sample{}, err
		}
	}
	return s, nil
}

// memory gives the bytes of Go's live heap and its stacks, and what else is resident, 0 if that isn't known.
func memory() (heap, outside int64) {
	// Twice: what a pool drops in the first collection is freed in the second.
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	if resident, err := residentBytes("self"); err == nil {
		outside = resident - int64(m.HeapInuse+m.HeapIdle-m.HeapReleased+m.StackInuse)
	}
	return int64(m.HeapAlloc + m.StackInuse), outside
}
