package tool

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/codecell/codecell/bus"
	"github.com/codecell/codecell/bus/bustest"
	"github.com/codecell/codecell/schemas"
)

// hooked is an executor with one counting tool and hooks.
type hooked struct {
	*caller
	ran atomic.Int64
}

type pathIn struct {
	Path string `json:"path"`
}

func startHooked(t *testing.T, conn *bus.Conn, hooks ...Hook) *hooked {
	t.Helper()
	h := &hooked{}
	write := New("write", "", func(_ context.Context, in pathIn) (string, error) {
		h.ran.Add(1)
		if in.Path == "full" {
			return "", errors.New("secret: disk full")
		}
		return "wrote " + in.Path, nil
	})
	free := raw("free", func(_ context.Context, args schemas.JSON) (schemas.JSON, error) { h.ran.Add(1); return args, nil })
	e, err := Start(soon(t), conn, Options{Providers: []Provider{funcs(t, "p", write, free)}, Hooks: hooks, Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(soon(t)); err != nil {
			t.Error(err)
		}
	})
	h.caller = newCaller(t, conn)
	return h
}

func (h *hooked) write(path string) schemas.Answer {
	h.t.Helper()
	return h.send("p", "write", fmt.Sprintf(`{"path":%q}`, path)).end()
}

// refusedBy checks that a call was refused by a hook before its tool ran.
func (h *hooked) refusedBy(a schemas.Answer, words ...string) {
	h.t.Helper()
	if a.Err == nil || a.Err.Code != schemas.CallInvalidInput || a.Err.Location != atHook || a.Err.Effect != schemas.NotStarted {
		h.t.Errorf("%+v %+v", a, a.Err)
		return
	}
	for _, w := range words {
		if !strings.Contains(a.Err.Message, w) {
			h.t.Errorf("%s: want %q in it", a.Err.Message, w)
		}
	}
	if n := h.ran.Load(); n != 0 {
		h.t.Errorf("the tool ran %d times", n)
	}
}

// answering gives a Go hook that always decides the same.
func answering(phase string, v *schemas.Verdict, err error) Hook {
	return Hook{Name: "guard", Phase: phase, Ask: func(context.Context, *schemas.HookEvent) (*schemas.Verdict, error) { return v, err }}
}

// serving serves a bus hook and gives it as it is configured.
func serving(t *testing.T, conn *bus.Conn, phase, name string, decide bus.HookFunc) Hook {
	t.Helper()
	s, err := bus.ServeHook(conn, phase, name, decide)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close(context.Background()) })
	return configured(conn, phase, name, 5000)
}

func configured(conn *bus.Conn, phase, name string, timeoutMs float64) Hook {
	return BusHooks(conn, []schemas.HookConfig{{Name: name, Phase: phase, TimeoutMs: &timeoutMs}})[0]
}

