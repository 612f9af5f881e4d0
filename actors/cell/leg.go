package cell

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"github.com/codecell/codecell/schemas"
	"github.com/codecell/codecell/wasm"
)

// guest is a cell's continuation: nothing yet, a live guest, or a snapshot. Legs and parks are jobs on
// a goroutine of its own, one at a time, and nothing else touches package wasm. The actor and the
// goroutine take turns: a job begins with run or freeze, and ends with the call of done.
type guest struct {
	engine *wasm.Engine
	image  *wasm.Image
	source string
	// programs says what a program is, for one that isn't.
	programs string
	limits   wasm.Limits
	park     int // largest snapshot, in bytes
	port     Port
	log      func() *slog.Logger

	jobs      chan func() // of the live guest's goroutine
	live      *wasm.Guest
	snapshot  []byte
	started   bool
	settled   bool // the main program has settled
	untrusted bool // data of an MCP server or a client has reached the program by now (O5)

	mu        sync.Mutex
	busy      bool // a goroutine uses the guest
	abandoned bool
	cancel    context.CancelFunc // of the running leg
}

// plainPrograms is what programs are unless the run says otherwise.
const plainPrograms = "Programs are plain JavaScript, without types or modules"

func newGuest(d Deps, s Spec, log func() *slog.Logger) *guest {
	return &guest{
		engine: d.Engine, image: s.Image, source: s.Source, programs: cmp.Or(s.Programs, plainPrograms), port: s.Port, park: s.Limits.SnapshotBytes, log: log,
		limits: wasm.Limits{
			MemoryBytes: int64(s.Limits.MemoryBytes),
			OutputBytes: int64(s.Limits.OutputBytes), LegOutputBytes: endReserve,
			Requests: s.Limits.PendingCalls + s.Limits.QueuedCalls,
		},
	}
}

// run starts a leg on its goroutine; done is called with its end, on that goroutine.
func (g *guest) run(r RunLeg, done func(LegDone)) {
	end := r.Deadline
	if r.Light {
		end = end.Add(lateLeg)
	}
	ctx, cancel := context.WithDeadline(context.Background(), end)
	g.mu.Lock()
	g.busy, g.cancel = true, cancel
	g.mu.Unlock()
	g.do(func() {
		e := g.leg(ctx, r)
		cancel()
		g.rest()
		e.At = time.Now()
		done(e)
	})
}

// freeze parks the live guest on its goroutine; done is called with a Parked or ParkFailed.
func (g *guest) freeze(done func(Event)) {
	g.mu.Lock()
	g.busy = true
	g.mu.Unlock()
	g.do(func() {
		e := g.parkNow()
		g.rest()
		done(e)
	})
}

// do does a job on the guest's goroutine, which lives as long as the guest does: its stack has grown to
// what the engine needs.
func (g *guest) do(job func()) {
	if g.jobs == nil {
		g.jobs = make(chan func(), 1) // there is one job at a time: sending never blocks
		go func(jobs <-chan func()) {
			for job := range jobs {
				job()
			}
		}(g.jobs)
	}
	g.jobs <- job
}

// rest ends a goroutine's use of the guest.
func (g *guest) rest() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.busy, g.cancel = false, nil
	if g.abandoned {
		g.drop()
	}
}

// stop stops the running leg, if there is one.
func (g *guest) stop() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.cancel != nil {
		g.cancel()
	}
}

// abandon frees everything, at the latest when the goroutine that runs has ended.
func (g *guest) abandon() {
	g.stop()
	g.mu.Lock()
	defer g.mu.Unlock()
	g.abandoned = true
	if !g.busy {
		g.drop()
	}
}

// drop gives up the live guest, its goroutine, and the snapshot. Nothing else uses them.
func (g *guest) drop() {
	g.snapshot = nil
	if g.jobs != nil {
		close(g.jobs)
		g.jobs = nil
	}
	if g.live != nil {
		if err := g.live.Close(); err != nil {
			g.log().Error("closing a guest", "error", err)
		}
		g.live = nil
	}
}

