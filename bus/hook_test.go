package bus_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/codecell/codecell/bus"
	"github.com/codecell/codecell/bus/bustest"
	"github.com/codecell/codecell/schemas"
)

// askHook asks a hook as an executor does.
func askHook(t *testing.T, c *bus.Conn, tool string) *schemas.Verdict {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	v, err := bus.Ask[schemas.Verdict](ctx, c, bus.HookSubject(schemas.BeforeToolCall, "guard"),
		&schemas.HookEvent{Phase: schemas.BeforeToolCall, Hook: "guard", Tool: tool, Input: schemas.JSON(`{}`)})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func serveHook(t *testing.T, c *bus.Conn, decide bus.HookFunc) *bus.HookServer {
	t.Helper()
	s, err := bus.ServeHook(c, schemas.BeforeToolCall, "guard", decide)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close(context.Background()) }) // a second time, in most tests
	return s
}

func TestSpec_P1_AnyProcessServesAHook(t *testing.T) {
	c := bustest.Conn(t)
	serveHook(t, c, func(_ context.Context, e *schemas.HookEvent) (*schemas.Verdict, error) {
		switch e.Tool {
		case "write":
			return &schemas.Verdict{Block: true, Reason: "not on Sundays"}, nil
		case "broken":
			return nil, errors.New("no database")
		case "panics":
			panic("secret")
		}
		return nil, nil //nolint:nilnil // lets the call pass
	})
	for tool, want := range map[string]schemas.Verdict{
		"read": {}, "write": {Block: true, Reason: "not on Sundays"},
		"broken": {Err: &schemas.Error{Code: schemas.InternalError, Message: "no database"}},
		"panics": {Err: &schemas.Error{Code: schemas.InternalError, Message: "it failed inside"}},
	} {
		v := askHook(t, c, tool)
		if v.Block != want.Block || v.Reason != want.Reason || (v.Err == nil) != (want.Err == nil) || v.Err != nil && *v.Err != *want.Err {
			t.Errorf("%s: %+v, want %+v", tool, v, want)
		}
	}
}