// Hooks are asked in their order, each about what the ones before it have made of the call; those after the call see
// what was dispatched, and how it ended (P1, case 70).
func TestSpec_P1_Case70_HooksSeeAndRewriteCallsInTheirOrder(t *testing.T) {
	conn := bustest.Conn(t)
	var mu sync.Mutex
	var seen []schemas.HookEvent
	note := func(v *schemas.Verdict) bus.HookFunc {
		return func(_ context.Context, e *schemas.HookEvent) (*schemas.Verdict, error) {
			mu.Lock()
			defer mu.Unlock()
			seen = append(seen, *e)
			return v, nil
		}
	}
	h := startHooked(t, conn,
		Hook{Name: "first", Phase: schemas.BeforeToolCall, Ask: note(&schemas.Verdict{Input: schemas.JSON(`{"path":"b"}`)})},
		Hook{Name: "last", Phase: schemas.AfterToolCall, Ask: note(nil)},
		serving(t, conn, schemas.BeforeToolCall, "second", note(&schemas.Verdict{Input: schemas.JSON(`{"path":"c"}`)})),
		Hook{Name: "other", Phase: schemas.BeforeToolCall, Tools: []string{"read"}, Ask: note(&schemas.Verdict{Block: true})},
		serving(t, conn, schemas.AfterToolCall, "audit", note(nil)),
	)
	const trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	f := h.send("p", "write", `{"path":"a"}`, func(c *schemas.Call) { c.TraceParent = trace })
	if a := f.end(); string(a.Value) != `"wrote c"` {
		t.Fatalf("%+v %+v", a, a.Err)
	}
	mu.Lock()
	defer mu.Unlock()
	var order []string
	for i, e := range seen {
		order = append(order, e.Hook+" "+string(e.Input)+" "+string(e.Value))
		if e.Tool != "write" || e.ToolKind != "" || e.ToolInputKind != "" || e.Source != schemas.SourceNative || e.Owner != "p" {
			t.Errorf("%+v is about another tool", e)
		}
		if e.Call != f.call.ID || e.ParentID != "toolu_1" || e.Address != f.call.Address || e.Identity != f.call.Identity || e.TraceParent != trace {
			t.Errorf("%+v has lost whom it is for", e)
		}
		if after := i > 1; after != (e.Phase == schemas.AfterToolCall) || after != (e.DurationUs > 0) {
			t.Errorf("%+v", e)
		}
	}
	const want = `first {"path":"a"}  | second {"path":"b"}  | last {"path":"c"} "wrote c" | audit {"path":"c"} "wrote c"`
	if got := strings.Join(order, " | "); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

// Whatever a hook does but say yes in time: the tool doesn't run, and the call says which hook it was and why (P3, case 72 b).
func TestSpec_P1_Case72_HooksFailClosed(t *testing.T) {
	huge := schemas.JSON(`{"path":"` + strings.Repeat("x", maxRewriteBytes) + `"}`)
	for name, c := range map[string]struct {
		verdict *schemas.Verdict
		err     error
		want    string
	}{
		"blocks":           {&schemas.Verdict{Block: true, Reason: "not on Sundays"}, nil, "write was not called: hook guard blocks it: not on Sundays"},
		"blocks silently":  {&schemas.Verdict{Block: true}, nil, "hook guard blocks it"},
		"fails":            {nil, errors.New("no database"), "hook guard failed: no database"},
		"block and change": {&schemas.Verdict{Block: true, Input: schemas.JSON(`{"path":"b"}`)}, nil, "makes no sense: it blocks the call and lets it pass"},
		"block and ask":    {&schemas.Verdict{Block: true, Ask: true}, nil, "makes no sense"},
		"no JSON":          {&schemas.Verdict{Input: schemas.JSON(`{"path":`)}, nil, "the input is no JSON object"},
		"no object":        {&schemas.Verdict{Input: schemas.JSON(` ["path"]`)}, nil, "the input is no JSON object"},
		"space":            {&schemas.Verdict{Input: schemas.JSON(` `)}, nil, "the input is no JSON object"},
		"too large":        {&schemas.Verdict{Input: huge}, nil, "at most 16777216 are allowed"},
		"long reason":      {&schemas.Verdict{Block: true, Reason: strings.Repeat("é", 5000) + "\xff"}, nil, "[truncated]"},
	} {
		for _, where := range []string{"in Go", "on the bus"} {
			t.Run(name+" "+where, func(t *testing.T) {
				conn := bustest.Conn(t)
				hook := answering(schemas.BeforeToolCall, c.verdict, c.err)
				if where == "on the bus" {
					hook = serving(t, conn, schemas.BeforeToolCall, "guard", hook.Ask)
				}
				h := startHooked(t, conn, hook)
				a := h.write("a")
				h.refusedBy(a, c.want)
				if len(a.Err.Message) > maxReasonBytes+200 {
					t.Errorf("%d bytes", len(a.Err.Message))
				}
			})
		}
	}
}

func TestSpec_P1_AHookThatPanicsFailsClosed(t *testing.T) {
	panics := func(context.Context, *schemas.HookEvent) (*schemas.Verdict, error) { panic("secret") }
	for _, where := range []string{"in Go", "on the bus"} {
		conn := bustest.Conn(t) // of its own: two executors would share the calls
		hook := answering(schemas.BeforeToolCall, nil, nil)
		if hook.Ask = panics; where == "on the bus" {
			hook = serving(t, conn, schemas.BeforeToolCall, "guard", panics)
		}
		h := startHooked(t, conn, hook)
		a := h.write("a")
		h.refusedBy(a, "hook guard failed: it failed inside")
		if strings.Contains(a.Err.Message, "secret") {
			t.Error(a.Err.Message)
		}
	}
}

// A rewrite is an input like any other: the schema has the last word, and says who is to blame.
func TestSpec_P1_ARewriteIsValidatedAgain(t *testing.T) {
	h := startHooked(t, bustest.Conn(t), answering(schemas.BeforeToolCall, &schemas.Verdict{Input: schemas.JSON(`{"Path":"a"}`)}, nil))
	a := h.write("a")
	if a.Err == nil || a.Err.Code != schemas.CallInputContract || a.Err.Location != atHook || a.Err.Effect != schemas.NotStarted || h.ran.Load() != 0 ||
		!strings.Contains(a.Err.Message, `hook guard's rewrite of the arguments is invalid: write: Path`) {
		t.Errorf("%+v %+v", a, a.Err)
	}
}

// After a call nothing can be undone: a hook's no, however it comes about, withholds what the tool returned or said.
func TestSpec_P1_AfterHooksWithhold(t *testing.T) {
	for name, c := range map[string]struct {
		verdict *schemas.Verdict
		err     error
		want    string
	}{
		"blocks":  {&schemas.Verdict{Block: true, Reason: "it holds a key"}, nil, "hook guard blocks it: it holds a key"},
		"fails":   {nil, errors.New("no database"), "hook guard failed: no database"},
		"changes": {&schemas.Verdict{Input: schemas.JSON(`{}`)}, nil, "hook guard gave an answer that makes no sense: a call that was made can be blocked, and nothing else"},
		"asks":    {&schemas.Verdict{Ask: true}, nil, "hook guard gave an answer that makes no sense: a call that was made can be blocked, and nothing else"},
	} {
		conn := bustest.Conn(t)
		var next schemas.HookEvent
		h := startHooked(t, conn, answering(schemas.AfterToolCall, c.verdict, c.err),
			Hook{Name: "next", Phase: schemas.AfterToolCall, Ask: func(_ context.Context, e *schemas.HookEvent) (*schemas.Verdict, error) {
				next = *e
				return &schemas.Verdict{Block: true, Reason: "me too"}, nil
			}})
		a := h.write("a")
		if a.Err == nil || a.Err.Location != atHook || a.Err.Effect != schemas.Done || len(a.Value) > 0 || h.ran.Load() != 1 ||
			!strings.HasPrefix(a.Err.Message, "write ran, and what it returned is withheld: "+c.want) {
			t.Errorf("%s: %+v %+v", name, a, a.Err)
		}
		if len(next.Value) > 0 || next.Err == nil || next.Err.Message != a.Err.Message {
			t.Errorf("%s: the next hook saw %+v", name, next)
		}
		a = h.write("full")
		if a.Err == nil || a.Err.Location != atHook || a.Err.Effect != schemas.Failed || strings.Contains(a.Err.Message, "secret") ||
			!strings.HasPrefix(a.Err.Message, "write failed, and what it said is withheld: "+c.want) {
			t.Errorf("%s: %+v", name, a.Err)
		}
	}
}

func TestSpec_P1_HooksFilterByTool(t *testing.T) {
	for _, c := range []struct {
		tools []string
		asked bool
	}{{nil, true}, {[]string{}, false}, {[]string{"read"}, false}, {[]string{"wri*"}, true}, {[]string{"group:plugins"}, true}, {[]string{"bundle-mcp"}, false}} {
		conn := bustest.Conn(t)
		hook := answering(schemas.BeforeToolCall, &schemas.Verdict{Block: true}, nil)
		hook.Tools = c.tools
		h := startHooked(t, conn, hook)
		if a := h.write("a"); (a.Err != nil) != c.asked {
			t.Errorf("%q: %+v", c.tools, a.Err)
		}
	}
}

// A hook that asks for an approval is heard by the stage that gets one.
func TestSpec_P1_P3_HooksAskForApprovals(t *testing.T) {
	for reason, want := range map[string]string{"": "hook guard asks for an approval", "it writes": "hook guard asks for an approval: it writes"} {
		hooks := []Hook{answering(schemas.BeforeToolCall, &schemas.Verdict{Ask: true, Reason: reason, Input: schemas.JSON(`{"n":2}`)}, nil)}
		var asked string
		p := Pipeline{Approval: denying{&asked}}
		if err := p.addHooks(hooks, quiet); err != nil {
			t.Fatal(err)
		}
		_, fail := p.run(t.Context(), callOf("t", "1", `{"n":1}`), newContract(schemas.Tool{Name: "t"}), nil, nil, quiet)
		if fail == nil || fail.Location != atApproval || asked != want+`{"n":2}` {
			t.Errorf("%+v, asked %q", fail, asked)
		}
	}
}

// denying approves nothing, and notes what it was asked.
type denying struct{ asked *string }

func (d denying) Approve(_ context.Context, call *schemas.Call, _ *schemas.Tool, why string, _ func(string)) error {
	*d.asked = why + string(call.Args)
	return errors.New("denied")
}

// A call that isn't wanted any more waits for no hook, however stubborn; one that had been made is still told to the hooks.
func TestSpec_S8_CancelledCallsDontWaitForHooks(t *testing.T) {
	conn := bustest.Conn(t)
	entered, leave := make(chan struct{}), make(chan struct{})
	h := startHooked(t, conn, Hook{Name: "stubborn", Phase: schemas.BeforeToolCall, Timeout: time.Minute,
		Ask: func(context.Context, *schemas.HookEvent) (*schemas.Verdict, error) {
			entered <- struct{}{}
			<-leave
			return nil, nil //nolint:nilnil // lets the call pass
		}})
	defer close(leave)
	g := newGate()
	told := make(chan *schemas.HookEvent, 1)
	e, err := Start(soon(t), conn, Options{Providers: []Provider{funcs(t, "q", raw("slow", g.run))}, Logger: quiet, Hooks: []Hook{{
		Name: "audit", Phase: schemas.AfterToolCall, Ask: func(ctx context.Context, e *schemas.HookEvent) (*schemas.Verdict, error) {
			told <- e
			return nil, ctx.Err()
		}}}})
	if err != nil {
		t.Fatal(err)
	}

	f := h.send("p", "write", `{"path":"a"}`)
	<-entered
	f.stop()
	made := h.send("q", "slow", `{}`)
	<-g.entered
	made.stop()
	if event := <-told; event.Err == nil || !strings.Contains(event.Err.Message, "was cancelled while it ran") {
		t.Errorf("%+v", event)
	}
	if err := e.Close(soon(t)); err != nil {
		t.Error(err)
	}
	f.silent()
	if h.ran.Load() != 0 {
		t.Error("the tool ran")
	}
}

func TestStart_RefusesHooksThatCanNotBeAsked(t *testing.T) {
	conn := bustest.Conn(t)
	ok := answering(schemas.BeforeToolCall, nil, nil)
	for want, change := range map[string]func(*Hook){
		"no name": func(h *Hook) { h.Name = "" }, "no function to ask": func(h *Hook) { h.Ask = nil }, `the phase "before"`: func(h *Hook) { h.Phase = "before" },
	} {
		hook := ok
		change(&hook)
		if _, err := Start(soon(t), conn, Options{Providers: []Provider{funcs(t, "p")}, Hooks: []Hook{hook}}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
		if _, err := AboutPrograms([]Hook{hook}, quiet); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// A hook guards what its list may mean: upper and lower case, aliases, and a server's tool by its own name or the server's
// are no way around it (P1).
func TestSpec_P1_HooksAreAskedUnderAnyName(t *testing.T) {
	write := schemas.Tool{Source: schemas.SourceNative, Tier: schemas.TierCore, Owner: "core", Name: "write"}
	issue := schemas.Tool{Source: schemas.SourceMCP, Owner: "github", Name: "create_issue"}
	for _, tc := range []struct {
		tools string
		about *schemas.Tool
		want  bool
	}{
		{"write", &write, true}, {"Write", &write, true}, {"openclaw:core:WRITE", &write, true}, {"group:core", &write, true},
		{"*", &write, true}, {"read", &write, false}, {"", &write, false}, {"w*", &write, true},
		{"create_issue", &issue, true}, {"GitHub", &issue, true}, {"github.create_*", &issue, true}, {"mcp", &issue, true}, {"group:core", &issue, false},
		{"exec", &program, true}, {"Bash", &program, true}, {"Shell", &program, true}, {"write", &program, false},
	} {
		h := asked{Hook: &Hook{Name: "guard", Tools: []string{tc.tools}}}
		if h.about(tc.about) != tc.want {
			t.Errorf("a hook for %q about %s: %v", tc.tools, tc.about.ID(), !tc.want)
		}
	}
}

// A function that neither answers nor heeds its context fails every call, and isn't asked without end. Later it is again (B2).
func TestSpec_B2_AHookThatIsStuckIsAskedSoOftenOnly(t *testing.T) {
	var entered atomic.Int64
	stuck := make(chan struct{})
	before, _, err := phases([]Hook{{Name: "stuck", Phase: schemas.BeforeToolCall, Timeout: time.Millisecond, Ask: func(context.Context, *schemas.HookEvent) (*schemas.Verdict, error) {
		entered.Add(1)
		<-stuck
		return &schemas.Verdict{}, nil
	}}}, quiet)
	if err != nil {
		t.Fatal(err)
	}
	ask := func() error {
		_, err := before[0].Before(t.Context(), callOf("t", "1", "{}"), &schemas.Tool{Name: "t"})
		return err
	}
	var all sync.WaitGroup
	for range maxAsking + 100 {
		all.Go(func() {
			if ask() == nil {
				t.Error("it passes")
			}
		})
	}
	all.Wait()
	before[0].Timeout = time.Minute // from now on no answer may come of time
	if err := ask(); err == nil || !strings.Contains(err.Error(), "hook stuck failed: it has 1024 questions already") {
		t.Error(err)
	}
	close(stuck)
	for late := soon(t); before[0].open.Load() > 0; runtime.Gosched() {
		if late.Err() != nil {
			t.Fatalf("%d questions stay open", before[0].open.Load())
		}
	}
	if n := entered.Load(); n != maxAsking {
		t.Errorf("it was asked %d times", n)
	}
	if err := ask(); err != nil {
		t.Error(err)
	}
}