// leg makes the guest live and runs it until it needs the host, or is done.
func (g *guest) leg(ctx context.Context, r RunLeg) (end LegDone) {
	defer func() {
		if r := recover(); r != nil {
			g.log().Error("a leg panicked", "panic", r, "stack", string(debug.Stack()))
			end.Failure = &Failure{Code: schemas.InternalError, Text: "internal error while the program ran"}
		}
		if end.Failure != nil {
			g.drop()
		}
	}()
	g.untrusted = r.Tainted
	if g.live == nil {
		if f := g.revive(ctx); f != nil {
			end.Failure = f
			return end
		}
	}
	for answers := r.Answers; ; {
		if r.Light {
			g.live.StopAfter(r.Deadline, lightLeg-end.Effort)
		}
		leg, err := g.step(ctx, answers)
		g.collect(&end, &leg)
		if err != nil {
			end.Failure, end.Unsent = g.explain(err), callsIn(leg.Unsent)
			return end
		}
		if leg.Overflow {
			end.Overflow = true
			return end
		}
		end.Local = nil
		for _, r := range leg.Requests {
			g.sort(&end, r)
		}
		// Without requests that the host must see, what was asked is answered right here.
		if len(end.Local) == 0 || len(end.Requests) > 0 {
			return end
		}
		answers = g.fitting(end.Local)
	}
}

// fitting gives the answers as the inbox would: whole, or rejected (C5, O4).
func (g *guest) fitting(answers []Settlement) []Settlement {
	b := inbox{limit: min(int(g.limits.MemoryBytes), g.park)}
	for _, a := range answers {
		b.put(a)
	}
	return b.take()
}

// revive makes a guest from the snapshot, or a fresh one.
func (g *guest) revive(ctx context.Context) *Failure {
	world := wasm.Env{Sync: g.lookUp}
	var err error
	if g.snapshot == nil {
		g.live, err = g.engine.Acquire(ctx, g.image, g.limits, world)
	} else {
		g.live, err = g.engine.Restore(ctx, g.image, g.snapshot, g.limits, world)
		g.snapshot = nil
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, wasm.ErrSnapshot):
		g.log().Error("restoring a cell", "error", err)
		return &Failure{Code: schemas.InvalidInput, Text: "this run can't be restored; look at earlier results for what it has done"}
	}
	g.log().Error("making a guest", "error", err)
	return &Failure{Code: schemas.RuntimeUnavailable, Text: "no guest can be made: " + err.Error()}
}

// step is one stretch of guest computation.
func (g *guest) step(ctx context.Context, answers []Settlement) (wasm.Leg, error) {
	if !g.started {
		g.started = true
		return g.live.Start(ctx, g.source)
	}
	settle := make([]wasm.Answer, len(answers))
	for i, a := range answers {
		settle[i] = wasm.Answer{ID: a.ID, OK: a.Err == nil, Body: a.Value}
		if a.Err != nil {
			body, err := json.Marshal(a.Err)
			if err != nil { // only text and closed lists are in it
				return wasm.Leg{}, fmt.Errorf("encoding an error: %w", err)
			}
			settle[i].Body = body
		}
	}
	return g.live.Resume(ctx, settle)
}

