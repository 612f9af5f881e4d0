package wasm

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

func TestStartReturnsTheValue(t *testing.T) {
	for source, want := range map[string]string{
		"return 1+2":                            "3",
		"":                                      "null",
		"return await (async () => ({a: 1}))()": `{"a":1}`,
		`return "\u{1f600} \ud83d \0 " + "ü".length`: `"😀 \ud83d \u0000 1"`,
		"await null; return [catalog.tools[0]]":      `["read"]`,
	} {
		leg := start(t, newGuest(t), source)
		if got := value(t, leg); got != want || !leg.Settled {
			t.Errorf("%s: value %s, settled %v, want %s", source, got, leg.Settled, want)
		}
	}
}

func TestErrorsOfThePrograms(t *testing.T) {
	for source, want := range map[string]GuestError{
		"throw new TypeError('no')":        {Name: "TypeError", Message: "no"},
		"throw null":                       {Name: "Thrown", Message: "null"},
		"throw new Error('interrupted')":   {Name: "Error", Message: "interrupted"},
		"throw new Error('out of memory')": {Name: "Error", Message: "out of memory"},
		"await null; nope()":               {Name: "ReferenceError", Message: "nope is not defined"},
	} {
		leg := start(t, newGuest(t), source)
		if leg.Err == nil || leg.Err.Name != want.Name || leg.Err.Message != want.Message || !leg.Settled {
			t.Errorf("%s: %+v, want %v", source, leg, want)
		}
	}
}

func TestSpec_X5_CheckFindsSyntaxErrors(t *testing.T) {
	g := newGuest(t)
	for source, bad := range map[string]bool{"let q = ;": true, "return 1": false, "text('x')": false} {
		found, err := g.Check(t.Context(), source)
		if err != nil {
			t.Fatal(err)
		}
		if (found != nil) != bad || bad && (found.Name != "SyntaxError" || found.Code != "invalid_input" || found.Line != 1) {
			t.Errorf("%s: %+v", source, found)
		}
	}
	if leg := start(t, g, "return 5"); value(t, leg) != "5" || len(leg.Output) != 0 {
		t.Errorf("after checking: %+v", leg)
	}
	leg := start(t, newGuest(t), "let q = ;")
	if leg.Err == nil || leg.Err.Code != "invalid_input" {
		t.Errorf("Start: %+v", leg)
	}
}

func TestProgramsStartOnce(t *testing.T) {
	g := newGuest(t)
	start(t, g, "return 1")
	if _, err := g.Start(t.Context(), "return 2"); err == nil {
		t.Error("a second Start: no error")
	}
}

func TestRequestsAndAnswersInAnyOrder(t *testing.T) {
	g := newGuest(t)
	leg := start(t, g, "return await Promise.all([call({n:1}), call({n:2}), call({n:3}).catch(e => e.code + e.message)])")
	if len(leg.Requests) != 3 || leg.Settled {
		t.Fatalf("%+v", leg)
	}
	for i, r := range leg.Requests {
		if want := `{"n":` + strconv.Itoa(i+1) + `}`; r.Kind != "call" || string(r.Payload) != want || r.ID == "" {
			t.Errorf("request %d: %+v, want payload %s", i, r, want)
		}
	}
	id := func(i int) string { return leg.Requests[i].ID }
	next := resume(t, g, Answer{ID: id(2), Body: []byte(`{"message":"bad","code":"tool_error"}`)}, Answer{ID: id(1), OK: true, Body: []byte("[2]")})
	if next.Settled || len(next.Requests) != 0 {
		t.Fatalf("after two of three answers: %+v", next)
	}
	last := resume(t, g, Answer{ID: id(0), OK: true, Body: nil},
		Answer{ID: id(1), OK: true, Body: []byte(`"again"`)}, Answer{ID: "99", OK: true}, Answer{ID: "x"}, Answer{ID: ""})
	if got := value(t, last); got != `[null,[2],"tool_errorbad"]` {
		t.Errorf("value %s", got)
	}
}

func TestSpec_A1_AnswersSettleInArrivalOrder(t *testing.T) {
	g := newGuest(t)
	leg := start(t, g, "return await Promise.race([call('slow'), call('fast')])")
	done := resume(t, g, Answer{leg.Requests[1].ID, true, []byte(`"fast"`)}, Answer{leg.Requests[0].ID, true, []byte(`"slow"`)})
	if got := value(t, done); got != `"fast"` {
		t.Errorf("winner %s", got)
	}
}

func TestCancelledRequests(t *testing.T) {
	g := newGuest(t)
	leg := start(t, g, "const a = later(), b = later(); cancel(a); cancel(a); cancel('77'); await call({}); cancel(b); return 1")
	if len(leg.Requests) != 2 || len(leg.Cancelled) != 0 {
		t.Fatalf("a request cancelled in its own leg must disappear: %+v", leg)
	}
	timer, call := leg.Requests[0], leg.Requests[1]
	next := resume(t, g, Answer{ID: call.ID, OK: true})
	if len(next.Cancelled) != 1 || next.Cancelled[0] != timer.ID {
		t.Errorf("cancelled %v, want [%s]", next.Cancelled, timer.ID)
	}
	if leg := resume(t, g, Answer{ID: timer.ID, OK: true}); leg.Err != nil || len(leg.Requests) != 0 {
		t.Errorf("a late answer did something: %+v", leg)
	}
}

