package tool

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/codecell/codecell/bus"
	"github.com/codecell/codecell/bus/bustest"
	"github.com/codecell/codecell/schemas"
)

// clientsBed is a host's part, with one client that a test plays by hand.
type clientsBed struct {
	t       *testing.T
	host    *bus.Conn
	client  *bus.Conn
	all     *Clients
	changes atomic.Int64
	caller  *caller
}

const aClient = "client1"

func newClientsBed(t *testing.T) *clientsBed {
	t.Helper()
	s := bustest.Server(t)
	b := &clientsBed{t: t, host: bustest.Connect(t, s), client: bustest.Connect(t, s)}
	var err error
	b.all, err = NewClients(b.host, testHost, Options{Logger: quiet, Concurrency: 1000}, func() { b.changes.Add(1) })
	if err != nil {
		t.Fatal(err)
	}
	b.caller = newCaller(t, b.host)
	return b
}

// close ends the host's part.
func (b *clientsBed) close() {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	b.all.Close(ctx)
}

func (b *clientsBed) bring(names ...string) {
	b.t.Helper()
	tools := make([]schemas.Tool, len(names))
	for i, name := range names {
		tools[i].Name = name
	}
	if _, err := b.all.Bring("run", &schemas.Bring{Client: aClient, Tools: tools}); err != nil {
		b.t.Fatal(err)
	}
}

// call sends a call as a cell of the host does.
func (b *clientsBed) call(tool string) *flight {
	b.t.Helper()
	call := callOf(tool, fmt.Sprint(b.caller.next.Add(1)), `{}`)
	call.Source, call.Owner = schemas.SourceClient, "run"
	call.Address = schemas.Address{Host: testHost, Run: "run", Cell: "cell"}
	f := &flight{c: b.caller, call: call, got: make(chan *bus.Reply, 8)}
	b.caller.mu.Lock()
	b.caller.waiting["cell."+call.ID] = f.got
	b.caller.mu.Unlock()
	b.all.Take(call)
	return f
}

// take listens for calls and says nothing.
func (b *clientsBed) take() <-chan *schemas.Call {
	b.t.Helper()
	calls := make(chan *schemas.Call, 100)
	sub, err := bus.Serve(b.client, bus.ClientSubject(testHost, "run", aClient), "", func(r *bus.Request[schemas.Call, schemas.Answer]) { calls <- &r.Body })
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(sub.Close)
	return calls
}

// live answers questions for signs of life: holds says which calls it has, and nil answers none.
func (b *clientsBed) live(holds func(call string) bool) {
	b.t.Helper()
	bustest.Respond(b.t, b.client, bus.AliveSubject(testHost, "run", aClient), func(body []byte) ([]byte, bool) {
		var ping schemas.Ping
		if err := schemas.Decode(body, &ping); err != nil {
			b.t.Error(err)
		}
		if holds == nil {
			return nil, false
		}
		pong := schemas.Pong{Executor: aClient}
		for _, key := range ping.Calls {
			if !holds(key) {
				pong.Gone = append(pong.Gone, key)
			}
		}
		reply, err := schemas.Encode(&pong)
		if err != nil {
			b.t.Error(err)
		}
		return reply, true
	})
}

// after tells when a call ended, and how.
func (b *clientsBed) after(f *flight) (time.Duration, string) {
	b.t.Helper()
	start := time.Now()
	for {
		select {
		case r := <-f.got:
			if r.Answer.State != schemas.AnswerAccepted && r.Answer.Err != nil {
				return time.Since(start), string(r.Answer.Err.Effect) + ": " + r.Answer.Err.Message
			}
		case <-time.After(5 * time.Minute):
			b.t.Fatal("the call never ended")
		}
	}
}

