package tool

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/codecell/codecell/actors/policy"
	"github.com/codecell/codecell/bus"
	"github.com/codecell/codecell/bus/bustest"
	"github.com/codecell/codecell/schemas"
)

// leaving starts an executor that the test itself closes.
func leaving(t testing.TB, conn *bus.Conn, o Options) *Executor {
	t.Helper()
	o.Logger = quiet
	e, err := Start(soon(t), conn, o)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestSpec_U2_DrainLetsCallsEnd(t *testing.T) {
	conn := bustest.Conn(t)
	g := newGate()
	e := leaving(t, conn, Options{Concurrency: 1, Providers: []Provider{funcs(t, "p", raw("wait", g.run))}})
	c := newCaller(t, conn)
	running, waiting := c.send("p", "wait", `{}`), c.send("p", "wait", `{}`)
	<-g.entered
	closed := make(chan error, 1)
	go func() { closed <- e.Close(soon(t)) }()
	for { // until it has left the queue group
		r := c.send("p", "wait", `{}`).next()
		if r.NoResponders {
			break
		}
		if r.Answer.State == schemas.AnswerAccepted {
			g.leave <- struct{}{} // it came before the drain: let the first one end
			<-g.entered
		}
	}
	select {
	case err := <-closed:
		t.Fatalf("closed with calls in flight: %v", err)
	default:
	}
	close(g.leave)
	for _, f := range []*flight{running, waiting} {
		if a := f.end(); a.State != schemas.AnswerDone {
			t.Errorf("%+v", a.Err)
		}
	}
	if err := <-closed; err != nil {
		t.Error(err)
	}
	if err := e.Close(soon(t)); err != nil {
		t.Error(err)
	}
}

func TestSpec_U2_DrainAtItsEndCancels(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // what is cancelled has a second to say so
		conn := bustest.Conn(t)
		g, deaf := newGate(), newGate()
		e := leaving(t, conn, Options{Concurrency: 2, Providers: []Provider{funcs(t, "p", raw("wait", g.run), raw("deaf", func(ctx context.Context, a schemas.JSON) (schemas.JSON, error) {
			return deaf.run(withCall(context.Background(), CallOf(ctx), nil), a)
		}))}})
		c := newCaller(t, conn)
		polite, stubborn := c.send("p", "wait", `{}`), c.send("p", "deaf", `{}`)
		<-g.entered
		<-deaf.entered
		queued := c.send("p", "wait", `{}`)
		if r := queued.next(); r.Answer.State != schemas.AnswerAccepted {
			t.Fatalf("%+v", r)
		}
		ended, cancel := context.WithCancel(context.Background())
		cancel()
		begun := time.Now()
		_ = e.Close(ended)
		if took := time.Since(begun); took > closeGrace {
			t.Errorf("took %v", took)
		}
		if a := polite.end(); a.Err == nil || a.Err.Effect != schemas.Failed {
			t.Errorf("%+v", a)
		}
		if a := queued.end(); a.Err == nil || a.Err.Effect != schemas.NotStarted {
			t.Errorf("%+v", a)
		}
		if a := stubborn.end(); a.Err == nil || a.Err.Effect != schemas.Unknown {
			t.Errorf("%+v", a)
		}
		close(deaf.leave)
		stubborn.silent()
	})
}

