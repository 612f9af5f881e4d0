package bus_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/codecell/codecell/bus"
	"github.com/codecell/codecell/bus/bustest"
	"github.com/codecell/codecell/schemas"
)

// bringHost plays the host of one run: it takes what is brought, and calls it.
type bringHost struct {
	t      *testing.T
	conn   *bus.Conn
	run    *bus.Run
	offers chan *schemas.Bring
	refuse atomic.Pointer[schemas.Error]
}

func newBringHost(t *testing.T) *bringHost {
	t.Helper()
	s := bustest.Server(t)
	h := &bringHost{t: t, conn: bustest.Connect(t, s), offers: make(chan *schemas.Bring, 10)}
	id := bus.NewHostID()
	serve(t, h.conn, bus.OpenSubject(), func(r *bus.Request[schemas.Open, schemas.Opened]) {
		_ = r.Respond(&schemas.Opened{Host: id, Run: "r1"})
	})
	serve(t, h.conn, bus.BringSubject(id, "r1"), func(r *bus.Request[schemas.Bring, schemas.Brought]) {
		if err := h.refuse.Load(); err != nil {
			_ = r.Respond(&schemas.Brought{Err: err})
			return
		}
		h.offers <- &r.Body
		_ = r.Respond(&schemas.Brought{Surface: schemas.Surface{Version: "v2"}, Problems: []string{"none"}})
	})
	serve(t, h.conn, bus.StatusSubject(id), func(r *bus.Request[schemas.StatusAsk, schemas.HostStatus]) {
		_ = r.Respond(&schemas.HostStatus{Host: id})
	})
	run, err := bus.NewClient(bustest.Connect(t, s)).Session(t.Context(), "me")
	if err != nil {
		t.Fatal(err)
	}
	h.run = run
	return h
}

func serve[Req, Rep any](t *testing.T, c *bus.Conn, subject string, handle func(*bus.Request[Req, Rep])) {
	t.Helper()
	sub, err := bus.Serve(c, subject, "", handle)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(sub.Close)
}

func (h *bringHost) bring(answer bus.ToolFunc) (*bus.Bringing, string) {
	h.t.Helper()
	b, err := h.run.Bring(h.t.Context(), []schemas.Tool{{Name: "pick"}}, answer)
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { _ = b.Close(context.Background()) }) // a second time, in most tests
	offer := <-h.offers
	if offer.Identity != h.run.Identity || len(offer.Tools) != 1 || b.Surface.Version != "v2" || len(b.Problems) != 1 {
		h.t.Errorf("offer = %+v, brought %+v %q", offer, b.Surface, b.Problems)
	}
	return b, offer.Client
}

func (h *bringHost) call(client, id string) (*schemas.Answer, error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	return bus.Ask[schemas.Answer](ctx, h.conn, bus.ClientSubject(h.run.Host, h.run.ID, client),
		&schemas.Call{ID: id, Tool: "pick", Args: schemas.JSON(`{}`), Address: schemas.Address{Host: h.run.Host, Run: h.run.ID, Cell: "c"}})
}

// mustEnd waits for a bringing to end by itself.
func mustEnd(t *testing.T, b *bus.Bringing) {
	t.Helper()
	select {
	case <-b.Done():
	case <-time.After(30 * time.Second): // real: only a failing test waits so long
		t.Fatal("the tools are still offered")
	}
}

func TestSpec_S8_BringAnswersCalls(t *testing.T) {
	h := newBringHost(t)
	_, client := h.bring(func(_ context.Context, call *schemas.Call) (schemas.JSON, error) {
		switch call.ID {
		case "1":
			return schemas.JSON(`{"picked":true}`), nil
		case "2":
			return nil, errors.New("nothing there")
		case "3":
			return nil, fmt.Errorf("wrapped: %w", &schemas.CallError{Code: schemas.CallToolError, Message: "own", Effect: schemas.NotStarted})
		case "4":
			return schemas.JSON(`"` + strings.Repeat("x", 2<<20) + `"`), nil
		}
		panic("secret")
	})
	for id, want := range map[string]string{
		"1": `done {"picked":true}`, "2": `failed tool_error failed nothing there`, "3": `failed tool_error not_started own`,
		"4": `done of 2097154 bytes`, "5": `failed tool_error failed pick failed inside`,
	} {
		a, err := h.call(client, id)
		if err != nil {
			t.Fatal(err)
		}
		got := fmt.Sprintf("%s %s", a.State, a.Value)
		if len(a.Value) > 1000 {
			got = fmt.Sprintf("%s of %d bytes", a.State, len(a.Value))
		}
		if a.Err != nil {
			got = fmt.Sprintf("%s %s %s %s", a.State, a.Err.Code, a.Err.Effect, a.Err.Message)
		}
		if a.ID != id || a.Executor != client || !a.Untrusted || got != want {
			t.Errorf("%s: %s, want %s", id, got, want)
		}
	}
	if _, err := h.call("another", "1"); !errors.Is(err, bus.ErrNoResponders) {
		t.Errorf("another client's call: %v", err)
	}
}

