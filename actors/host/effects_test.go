package host_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/codecell/codecell/actors/host"
	"github.com/codecell/codecell/actors/tool"
	"github.com/codecell/codecell/bus"
	"github.com/codecell/codecell/schemas"
)

// effects are what a failed result lists of its calls, in order of issue.
func effects(r *schemas.Result) string {
	var list []string
	for _, c := range r.Telemetry.Calls {
		list = append(list, c.Tool+" "+string(c.Outcome))
	}
	return strings.Join(list, ", ")
}

// Case 80: whoever reads a failed result knows of each call whether it never began, was done, failed, or may have been
// done; and that nothing had been dispatched at all.
func TestSpec_E5_Case80_FailedResultsListEffects(t *testing.T) {
	l, n, run := labNode(t, config(t, `{tools: {codeMode: {enabled: true, timeoutMs: 20000, maxPendingToolCalls: 3}}}`))
	for _, c := range []struct{ name, code, want string }{
		{"before any dispatch: syntax", `await write({n: 1}); const = 1`, ""},
		{"before any dispatch: a throw", `const all = [write({n: 1})]; throw new Error("first")`, "write not_started"},
		{"before any dispatch: a refusal", `await write({n: 1n})`, ""},
		{"after three of five writes", `for (let n = 1; n <= 5; n++) { if (n == 4) throw new Error("stop"); await write({n}) }`, "write done, write done, write done"},
		{"with two of five writes that wait for a place",
			`const all = [write({n: 1}), held({n: 2}), held({n: 3}), write({n: 4}), write({n: 5})]; await all[0]; throw new Error("stop")`,
			"write done, held started, held started, write not_started, write not_started"},
		{"the fourth of five writes fails", `await Promise.all([1, 2, 3].map(n => write({n}))); await fails({}); await write({n: 5})`,
			"write done, write done, write done, fails failed"},
	} {
		before := l.calls("write")
		r := exec(t, run, c.code)
		if r.Status != schemas.StatusFailed {
			t.Errorf("%s: %s", c.name, told(r))
			continue
		}
		got := effects(r)
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
		if made, want := l.calls("write")-before, strings.Count(got, "write done"); made != want {
			t.Errorf("%s: %d writes were made, and %q is listed", c.name, made, got)
		}
	}
	if slots, cells := held(t, n); slots+cells != 0 {
		t.Errorf("%d slots and %d cells are held", slots, cells)
	}
}

// Case 80: a reply that is lost after the tool has acted is no failure before it began.
func TestSpec_E5_Case80_LostReplyIsUnknown(t *testing.T) {
	n := node(t, config(t, `{bus: {listen: "127.0.0.1:0"}, tools: {codeMode: {enabled: true, timeoutMs: 60000}}}`))
	conn, err := bus.Dial(t.Context(), bus.Options{URLs: []string{n.URL()}, Name: "away"})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	acted := make(chan struct{})
	executor, err := tool.Serve(t.Context(), conn, "away", tool.New("pay", "Acts, and is gone.", func(ctx context.Context, in echoIn) (echoOut, error) {
		close(acted)
		<-ctx.Done()
		return echoOut(in), nil
	}))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		gone, cancel := context.WithCancel(context.Background())
		cancel()
		_ = executor.Close(gone) // its connection is dead
	}()
	run := bound(t, n, "a")
	for { // until the host has heard of the executor
		found, err := run.Search(t.Context(), schemas.Search{Query: "pay"})
		if err != nil {
			t.Fatal(err)
		}
		if len(found.Hits) > 0 {
			break
		}
	}
	go func() { <-acted; conn.NATS().Close() }()
	r := execAs(t, run, "e1", map[string]any{"code": `await echo({n: 1}); await pay({n: 2})`})
	if r.Status != schemas.StatusFailed || effects(r) != "echo done, pay unknown" || !strings.Contains(r.Error, "may have run") {
		t.Errorf("%q, %s", effects(r), told(r))
	}
	r = execAs(t, run, "e2", map[string]any{"code": `await echo({n: 1}); await pay({n: 2})`})
	if r.Status != schemas.StatusFailed || !strings.HasPrefix(effects(r), "echo done, pay ") || strings.Contains(effects(r), "unknown") {
		t.Errorf("nobody serves the tool: %q, %s", effects(r), told(r))
	}
	_, lines := transcript(t, n, "a", "failed of e2 in e2 "+string(r.Code))
	mustRead(t, lines[:6], "exec e1", "call 1 echo in e1", "done 1 in e1", "call 2 pay in e1", "unknown 2 in e1", "failed of e1 in e1 internal_error")
}