func TestSpec_U4_ExecutorsTellTheirFacts(t *testing.T) {
	conn := bustest.Conn(t)
	told := make(chan any, 100)
	listen[schemas.ExecutorJoined](t, conn, told, "executor", "joined")
	listen[schemas.ExecutorLeft](t, conn, told, "executor", "left")
	listen[schemas.ExecutorTrouble](t, conn, told, "executor", "trouble")
	listen[schemas.CallStarted](t, conn, told, "call", "started")
	broken := Raw(schemas.Tool{Name: "broken", Output: schemas.JSON(`{"type":7}`)}, func(context.Context, schemas.JSON) (schemas.JSON, error) { return nil, nil })
	e := leaving(t, conn, Options{ID: "exec1", Providers: []Provider{funcs(t, "p", New("add", "", add), broken)}})
	c := newCaller(t, conn)
	f := c.send("p", "add", `{"a":1}`)
	f.end()
	c.send("p", "add", `{}`).end() // refused: it never starts
	if err := e.Close(soon(t)); err != nil {
		t.Fatal(err)
	}
	var kinds []string
	for range 4 {
		select {
		case x := <-told:
			kinds = append(kinds, strings.TrimPrefix(fmt.Sprintf("%T", x), "*schemas."))
			switch x := x.(type) {
			case *schemas.CallStarted:
				if x.Call != f.call.ID || x.Executor != "exec1" || x.Address != f.call.Address || x.At == 0 {
					t.Errorf("%+v", x)
				}
			case *schemas.ExecutorJoined:
				if x.Executor != "exec1" || x.Owner != "p" || x.Tools != 2 {
					t.Errorf("%+v", x)
				}
			}
		case <-time.After(time.Minute):
			t.Fatalf("%v", kinds)
		}
	}
	slices.Sort(kinds)
	if got := fmt.Sprint(kinds); got != "[CallStarted ExecutorJoined ExecutorLeft ExecutorTrouble]" {
		t.Error(got)
	}
}

// listen hands on the facts of one kind.
func listen[F any](t testing.TB, conn *bus.Conn, to chan<- any, kind ...string) {
	t.Helper()
	sub, err := bus.Listen(conn, bus.Facts(kind...), "", func(_ string, fact *F) { to <- fact })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(sub.Close)
}

func TestSpec_U3_StockToolsSeeTheExecutor(t *testing.T) {
	conn := bustest.Conn(t)
	e := start(t, conn, Options{Providers: []Provider{funcs(t, "my plugin", New("add", "adds", add))}})
	for _, subject := range []string{"$SRV.INFO", "$SRV.INFO.codecell-executor", "$SRV.INFO.codecell-executor." + e.ID()} {
		msg, err := conn.NATS().RequestWithContext(soon(t), subject, nil)
		if err != nil {
			t.Fatal(err)
		}
		var info struct {
			Name, ID, Version, Type string
			Endpoints               []struct {
				Name, Subject string
				Queue         string `json:"queue_group"`
				Metadata      map[string]string
			}
		}
		if err := json.Unmarshal(msg.Data, &info); err != nil {
			t.Fatal(err)
		}
		if info.Name != "codecell-executor" || info.ID != e.ID() || info.Type != "io.nats.micro.v1.info_response" || len(info.Endpoints) != 1 {
			t.Fatalf("%s", msg.Data)
		}
		end := info.Endpoints[0]
		if end.Subject != bus.ToolSubject(schemas.SourceNative, "my plugin", "add") || end.Queue == "" || end.Metadata["codecell.tool"] != "add" || !strings.Contains(end.Metadata["inputSchema"], `"a"`) {
			t.Errorf("%+v", end)
		}
	}
	for _, verb := range []string{"PING", "STATS"} {
		msg, err := conn.NATS().RequestWithContext(soon(t), "$SRV."+verb, nil)
		if err != nil || !strings.Contains(string(msg.Data), `"id":"`+e.ID()+`"`) {
			t.Errorf("%s: %v", verb, err)
		}
	}
}