// TestSpec_S8_CloseAnswersWhatRuns: nothing new is taken, nothing that runs is cut short before its time.
func TestSpec_S8_CloseAnswersWhatRuns(t *testing.T) {
	h := newBringHost(t)
	entered, leave := make(chan struct{}), make(chan struct{})
	b, client := h.bring(func(ctx context.Context, _ *schemas.Call) (schemas.JSON, error) {
		entered <- struct{}{}
		select {
		case <-leave:
			return schemas.JSON(`1`), nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	})
	answers := make(chan *schemas.Answer, 1)
	call := func() {
		a, err := h.call(client, "1")
		if err != nil {
			t.Error(err)
		}
		answers <- a
	}
	go call()
	<-entered
	pong, err := bus.Ask[schemas.Pong](t.Context(), h.conn, bus.AliveSubject(h.run.Host, h.run.ID, client), &schemas.Ping{Calls: []string{"c.1", "c.2"}})
	if err != nil || len(pong.Gone) != 1 || pong.Gone[0] != "c.2" {
		t.Errorf("pong = %+v, %v", pong, err)
	}
	closed := make(chan error, 1)
	go func() { closed <- b.Close(t.Context()) }()
	if offer := <-h.offers; len(offer.Tools) != 0 || offer.Client != client {
		t.Errorf("the tools were not taken back: %+v", offer)
	}
	close(leave)
	if a := <-answers; string(a.Value) != "1" {
		t.Errorf("answer = %+v", a)
	}
	if err := <-closed; err != nil {
		t.Error(err)
	}
	mustEnd(t, b)
	if _, err := h.call(client, "2"); !errors.Is(err, bus.ErrNoResponders) {
		t.Errorf("a call after the end: %v", err)
	}
}

// TestSpec_S8_ACloseThatMustEndEnds: functions are told, and those that don't listen are left behind.
func TestSpec_S8_ACloseThatMustEndEnds(t *testing.T) {
	h := newBringHost(t)
	entered, told, leave := make(chan struct{}), make(chan struct{}), make(chan struct{})
	defer close(leave)
	b, client := h.bring(func(ctx context.Context, _ *schemas.Call) (schemas.JSON, error) {
		entered <- struct{}{}
		<-ctx.Done()
		close(told)
		<-leave
		return nil, nil
	})
	go func() { _, _ = h.call(client, "1") }() // nobody answers it
	<-entered
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := b.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("close: %v", err)
	}
	<-told
}

// TestSpec_S8_BringingsEndByThemselves when their run does, or their connection.
func TestSpec_S8_BringingsEndByThemselves(t *testing.T) {
	h := newBringHost(t)
	answer := func(context.Context, *schemas.Call) (schemas.JSON, error) { return nil, nil }
	first, _ := h.bring(answer)
	feed := bus.NewFeed(h.conn)
	feed.Publish(&schemas.RunClosed{Host: h.run.Host, Run: "another"})
	feed.Publish(&schemas.RunClosed{Host: h.run.Host, Run: h.run.ID})
	if err := feed.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	mustEnd(t, first)
	if err := first.Close(t.Context()); err != nil {
		t.Error(err)
	}

	h.refuse.Store(schemas.Refuse("", "there is no such run"))
	if _, err := h.run.Bring(t.Context(), []schemas.Tool{{Name: "late"}}, answer); !errors.Is(err, schemas.InvalidInput) {
		t.Errorf("a refusal: %v", err)
	}
	for _, bad := range []func() (*bus.Bringing, error){
		func() (*bus.Bringing, error) { return h.run.Bring(t.Context(), nil, answer) },
		func() (*bus.Bringing, error) { return h.run.Bring(t.Context(), []schemas.Tool{{Name: "a"}}, nil) },
	} {
		if _, err := bad(); err == nil {
			t.Error("nothing was brought, or nobody to answer")
		}
	}
}

// TestSpec_B4_TokensOfRequestsCantBeGuessed: who was asked can't answer in another's place.
func TestSpec_B4_TokensOfRequestsCantBeGuessed(t *testing.T) {
	c := bustest.Conn(t)
	tokens := make(chan string, 100)
	serve(t, c, bus.ExecutorSubject("e"), func(r *bus.Request[schemas.Ping, schemas.Pong]) {
		tokens <- r.Reply[strings.LastIndexByte(r.Reply, '-')+1:]
		_ = r.Respond(&schemas.Pong{})
	})
	seen := map[string]bool{}
	for range 100 {
		if _, err := bus.Ask[schemas.Pong](t.Context(), c, bus.ExecutorSubject("e"), &schemas.Ping{}); err != nil {
			t.Fatal(err)
		}
		seen[<-tokens] = true
	}
	if len(seen) != 100 || seen[""] {
		t.Errorf("%d different tokens of 100 requests", len(seen))
	}
}