// Case 80: a program that ends while a call of its own is live hasn't completed; if it's ended, the call may have been made.
func TestSpec_E5_Case80_LiveCallAtTheEnd(t *testing.T) {
	l, n, run := labNode(t, config(t, short))
	r := exec(t, run, `held({n: 1}); return "early"`)
	mustWait(t, r, schemas.ReasonPendingTools)
	if err := run.Abort(t.Context(), "call-1", "not wanted"); err != nil {
		t.Fatal(err)
	}
	mustFail(t, wait(t, n, "a", "w1", r.RunID), schemas.InvalidInput, "look at the earlier results")
	if l.calls("held") != 1 {
		t.Errorf("held was called %d times", l.calls("held"))
	}
	r = exec(t, run, `held({n: 2}); return "early"`)
	mustWait(t, r, schemas.ReasonPendingTools)
	close(l.gate)
	mustComplete(t, wait(t, n, "a", "w2", r.RunID), `"early"`)
}

// B5, P7: whatever happens, facts, logs and the host's status have no arguments, no values and no source.
func TestSpec_B5_P7_NothingTellsArguments(t *testing.T) {
	const secret = "m4rk3r-of-a-secret"
	var log lockedBuffer
	c := config(t, `{tools: {codeMode: {enabled: true, timeoutMs: 1000}}, history: {secrets: ["registered-secret"]}}`)
	l := newLab()
	funcs, err := tool.Funcs("lab", append(l.tools(),
		tool.Raw(schemas.Tool{Name: "leaks", Description: "Panics with a secret."}, func(context.Context, schemas.JSON) (schemas.JSON, error) {
			panic("with registered-secret in it")
		}))...)
	if err != nil {
		t.Fatal(err)
	}
	n, err := host.Up(t.Context(), host.NodeOptions{
		Config: c, Providers: []tool.Provider{funcs}, CacheDir: cache,
		Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
	if err != nil {
		t.Fatal(err)
	}
	facts, err := n.Client().Watch(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	run, err := n.Client().Open(t.Context(), schemas.Open{Identity: someone("a"), Bind: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, code := range []string{
		`await rec({password: "%s"}); text("%[1]s"); return "%[1]s"`,
		`await fails({password: "%s"}); // %[1]s`,
		`await leaks({password: "%s"})`,
		`await none({password: "%s"})`,
		`const = "%s"`,
		`throw new Error("%s")`,
		`await held({password: "%s"})`,
	} {
		exec(t, run, fmt.Sprintf(code, secret))
	}
	var told bytes.Buffer
	status, err := json.Marshal(n.Host().Status())
	if err != nil {
		t.Fatal(err)
	}
	told.Write(status)
	if err := run.Close(t.Context(), "over"); err != nil {
		t.Fatal(err)
	}
	ended := 0
	for e := range facts {
		text, err := json.Marshal(e.Fact)
		if err != nil || e.Err != nil {
			t.Fatal(err, e.Err)
		}
		told.Write(text)
		if _, ok := e.Fact.(*schemas.CallEnded); ok {
			ended++
		}
		if _, ok := e.Fact.(*schemas.RunClosed); ok {
			break
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if err := n.Close(ctx); err != nil {
		t.Error(err)
	}
	if strings.Contains(told.String(), secret) || ended < 4 {
		t.Errorf("after %d calls, facts and status: %s", ended, told.String())
	}
	if text := log.String(); strings.Contains(text, secret) || strings.Contains(text, "registered-secret") || !strings.Contains(text, "with [redacted] in it") {
		t.Errorf("log: %s", text)
	}
}

// lockedBuffer is a buffer for many writers.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}
