package wasm

import (
	"context"
	_ "embed"
	"errors"
	"os"
	"testing"
	"time"
)

//go:embed testdata/controller.js
var testController string

var shared *Engine

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "codecell-wasm")
	if err != nil {
		panic(err)
	}
	shared, err = NewEngine(context.Background(), Config{CacheDir: dir, controller: testController})
	if err != nil {
		panic(err)
	}
	code := m.Run()
	_ = shared.Close()
	os.RemoveAll(dir)
	os.Exit(code)
}

func testLimits() Limits {
	return Limits{MemoryBytes: 64 << 20, OutputBytes: 64 << 10, Requests: 144}
}

func newImage(t testing.TB, e *Engine) *Image {
	t.Helper()
	img, err := e.NewImage(t.Context(), []byte(`{"tools":[]}`))
	if err != nil {
		t.Fatal(err)
	}
	return img
}

func acquire(t testing.TB, img *Image) *Guest {
	t.Helper()
	g, err := img.engine.Acquire(t.Context(), img, testLimits(), Env{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = g.Close() })
	return g
}

func TestQuick(t *testing.T) {
	img := newImage(t, shared)
	t.Log("image", img.Size(), img.size, len(shared.base.memory), img.heap)
	for _, src := range []string{
		"let s='x';try{for(;;)s+=s}catch(e){return 'caught '+e}",
		"const a=[];try{for(;;)a.push('x'.repeat(1<<20)+a.length)}catch(e){return e===null?'null':String(e)}",
		"const a=[];try{for(;;)a.push({a:a.length})}catch(e){return e===null?'null':String(e)}",
		"const a=[];for(;;)a.push({a:a.length})",
		"const a=[];try{for(;;)a.push(new ArrayBuffer(1<<20))}catch(e){return e===null?'null':String(e)}",
		"const a=[];for(;;)a.push(new ArrayBuffer(1<<20))",
		"throw null",
		"await null; const a=[];for(;;)a.push(new ArrayBuffer(1<<20))",
		"await null; const a=[];try{for(;;)a.push(new ArrayBuffer(1<<20))}catch(e){return e===null?'null':String(e)}",
		"const a=[];try{for(;;)a.push(new ArrayBuffer(1<<20))}finally{text('finally')}",
	} {
		g := acquire(t, img)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		start := time.Now()
		leg, err := g.Start(ctx, src)
		d := time.Since(start)
		cancel()
		t.Logf("%.60s\n   %v value=%s err=%v unhandled=%v reqs=%v mem=%d\n   error=%.300v %v", src, d, leg.Value, leg.Err, leg.Unhandled, len(leg.Requests), g.env.machine.mem.Size(), err, errors.Is(err, context.DeadlineExceeded))
		g.Close()
	}
}
