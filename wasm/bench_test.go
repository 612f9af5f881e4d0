package wasm

import (
	"context"
	"os"
	"testing"
)

// The benchmarks run the embedded controller: what a host really pays.
func benchImage(b *testing.B) *Image {
	b.Helper()
	e := newEngine(b, Config{})
	img, err := e.NewImage(b.Context(), benchInstall)
	if err != nil {
		b.Fatal(err)
	}
	return img
}

var benchInstall = []byte(`{"contract":"current","tools":[{"ref":0,"callableName":"read","toolName":"read",
	"description":"Reads a file.","source":"openclaw","input":"{ path: string }"}],"mcp":[],"features":{}}`)

func BenchmarkEngineStart(b *testing.B) {
	dir := b.TempDir()
	for _, cached := range []string{"cold", "cached"} {
		b.Run(cached, func(b *testing.B) {
			for b.Loop() {
				if cached == "cold" {
					if err := os.RemoveAll(dir); err != nil {
						b.Fatal(err)
					}
				}
				e, err := NewEngine(context.Background(), Config{CacheDir: dir})
				if err != nil {
					b.Fatal(err)
				}
				_ = e.Close()
			}
		})
	}
}

func BenchmarkNewImage(b *testing.B) {
	img := benchImage(b)
	for b.Loop() {
		if _, err := img.engine.NewImage(b.Context(), benchInstall); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(img.Size()), "held-B")
}

func BenchmarkCell(b *testing.B) {
	img := benchImage(b)
	b.ReportAllocs()
	for b.Loop() {
		cell(b, img, "return 1+2")
	}
}

func BenchmarkAcquireRelease(b *testing.B) {
	img := benchImage(b)
	b.ReportAllocs()
	for b.Loop() {
		g, err := img.engine.Acquire(b.Context(), img, testLimits(), Env{Seed: 1})
		if err != nil {
			b.Fatal(err)
		}
		_ = g.Close()
	}
}

func BenchmarkFreshMachine(b *testing.B) {
	img := benchImage(b)
	for b.Loop() {
		g, err := img.engine.Acquire(b.Context(), img, testLimits(), Env{Seed: 1})
		if err != nil {
			b.Fatal(err)
		}
		g.poisoned = ErrTrap // so that the machine isn't reused
		_ = g.Close()
	}
}

// BenchmarkOneCall is a cell with one tool call: two legs.
func BenchmarkOneCall(b *testing.B) {
	img := benchImage(b)
	b.ReportAllocs()
	for b.Loop() {
		g, err := img.engine.Acquire(b.Context(), img, testLimits(), Env{Seed: 1})
		if err != nil {
			b.Fatal(err)
		}
		leg, err := g.Start(b.Context(), "return (await read({path: 'x'})).content")
		if err != nil || len(leg.Requests) != 1 {
			b.Fatal(err, leg)
		}
		leg, err = g.Resume(b.Context(), []Answer{{ID: leg.Requests[0].ID, OK: true, Body: []byte(`{"content":"text"}`)}})
		if err != nil || string(leg.Value) != `"text"` {
			b.Fatal(err, leg)
		}
		_ = g.Close()
	}
}

// BenchmarkResume is one leg: an answer in, the next request out.
func BenchmarkResume(b *testing.B) {
	img := benchImage(b)
	g := acquire(b, img, testLimits(), Env{})
	leg := start(b, g, "for (;;) await read({path: 'x'})")
	answers := []Answer{{OK: true, Body: []byte(`{"content":"text"}`)}}
	b.ReportAllocs()
	for b.Loop() {
		answers[0].ID = leg.Requests[0].ID
		var err error
		if leg, err = g.Resume(b.Context(), answers); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSnapshotRestore(b *testing.B) {
	img := benchImage(b)
	g := acquire(b, img, testLimits(), Env{})
	start(b, g, "const a = []; for (let i=0;i<200;i++) a.push({i, name: 'n'+i}); await read({path: 'x'}); return a")
	snapshot, err := g.Snapshot(1 << 20)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("snapshot", func(b *testing.B) {
		for b.Loop() {
			g.env.machine.holds = nil // as after a leg
			if _, err := g.Snapshot(1 << 20); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(len(snapshot)), "snapshot-B")
	})
	b.Run("restore", func(b *testing.B) {
		for b.Loop() {
			r, err := img.engine.Restore(b.Context(), img, snapshot, testLimits(), Env{Seed: 1})
			if err != nil {
				b.Fatal(err)
			}
			_ = r.Close()
		}
	})
}