// A question that can't be read gets an answer at once: nobody has to wait for a time-out.
func TestServeHook_AnswersWhatItCanNotRead(t *testing.T) {
	c := bustest.Conn(t)
	serveHook(t, c, func(_ context.Context, e *schemas.HookEvent) (*schemas.Verdict, error) {
		return &schemas.Verdict{Reason: e.Tool}, nil
	})
	subject := bus.HookSubject(schemas.BeforeToolCall, "guard")
	m, err := c.NATS().Request(subject, []byte{0xc1, 0xff}, 10*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	var v schemas.Verdict
	if err := schemas.Decode(m.Data, &v); err != nil || v.Err == nil || v.Err.Code != schemas.InvalidInput {
		t.Errorf("%+v %v", v, err)
	}
	bustest.RandomBytes(t, c, subject)
	if v := askHook(t, c, "read"); v.Reason != "read" {
		t.Errorf("the next question: %+v", v)
	}
}

func TestServeHook_SharesAndIsBounded(t *testing.T) {
	server := bustest.Server(t)
	c := bustest.Connect(t, server)
	var running, most, answered atomic.Int64
	var filled sync.Once
	full, leave := make(chan struct{}), make(chan struct{})
	for range 2 {
		serveHook(t, bustest.Connect(t, server), func(context.Context, *schemas.HookEvent) (*schemas.Verdict, error) {
			n := running.Add(1)
			for known := most.Load(); n > known && !most.CompareAndSwap(known, n); known = most.Load() {
			}
			if n == 128 {
				filled.Do(func() { close(full) })
			}
			<-leave
			running.Add(-1)
			answered.Add(1)
			return nil, nil //nolint:nilnil // lets the call pass
		})
	}
	const asked = 400
	got := make(chan *schemas.Verdict, asked)
	for range asked {
		go func() { got <- askHook(t, c, "read") }()
	}
	select {
	case <-full:
	case <-time.After(30 * time.Second): // real: only a failing test waits so long
		t.Errorf("%d questions are under way", running.Load())
	}
	close(leave)
	for range asked {
		if v := <-got; v.Block || v.Err != nil {
			t.Errorf("%+v", v)
		}
	}
	if answered.Load() != asked || most.Load() > 128 {
		t.Errorf("%d were answered, up to %d at once", answered.Load(), most.Load())
	}
}

func TestServeHook_CloseAnswersWhatItHasTaken(t *testing.T) {
	c := bustest.Conn(t)
	entered, leave := make(chan struct{}), make(chan struct{})
	s := serveHook(t, c, func(context.Context, *schemas.HookEvent) (*schemas.Verdict, error) {
		close(entered)
		<-leave
		return &schemas.Verdict{Reason: "last word"}, nil
	})
	got := make(chan *schemas.Verdict, 1)
	go func() { got <- askHook(t, c, "read") }()
	<-entered
	closed := make(chan error, 1)
	go func() { closed <- s.Close(t.Context()) }()
	close(leave)
	if err := <-closed; err != nil {
		t.Error(err)
	}
	if v := <-got; v.Reason != "last word" {
		t.Errorf("%+v", v)
	}
	if _, err := bus.Ask[schemas.Verdict](t.Context(), c, bus.HookSubject(schemas.BeforeToolCall, "guard"), &schemas.HookEvent{}); !errors.Is(err, bus.ErrNoResponders) {
		t.Errorf("it still answers: %v", err)
	}
}

func TestServeHook_CloseInAHurryEndsTheContext(t *testing.T) {
	for name, end := range map[string]func(*bus.HookServer, *bus.Conn) error{
		"close": func(s *bus.HookServer, _ *bus.Conn) error {
			ctx, cancel := context.WithCancel(context.Background())
			cancel()
			return s.Close(ctx)
		},
		"lost": func(_ *bus.HookServer, c *bus.Conn) error { c.Close(); return context.Canceled },
	} {
		t.Run(name, func(t *testing.T) {
			server := bustest.Server(t)
			c, asker := bustest.Connect(t, server), bustest.Connect(t, server)
			entered, ended := make(chan struct{}), make(chan struct{})
			s := serveHook(t, c, func(ctx context.Context, _ *schemas.HookEvent) (*schemas.Verdict, error) {
				close(entered)
				<-ctx.Done()
				close(ended)
				return nil, ctx.Err()
			})
			event := &schemas.HookEvent{Tool: "read"}
			if err := asker.Publish(bus.HookSubject(schemas.BeforeToolCall, "guard"), "", event); err != nil {
				t.Fatal(err)
			}
			<-entered
			if err := end(s, c); !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
			<-ended
		})
	}
}

func TestServeHook_RefusesWhatNobodyCouldAsk(t *testing.T) {
	c := bustest.Conn(t)
	decide := func(context.Context, *schemas.HookEvent) (*schemas.Verdict, error) { return nil, nil } //nolint:nilnil // lets the call pass
	for _, bad := range []struct {
		phase, name string
		decide      bus.HookFunc
		want        string
	}{
		{"before", "guard", decide, `expected "before_tool_call" or "after_tool_call"`},
		{schemas.BeforeToolCall, "", decide, "letters, digits"},
		{schemas.BeforeToolCall, "a.b", decide, "letters, digits"},
		{schemas.AfterToolCall, "guard", nil, "the function is missing"},
	} {
		if s, err := bus.ServeHook(c, bad.phase, bad.name, bad.decide); err == nil || !strings.Contains(err.Error(), bad.want) {
			t.Errorf("%q %q: %v %v, want %q", bad.phase, bad.name, s, err, bad.want)
		}
	}
}

// An event above the payload limit travels as any other message does.
func TestServeHook_LargeEvents(t *testing.T) {
	c := bustest.Conn(t)
	serveHook(t, c, func(_ context.Context, e *schemas.HookEvent) (*schemas.Verdict, error) {
		return &schemas.Verdict{Input: e.Input}, nil
	})
	input := schemas.JSON(`{"text":"` + strings.Repeat("x", 3<<20) + `"}`)
	v, err := bus.Ask[schemas.Verdict](t.Context(), c, bus.HookSubject(schemas.BeforeToolCall, "guard"), &schemas.HookEvent{Tool: "write", Input: input})
	if err != nil || !bytes.Equal(v.Input, input) {
		t.Errorf("%d bytes came back: %v", len(v.Input), err)
	}
}