func TestSpec_S7_OverflowDispatchesNothing(t *testing.T) {
	limits := testLimits()
	limits.Requests = 10
	limits.RequestBytes = 5000
	img := newImage(t, shared)
	for name, tc := range map[string]struct {
		source   string
		overflow bool
	}{
		"ten":              {"for (let i=0;i<10;i++) call({}); return 1", false},
		"eleven":           {"for (let i=0;i<11;i++) call({}).catch(() => {}); return 1", true},
		"caught":           {"try { for (let i=0;i<11;i++) later() } catch (e) { return e.name }", true},
		"cancelled ones":   {"for (let i=0;i<1000;i++) cancel(later()); return 1", false},
		"large payloads":   {"for (let i=0;i<9;i++) await call('x'.repeat(1e3)).catch(() => {})", false},
		"too much at once": {"for (let i=0;i<9;i++) call('x'.repeat(1e3)).catch(() => {})", true},
	} {
		g := acquire(t, img, limits, Env{})
		leg, err := g.Start(t.Context(), tc.source)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if leg.Overflow != tc.overflow || tc.overflow && len(leg.Requests) != 0 {
			t.Errorf("%s: overflow %v with %d requests, want %v", name, leg.Overflow, len(leg.Requests), tc.overflow)
		}
		if _, err := g.Resume(t.Context(), nil); errors.Is(err, ErrPoisoned) != tc.overflow {
			t.Errorf("%s: going on: error %v", name, err)
		}
	}
}

func TestOutputIsBoundedAndCounted(t *testing.T) {
	limits := testLimits()
	limits.OutputBytes = 10
	g := acquire(t, newImage(t, shared), limits, Env{})
	leg := start(t, g, `raw('"abc"'); await call({}); raw('"ééé"'); raw('"x"'); await call({}); raw('12')`)
	if len(leg.Output) != 1 || leg.OmittedBytes != 0 {
		t.Fatalf("%+v", leg)
	}
	leg = resume(t, g, Answer{ID: leg.Requests[0].ID, OK: true})
	// 5 of 10 bytes are used. "ééé" has 8, and byte 5 of it is within a character.
	if len(leg.Output) != 1 || string(leg.Output[0].Payload) != `"éé` || leg.Output[0].OmittedBytes != 3 || leg.OmittedBytes != 6 {
		t.Errorf("%+v", leg)
	}
	leg = resume(t, g, Answer{ID: leg.Requests[0].ID, OK: true})
	if len(leg.Output) != 0 || leg.OmittedBytes != 2 {
		t.Errorf("%+v", leg)
	}
}

func TestOutputOfALegIsKeptAfterTheBudget(t *testing.T) {
	limits := testLimits()
	limits.OutputBytes, limits.LegOutputBytes = 10, 6
	g := acquire(t, newImage(t, shared), limits, Env{})
	leg := start(t, g, `raw('0123456789abc'); raw('no more'); await call({}); raw('"d"'); raw('"efgh"'); raw('1')`)
	if len(leg.Output) != 1 || leg.Output[0].OmittedBytes != 3 || leg.DroppedTexts != 1 {
		t.Fatalf("%+v", leg)
	}
	leg = resume(t, g, Answer{ID: leg.Requests[0].ID, OK: true})
	if len(leg.Output) != 2 || string(leg.Output[1].Payload) != `"ef` || leg.Output[1].OmittedBytes != 3 || leg.OmittedBytes != 4 {
		t.Errorf("%+v", leg)
	}
}

func TestGuestTextIsAlwaysValidUTF8(t *testing.T) {
	leg := start(t, newGuest(t), `raw('"\ud83d"'); raw('\0'); return 1`)
	for _, o := range leg.Output {
		if !utf8.Valid(o.Payload) {
			t.Errorf("%q", o.Payload)
		}
	}
	if len(leg.Output) != 2 || string(leg.Output[1].Payload) != "\x00" {
		t.Errorf("%v", leg.Output)
	}
}

func TestSourceThatIsNoUTF8(t *testing.T) {
	if v := value(t, start(t, newGuest(t), "return '\xff'.length")); v != "1" {
		t.Errorf("value %s", v)
	}
}