// TestSpec_S8_U2_CallsOfASilentClientAreLost: one that listens and never answers, one that has lost a call, and one that was
// cut off. Its tools stay as long as somebody listens.
func TestSpec_S8_U2_CallsOfASilentClientAreLost(t *testing.T) {
	for name, test := range map[string]struct {
		live        func(b *clientsBed)
		meanwhile   func(b *clientsBed)
		least, most time.Duration
		says        string
	}{
		"says nothing": {
			live:  func(b *clientsBed) { b.live(nil) },
			least: 5 * time.Second, most: 12 * time.Second, says: "unknown: slow was called, and its result is lost: the caller that brought it doesn't answer any more",
		},
		"has lost it": {
			live:  func(b *clientsBed) { b.live(func(string) bool { return false }) },
			least: clientAnswers, most: clientAnswers + 5*time.Second, says: "unknown: slow was called, and its result is lost: the caller that brought it no longer holds",
		},
		"was cut off": {
			live:      func(b *clientsBed) { b.live(func(string) bool { return false }) },
			meanwhile: func(b *clientsBed) { b.bring("slow") },
			least:     cutOffAnswers, most: cutOffAnswers + 5*time.Second, says: "unknown: slow was called, and its result is lost: the caller that brought it no longer holds",
		},
		"is gone": {
			live:  func(*clientsBed) {},
			least: 0, most: 3 * time.Second, says: "unknown: slow was called, and its result is lost: the caller that brought it is gone",
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newClientsBed(t)
				defer b.close()
				calls := b.take()
				test.live(b)
				b.bring("slow")
				f := b.call("slow")
				<-calls
				time.Sleep(10 * time.Millisecond) // virtual: so that what follows comes after it
				if test.meanwhile != nil {
					test.meanwhile(b)
				}
				took, how := b.after(f)
				if took < test.least || took > test.most || !strings.HasPrefix(how, test.says) {
					t.Errorf("after %v: %s", took, how)
				}
				synctest.Wait()
				if tools, _ := b.all.Tools("run"); (len(tools) == 0) != (name == "is gone") {
					t.Errorf("%d tools are left", len(tools))
				}
			})
		})
	}
}

// TestSpec_S8_AClientThatHoldsItsCallsIsLeftAlone, however long they take.
func TestSpec_S8_AClientThatHoldsItsCallsIsLeftAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newClientsBed(t)
		defer b.close()
		calls := b.take()
		b.live(func(string) bool { return true })
		b.bring("slow")
		f := b.call("slow")
		<-calls
		time.Sleep(time.Hour) // virtual: a long call
		synctest.Wait()
		select {
		case r := <-f.got:
			if r.Answer.State != schemas.AnswerAccepted {
				t.Errorf("the call has ended: %+v", r.Answer)
			}
		default:
			t.Error("nobody has said that the call is held")
		}
		b.all.Stop("cell", f.call.ID)
	})
}

// TestSpec_S8_AnIdleClientThatIsGoneIsFoundOut: nobody has to call its tools for that.
func TestSpec_S8_AnIdleClientThatIsGoneIsFoundOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newClientsBed(t)
		defer b.close()
		b.bring("idle")
		before := b.changes.Load()
		time.Sleep(clientIdle*clientWatch + time.Second) // virtual: until it is asked
		synctest.Wait()
		if tools, version := b.all.Tools("run"); len(tools) > 0 || version != 2 || b.changes.Load() != before+1 {
			t.Errorf("%d tools, version %d, %d changes", len(tools), version, b.changes.Load())
		}
	})
}

// TestSpec_S8_StoppedCallsTellTheirClient, so that it can give up what it does.
func TestSpec_S8_StoppedCallsTellTheirClient(t *testing.T) {
	b := newClientsBed(t)
	defer b.close()
	calls := b.take()
	b.live(func(string) bool { return true })
	b.bring("slow")
	stops := make(chan string, 1)
	sub, err := bus.Listen(b.client, bus.StopsOf(bus.OwnerToken(schemas.SourceClient, "run")), "", func(subject string, _ *schemas.Stop) { stops <- subject })
	if err != nil {
		t.Fatal(err)
	}
	defer sub.Close()
	f := b.call("slow")
	<-calls
	b.all.Stop("cell", f.call.ID)
	if _, host, cell, call, err := bus.ParseStop(<-stops); err != nil || host != testHost || cell != "cell" || call != f.call.ID {
		t.Errorf("stop of %s %s %s, %v", host, cell, call, err)
	}
	f.silent()
}

// TestSpec_S8_CallsOfNobodyAreRefused: of a run that brought nothing, of another tool, after the tools were taken back, after
// the run has ended, and after the host has.
func TestSpec_S8_CallsOfNobodyAreRefused(t *testing.T) {
	b := newClientsBed(t)
	defer b.close()
	refused := func(when, tool string) {
		t.Helper()
		if a := b.call(tool).end(); a.Err == nil || a.Err.Effect != schemas.NotStarted || !a.Untrusted {
			t.Errorf("%s: %+v", when, a)
		}
	}
	refused("before", "a")
	b.bring("a")
	refused("another", "b")
	refused("nobody listens", "a")
	b.bring("a")
	b.bring()
	refused("taken back", "a")
	b.bring("a")
	b.all.Forget("run")
	refused("forgotten", "a")
	b.close()
	if _, err := b.all.Bring("run", &schemas.Bring{Client: aClient, Tools: []schemas.Tool{{Name: "late"}}}); err == nil {
		t.Error("tools were brought after the end")
	}
}
