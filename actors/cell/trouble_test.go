package cell

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"github.com/codecell/codecell/actors/slot"
	"github.com/codecell/codecell/schemas"
	"github.com/codecell/codecell/wasm"
)

// E1: no guest, no fallback; and what can't be restored says where to look (W2).
func TestSpec_E1_W2_GuestsThatCantBeMade(t *testing.T) {
	engine, err := wasm.NewEngine(t.Context(), wasm.Config{})
	if err != nil {
		t.Fatal(err)
	}
	image, err := engine.NewImage(t.Context(), installText())
	if err != nil {
		t.Fatal(err)
	}
	spec := Spec{Source: "return 1", Image: image, Limits: limits(), Port: &probe{}}
	g := newGuest(Deps{Engine: engine}, spec, noLog)
	for _, snapshot := range [][]byte{{}, []byte("nonsense")} {
		g.snapshot = snapshot
		end := g.leg(t.Context(), RunLeg{})
		if end.Failure == nil || end.Failure.Code != schemas.InvalidInput || !strings.Contains(end.Failure.Text, "earlier results") {
			t.Errorf("snapshot %q: %+v", snapshot, end.Failure)
		}
	}
	// A budget that ended on the way back is a timeout, not a want of guests (Q2).
	past, cancel := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
	defer cancel()
	g = newGuest(Deps{Engine: engine}, spec, noLog)
	if end := g.leg(past, RunLeg{}); end.Failure == nil || end.Failure.Code != schemas.Timeout {
		t.Errorf("with no time left: %+v", end.Failure)
	}
	if err := engine.Close(); err != nil {
		t.Fatal(err)
	}
	end := newGuest(Deps{Engine: engine}, spec, noLog).leg(t.Context(), RunLeg{})
	if end.Failure == nil || end.Failure.Code != schemas.RuntimeUnavailable {
		t.Errorf("without an engine: %+v", end.Failure)
	}
}

// E1: the code follows from the kind of the error.
func TestSpec_E1_CodesOfStoppedLegs(t *testing.T) {
	g := &guest{log: noLog, limits: wasm.Limits{MemoryBytes: 5}}
	for _, c := range []struct {
		err  error
		want schemas.Code
	}{
		{errors.Join(wasm.ErrInterrupted, context.DeadlineExceeded), schemas.Timeout},
		{errors.Join(wasm.ErrInterrupted, context.Canceled), schemas.Aborted},
		{errors.Join(wasm.ErrInterrupted, wasm.ErrClosed), schemas.Aborted},
		{wasm.ErrMemory, schemas.InternalError},
		{wasm.ErrTrap, schemas.InternalError},
		{wasm.ErrController, schemas.InternalError},
		{wasm.ErrUnavailable, schemas.RuntimeUnavailable},
		{errors.New("timeout exceeded: context deadline exceeded"), schemas.InternalError}, // the text doesn't count
	} {
		if f := g.explain(c.err); f.Code != c.want || f.Text == "" {
			t.Errorf("%v: %+v, want %s", c.err, f, c.want)
		}
	}
}

// A memory bomb is the program's own failure, and the next cell is right.
func TestSpec_E1_OutOfMemory(t *testing.T) {
	b := newBed(t, slot.Options{})
	tight := func(s *Spec) { s.Limits.MemoryBytes, s.Limits.Timeout = 4<<20, time.Minute }
	r := <-b.exec(`text("a"); const a=[]; for(;;) a.push("x".repeat(100000)+a.length)`, tight).reply
	failed(t, r, schemas.InternalError, "memory")
	if output(r) != "a" {
		t.Errorf("output %q", output(r))
	}
	completed(t, <-b.exec(`return 1+2`, tight).reply, `3`)
	b.close()
}

// A panic on the guest's goroutine is ours: the cell fails, the process lives.
func TestSpec_E1_PanicInALeg(t *testing.T) {
	virtual(t, slot.Options{}, func(b *bed) {
		p := b.exec(`text("a"); await catalog.search("panic")`)
		r := <-p.reply
		failed(b.t, r, schemas.InternalError, "internal error")
		if output(r) != "a" {
			b.t.Errorf("output %q", output(r))
		}
	})
}

