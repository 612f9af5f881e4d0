package tool

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/codecell/codecell/bus"
	"github.com/codecell/codecell/bus/bustest"
	"github.com/codecell/codecell/schemas"
)

type addIn struct {
	A int `json:"a" jsonschema:"first number"`
	B int `json:"b,omitempty"`
}

type addOut struct {
	Sum int `json:"sum"`
}

func add(_ context.Context, in addIn) (addOut, error) { return addOut{in.A + in.B}, nil }

// start starts an executor, closed at the end of the test.
func start(t testing.TB, conn *bus.Conn, o Options) *Executor {
	t.Helper()
	o.Logger = quiet
	e, err := Start(soon(t), conn, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(soon(t)); err != nil {
			t.Error(err)
		}
	})
	return e
}

func funcs(t testing.TB, owner string, tools ...Func) *FuncSet {
	t.Helper()
	set, err := Funcs(owner, tools...)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func raw(name string, fn Handler, opts ...Option) Func {
	return Raw(schemas.Tool{Name: name}, fn, opts...)
}

func TestSpec_U2_CallsAreAnswered(t *testing.T) {
	conn := bustest.Conn(t)
	start(t, conn, Options{Providers: []Provider{funcs(t, "math", New("add", "adds", add), New("fail", "fails", func(context.Context, addIn) (addOut, error) {
		return addOut{}, errors.New("no paper")
	}))}})
	c := newCaller(t, conn)
	a := c.send("math", "add", `{"a":2,"b":40}`).end()
	if a.State != schemas.AnswerDone || string(a.Value) != `{"sum":42}` || a.Untrusted || a.Executor == "" {
		t.Errorf("%+v", a)
	}
	for _, x := range []struct {
		tool, args string
		code       schemas.CallCode
		location   string
		effect     schemas.Outcome
		says       string
	}{
		{"add", `{"aa":2}`, schemas.CallInputContract, atInput, schemas.NotStarted, `did you mean "a"`},
		{"add", `{"a":"2"}`, schemas.CallInputContract, atInput, schemas.NotStarted, "a: expected an integer"},
		{"add", `{"a":2,"c":1}`, schemas.CallInputContract, atInput, schemas.NotStarted, "c:"},
		{"fail", `{"a":2}`, schemas.CallToolError, atTool, schemas.Failed, "no paper"},
	} {
		a := c.send("math", x.tool, x.args).end()
		if a.State != schemas.AnswerFailed || a.Err.Code != x.code || a.Err.Location != x.location || a.Err.Effect != x.effect || !strings.Contains(a.Err.Message, x.says) {
			t.Errorf("%s %s: %+v", x.tool, x.args, a.Err)
		}
	}
	if r := c.send("math", "nothing", `{}`).next(); !r.NoResponders {
		t.Errorf("%+v", r)
	}
}

func TestSpec_P2_HandlersSeeTheCall(t *testing.T) {
	conn := bustest.Conn(t)
	seen := make(chan schemas.Call, 1)
	told := make(chan string, 1)
	start(t, conn, Options{
		Progress: func(call *schemas.Call, done, total float64, message string) {
			told <- fmt.Sprint(call.ID, done, total, message)
		},
		Providers: []Provider{funcs(t, "p", raw("look", func(ctx context.Context, args schemas.JSON) (schemas.JSON, error) {
			seen <- *CallOf(ctx)
			Report(ctx, 1, 2, "half")
			return nil, nil
		}))},
	})
	f := newCaller(t, conn).send("p", "look", ``, func(c *schemas.Call) { c.TraceParent = "00-x"; c.IdempotencyKey = "ik" })
	if a := f.end(); a.State != schemas.AnswerDone || len(a.Value) != 0 {
		t.Errorf("%+v", a)
	}
	got := <-seen
	if got.Identity != f.call.Identity || got.ParentID != "toolu_1" || got.Address != f.call.Address || got.TraceParent != "00-x" || got.IdempotencyKey != "ik" || string(got.Args) != "{}" {
		t.Errorf("%+v", got)
	}
	if p := <-told; p != f.call.ID+"1 2half" && p != f.call.ID+" 1 2 half" && !strings.HasSuffix(p, "half") {
		t.Error(p)
	}
	if CallOf(context.Background()) != nil {
		t.Error("a call outside a handler")
	}
	Report(context.Background(), 1, 2, "nobody")
}

func TestSpec_U2_LongCallsAreAcknowledgedOnce(t *testing.T) {
	conn := bustest.Conn(t)
	g := newGate()
	e := start(t, conn, Options{Providers: []Provider{funcs(t, "p", raw("wait", g.run))}})
	f := newCaller(t, conn).send("p", "wait", `{}`)
	r := f.next()
	if r.Answer.State != schemas.AnswerAccepted || r.Answer.Executor != e.ID() || r.Answer.ID != f.call.ID {
		t.Errorf("%+v", r.Answer)
	}
	pong, err := bus.Ask[schemas.Pong](soon(t), conn, bus.ExecutorSubject(e.ID()), &schemas.Ping{Calls: []string{"cell." + f.call.ID, "cell.999"}})
	if err != nil || pong.Executor != e.ID() || fmt.Sprint(pong.Gone) != "[cell.999]" {
		t.Errorf("%+v %v", pong, err)
	}
	close(g.leave)
	if r := f.next(); r.Answer.State != schemas.AnswerDone {
		t.Errorf("%+v", r.Answer)
	}
	f.over(e)
	f.silent()
}

func TestSpec_U2_ACallRunsOnce(t *testing.T) {
	conn := bustest.Conn(t)
	var ran atomic.Int64
	g := newGate()
	e := start(t, conn, Options{Providers: []Provider{funcs(t, "p", raw("wait", g.run),
		raw("small", func(context.Context, schemas.JSON) (schemas.JSON, error) { ran.Add(1); return schemas.JSON("7"), nil }),
		raw("large", func(context.Context, schemas.JSON) (schemas.JSON, error) {
			ran.Add(1)
			return schemas.JSON(`"` + strings.Repeat("x", 2*keptAnswerBytes) + `"`), nil
		}),
	)}})
	c := newCaller(t, conn)
	f := c.send("p", "wait", `{}`)
	<-g.entered
	f.again()
	close(g.leave)
	f.end()
	f.over(e)
	f.again()
	if a := f.end(); string(a.Value) != `"left"` || g.ran.Load() != 1 {
		t.Errorf("%+v, ran %d times", a, g.ran.Load())
	}
	f = c.send("p", "small", `{}`)
	f.end()
	f.over(e)
	f.again()
	if a := f.end(); string(a.Value) != "7" || ran.Load() != 1 {
		t.Errorf("%+v, ran %d times", a, ran.Load())
	}
	f = c.send("p", "large", `{}`)
	f.end()
	f.over(e)
	f.again()
	if a := f.end(); a.State != schemas.AnswerFailed || a.Err.Effect != schemas.Done || ran.Load() != 2 {
		t.Errorf("%+v, ran %d times", a, ran.Load())
	}
}

func TestSpec_S8_StopCancelsAndDropsTheAnswer(t *testing.T) {
	conn := bustest.Conn(t)
	g, deaf := newGate(), newGate()
	start(t, conn, Options{Providers: []Provider{funcs(t, "p", raw("wait", g.run), raw("deaf", func(ctx context.Context, a schemas.JSON) (schemas.JSON, error) {
		return deaf.run(withCall(context.Background(), CallOf(ctx), nil), a)
	}), New("add", "", add))}})
	c := newCaller(t, conn)
	f, d := c.send("p", "wait", `{}`), c.send("p", "deaf", `{}`)
	<-g.entered
	<-deaf.entered
	f.stop()
	d.stop()
	<-g.cancelled
	// A later stop on the same subscription is heard after the others.
	marker := c.send("p", "wait", `{}`)
	<-g.entered
	marker.stop()
	<-g.cancelled
	close(deaf.leave)
	c.send("p", "add", `{"a":1}`).end()
	for _, x := range []*flight{f, d, marker} {
		for len(x.got) > 0 {
			if r := x.next(); r.Answer.State != schemas.AnswerAccepted {
				t.Errorf("%s: %+v", x.call.Tool, r.Answer)
			}
		}
	}
	f.again()
	f.silent()
	if n := g.ran.Load(); n != 2 {
		t.Errorf("ran %d times", n)
	}
}

func TestSpec_S7_ConcurrencyAndQueueAreBounded(t *testing.T) {
	conn := bustest.Conn(t)
	g := newGate()
	e := start(t, conn, Options{Concurrency: 2, Queue: 2, Providers: []Provider{funcs(t, "p", raw("wait", g.run))}})
	c := newCaller(t, conn)
	var flights []*flight
	for range 4 {
		flights = append(flights, c.send("p", "wait", `{}`))
	}
	<-g.entered
	<-g.entered
	over := c.send("p", "wait", `{}`).end()
	if over.State != schemas.AnswerFailed || over.Err.Effect != schemas.NotStarted || !strings.Contains(over.Err.Message, "too many calls") {
		t.Errorf("%+v", over)
	}
	if running, queued := e.Load(); running != 2 || queued != 2 {
		t.Errorf("%d running, %d queued", running, queued)
	}
	flights[3].stop() // waits, and never runs
	flights[0].stop() // heard after the other
	<-g.cancelled
	<-g.entered
	for range 2 {
		g.leave <- struct{}{}
	}
	for _, f := range flights[1:3] {
		if a := f.end(); a.State != schemas.AnswerDone {
			t.Errorf("%+v", a)
		}
	}
	if n := g.ran.Load(); n != 3 {
		t.Errorf("%d ran, a stopped one among them", n)
	}
}

// What a function says is JSON is looked at: nobody behind it could make sense of anything else.
func TestSpec_E3_B4_WhatRawToolsReturnMustBeJSON(t *testing.T) {
	conn := bustest.Conn(t)
	returns := func(value string) Handler {
		return func(context.Context, schemas.JSON) (schemas.JSON, error) { return schemas.JSON(value), nil }
	}
	start(t, conn, Options{Providers: []Provider{funcs(t, "r", raw("half", returns(`{"a":`)), raw("two", returns(`1 2`)),
		raw("deep", returns(strings.Repeat("[", 20_000)+strings.Repeat("]", 20_000))), raw("nothing", returns("")))}})
	c := newCaller(t, conn)
	for _, name := range []string{"half", "two", "deep"} {
		a := c.send("r", name, `{}`).end()
		if a.Err == nil || a.Err.Code != schemas.CallOutputContract || a.Err.Location != atOutput || a.Err.Effect != schemas.Done || len(a.Value) > 0 {
			t.Errorf("%s: %+v", name, a)
		}
	}
	if a := c.send("r", "nothing", `{}`).end(); a.State != schemas.AnswerDone || a.Err != nil {
		t.Errorf("nothing: %+v", a)
	}
}

func TestSpec_E3_PanicsTellTheGuestNothing(t *testing.T) {
	conn := bustest.Conn(t)
	start(t, conn, Options{Providers: []Provider{funcs(t, "p", raw("panics", func(context.Context, schemas.JSON) (schemas.JSON, error) {
		panic("secret state")
	}))}})
	c := newCaller(t, conn)
	for range 2 {
		a := c.send("p", "panics", `{}`).end()
		if a.Err == nil || a.Err.Code != schemas.CallToolError || strings.Contains(a.Err.Message, "secret") || strings.Contains(a.Err.Message, ".go") {
			t.Errorf("%+v", a.Err)
		}
	}
}

func TestSpec_U6_LargeResults(t *testing.T) {
	conn := bustest.Conn(t)
	start(t, conn, Options{Providers: []Provider{funcs(t, "p", raw("big", func(_ context.Context, a schemas.JSON) (schemas.JSON, error) {
		n := 3 << 20
		if strings.Contains(string(a), "huge") {
			n = bus.DefaultMaxValueBytes + 1
		}
		return schemas.JSON(`"` + strings.Repeat("x", n) + `"`), nil
	}), New("add", "", add))}})
	c := newCaller(t, conn)
	if a := c.send("p", "big", `{}`).end(); a.State != schemas.AnswerDone || len(a.Value) != 3<<20+2 {
		t.Errorf("%d bytes, %+v", len(a.Value), a.Err)
	}
	if a := c.send("p", "big", `{"size":"huge"}`).end(); a.Err == nil || a.Err.Effect != schemas.Done || !strings.Contains(a.Err.Message, "too large") {
		t.Errorf("%+v", a.Err)
	}
	if a := c.send("p", "add", `{"a":1}`).end(); string(a.Value) != `{"sum":1}` {
		t.Errorf("%+v", a)
	}
}

func TestSpec_U2_RegistrationFollowsTheProvider(t *testing.T) {
	conn := bustest.Conn(t)
	registry, err := bus.OpenRegistry(soon(t), conn)
	if err != nil {
		t.Fatal(err)
	}
	defer registry.Close(context.Background())
	changed := make(chan []schemas.Registration, 100)
	view, err := registry.Watch(soon(t), func(all []schemas.Registration) { changed <- all })
	if err != nil {
		t.Fatal(err)
	}
	defer view.Close()
	until := func(what string, ok func([]schemas.Registration) bool) {
		t.Helper()
		for {
			select {
			case all := <-changed:
				if ok(all) {
					return
				}
			case <-time.After(time.Minute):
				t.Fatalf("never %s", what)
			}
		}
	}
	set := funcs(t, "p", New("add", "", add))
	broken := Raw(schemas.Tool{Name: "broken", Output: schemas.JSON(`{"type":7}`)}, func(context.Context, schemas.JSON) (schemas.JSON, error) { return nil, nil })
	e, err := Start(soon(t), conn, Options{Providers: []Provider{set}, Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	until("registered", func(all []schemas.Registration) bool {
		return len(all) == 1 && all[0].Executor == e.ID() && fmt.Sprint(toolNames(all[0])) == "[add]" && all[0].Tools[0].Tier == schemas.TierPlugin
	})
	if err := set.Set(New("sum", "", add), broken); err != nil {
		t.Fatal(err)
	}
	until("changed", func(all []schemas.Registration) bool {
		return len(all) == 1 && fmt.Sprint(toolNames(all[0])) == "[sum broken]" && len(all[0].Problems) == 1
	})
	c := newCaller(t, conn)
	if a := c.send("p", "sum", `{"a":1}`).end(); a.State != schemas.AnswerDone {
		t.Errorf("%+v", a)
	}
	if a := c.send("p", "broken", `{"a":1}`).end(); a.Err == nil || a.Err.Code != schemas.CallInvalidContract || a.Err.Effect != schemas.NotStarted {
		t.Errorf("%+v", a)
	}
	if !slices.ContainsFunc(e.Problems(), func(p string) bool { return strings.Contains(p, "broken can't be called") }) {
		t.Errorf("%q", e.Problems())
	}
	for { // the subscription ends after the registration has changed
		r := c.send("p", "add", `{"a":1}`).next()
		if r.NoResponders {
			break
		}
		if r.Answer.Err == nil || r.Answer.Err.Effect != schemas.NotStarted {
			t.Fatalf("a tool that is gone answered %+v", r.Answer)
		}
	}
	if err := e.Close(soon(t)); err != nil {
		t.Error(err)
	}
	until("withdrawn", func(all []schemas.Registration) bool { return len(all) == 0 })
}
