package wasm

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/codecell/codecell/wasm/meter"
)

// unmetered is an engine whose loops nobody can stop, for comparison.
func unmetered(t testing.TB) *Engine {
	t.Helper()
	return newEngine(t, Config{controller: testController, rewrite: func(m []byte) ([]byte, error) { return m, nil }})
}

// computations cover what the meter touches: loops, recursion, and memory moved in bulk.
var computations = map[string]string{
	"fib":    "function f(n) { return n<2 ? n : f(n-1)+f(n-2) } return f(21)",
	"json":   "const o = []; for (let i=0;i<2000;i++) o.push({id: i, name: 'n'+i, tags: ['a', 'b', i]}); return JSON.parse(JSON.stringify(o)).length",
	"sort":   "const a = []; let x = 1; for (let i=0;i<20000;i++) { x = (x*1103515245+12345) & 0x7fffffff; a.push(x) } a.sort((p,q) => p-q); return a[77]",
	"alloc":  "const a = []; for (let i=0;i<20000;i++) a.push({a: i}); return a.length",
	"string": "let s = ''; for (let i=0;i<20000;i++) s += i; return s.length",
	"regexp": "let n = 0; for (let i=0;i<500;i++) n += /([a-z]+)-(\\d+)/.exec('hello-'+i+' foo')[2].length; return n",
	"loop":   "let s = 0; for (let i=0;i<200000;i++) s += i; return s",
	"bulk": `const a = new Uint8Array(3e6).map((_, i) => i*31); let h = 0;
		a.copyWithin(1, 0); a.copyWithin(0, 7); a.copyWithin(900000, 100000, 1900000); a.fill(9, 2e6, 2.6e6); a.set(a.subarray(0, 1e6), 5e5);
		for (let i=0;i<a.length;i+=101) h = (h*33 + a[i]) >>> 0; return [h, a.slice(1e6, 2e6).length]`,
	"bigint": "let n = 1n; for (let i=1n;i<400n;i++) n *= i; return String(n).length + String(n % 1000003n)",
	"async":  "let n = 0; for (let i=0;i<2000;i++) n += await Promise.all([i, Promise.resolve(1)]).then(([a, b]) => a*b); return n",
	"date":   "return new Date(86400000*366.5).toISOString() + [1e21, 0.1+0.2, (255).toString(16), parseFloat('1.5e3')]",
}

func TestMeteringChangesNoResult(t *testing.T) {
	plain := newImage(t, unmetered(t))
	metered := newImage(t, shared)
	for name, source := range computations {
		want := value(t, start(t, acquire(t, plain, testLimits(), Env{Seed: 1}), source))
		if got := value(t, start(t, acquire(t, metered, testLimits(), Env{Seed: 1}), source)); got != want {
			t.Errorf("%s: metered %s, plain %s", name, got, want)
		}
	}
}

// Every import call is a call from WebAssembly into Go, so their number tells how fine the mesh is.
func TestTheEngineIsMeteredFinely(t *testing.T) {
	module, _, err := engineModule(embedded)
	if err != nil {
		t.Fatal(err)
	}
	_, report, err := meter.Instrument(module, meter.Options{ImportModule: "env", ImportName: "host_interrupt", Interval: meterInterval})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%+v", report)
	if report.Loops < 1000 || report.Entries == 0 || report.Entries > report.Functions/2 || report.Bulk == 0 {
		t.Errorf("an unlikely report: %+v", report)
	}
}

// The effort of a leg is what was computed in it, on any machine: a little for an answer, ten times as much for ten times
// the turns, and the same again for the same.
func TestEffortIsWhatWasComputed(t *testing.T) {
	g := newGuest(t)
	leg := start(t, g, `for (;;) { const turns = await call({}); for (let i = 0; i < turns; i++); }`)
	effort := func(turns string) int {
		leg = resume(t, g, Answer{ID: leg.Requests[0].ID, OK: true, Body: []byte(turns)})
		return leg.Effort
	}
	light, some, more := effort("0"), effort("20000"), effort("200000")
	if light > 3 || some < 10 || more < 9*some || more > 11*some {
		t.Errorf("nothing takes %d, 20,000 turns %d, ten times as many %d", light, some, more)
	}
	if again := effort("200000"); again < more-1 || again > more+1 {
		t.Errorf("the same again takes %d and %d", more, again)
	}
}

// A leg that has computed too much is stopped when it's due, and one that does next to nothing is not.
func TestStopAfterSparesLightLegs(t *testing.T) {
	g := newGuest(t)
	leg := start(t, g, `for (;;) { const turns = await call({}); for (let i = 0; i < turns; i++); }`)
	past := time.Now().Add(-time.Second)
	answer := func(turns string) []Answer { return []Answer{{ID: leg.Requests[0].ID, OK: true, Body: []byte(turns)}} }
	for range 3 {
		g.StopAfter(past, 10)
		leg = resume(t, g, answer("0")...)
	}
	g.StopAfter(time.Now().Add(time.Hour), 10)
	leg = resume(t, g, answer("100000")...)
	leg = resume(t, g, answer("100000")...) // it was said of one leg
	g.StopAfter(past, 10)
	got, err := g.Resume(t.Context(), answer("1e12"))
	if !errors.Is(err, ErrInterrupted) || !errors.Is(err, context.DeadlineExceeded) || got.Effort < 10 || got.Effort > 12 {
		t.Errorf("stopped with %v, after an effort of %d", err, got.Effort)
	}
}

func BenchmarkMeter(b *testing.B) {
	engines := []struct {
		name string
		img  *Image
	}{{"plain", newImage(b, unmetered(b))}, {"metered", newImage(b, shared)}}
	for _, name := range []string{"fib", "json", "sort", "alloc", "string", "regexp", "loop", "bulk"} {
		for _, e := range engines {
			b.Run(name+"/"+e.name, func(b *testing.B) {
				for b.Loop() {
					cell(b, e.img, computations[name])
				}
			})
		}
	}
}

func cell(b *testing.B, img *Image, source string) {
	g, err := img.engine.Acquire(b.Context(), img, testLimits(), Env{Seed: 1})
	if err != nil {
		b.Fatal(err)
	}
	leg, err := g.Start(b.Context(), source)
	if err != nil || leg.Err != nil {
		b.Fatal(err, leg.Err)
	}
	_ = g.Close()
}