// A supervisor that restarts a cell doesn't run its program again.
func TestSpec_E1_NeverRestarted(t *testing.T) {
	virtual(t, slot.Options{}, func(b *bed) {
		p := &probe{bed: b, reply: make(chan *schemas.Result, 2)}
		props := New(Deps{Engine: testEngine, Ledger: b.ledger, Logger: discard},
			Spec{Source: "return 1", Image: testImage, Limits: limits(), Port: p, Reply: func(r *schemas.Result) { p.reply <- r }})
		first := b.sys.Root.Spawn(props) // without a parent it stops by itself
		completed(b.t, <-p.reply, `1`)
		again := b.sys.Root.Spawn(props)
		for _, pid := range []*actor.PID{first, again} {
			_ = b.sys.Root.PoisonFuture(pid).Wait()
		}
		if len(p.reply) != 0 {
			b.t.Errorf("it ran again: %s", show(<-p.reply))
		}
	})
}

// firstLeg makes a machine whose program issued the requests in its first leg, which has ended.
func firstLeg(t *testing.T, spec MachineSpec, requests ...Request) (*Machine, time.Time) {
	t.Helper()
	m, now := begun(spec)
	m.Step(LegDone{At: now, Requests: requests})
	return m, now
}

// begun is a machine whose first leg runs, with a budget of a second.
func begun(spec MachineSpec) (*Machine, time.Time) {
	now := time.Unix(1000, 0)
	spec.Limits, spec.Tool = limits(), func(int) string { return "t" }
	m := NewMachine(spec)
	m.Step(Begin{At: now, Observer: &Observer{}})
	m.Step(WorkerGranted{At: now, Ticket: 1})
	return m, now
}

// afterFirstLeg is firstLeg, and the requests are sent.
func afterFirstLeg(t *testing.T, spec MachineSpec, requests ...Request) (*Machine, time.Time) {
	t.Helper()
	m, now := firstLeg(t, spec, requests...)
	m.Step(SlotGranted{At: now})
	return m, now
}

// G4: a timer that fires while a leg runs, and is cleared by that leg, never reaches the program.
func TestSpec_G4_TimerClearedAfterItFired(t *testing.T) {
	m, now := afterFirstLeg(t, MachineSpec{}, Request{ID: "1", Kind: TimerRequest}, Request{ID: "2", Kind: CallRequest}, Request{ID: "3", Kind: CallRequest})
	m.Step(Answer{At: now, ID: "2", State: schemas.AnswerDone}) // the leg runs
	m.Step(TimerFired{At: now, Timer: Timer{Kind: RequestTimer, Request: "1"}})
	m.Step(Answer{At: now, ID: "3", State: schemas.AnswerDone})
	for _, e := range m.Step(LegDone{At: now, Cancelled: []string{"1"}}) {
		if leg, ok := e.(RunLeg); ok && len(leg.Answers) == 1 && leg.Answers[0].ID == "3" {
			return
		}
	}
	t.Errorf("effects: %+v", m.out)
}

// W4: a pending list says how far each call came.
func TestSpec_W4_PendingStates(t *testing.T) {
	var requests []Request
	for _, id := range []string{"1", "2", "3"} {
		requests = append(requests, Request{ID: id, Kind: CallRequest})
	}
	now := time.Unix(1000, 0)
	l := limits()
	l.PendingCalls = 2
	m := NewMachine(MachineSpec{Limits: l, Tool: func(int) string { return "t" }})
	o := &Observer{}
	var got *schemas.Result
	for _, e := range []Event{Begin{At: now, Observer: o}, WorkerGranted{At: now, Ticket: 1}, LegDone{At: now, Requests: requests},
		SlotGranted{At: now}, Answer{At: now, ID: "2", State: schemas.AnswerAccepted},
		TimerFired{At: now, Timer: Timer{Kind: DeadlineTimer, Turn: 1}}, Parked{At: now}} {
		for _, effect := range m.Step(e) {
			if r, ok := effect.(Respond); ok {
				got = r.Result
			}
		}
	}
	waiting(t, got, schemas.ReasonPendingTools, "t sent", "t started", "t queued")
}

