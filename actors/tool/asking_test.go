package tool

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/codecell/codecell/actors/policy"
	"github.com/codecell/codecell/bus"
	"github.com/codecell/codecell/bus/bustest"
	"github.com/codecell/codecell/schemas"
)

// await gives the approval that a call waits for, once it is said to wait.
func (f *flight) await(client *bus.Client) schemas.Approval {
	f.c.t.Helper()
	for r := f.next(); r.Answer.State != schemas.AnswerAwaiting; r = f.next() {
		if r.Answer.State != schemas.AnswerAccepted {
			f.c.t.Fatalf("%s didn't ask: %+v", f.call.Tool, r.Answer)
		}
	}
	list, err := client.Approvals(soon(f.c.t), false)
	if err != nil {
		f.c.t.Fatal(err)
	}
	for _, a := range list {
		if a.Call == f.call.ID {
			return a
		}
	}
	f.c.t.Fatalf("no approval of call %s: %+v", f.call.ID, list)
	return schemas.Approval{}
}

func decide(t testing.TB, client *bus.Client, id string, approve bool) {
	t.Helper()
	if err := client.Decide(soon(t), schemas.Decision{Approval: id, Approve: approve, By: "ada", Note: "seen"}); err != nil {
		t.Fatal(err)
	}
}

// Tools whose approval is always, never, or by arguments, called at once: each call of the first asks, the second goes on,
// and of the third those that its rule says (case 69).
func TestSpec_P3_Case69_WhichCallsAsk(t *testing.T) {
	conn := bustest.Conn(t)
	var ran atomic.Int64
	do := func(_ context.Context, in addIn) (addOut, error) { ran.Add(1); return addOut{in.A}, nil }
	start(t, conn, Options{Providers: []Provider{funcs(t, "p",
		New("always", "", do, Approval()), New("never", "", do), New("large", "", do, ApprovalWhen(func(in addIn) bool { return in.A > 100 })),
		New("broken", "", do, ApprovalWhen(func(addIn) bool { panic("secret") })),
		New("odd", "", do, ApprovalWhen(func(string) bool { return false })),
	)}})
	client, c := bus.NewClient(conn), newCaller(t, conn)
	one, two := c.send("p", "always", `{"a":1}`), c.send("p", "always", `{"a":2}`)
	small, large := c.send("p", "large", `{"a":100}`), c.send("p", "large", `{"a":101}`)
	for _, f := range []*flight{c.send("p", "never", `{"a":3}`), small} {
		if a := f.end(); a.State != schemas.AnswerDone {
			t.Errorf("%+v", a)
		}
	}
	first, second, third := one.await(client), two.await(client), large.await(client)
	if first.Reason != "the tool asks for every call" || third.Reason != "the tool asks for a call with these arguments" || string(first.Input) != `{"a":1}` {
		t.Errorf("%+v %+v", first, third)
	}
	if n := ran.Load(); n != 2 {
		t.Errorf("%d have run", n)
	}
	decide(t, client, first.ID, true)
	if a := one.end(); string(a.Value) != `{"sum":1}` {
		t.Errorf("%+v", a)
	}
	decide(t, client, second.ID, false)
	a := two.end()
	if a.Err == nil || a.Err.Message != "always: denied by ada: seen" || a.Err.Location != atApproval || a.Err.Effect != schemas.NotStarted {
		t.Errorf("%+v", a.Err)
	}
	decide(t, client, third.ID, true)
	large.end()
	for tool, want := range map[string]string{"broken": "can't be told: the rule for approvals failed inside", "odd": "can't be told: the arguments don't fit"} {
		if a := c.send("p", tool, `{"a":1}`).end(); a.Err == nil || !strings.Contains(a.Err.Message, want) || a.Err.Effect != schemas.NotStarted {
			t.Errorf("%s: %+v", tool, a.Err)
		}
	}
	if n := ran.Load(); n != 4 {
		t.Errorf("%d have run", n)
	}
}