// collect takes over what a stretch said, as much as could ever get into a result: there may be any number of stretches.
func (g *guest) collect(end *LegDone, leg *wasm.Leg) {
	end.Memory = g.live.Memory()
	end.Effort += leg.Effort
	dropped := leg.OmittedBytes
	for _, o := range leg.Output {
		kind, number := "text", &end.Dropped.Texts
		if o.Kind == "json" {
			kind, number = "json", &end.Dropped.Values
		}
		if end.printed >= int(g.limits.OutputBytes) {
			dropped += int64(len(o.Payload))
			*number++
			continue
		}
		end.printed += len(o.Payload)
		dropped -= o.OmittedBytes
		end.Output = append(end.Output, Item{Type: kind, JSON: o.Payload, Omitted: int(o.OmittedBytes)})
	}
	end.Dropped.Bytes += int(dropped)
	end.Dropped.Texts += leg.DroppedTexts
	end.Dropped.Values += leg.DroppedValues
	end.Cancelled = append(end.Cancelled, leg.Cancelled...)
	end.Untrusted = end.Untrusted || g.untrusted
	end.Unhandled = nil
	if leg.Unhandled != nil {
		end.Unhandled = g.thrown(leg.Unhandled)
	}
	if leg.Settled && !g.settled {
		g.settled = true
		end.Main = &Main{Value: leg.Value}
		if leg.Err != nil {
			end.Main.Err = g.thrown(leg.Err)
		}
	}
}

// thrown is a program's own failure. The code comes from the controller, which sets one only for what
// it refused itself; a program can't.
func (g *guest) thrown(e *wasm.GuestError) *Failure {
	if e.Code == string(schemas.InvalidInput) {
		return &Failure{Code: schemas.InvalidInput, Text: e.Error() + "\nNo tools were dispatched. " + g.programs +
			": correct the source and submit it again."}
	}
	return &Failure{Code: schemas.InternalError, Text: e.Error()}
}

// explain says why a leg didn't end by itself. The code is decided by the kind of the error (E1).
func (g *guest) explain(err error) *Failure {
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return &Failure{Code: schemas.Timeout, Text: "code mode timeout exceeded: the program computed until its budget was used up"}
	case errors.Is(err, context.Canceled):
		return &Failure{Code: schemas.Aborted, Text: "code mode run aborted"}
	case errors.Is(err, wasm.ErrClosed):
		return &Failure{Code: schemas.Aborted, Text: "code mode run aborted: the host is shutting down"}
	case errors.Is(err, wasm.ErrMemory):
		return &Failure{Code: schemas.InternalError, Text: fmt.Sprintf(
			"InternalError: out of memory: the program needs more than its limit of %d bytes", g.limits.MemoryBytes)}
	case errors.Is(err, wasm.ErrUnavailable):
		return &Failure{Code: schemas.RuntimeUnavailable, Text: err.Error()}
	}
	g.log().Error("a leg failed", "error", err)
	return &Failure{Code: schemas.InternalError, Text: "the guest failed and was discarded; nothing of the program's state is left"}
}

// lookUp is the guest's immediate look-up.
func (g *guest) lookUp(method string, payload []byte) []byte {
	answer, untrusted := g.port.Sync(method, payload)
	g.untrusted = g.untrusted || untrusted
	return answer
}

// parkNow makes a snapshot and closes the guest. One over the limit leaves it live.
func (g *guest) parkNow() (e Event) {
	internal := ParkFailed{Failure: Failure{Code: schemas.InternalError, Text: "internal error while the program was parked"}}
	defer func() {
		if r := recover(); r != nil {
			g.log().Error("a park panicked", "panic", r, "stack", string(debug.Stack()))
			g.drop()
			internal.At = time.Now()
			e = internal
		}
	}()
	snapshot, err := g.live.Snapshot(g.park)
	now := time.Now()
	switch {
	case err == nil:
		g.drop()
		g.snapshot = snapshot
		return Parked{At: now, Bytes: len(snapshot)}
	case errors.Is(err, wasm.ErrSnapshotLimit):
		return ParkFailed{At: now, Failure: Failure{Code: schemas.SnapshotLimitExceeded, Text: fmt.Sprintf(
			"code mode snapshot limit exceeded: the program's state is larger than %d bytes and can't be parked. "+
				"Keep less data in variables while calls are pending.", g.park)}}
	}
	g.log().Error("parking a cell", "error", err)
	g.drop()
	internal.At = now
	return internal
}