// B2: a leg may have any number of stretches, and each may print a little whatever was printed before: the host keeps no more
// than a result can have room for, and counts the rest exactly.
func TestSpec_B2_O2_OutputOfManyStretchesIsBounded(t *testing.T) {
	engine, err := wasm.NewEngine(t.Context(), wasm.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = engine.Close() }()
	image, err := engine.NewImage(t.Context(), installText())
	if err != nil {
		t.Fatal(err)
	}
	spec := Spec{Image: image, Limits: limits(), Port: &probe{}, Source: `
		for (let i = 0; i < 200; i++) { text("x".repeat(498)); try { await results.load("no") } catch {} }
		json({end: true})`}
	spec.Limits.OutputBytes = 2048
	g := newGuest(Deps{Engine: engine}, spec, noLog)
	defer g.drop()
	end := g.leg(t.Context(), RunLeg{Deadline: time.Now().Add(time.Minute)})
	if end.Failure != nil || end.Main == nil || end.Main.Err != nil {
		t.Fatalf("%+v", end)
	}
	kept := 0
	for _, o := range end.Output {
		kept += len(o.JSON) + o.Omitted
	}
	if len(end.Output) > 6 || kept > 2048+endReserve {
		t.Errorf("%d items of %d bytes are kept", len(end.Output), kept)
	}
	if n := len(end.Output) + end.Dropped.Texts; n != 200 || end.Dropped.Values != 1 || kept+end.Dropped.Bytes != 200*500+len(`{"end":true}`) {
		t.Errorf("%d texts, %d bytes kept, dropped %+v", n, kept, end.Dropped)
	}
}

// E3, E5: where the error of a call doesn't fit, it is still what it was: one that never ran has not run.
func TestSpec_E3_ErrorsThatDontFit(t *testing.T) {
	b := inbox{limit: 100}
	b.put(Settlement{ID: "1", Value: schemas.JSON(strings.Repeat("1", 90))})
	b.put(Settlement{ID: "2", Err: &schemas.CallError{
		Code: schemas.CallInvalidInput, Name: "TypeError", Location: "policy", Effect: schemas.NotStarted, Message: strings.Repeat("no ", 10),
	}})
	got := b.take()[1].Err
	if got.Code != schemas.CallInvalidInput || got.Location != "policy" || got.Effect != schemas.NotStarted || strings.Contains(got.Message, "ran") ||
		!strings.Contains(got.Message, "it failed, and the error of 30 bytes doesn't fit") {
		t.Errorf("%+v", got)
	}
}

// E5: of too many calls, those that are done make room before those that failed, may have run, or are under way.
func TestSpec_E5_WhatMattersOfManyCallsIsListed(t *testing.T) {
	var h history
	for i, outcome := range []schemas.Outcome{schemas.Failed, schemas.Unknown, schemas.Started} {
		h.add(strconv.Itoa(i), 0)
		h.set(strconv.Itoa(i), outcome)
	}
	for i := range 2 * maxOutcomes {
		h.add("d"+strconv.Itoa(i), 0)
		h.set("d"+strconv.Itoa(i), schemas.Done)
	}
	list := h.outcomes(func(int) string { return "t" })
	if len(list) != maxOutcomes || list[0].Outcome != schemas.Failed || list[1].Outcome != schemas.Unknown || list[2].Outcome != schemas.Started ||
		list[3].ID != "d"+strconv.Itoa(2*maxOutcomes-(maxOutcomes-3)) || h.total != 2*maxOutcomes+3 {
		t.Errorf("%d calls, %d listed: %+v", h.total, len(list), list[:4])
	}
	for i := range maxOutcomes { // nothing that is done is left
		h.add("f"+strconv.Itoa(i), 0)
		h.set("f"+strconv.Itoa(i), schemas.Failed)
	}
	if list = h.outcomes(func(int) string { return "t" }); len(list) != maxOutcomes || list[0].Outcome != schemas.Started {
		t.Errorf("%d listed: %+v", len(list), list[:2])
	}
}