// Calls that wait for a person don't take the executor's places; one that was approved has a place before its tool
// starts, says so first, and what was said before isn't taken for an approval (S6).
func TestSpec_S6_WaitingForAPersonTakesNoPlace(t *testing.T) {
	conn := bustest.Conn(t)
	g := newGate()
	e := start(t, conn, Options{Concurrency: 2, Queue: 1, Providers: []Provider{funcs(t, "p", New("add", "", add, Approval()), New("free", "", add), raw("wait", g.run))}})
	client, c := bus.NewClient(conn), newCaller(t, conn)
	var asking []*flight
	for range 10 {
		f := c.send("p", "add", `{"a":1}`)
		f.await(client)
		asking = append(asking, f)
	}
	if running, queued := e.Load(); running != 0 || queued != 0 {
		t.Errorf("%d run, %d wait", running, queued)
	}
	if a := c.send("p", "free", `{"a":1}`).end(); a.State != schemas.AnswerDone {
		t.Errorf("%+v", a)
	}
	var keys []string
	for _, f := range asking {
		keys = append(keys, "cell."+f.call.ID)
	}
	pong, err := bus.Ask[schemas.Pong](soon(t), conn, bus.ExecutorSubject(e.ID()), &schemas.Ping{Calls: keys})
	if err != nil || len(pong.Gone) > 0 {
		t.Errorf("%+v %v", pong, err)
	}
	// Both places are taken: what is approved is accepted, and starts when one is free.
	for range 2 {
		c.send("p", "wait", `{}`)
		<-g.entered
	}
	for _, a := range pending(t, client) {
		if a.Call == asking[3].call.ID {
			decide(t, client, a.ID, true)
		}
	}
	if r := asking[3].next(); r.Answer.State != schemas.AnswerAccepted || r.Answer.Executor != e.ID() {
		t.Errorf("%+v", r.Answer)
	}
	asking[3].silent()
	g.leave <- struct{}{}
	if a := asking[3].end(); a.State != schemas.AnswerDone {
		t.Errorf("%+v", a)
	}
	g.leave <- struct{}{}
	asking[4].stop()
	for _, f := range asking[5:] {
		f.stop()
	}
	for late := soon(t); len(pending(t, client)) > 3; { // stops are not answered
		if late.Err() != nil {
			t.Fatal("a stopped call waits for ever")
		}
	}
	asking[5].silent()
}

func pending(t testing.TB, client *bus.Client) []schemas.Approval {
	t.Helper()
	list, err := client.Approvals(soon(t), false)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// A quick decision isn't followed by word that somebody holds the call, and after awaiting, nothing but a decision says
// accepted.
func TestSpec_S6_AcceptedAfterAwaitingMeansApproved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		conn := bustest.Conn(t)
		start(t, conn, Options{Providers: []Provider{funcs(t, "p", New("add", "", add, Approval()))}})
		client, c := bus.NewClient(conn), newCaller(t, conn)
		f := c.send("p", "add", `{"a":1}`)
		a := f.await(client)
		time.Sleep(2 * acceptedAfter) // virtual: a timer of the executor would fire now
		synctest.Wait()
		if len(f.got) > 0 {
			t.Errorf("%+v", f.next().Answer)
		}
		decide(t, client, a.ID, true)
		if r := f.next(); r.Answer.State != schemas.AnswerAccepted {
			t.Errorf("%+v", r.Answer)
		}
		if r := f.next(); r.Answer.State != schemas.AnswerDone {
			t.Errorf("%+v", r.Answer)
		}
		f.silent()
	})
}

func TestSpec_P3_Case68_AnApprovalTimesOut(t *testing.T) {
	conn := bustest.Conn(t)
	start(t, conn, Options{
		Pipeline:  Pipeline{ApprovalTimeout: 50 * time.Millisecond},
		Providers: []Provider{funcs(t, "p", New("add", "", add, Approval()), New("free", "", add))},
	})
	c := newCaller(t, conn)
	f := c.send("p", "add", `{"a":1}`)
	for r := f.next(); ; r = f.next() {
		if r.Answer.State == schemas.AnswerFailed {
			if r.Answer.Err.Effect != schemas.NotStarted || !strings.Contains(r.Answer.Err.Message, "add: the approval timed out: nobody decided within 50ms, and it was not run") {
				t.Errorf("%+v", r.Answer.Err)
			}
			break
		}
	}
	if a := c.send("p", "free", `{"a":1}`).end(); a.State != schemas.AnswerDone {
		t.Errorf("%+v", a)
	}
}

// A drain doesn't wait for people.
func TestSpec_S8_ADrainEndsWhatWaitsForAPerson(t *testing.T) {
	conn := bustest.Conn(t)
	g := newGate()
	e := leaving(t, conn, Options{Providers: []Provider{funcs(t, "p", New("add", "", add, Approval()), raw("wait", g.run))}})
	client, c := bus.NewClient(conn), newCaller(t, conn)
	f, running := c.send("p", "add", `{"a":1}`), c.send("p", "wait", `{}`)
	a := f.await(client)
	<-g.entered
	closed := make(chan error, 1)
	go func() { closed <- e.Close(soon(t)) }()
	if end := f.end(); end.Err == nil || end.Err.Effect != schemas.NotStarted || !strings.Contains(end.Err.Message, "shutting down") {
		t.Errorf("%+v", end)
	}
	close(g.leave)
	if end := running.end(); end.State != schemas.AnswerDone {
		t.Errorf("%+v", end)
	}
	if err := <-closed; err != nil {
		t.Error(err)
	}
	after, err := client.Approval(soon(t), a.ID)
	if err != nil || after.State != schemas.ApprovalCancelled {
		t.Errorf("%+v %v", after, err)
	}
}