func TestSpec_B4_HostileMessages(t *testing.T) {
	conn := bustest.Conn(t)
	e := start(t, conn, Options{Providers: []Provider{funcs(t, "p", New("add", "", add))}})
	tool := bus.ToolSubject(schemas.SourceNative, "p", "add")
	bustest.RandomBytes(t, conn, tool, bus.ExecutorSubject(e.ID()), bus.StopSubject("p", testHost, "cell", "none"))
	c := newCaller(t, conn)
	for name, change := range map[string]func(*schemas.Call){
		"another owner's":  func(c *schemas.Call) { c.Owner = "core" },
		"another source's": func(c *schemas.Call) { c.Source = schemas.SourceMCP },
		"another tool's":   func(c *schemas.Call) { c.Tool = strings.Repeat("x", 1<<16) },
	} {
		f := c.send("p", "add", `{"a":1}`)
		f.end()
		wrong := *f.call
		wrong.ID = fmt.Sprint("w", len(name))
		change(&wrong)
		g := &flight{c: c, call: &wrong, got: make(chan *bus.Reply, 8)}
		c.mu.Lock()
		c.waiting["cell."+wrong.ID] = g.got
		c.mu.Unlock()
		if err := conn.Publish(tool, bus.ReplySubject(testHost, "cell", wrong.ID), &wrong); err != nil {
			t.Fatal(err)
		}
		if a := g.end(); a.Err == nil || a.Err.Effect != schemas.NotStarted || len(a.Err.Message) > 1000 {
			t.Errorf("%s: %+v", name, a)
		}
	}
	if err := conn.Publish(tool, "", callOf("add", "1", `{"a":1}`)); err != nil {
		t.Fatal(err)
	}
	if a := c.send("p", "add", `{"a":41,"b":1}`).end(); string(a.Value) != `{"sum":42}` {
		t.Errorf("%+v", a)
	}
}

// The executor asks the policy itself: a call that a host should have refused is refused.
func TestSpec_F4_PolicyHoldsAtTheExecutor(t *testing.T) {
	conn := bustest.Conn(t)
	cfg, problems := schemas.ParseConfig([]byte(`{tools:{deny:["secret*"]}, agents:{entries:{main:{}}}}`), "test")
	if problems != nil {
		t.Fatal(problems)
	}
	start(t, conn, Options{
		Pipeline:  Pipeline{Policy: policy.Check(cfg)},
		Providers: []Provider{funcs(t, "p", New("add", "", add), New("secret_add", "", add))},
	})
	c := newCaller(t, conn)
	if a := c.send("p", "add", `{"a":1}`).end(); a.State != schemas.AnswerDone {
		t.Errorf("%+v", a.Err)
	}
	if a := c.send("p", "secret_add", `{"a":1}`).end(); a.Err == nil || a.Err.Location != atPolicy || a.Err.Effect != schemas.NotStarted {
		t.Errorf("%+v", a)
	}
}

// Stopping one of two executors loses no call: each is answered, or said to have had nobody.
func TestSpec_U2_TwoExecutorsShareTheCalls(t *testing.T) {
	server := bustest.Server(t)
	conn := bustest.Connect(t, server)
	one := leaving(t, bustest.Connect(t, server), Options{Providers: []Provider{funcs(t, "p", New("add", "", add))}})
	two := leaving(t, bustest.Connect(t, server), Options{Providers: []Provider{funcs(t, "p", New("add", "", add))}})
	c := newCaller(t, conn)
	by := map[string]int{}
	for i := range 400 {
		if i == 200 {
			go one.Close(context.Background())
		}
		a := c.send("p", "add", `{"a":1}`).end()
		if a.State != schemas.AnswerDone {
			t.Fatalf("%d: %+v", i, a.Err)
		}
		by[a.Executor]++
	}
	if by[one.ID()] == 0 || by[two.ID()] == 0 {
		t.Errorf("%v", by)
	}
	if err := one.Close(context.Background()); err != nil {
		t.Error(err)
	}
	if err := two.Close(soon(t)); err != nil {
		t.Error(err)
	}
}

func TestStart_RefusesWhatItCanNotOffer(t *testing.T) {
	conn := bustest.Conn(t)
	for want, providers := range map[string][]Provider{
		"needs a provider": nil,
		"two providers":    {funcs(t, "p", New("a", "", add)), funcs(t, "p", New("b", "", add))},
	} {
		if _, err := Start(soon(t), conn, Options{Providers: providers}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