func TestSpec_E3_UnhandledRejections(t *testing.T) {
	for _, tc := range []struct{ source, first, second string }{
		{"Promise.reject(new Error('a')); Promise.reject(new Error('b')); await call({}); return 1", "a", "a"},
		{"globalThis.p = Promise.reject(new Error('a')); await call({}); p.catch(() => {}); return 1", "a", ""},
		{"const p = Promise.reject(new Error('a')), q = Promise.reject(new Error('b')); await call({}); p.catch(() => {}); return 1", "a", "b"},
		{"const p = Promise.reject(new Error('a')); p.catch(() => {}); await call({}); return 1", "", ""},
		{"call({}).then(() => { throw new Error('late') }); return 1", "", "late"},
		{"try { await Promise.reject(new Error('a')) } catch {} await call({}); return 1", "", ""},
	} {
		g := newGuest(t)
		leg := start(t, g, tc.source)
		check := func(when, want string, leg Leg) {
			got := ""
			if leg.Unhandled != nil {
				got = leg.Unhandled.Message
			}
			if got != want {
				t.Errorf("%s: %s: unhandled %q, want %q", tc.source, when, got, want)
			}
		}
		check("first leg", tc.first, leg)
		check("second leg", tc.second, resume(t, g, Answer{ID: leg.Requests[0].ID, OK: true}))
	}
}

func TestManyUnhandledRejections(t *testing.T) {
	g := newGuest(t)
	leg := start(t, g, "const all=[]; for (let i=0;i<5000;i++) all.push(Promise.reject(i)); await call({}); for (const p of all) p.catch(()=>{}); return 1")
	if leg.Unhandled == nil || len(g.env.reject.list) != maxRejections {
		t.Fatalf("%+v with %d tracked", leg, len(g.env.reject.list))
	}
	// Those beyond the bound can't be forgiven: it isn't known which they were.
	if leg = resume(t, g, Answer{ID: leg.Requests[0].ID, OK: true}); leg.Unhandled == nil || !strings.Contains(leg.Unhandled.Message, "1024") {
		t.Errorf("%+v", leg.Unhandled)
	}
}

func TestHostLookUps(t *testing.T) {
	img := newImage(t, shared)
	world := Env{
		Clock: func() time.Time { return time.UnixMilli(1234567) },
		Sync: func(method string, payload []byte) []byte {
			b, _ := json.Marshal(map[string]any{"ok": method + ":" + string(payload)})
			return b
		},
	}
	g := acquire(t, img, testLimits(), world)
	got := value(t, start(t, g, "return [lookUp('api.read', {path: 'x'}).ok, now(), Date.now(), new Date(0).getTimezoneOffset()]"))
	if want := `["api.read:{\"path\":\"x\"}",1234567,1234567,0]`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := value(t, start(t, newGuest(t), "return lookUp('api.read', {}).error.name")); got != `"Error"` {
		t.Errorf("without Sync: %s", got)
	}
}

func TestControllerFaultsPoison(t *testing.T) {
	g := newGuest(t)
	if _, err := g.Start(t.Context(), "fault('it broke')"); !errors.Is(err, ErrController) || !strings.Contains(err.Error(), "it broke") {
		t.Errorf("error %v, want ErrController", err)
	}
	if _, err := g.Resume(t.Context(), nil); !errors.Is(err, ErrPoisoned) {
		t.Errorf("error %v, want ErrPoisoned", err)
	}
}

func TestSpec_G9_RandomnessDiffers(t *testing.T) {
	img := newImage(t, shared)
	draw := func(seed uint64) string {
		return value(t, start(t, acquire(t, img, testLimits(), Env{Seed: seed}), "return [Math.random(), Math.random()]"))
	}
	if a, b := draw(0), draw(0); a == b {
		t.Errorf("two guests drew %s", a)
	}
	if a, b := draw(7), draw(7); a != b {
		t.Errorf("one seed drew %s and %s", a, b)
	}
	if a, b := draw(7), draw(8); a == b {
		t.Errorf("two seeds drew %s", a)
	}
}

func TestLimitsMustBeSet(t *testing.T) {
	img := newImage(t, shared)
	for field, change := range map[string]func(*Limits){
		"MemoryBytes":  func(l *Limits) { l.MemoryBytes = 0 },
		"MemoryBytes ": func(l *Limits) { l.MemoryBytes = DefaultMaxMemory + 1 },
		"StackBytes":   func(l *Limits) { l.StackBytes = 1 << 20 },
		"StackBytes ":  func(l *Limits) { l.StackBytes = -1 },
		"OutputBytes":  func(l *Limits) { l.OutputBytes = 0 },
		"Requests":     func(l *Limits) { l.Requests = -1 },
		"RequestBytes": func(l *Limits) { l.RequestBytes = -1 },
	} {
		l := testLimits()
		change(&l)
		if g, err := shared.Acquire(t.Context(), img, l, Env{}); err == nil || !strings.Contains(err.Error(), strings.TrimSpace(field)) {
			t.Errorf("%s: guest %v, error %v", field, g, err)
		}
	}
	if _, err := (&Engine{}).Acquire(t.Context(), img, testLimits(), Env{}); err == nil {
		t.Error("an image of another engine: no error")
	}
}