// What policy refuses never asks, hooks come before people, and people see what would be dispatched (P1, F4).
func TestSpec_P1_ApprovalsRespectPolicyAndHooks(t *testing.T) {
	conn := bustest.Conn(t)
	cfg, problems := schemas.ParseConfig([]byte(`{tools:{deny:["secret"], approve:["*"]}, agents:{entries:{clerk:{tools:{deny:["add"]}}}}}`), "test")
	if problems != nil {
		t.Fatal(problems)
	}
	start(t, conn, Options{
		Pipeline:  Pipeline{Policy: policy.Check(cfg), Asks: policy.Approve(cfg), Before: []Before{doubles{}}},
		Providers: []Provider{funcs(t, "p", New("add", "", add), New("secret", "", add, Approval()))},
	})
	client, c := bus.NewClient(conn), newCaller(t, conn)
	for name, f := range map[string]*flight{
		"denied to all": c.send("p", "secret", `{"a":1}`),
		"denied to one": c.send("p", "add", `{"a":1}`, func(c *schemas.Call) { c.Identity.Agent = "clerk" }),
		"sandboxed":     c.send("p", "secret", `{"a":1}`, func(c *schemas.Call) { c.Identity.Sandbox = "box" }),
	} {
		if a := f.end(); a.Err == nil || a.Err.Location != atPolicy {
			t.Errorf("%s: %+v", name, a)
		}
	}
	if a := c.send("p", "add", `{"a":13}`).end(); a.Err == nil || a.Err.Location != atHook {
		t.Errorf("%+v", a)
	}
	if list := pending(t, client); len(list) > 0 {
		t.Errorf("%+v", list)
	}
	f := c.send("p", "add", `{"a":21}`)
	a := f.await(client)
	if string(a.Input) != `{"a":42}` || a.Reason != "tools.approve includes it" {
		t.Errorf("%+v", a)
	}
	decide(t, client, a.ID, true)
	if end := f.end(); string(end.Value) != `{"sum":42}` {
		t.Errorf("%+v", end)
	}
}

// doubles is a hook that doubles, and refuses 13.
type doubles struct{}

func (doubles) Before(_ context.Context, call *schemas.Call, _ *schemas.Tool) (Ruling, error) {
	var a int
	if _, err := fmt.Sscanf(string(call.Args), `{"a":%d}`, &a); err != nil {
		return Ruling{}, err
	}
	if a == 13 {
		return Ruling{}, errors.New("bad luck")
	}
	return Ruling{Args: schemas.JSON(fmt.Sprintf(`{"a":%d}`, 2*a))}, nil
}

// A host that was killed has withdrawn nothing. What somebody approves then, or has granted before, isn't run for nobody,
// and the record says so (S8, R2).
func TestSpec_P3_NothingIsApprovedForAHostThatIsGone(t *testing.T) {
	conn := bustest.Conn(t)
	var ran atomic.Int64
	do := func(_ context.Context, in addIn) (addOut, error) { ran.Add(1); return addOut{in.A}, nil }
	start(t, conn, Options{Providers: []Provider{funcs(t, "p", New("add", "", do, Approval()))}})
	client, c := bus.NewClient(conn), newCaller(t, conn)
	of := func(host string) func(*schemas.Call) {
		return func(call *schemas.Call) {
			call.Address.Host = host
			call.Identity = schemas.Identity{Agent: "a", SessionKey: "k"}
		}
	}
	c.send("p", "add", `{"a":1}`, of("gonegonego"))
	c.send("p", "add", `{"a":2}`, of("gonegonego"))
	var gone []schemas.Approval
	for late := soon(t); len(gone) < 2; gone = pending(t, client) {
		if late.Err() != nil {
			t.Fatalf("%d of 2 calls ask", len(gone))
		}
	}
	alive := c.send("p", "add", `{"a":3}`, of(testHost))
	here := alive.await(client)
	err := client.Decide(soon(t), schemas.Decision{Approval: gone[0].ID, Approve: true, By: "ada"})
	if err == nil || !strings.Contains(err.Error(), "nobody waits for the call any more") {
		t.Error(err)
	}
	if err := client.Decide(soon(t), schemas.Decision{
		Approval: here.ID, Approve: true, By: "ada", Grant: &schemas.Grant{Scope: schemas.GrantSession, Calls: 5},
	}); err != nil {
		t.Fatal(err)
	}
	if a := alive.end(); a.State != schemas.AnswerDone {
		t.Errorf("%+v", a)
	}
	for late := soon(t); len(pending(t, client)) > 0; {
		if late.Err() != nil {
			t.Fatal("it waits for ever")
		}
	}
	for _, a := range gone {
		if now, err := client.Approval(soon(t), a.ID); err != nil || now.State != schemas.ApprovalCancelled {
			t.Errorf("%+v %v", now, err)
		}
	}
	if n := ran.Load(); n != 1 {
		t.Errorf("%d have run", n)
	}
}
